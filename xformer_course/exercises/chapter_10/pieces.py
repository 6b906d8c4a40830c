"""Chapter 10, exercises on byte-pair encoding and on Unicode."""

import unicodedata

from xformer_course.exercises.exercise import Exercise, case


def _merged(ids, pair, new_id):
    result, position = [], 0
    while position < len(ids):
        if tuple(ids[position : position + 2]) == tuple(pair):
            result.append(new_id)
            position += 2
        else:
            result.append(ids[position])
            position += 1
    return result


def _merge_cases(rng):
    def drawn(size, kinds):
        return [int(number) for number in rng.integers(4, 4 + kinds, size=size)]

    return [
        case([4, 5, 6, 4, 5], (4, 5), 9),
        case([5, 4, 5, 4, 7], (4, 5), 9, note="the same two numbers in the other order"),
        case([7, 7, 7, 8], (7, 7), 9, note="the same number three times in a row"),
        case([6, 4, 5], (4, 5), 9, note="a pair at the very end"),
        case([4, 6, 5], (4, 5), 9, note="no such pair"),
        case([14, 5, 4, 51, 4, 5], (4, 5), 9, note="ids of two digits"),
        case(drawn(23, 2), (4, 5), 11),
        case(drawn(31, 2), (5, 5), 12),
        case([], (4, 5), 9),
    ]


def _first_only(ids, pair, new_id):
    for position in range(len(ids) - 1):
        if (ids[position], ids[position + 1]) == tuple(pair):
            return ids[:position] + [new_id] + ids[position + 2 :]
    return list(ids)


def _either_order(ids, pair, new_id):
    result, position = [], 0
    while position < len(ids):
        if sorted(ids[position : position + 2]) == sorted(pair):
            result.append(new_id)
            position += 2
        else:
            result.append(ids[position])
            position += 1
    return result


def _overlapping(ids, pair, new_id):
    hits = [p for p in range(len(ids) - 1) if (ids[p], ids[p + 1]) == tuple(pair)]
    covered = {p + 1 for p in hits}
    return [new_id if p in hits else number for p, number in enumerate(ids) if p in hits or p not in covered]


def _end_lost(ids, pair, new_id):
    result, position = [], 0
    while position < len(ids) - 1:
        if (ids[position], ids[position + 1]) == tuple(pair):
            result.append(new_id)
            position += 2
        else:
            result.append(ids[position])
            position += 1
    return result


def _merged_in_place(ids, pair, new_id):
    ids[:] = _merged(ids, pair, new_id)
    return ids


def _by_stack(ids, pair, new_id):
    stack, fresh = [], False
    for number in ids:
        if stack and not fresh and (stack[-1], number) == tuple(pair):
            stack[-1], fresh = new_id, True
        else:
            stack.append(number)
            fresh = False
    return tuple(stack)


MERGE = Exercise(
    id="10.1",
    title="One merge",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `merge(ids, pair, new_id)`, one step of byte-pair encoding on a list of ids. Go from left to right. Wherever the two numbers of `pair` follow each other in this order, they become `new_id`. \
A number can be part of only one merge. Return a new list. Plain Python is enough.""",
    hints=(
        "What should happen to `[7, 7, 7]` and the pair `(7, 7)`?",
        "After a merge, continue after both numbers. Otherwise move on by one.",
        "A `while` loop with a position: compare `ids[position:position + 2]` with the pair, and advance by 2 or by 1.",
    ),
    stub="def merge(ids, pair, new_id):\n    return ...",
    reference=_merged,
    cases=_merge_cases,
    returns=("ids",),
    pure=True,
    wrong={
        "first place only": (_first_only, "You merge only the first match. Print your answer for a list that holds the pair twice."),
        "either order": (_either_order, "You also merge the two numbers the other way round. *ab* and *ba* are different pieces."),
        "overlapping merges": (_overlapping, "You used one number in two merges. How many merges can three equal numbers give?"),
        "last id lost": (_end_lost, "Your list ends too early. The last number has no right neighbour, but it belongs to the text."),
        "second number kept": (
            lambda ids, pair, new_id: [new_id if tuple(ids[p : p + 2]) == tuple(pair) else number for p, number in enumerate(ids)],
            "You replaced the pair, but its second number is still there. A merge uses up two numbers.",
        ),
        "merged in place": (_merged_in_place, "The result is right, but the caller's list changed. Print `ids` after the call."),
    },
    alternatives={"stack": _by_stack},
    success="Do this for every learned pair in turn, and you have an encoder.",
    solution=r"""
A merge uses up two numbers, so the position advances by two after a merge, and otherwise by one. The last number has no right neighbour
and is copied. In the chapter, Python's `replace` does the walking.

```python
def merge(ids, pair, new_id):
    merged, position = [], 0
    while position < len(ids):
        if tuple(ids[position:position + 2]) == tuple(pair):
            merged.append(new_id)
            position += 2
        else:
            merged.append(ids[position])
            position += 1
    return merged


check(...)
```
""",
)


def _same_ids(answer):
    if not isinstance(answer, (tuple, list)) or len(answer) != 2 or not all(isinstance(text, str) for text in answer):
        return "two strings are expected"
    one, two = (unicodedata.normalize("NFC", text) for text in answer)
    if [len(text) for text in answer] != [1, 1]:
        return f"each should be one character long; yours have {len(answer[0])} and {len(answer[1])}"
    if answer[0] == answer[1]:
        return "Python calls these two strings equal; they must differ"
    return None if one == two else "their ids differ: print both strings with `ascii` and compare them in form NFC"


def _strings(answer):
    return isinstance(answer, (tuple, list)) and len(answer) == 2 and all(isinstance(text, str) for text in answer)


def _form(kind, answer):
    return [unicodedata.normalize(kind, text) for text in answer]


def _two_others(answer):
    """Two characters that NFC keeps apart, one of them beyond ASCII."""
    return _strings(answer) and list(map(len, answer)) == [1, 1] and len(set(_form("NFC", answer))) == 2 and not "".join(answer).isascii()


TWINS = Exercise(
    id="10.2",
    title="Twins",
    kind="explore",
    minutes=6,
    difficulty=2,
    statement="""\
Find two strings of *one* character each that Python considers different, but that every tokenizer in this chapter turns into the same ids. Give them as a pair of strings. Plain Python is enough.""",
    hints=(
        "What does the tokenizer do to a text before anything else?",
        "Form NFC also replaces some characters with others that look the same. Unicode has its own signs for a few units of measurement. (NFC leaves µ for micro alone.)",
        'The sign for kelvin is `"\\u212a"`. What does `unicodedata.normalize("NFC", "\\u212a")` give, and what does `ascii` print for it?',
    ),
    stub="twins = ...",
    reference=("\u212a", "K"),
    accepts=_same_ids,
    wrong={
        "letter and accent": (
            ("\u00e9", "e\u0301"),
            "Right, but too long: a spelling with a separate accent is two characters. Is there a pair in which nothing is composed?",
            lambda answer: (
                _strings(answer)
                and answer[0] != answer[1]
                and max(map(len, answer)) == 2
                and len({unicodedata.normalize("NFC", text) for text in answer}) == 1
            ),
        ),
        "equal strings": (
            ("c", "c"),
            "These are equal for Python as well. Look for two that `==` tells apart.",
            lambda answer: _strings(answer) and answer[0] == answer[1],
        ),
        "another normal form": (
            ("\uff21", "A"),
            "Form NFKC would make these two equal. The tokenizer uses NFC, which keeps them apart. Compare them in both forms.",
            lambda answer: (
                _strings(answer)
                and len(set(_form("NFC", answer))) == 2
                and len(set(_form("NFKC", answer))) == 1
                and answer[0].split() != answer[1].split()
            ),
        ),
        "case folded": (
            ("C", "c"),
            "A capital is a different character, and NFC keeps it. The tokenizer must give the text back as it was.",
            lambda answer: (
                _strings(answer)
                and answer[0] != answer[1]
                and answer[0].casefold() == answer[1].casefold()
                and unicodedata.normalize("NFC", answer[0]) != unicodedata.normalize("NFC", answer[1])
            ),
        ),
        "spaces alike": (
            (" ", "\u00a0"),
            "Each kind of space is part of the text. `normalise` tidies the spaces of a corpus, but the tokenizer does not.",
            lambda answer: _strings(answer) and answer[0] != answer[1] and answer[0].split() == answer[1].split(),
        ),
        "accent dropped": (
            ("é", "e"),
            "An accent changes the word, and NFC never removes one. It only chooses how the accent is written.",
            lambda answer: (
                _strings(answer)
                and any(
                    all(ord(c) < 128 for c in plain)
                    and plain == "".join(c for c in unicodedata.normalize("NFD", other) if not unicodedata.combining(c))
                    and unicodedata.normalize("NFC", other) != plain
                    for plain, other in (answer, answer[::-1])
                )
            ),
        ),
        "look-alike letters": (
            ("a", "\u0430"),
            "To the eye they may be twins. For Unicode they are two letters, and NFC keeps both. Print each with `unicodedata.name`.",
            _two_others,
        ),
    },
    alternatives={"ångström and ring": ["\u00c5", "\u212b"], "ohm": ("\u2126", "\u03a9")},
    success="They look the same, so they should be the same to the model.",
    solution=r"""
The tokenizer first brings a text to form NFC. That composes a letter and its accent. It also replaces a few signs with the letter that
they look like: the sign for kelvin becomes *K*, the signs for ångström and ohm become *Å* and *Ω*.

```python
twins = ("\u212a", "K")
print([ascii(text) for text in twins])
check(...)
```

```python
tokenizer = Tokenizer.train(["K"], vocab_size=260)
print([tokenizer.encode(text) for text in twins], twins[0] == twins[1])
```

```python claims
#@title Claims about the book's numbers
assert twins[0] != twins[1] and tokenizer.encode(twins[0]) == tokenizer.encode(twins[1])
```
""",
)

EXERCISES = (MERGE, TWINS)
