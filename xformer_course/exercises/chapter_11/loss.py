"""Chapter 11, exercises on the loss: its first value, smoothed targets, and which mean."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case

UNIFORM = {"plain": math.log(50), "smoothed": math.log(50)}


def _smoothed_near(*values):
    return lambda answer: any(abs(float(answer["smoothed"]) - value) < 0.008 for value in values)


def _both_near(value):
    return lambda answer: all(abs(float(answer[key]) - value) < 0.008 for key in UNIFORM)


BEFORE_TRAINING = Exercise(
    id="11.1",
    title="The loss before training",
    kind="predict",
    minutes=4,
    difficulty=1,
    statement="""\
An untrained model gives each of the 50 words of its vocabulary the same probability. What is its loss for one word, in nats and to two decimals: with plain cross-entropy, and with label smoothing of 0.1? \
You may write an expression instead of a number.""",
    hints=(
        "Which probability does the wanted word get?",
        "The loss is −log of that probability. Smoothing takes a mean of −log p over several words: what is −log p of each of them here?",
        "Every −log p is log 50, and a mean of equal numbers is that number.",
    ),
    stub='answer = {"plain": ..., "smoothed": ...}',
    reference=UNIFORM,
    tolerance=0.0015,
    wrong={
        "logarithm to base 2": (
            {"plain": math.log2(50), "smoothed": math.log2(50)},
            "These are bits. A nat uses the natural logarithm, `math.log`.",
        ),
        "logarithm to base 10": (
            {"plain": math.log10(50), "smoothed": math.log10(50)},
            "You used the logarithm to base 10. A nat uses the natural logarithm, `math.log`.",
        ),
        "a probability": ({"plain": 1 / 50, "smoothed": 1 / 50}, "That is the probability of the wanted word. The loss is −log of it."),
        "smoothing scales the loss": (
            {"plain": math.log(50), "smoothed": 0.9 * math.log(50)},
            "You kept 0.9 of the loss for the target. Where is the 0.1 that goes to all words?",
        ),
        "smoothing adds to the loss": (
            {"plain": math.log(50), "smoothed": 1.1 * math.log(50)},
            "The wanted distribution still adds up to 1: what the words get is taken from the target.",
        ),
        "no loss yet": (
            {"plain": 0.0, "smoothed": 0.0},
            "A loss of 0 means probability 1 for the wanted word. Which probability has it here?",
        ),
        "share taken for probability": (
            {"plain": math.log(50), "smoothed": -math.log(0.9 + 0.1 / 50)},
            "You took the logarithm of what the target *wants*. Whose probability stands in the logarithm, and which does the model give?",
            _smoothed_near(-math.log(0.902), -math.log(0.9)),
        ),
        "entropy of the target": (
            {"plain": math.log(50), "smoothed": 0.702},
            "That is what the wanted distribution holds by itself, or what is left of the loss without it. Which −log p are averaged?",
            _smoothed_near(0.702, math.log(50) - 0.702),
        ),
        "part of the words only": (
            {"plain": math.log(50), "smoothed": 0.1 * math.log(50)},
            "That is the part of one of the shares. Target and all words together: what do the weights add up to?",
            _smoothed_near(0.1 * math.log(50), 0.098 * math.log(50), 0.902 * math.log(50)),
        ),
        "a number for smoothing": (
            {"plain": math.log(50), "smoothed": math.log(50) - 0.1},
            "Did you add 0.1 or take it away, or put a factor of 0.9 inside the logarithm? 0.1 is a weight: of which numbers does smoothing take a mean?",
            _smoothed_near(math.log(50) - 0.1, math.log(50) + 0.1, 0.9 * math.log(50) + 0.1, -math.log(0.902 / 50)),
        ),
        "minus sign lost": (
            {"plain": -math.log(50), "smoothed": -math.log(50)},
            "A probability is at most 1, so its logarithm is at most 0. Which sign has a loss?",
            _both_near(-math.log(50)),
        ),
        "perplexity": (
            {"plain": 50.0, "smoothed": 50.0},
            "Among so many words the model hesitates. The loss is counted in nats: what undoes an exponential?",
            _both_near(50.0),
        ),
    },
    alternatives={"two decimals": {"plain": 3.91, "smoothed": 3.91}},
    success="A first loss far from log v means that something is wrong before training has begun.",
    solution=r"""
Every word has probability 1/50, so the target costs −log(1/50) = log 50. With smoothing the loss is a mean of −log p over all words
under the wanted distribution; all these numbers are log 50, and so is their mean.

```python
answer = {"plain": math.log(50), "smoothed": math.log(50)}
print({name: round(loss, 2) for name, loss in answer.items()})
check(...)
```
""",
)


def _smoothed(targets, vocab_size, epsilon):
    return (1 - epsilon) * np.eye(vocab_size)[targets] + epsilon / vocab_size


def _others_only(targets, vocab_size, epsilon):
    wanted = np.full((len(targets), vocab_size), epsilon / (vocab_size - 1))
    wanted[np.arange(len(targets)), targets] = 1 - epsilon
    return wanted


def _target_without_share(targets, vocab_size, epsilon):
    wanted = np.full((len(targets), vocab_size), epsilon / vocab_size)
    wanted[np.arange(len(targets)), targets] = 1 - epsilon
    return wanted


def _smoothed_by_loop(targets, vocab_size, epsilon):
    return [[(1 - epsilon) * (word == target) + epsilon / vocab_size for word in range(vocab_size)] for target in targets]


SMOOTH_TARGETS = Exercise(
    id="11.2",
    title="Smooth the target",
    kind="implement",
    minutes=8,
    difficulty=1,
    statement="""\
Write `smoothed_targets(targets, vocab_size, epsilon)`: the wanted distributions as a matrix with one row for each of the n target ids in `targets` and one column for each word. A row gives \
1 − ε to its target and, besides, shares ε evenly among all words of the vocabulary, the target included.""",
    hints=(
        "What must each row add up to? Write the row for 4 words, target 2 and ε = 0.2 on paper.",
        "`np.eye(vocab_size)[targets]` gives the rows without smoothing.",
        "(1 − ε) times the one-hot rows, plus ε / v in every column.",
    ),
    stub="def smoothed_targets(targets, vocab_size, epsilon):\n    return ...",
    reference=_smoothed,
    cases=lambda rng: [
        case(np.array([2, 0]), 4, 0.2),
        case(rng.integers(0, 7, size=3), 7, 0.1),
        case(rng.integers(0, 11, size=5), 11, 0.35),
        case(rng.integers(0, 5, size=13), 5, 0.0, note="no smoothing"),
    ],
    returns=("wanted",),
    wrong={
        "target left out of the sharing": (
            _others_only,
            "You shared ε among the other words only. The statement shares it among all words, the target included.",
        ),
        "rows below one": (_target_without_share, "Your rows add up to a little less than 1. Which share is the target still owed?"),
        "no smoothing": (
            lambda targets, vocab_size, epsilon: np.eye(vocab_size)[targets],
            "These are one-hot rows. Print the entry of a word that is not the target: what should stand there for ε = 0.2?",
        ),
        "epsilon for each word": (
            lambda targets, vocab_size, epsilon: (1 - epsilon) * np.eye(vocab_size)[targets] + epsilon,
            "Every word got the whole of ε. Print the sums of your rows.",
        ),
        "target and rest swapped": (
            lambda targets, vocab_size, epsilon: epsilon * np.eye(vocab_size)[targets] + (1 - epsilon) / vocab_size,
            "For a small ε your rows are almost even. Which part belongs to the target?",
        ),
        "words as rows": (
            lambda targets, vocab_size, epsilon: _smoothed(targets, vocab_size, epsilon).T,
            "Your matrix has a row for each word. The statement asks for a row for each target.",
        ),
        "target not lowered": (
            lambda targets, vocab_size, epsilon: np.eye(vocab_size)[targets] + epsilon / vocab_size,
            "Your rows add up to more than 1. What the words share must come from somewhere.",
        ),
        "shared by one too few": (
            lambda targets, vocab_size, epsilon: (1 - epsilon) * np.eye(vocab_size)[targets] + epsilon / (vocab_size - 1),
            "Your rows add up to a little more than 1. How many words share ε in the statement?",
        ),
        "target lowered, nothing shared": (
            lambda targets, vocab_size, epsilon: (1 - epsilon) * np.eye(vocab_size)[targets],
            "Your rows add up to 1 − ε. Who gets the rest?",
        ),
    },
    alternatives={"loop": _smoothed_by_loop},
    success="Each row adds up to 1 and leaves no word without a little probability.",
    solution=r"""
Row n of `np.eye(vocab_size)[targets]` is 1 at target n and 0 elsewhere. It keeps 1 − ε of that, and every column receives ε divided by
the number of words: the row adds up to 1 − ε + ε.

```python
def smoothed_targets(targets, vocab_size, epsilon):
    one_hot = np.eye(vocab_size)[targets]
    return (1 - epsilon) * one_hot + epsilon / vocab_size


print(smoothed_targets(np.array([2, 0]), 4, 0.2))
check(...)
```
""",
)


def _token_mean(losses, real):
    return losses[real].sum() / real.sum()


def _mean_cases(rng):
    def drawn(*lengths):
        real = np.arange(max(lengths)) < np.array(lengths)[:, None]
        return case(rng.gamma(2.0, size=real.shape), real)

    return [
        case(np.array([[1.0, 2.0, 6.0], [4.0, 9.0, 9.0]]), np.array([[True, True, True], [True, False, False]])),
        case(
            np.array([[0.0, 3.0, 5.0], [7.0, 0.0, 0.0]]),
            np.array([[True, True, False], [True, False, False]]),
            note="a token whose loss is 0",
        ),
        drawn(2, 5, 3),
        drawn(7, 1),
        drawn(4, 11, 6, 5),
    ]


def _nonzero_mean(losses, real):
    kept = losses * real
    return kept.sum() / (kept != 0).sum()


def _mean_by_loop(losses, real):
    total, count = 0.0, 0
    for row, keep in zip(losses, real, strict=True):
        for loss, is_real in zip(row, keep, strict=True):
            if is_real:
                total, count = total + float(loss), count + 1
    return total / count


WHICH_MEAN = Exercise(
    id="11.3",
    title="Which mean",
    kind="implement",
    minutes=8,
    difficulty=2,
    statement="""\
A padded batch gives `losses` (b, t), one number for each place, and `real` (b, t), true where the place holds a target token and false at padding. Write `mean_loss(losses, real)`: the mean loss of a \
token, in which every real token counts the same and padding counts nothing.""",
    hints=(
        "A sentence of 1 word and a sentence of 9 words: what share of the mean should each have?",
        "What do you divide by: places, sentences or real tokens?",
        "Add the losses at real places and divide by the number of real places, once for the whole batch.",
    ),
    stub="def mean_loss(losses, real):\n    return ...",
    reference=_token_mean,
    cases=_mean_cases,
    returns=("mean",),
    tolerance=1e-6,  # a plain number that may have been computed in float32
    wrong={
        "padding averaged in": (
            lambda losses, real: losses.mean(),
            "The losses at padding are part of your mean. Change one of them and see whether the result moves.",
        ),
        "divided by all places": (
            lambda losses, real: (losses * real).mean(),
            "You left the padding out of the sum and still counted it. Add a column of padding: the mean should stay.",
        ),
        "mean of sentence means": (
            lambda losses, real: ((losses * real).sum(axis=1) / real.sum(axis=1)).mean(),
            "You averaged each sentence first, so a word in a short sentence counts more than a word in a long one.",
        ),
        "divided by sentences": (
            lambda losses, real: (losses * real).sum() / len(losses),
            "That is the loss of a sentence, on average. The statement asks for the loss of a token.",
        ),
        "a sum": (lambda losses, real: (losses * real).sum(), "That is the sum. A mean also divides."),
        "a loss of 0 taken for padding": (
            _nonzero_mean,
            "A token that was foretold with certainty has the loss 0, and it counts. What says which places are padding?",
        ),
        "mask turned round": (
            lambda losses, real: losses[~real].mean(),
            "Only padding counts in your mean. What does `real` say at a place that holds a token?",
        ),
    },
    alternatives={"loop": _mean_by_loop},
    success="Every token counts the same, however its sentence was padded or batched.",
    solution=r"""
Indexing with the booleans keeps the losses of real tokens, of all sentences in one row. Their mean divides by the number of real
tokens. A mean of sentence means would give a word of a short sentence more weight, as the second line printed below shows.

```python
def mean_loss(losses, real):
    return losses[real].mean()


losses = np.array([[1.0, 2.0, 6.0], [4.0, 9.0, 9.0]])
real = np.array([[True, True, True], [True, False, False]])
print("tokens:   ", mean_loss(losses, real))
print("sentences:", np.mean([losses[n][real[n]].mean() for n in range(2)]))
check(...)
```
""",
)

EXERCISES = (BEFORE_TRAINING, SMOOTH_TARGETS, WHICH_MEAN)
