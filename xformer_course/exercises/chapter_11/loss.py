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
An untrained model gives each of its 50 words the same probability. What is its loss per word, in nats and to two decimals, with plain cross-entropy and with label smoothing of 0.1? An expression is fine.""",
    hints=(
        "What probability does the right word get?",
        "The loss is −log of that probability. Smoothing takes a mean of −log p over all words. What is −log p of each of them here?",
        "Every −log p is log 50. The mean of equal numbers is that number.",
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
        "a probability": (
            {"plain": 1 / 50, "smoothed": 1 / 50},
            "That is the probability of the right word. The loss is minus its logarithm.",
        ),
        "smoothing scales the loss": (
            {"plain": math.log(50), "smoothed": 0.9 * math.log(50)},
            "You kept 0.9 of the loss for the target. The other 0.1 goes to all words, and they cost something too.",
        ),
        "smoothing adds to the loss": (
            {"plain": math.log(50), "smoothed": 1.1 * math.log(50)},
            "The wanted distribution still adds up to 1. What the other words get is taken from the target.",
        ),
        "no loss yet": (
            {"plain": 0.0, "smoothed": 0.0},
            "A loss of 0 means that the right word has probability 1. What probability does it have here?",
        ),
        "share taken for probability": (
            {"plain": math.log(50), "smoothed": -math.log(0.9 + 0.1 / 50)},
            "You took the logarithm of the *wanted* probability. The logarithm belongs to the probability that the model gives.",
            _smoothed_near(-math.log(0.902), -math.log(0.9)),
        ),
        "entropy of the target": (
            {"plain": math.log(50), "smoothed": 0.702},
            "That is the entropy of the wanted distribution, or the loss without it. The loss is a mean of −log p. What is −log p of each word here?",
            _smoothed_near(0.702, math.log(50) - 0.702),
        ),
        "part of the words only": (
            {"plain": math.log(50), "smoothed": 0.1 * math.log(50)},
            "That is only one share of the loss. Add the share of the target and the shares of all words: what do the weights add up to?",
            _smoothed_near(0.1 * math.log(50), 0.098 * math.log(50), 0.902 * math.log(50)),
        ),
        "a number for smoothing": (
            {"plain": math.log(50), "smoothed": math.log(50) - 0.1},
            "It looks as if you added or subtracted 0.1, or put 0.9 inside the logarithm. 0.1 is a weight. Of which numbers does smoothing take a mean?",
            _smoothed_near(math.log(50) - 0.1, math.log(50) + 0.1, 0.9 * math.log(50) + 0.1, -math.log(0.902 / 50)),
        ),
        "minus sign lost": (
            {"plain": -math.log(50), "smoothed": -math.log(50)},
            "A probability is at most 1, so its logarithm is at most 0. What sign must a loss have?",
            _both_near(-math.log(50)),
        ),
        "perplexity": (
            {"plain": 50.0, "smoothed": 50.0},
            "That is the perplexity: the model hesitates among 50 words. The loss is in nats. What undoes an exponential?",
            _both_near(50.0),
        ),
    },
    alternatives={"two decimals": {"plain": 3.91, "smoothed": 3.91}},
    success="A first loss far from log v means that something is wrong before training has begun.",
    solution=r"""
Every word has probability 1/50, so the target costs −log(1/50) = log 50. With smoothing, the loss is a weighted mean of −log p over all
words. All these numbers are log 50, so their mean is log 50 as well.

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
Write `smoothed_targets(targets, vocab_size, epsilon)`: a matrix of wanted distributions, with one row for each target id in `targets` and one column for each word. \
In each row the target keeps 1 − ε, and ε is shared evenly among all words, the target included.""",
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
        "rows below one": (_target_without_share, "Your rows add up to a little less than 1. The target gets its share of ε as well."),
        "no smoothing": (
            lambda targets, vocab_size, epsilon: np.eye(vocab_size)[targets],
            "These are one-hot rows. Print the entry of a word that is not the target. What should it be for ε = 0.2?",
        ),
        "epsilon for each word": (
            lambda targets, vocab_size, epsilon: (1 - epsilon) * np.eye(vocab_size)[targets] + epsilon,
            "Every word got the whole ε. Print the sums of your rows.",
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
            "Your rows add up to more than 1. The target must give away the ε that the words share.",
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
    success="Each row adds up to 1, and every word gets a little probability.",
    solution=r"""
Row n of `np.eye(vocab_size)[targets]` is 1 at target n and 0 elsewhere. We keep 1 − ε of it and add ε divided by the number of words to
every column. So each row adds up to 1 − ε + ε = 1.

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
`losses` (b, t) holds one loss for each place of a padded batch. `real` (b, t) is true where the place holds a target token and false at padding. Write `mean_loss(losses, real)`: the mean loss per real token.""",
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
            "You left the padding out of the sum but counted its places. Add a column of padding: the mean should stay the same.",
        ),
        "mean of sentence means": (
            lambda losses, real: ((losses * real).sum(axis=1) / real.sum(axis=1)).mean(),
            "You averaged each sentence first, so a word in a short sentence counts more than a word in a long one.",
        ),
        "divided by sentences": (
            lambda losses, real: (losses * real).sum() / len(losses),
            "That is the mean loss per sentence. The statement asks for the loss per token.",
        ),
        "a sum": (lambda losses, real: (losses * real).sum(), "That is the sum. Divide it by the number of real tokens."),
        "a loss of 0 taken for padding": (
            _nonzero_mean,
            "A token that was predicted with certainty has the loss 0, and it counts. Ask `real` which places are padding.",
        ),
        "mask turned round": (
            lambda losses, real: losses[~real].mean(),
            "Your mean counts nothing but padding. `real` is true where the place holds a token.",
        ),
    },
    alternatives={"loop": _mean_by_loop},
    success="Every token counts the same, whatever sentence it came from.",
    solution=r"""
`losses[real]` keeps the losses of the real tokens, all in one row. Their mean divides by the number of real tokens. A mean of sentence
means would give a word of a short sentence more weight, as the second printed line shows.

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
