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
    id="13.4",
    page="13a_five_more_ways",
    title="What a pass has gained",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
A draft has guessed k words: the list of ids `guess`. The model has read them in one pass and says k + 1 words of its own: the list of ids `own`. \
`own[n]` is the word that the model would write instead of `guess[n]`, after the words before it; the last word of `own` follows the whole guess. \
Write `accept(guess, own, eos_id)` in plain Python. It returns the list of all words that this pass adds to the sentence, which must \
come out as with greedy decoding. The sentence ends with `eos_id`: that word belongs to the list, and nothing follows it. \
A guess may be empty.""",
    hints=(
        "Up to which position did the model read words that really are in the sentence?",
        "The words before the first disagreement are right, and so is one more. Whose is it?",
        "Go through the positions of `own`, append own[n], and stop after it if guess[n] is missing or differs, or if it is `eos_id`.",
    ),
    stub="def accept(guess, own, eos_id):\n    return ...",
    reference=_accept,
    cases=_accept_cases,
    returns=("words",),
    wrong={
        "the model's own word is missing": (
            _without_own,
            "You return the accepted words and stop. At the position where the guess went wrong, the model had read a correct beginning: use what it said there.",
        ),
        "the guess alone": (
            _guess_alone,
            "You keep only words of the guess. What should a pass give when the first guess is wrong, or when there is none?",
        ),
        "no word after a full guess": (
            lambda guess, own, eos_id: _accept(guess, own, eos_id)[: len(guess)] if guess else [],
            "When the whole guess is right, you leave out the last word of `own`. The model has read the whole guess, so that word counts.",
        ),
        "all that the model said": (
            lambda guess, own, eos_id: own[: own.index(eos_id) + 1] if eos_id in own else own,
            "You also take what the model said after the first disagreement. There it had read a word that is not in the sentence.",
        ),
        "wherever they agree": (
            lambda guess, own, eos_id: [a for a, b in zip(guess, own) if a == b],
            "You collect all positions that agree, even after one that does not. What had the model read there?",
        ),
        "the guess's wrong word": (_guess_kept, "Your list has the right length. At the first disagreement, whose word should it hold?"),
        "behind the end": (
            lambda guess, own, eos_id: _accept(guess, own, -1),
            "Your sentence goes on after `eos_id`. Stop as soon as that word is in the list.",
        ),
        "no end": (
            lambda guess, own, eos_id: [word for word in _accept(guess, own, eos_id) if word != eos_id],
            "You drop `eos_id`. How would the loop know that the sentence is over?",
        ),
        "all or nothing": (
            lambda guess, own, eos_id: _accept(guess, own, eos_id) if (guess == own[: len(guess)]) else own[:1],
            "You throw the whole guess away when one of its words is wrong. Which of its words are certain before that one?",
        ),
        "compared one place late": (
            _one_late,
            "You compare `guess[n]` with `own[n + 1]`. Which of the model's words belongs to the same position as `guess[n]`?",
        ),
    },
    alternatives={"counted first": _accept_by_count},
    success="Whatever the draft says, the words are the model's own.",
    solution=r"""
The model's word at a position is right if everything before it is right. Therefore take the words of `own` up to the first one that differs
from the guess, that one included. If all agree, one more word follows the whole guess. Every word that you append is the model's own.

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
    id="13.5",
    page="13a_five_more_ways",
    title="When guessing pays",
    kind="predict",
    minutes=11,
    difficulty=2,
    statement="""\
A draft guesses four words per pass. Each of them is accepted with probability one half, if all words before it were accepted. \
How many words does a pass give on average, with the model's own word ("words a pass")? What does this average approach as the guesses become longer \
and longer ("without end")? Guessing a word takes a quarter of the time of a pass, which takes as long \
for five words as for one. How many times the speed of greedy decoding do you get with guesses of four words ("four ahead"), and with guesses of one \
word ("one ahead")? Three digits are enough.""",
    hints=(
        "The second word needs the first. What is the probability that both are accepted?",
        "The average number of accepted words is the sum of the probabilities that the first, the second, ... is accepted: 1/2 + 1/4 + ...",
        "Divide the words per pass by the price: 1 for the pass, and 1/4 for each word of the guess.",
    ),
    stub='answer = {"words a pass": ..., "without end": ..., "four ahead": ..., "one ahead": ...}',
    reference={"words a pass": 1.9375, "without end": 2.0, "four ahead": 0.96875, "one ahead": 1.2},
    tolerance=3e-3,
    wrong={
        "each word by itself": (
            {"words a pass": 3.0, "without end": float("inf"), "four ahead": 1.5, "one ahead": 1.2},
            "You count half of the four words. But the fourth word helps only if the first three were accepted as well.",
        ),
        "the model's own word is missing": (
            {"words a pass": 0.9375, "without end": 1.0, "four ahead": 0.46875, "one ahead": 0.4},
            "You count the accepted words. What does a pass give when the very first word is refused?",
        ),
        "the guess is free": (
            {"words a pass": 1.9375, "without end": 2.0, "four ahead": 1.9375, "one ahead": 1.5},
            "Your words are right, but in your speed the guess is free. What do four words of the draft cost?",
        ),
        "only the guess is paid": (
            {"words a pass": 1.9375, "without end": 2.0, "four ahead": 1.9375, "one ahead": 6.0},
            "Your words are right, but in your speed you pay only for the guess. What does the pass itself cost?",
        ),
        "all four or none": (
            {"words a pass": 1.25, "without end": 1.0, "four ahead": 0.625, "one ahead": 1.2},
            "You count the four words only if all are accepted. What do you gain if the first two are accepted and the third is not?",
        ),
    },
    alternatives={"three digits": {"words a pass": 1.94, "without end": 2.0, "four ahead": 0.97, "one ahead": 1.2}},
    success="Four words ahead lose and one word wins: the later words are rarely accepted, and you pay for each of them.",
    solution=r"""
The first word of the guess is accepted with probability 1/2. The second needs the first, so it is accepted with probability 1/4, and so
on. The model adds one word of its own. Therefore four guesses give 1 + 1/2 + 1/4 + 1/8 + 1/16 = 1.94 words per pass, and longer and longer
guesses approach 1 / (1 − 1/2) = 2. Guessing four words costs as much as a pass, so 1.94 words take the time of 2 passes: it would be
faster not to guess. One guess costs a quarter of a pass, and gives 1.5 words in the time of 1.25 passes.

```python
a, price = 0.5, 0.25
four, one = sum(a**n for n in range(5)), 1 + a
answer = {"words a pass": four, "without end": 1 / (1 - a),
          "four ahead": four / (1 + 4 * price), "one ahead": one / (1 + price)}
check(...)
```
""",
)
