"""Chapter 13, exercises on speculative decoding: which words of a guess count, and what a pass gives on average."""

from xformer_course.exercises.exercise import Exercise, case

EOS = 2


def _accept(guess, own, eos_id):
    words = []
    for guessed, said in zip([*guess, None], own):
        words.append(said)
        if guessed != said or said == eos_id:
            break
    return words


def _accept_cases(rng):
    def pair(length, right):
        own = rng.permutation(range(3, 40))[: length + 1].tolist()
        return [*own[:right], *(word + 40 for word in own[right:length])], own

    back_again = [7, 30, 9, 11], [7, 8, 9, 11, 12]
    return [
        case([17, 5, 11, 9], [17, 5, 13, 4, 8], EOS),
        case([17, 5], [17, 5, 8], EOS, note="a guess that is right to its end"),
        case([9, 4, 6], [3, 4, 6, 5], EOS, note="a first word that is wrong, and later ones that agree"),
        case(*back_again, EOS, note="a wrong word between right ones"),
        case([], [21], EOS, note="no guess at all"),
        case([5, EOS, 7], [5, EOS, 7, 8], EOS, note="a sentence that ends inside the guess"),
        case([5, 6, 7], [5, EOS, 7, 8], EOS, note="a sentence that the model ends"),
        case([5, EOS, 7], [5, 6, 9, 8], EOS, note="a guess that ends too early"),
        case(*pair(7, 4), EOS),
        case(*pair(5, 5), 0, note="another number for the end of a sentence"),
    ]


def _without_own(guess, own, eos_id):
    words = _accept(guess, own, eos_id)
    return words if len(words) > len(guess) or words == guess[: len(words)] else words[:-1]


def _guess_alone(guess, own, eos_id):
    words = _accept(guess, own, eos_id)
    return words if words == guess[: len(words)] else words[:-1]


def _guess_kept(guess, own, eos_id):
    words = _accept(guess, own, eos_id)
    return [*guess[: len(words)], *words[len(guess) :]]


def _one_late(guess, own, eos_id):
    words = own[:1]
    for guessed, said in zip(guess, own[1:]):
        words.append(said)
        if guessed != said or said == eos_id:
            break
    return words


def _accept_by_count(guess, own, eos_id):
    right = 0
    while right < len(guess) and guess[right] == own[right] != eos_id:
        right += 1
    return own[: right + 1]


ACCEPT = Exercise(
    id="13.3",
    title="What a pass has gained",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
A draft has guessed the words `guess`, a list of k ids. The large model has read them in one pass; `own` is the list of k + 1 \
ids that it says itself: `own[n]` in the place of `guess[n]`, after the words before it, and the last one after the whole guess. \
Write `accept(guess, own, eos_id)` in plain Python: the list of all words that this pass adds to the sentence, so that \
it becomes the one of greedy decoding. The sentence ends with `eos_id`, which belongs to the list; nothing comes behind it. \
A guess may be empty.""",
    hints=(
        "Up to which place did the model read a beginning that is really the sentence's?",
        "The words before the first disagreement are right, and so is one more. Whose is it?",
        "Go through the places of `own`, append own[n], and stop after it if guess[n] is missing or differs, or if it is `eos_id`.",
    ),
    stub="def accept(guess, own, eos_id):\n    return ...",
    reference=_accept,
    cases=_accept_cases,
    returns=("words",),
    wrong={
        "the model's own word is missing": (
            _without_own,
            "The accepted words are there. What did the model say at the place where the guess went wrong, and had it read the right beginning?",
        ),
        "the guess alone": (
            _guess_alone,
            "You keep accepted words of the guess and none of the model's. What does a pass give when the first word is wrong, or the guess empty?",
        ),
        "no word after a full guess": (
            lambda guess, own, eos_id: _accept(guess, own, eos_id)[: len(guess)] if guess else [],
            "If all of the guess is right, the model has read all of it. There is one more word in `own`.",
        ),
        "all that the model said": (
            lambda guess, own, eos_id: own[: own.index(eos_id) + 1] if eos_id in own else own,
            "Behind the first disagreement the model had read a word that the sentence does not contain. Do its words there count?",
        ),
        "wherever they agree": (
            lambda guess, own, eos_id: [a for a, b in zip(guess, own) if a == b],
            "You collect the places that agree, also behind one that does not. What had the model read there?",
        ),
        "the guess's wrong word": (_guess_kept, "Your list has the right length. Whose word stands at the first disagreement?"),
        "behind the end": (
            lambda guess, own, eos_id: _accept(guess, own, -1),
            "Your sentence goes on behind `eos_id`. Where must the list end when that word comes?",
        ),
        "no end": (
            lambda guess, own, eos_id: [word for word in _accept(guess, own, eos_id) if word != eos_id],
            "Your list never holds `eos_id`. How would the loop around it know that the sentence is over?",
        ),
        "all or nothing": (
            lambda guess, own, eos_id: _accept(guess, own, eos_id) if (guess == own[: len(guess)]) else own[:1],
            "A guess that is partly right gains only one word with you. Which of its words are certain before the first disagreement?",
        ),
        "compared one place late": (
            _one_late,
            "You compare `guess[n]` with `own[n + 1]`. Which of the model's words stands in the same place as `guess[n]`?",
        ),
    },
    alternatives={"counted first": _accept_by_count},
    success="Whatever the draft says, the words are the model's own.",
    solution=r"""
The model's word at a place is right if all before it is right. So the words of `own` count up to and with the first that differs from
the guess; where all agree there is one more, after the whole guess. Every word that is appended is the model's own.

```python
def accept(guess, own, eos_id):
    words = []
    for place, said in enumerate(own):
        words.append(said)
        was_guessed = place < len(guess) and guess[place] == said
        if said == eos_id or not was_guessed:
            break
    return words


check(...)
```
""",
)

AVERAGE = Exercise(
    id="13.4",
    title="When guessing pays",
    kind="predict",
    minutes=11,
    difficulty=2,
    statement="""\
A draft guesses four words a pass. If all words before it were accepted, a word of the guess is accepted with probability one half. \
How many words does a pass give on average, the model's own included ("words a pass")? How many could it give at most on average, \
if the guesses were made ever longer ("without end")? Guessing one word takes a quarter of the time of a pass, and a pass takes as long \
for five words as for one. How many times as fast as greedy decoding is this, with guesses of four words ("four ahead") and of one \
("one ahead")? Give numbers; three digits are enough.""",
    hints=(
        "With which probability is the second word of the guess accepted? It needs the first.",
        "The average number of accepted words is the sum of the probabilities that the first, the second, ... is accepted: 1/2 + 1/4 + ...",
        "Words a pass, divided by the price: 1 for the pass and 1/4 for each word of the guess.",
    ),
    stub='answer = {"words a pass": ..., "without end": ..., "four ahead": ..., "one ahead": ...}',
    reference={"words a pass": 1.9375, "without end": 2.0, "four ahead": 0.96875, "one ahead": 1.2},
    tolerance=3e-3,
    wrong={
        "each word by itself": (
            {"words a pass": 3.0, "without end": float("inf"), "four ahead": 1.5, "one ahead": 1.2},
            "You count half of the four words. But the fourth is of use only if the first three were accepted as well.",
        ),
        "the model's own word is missing": (
            {"words a pass": 0.9375, "without end": 1.0, "four ahead": 0.46875, "one ahead": 0.4},
            "You count the accepted words. What does a pass give when the very first word is refused?",
        ),
        "the guess is free": (
            {"words a pass": 1.9375, "without end": 2.0, "four ahead": 1.9375, "one ahead": 1.5},
            "The words are right. For the speed, what do four words of the draft cost before the pass begins?",
        ),
        "only the guess is paid": (
            {"words a pass": 1.9375, "without end": 2.0, "four ahead": 1.9375, "one ahead": 6.0},
            "The words are right. For the speed you pay the guess alone. What does the pass itself cost?",
        ),
        "all four or none": (
            {"words a pass": 1.25, "without end": 1.0, "four ahead": 0.625, "one ahead": 1.2},
            "You let four words count only together. What is gained if the first two are accepted and the third is not?",
        ),
    },
    alternatives={"three digits": {"words a pass": 1.94, "without end": 2.0, "four ahead": 0.97, "one ahead": 1.2}},
    success="Guessing four words loses and guessing one wins: the later words are seldom accepted, and each is paid for.",
    solution=r"""
The first word of the guess is accepted with probability 1/2, the second with 1/4, since it needs the first, and so on. Each accepted
word counts one, and the model adds one of its own. So four guesses give 1 + 1/2 + 1/4 + 1/8 + 1/16 = 1.94 words a pass, and guesses
without end 1 / (1 − 1/2) = 2. Guessing four words costs as much as a pass, so 1.94 words take the time of 2 passes, which is slower
than no guess at all. One guess costs a quarter: 1.5 words in 1.25 passes.

```python
a, price = 0.5, 0.25
four, one = sum(a**n for n in range(5)), 1 + a
answer = {"words a pass": four, "without end": 1 / (1 - a),
          "four ahead": four / (1 + 4 * price), "one ahead": one / (1 + price)}
check(...)
```
""",
)
