"""Chapter 10, exercises on word alignments and on splits that do not leak."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, Misconception, case

LINKS = Exercise(
    id="10.3",
    title="Who translates whom",
    kind="predict",
    minutes=4,
    difficulty=1,
    statement="""\
*She does not see them* is *Elle ne les voit pas*. Which English word does each French word translate? Give its number, counted from 0.""",
    hints=(
        "Write the English words in a row, with their numbers 0 to 4. Which of them has no French partner?",
        "Two French words share one English word, and one word moves.",
        "*ne … pas* is *not*. The pronoun *les* comes before the verb, and its English partner comes after it.",
    ),
    stub='answer = {"Elle": ..., "ne": ..., "les": ..., "voit": ..., "pas": ...}',
    reference={"Elle": 0, "ne": 2, "les": 4, "voit": 3, "pas": 2},
    wrong={
        "word by word": Misconception(
            {"Elle": 0, "ne": 1, "les": 2, "voit": 3, "pas": 4},
            "You counted along both sentences. Forget the numbers: which English word does *les* translate?",
            recognise=lambda answer: (answer["ne"], answer["les"]) == (1, 2),
            whole=True,
        ),
        "ne for does": (
            {"Elle": 0, "ne": 1, "les": 4, "voit": 3, "pas": 2},
            "*ne* alone does not mean *does*. Take the negation away, *Elle les voit*: which two French words went with *not*?",
        ),
        "pronoun left in place": (
            {"Elle": 0, "ne": 2, "les": 3, "voit": 4, "pas": 2},
            "Look at your partners for *les* and *voit*. Which of them is a verb, in each language?",
        ),
        "counted from one": Misconception(
            {"Elle": 1, "ne": 3, "les": 5, "voit": 4, "pas": 3},
            "The partners are right, but your numbers begin at 1. The first word has the number 0.",
            whole=True,
        ),
    },
    alternatives={"floats": {"Elle": 0.0, "ne": 2.0, "les": 4.0, "voit": 3.0, "pas": 2.0}},
    success="One English word may have two partners, and *does* has none.",
    solution=r"""
*not* has two partners, *ne* and *pas*. *does* has none, because French negates without a helping verb. The pronoun *les* comes before its verb, so the links of *them* and *see* cross.

```python
answer = {"Elle": 0, "ne": 2, "les": 4, "voit": 3, "pas": 2}
check(...)
```
""",
)


def _linked(pairs):
    """Spread the smallest number of a group along shared sentences until nothing changes."""
    names = list(range(len(pairs)))
    changed = True
    while changed:
        changed = False
        for a, (english, french) in enumerate(pairs):
            for b, (other_english, other_french) in enumerate(pairs):
                if (english == other_english or french == other_french) and names[b] < names[a]:
                    names[a], changed = names[b], True
    return names


def _linked_cases(rng):
    def drawn(size, sentences):
        return [(int(english), int(french)) for english, french in rng.integers(0, sentences, size=(size, 2))]

    return [
        case([(0, 7), (1, 7), (1, 8), (2, 9)]),
        case([(5, 1), (6, 2), (7, 3), (6, 1), (7, 2)], note="a chain that closes late"),
        case([(0, 3), (1, 4), (3, 5)], note="an English and a French sentence with the same number"),
        case([(2, 5), (3, 6), (2, 7), (4, 5)]),
        case([(2, 2), (3, 2), (0, 0), (1, 0), (1, 1), (2, 1)], note="a chain whose links come in another order"),
        case([(0, 0), (5, 5), (5, 4), (4, 4), (4, 3), (3, 3), (3, 2), (2, 2), (2, 1), (1, 1), (1, 0)], note="a chain from its far end"),
        case(drawn(11, 9)),
        case(drawn(17, 13)),
        case([]),
    ]


def _one_side(side):
    def names(pairs):
        return [min(b for b, other in enumerate(pairs) if other[side] == pair[side]) for pair in pairs]

    return names


def _languages_mixed(pairs):
    same = [(min(pair), max(pair)) for pair in pairs]
    names = list(range(len(pairs)))
    for _ in pairs:
        for a, pair in enumerate(same):
            names[a] = min(names[b] for b, other in enumerate(same) if set(pair) & set(other))
    return names


def _one_pass(pairs):
    """Each pair takes the smaller name of its two sentences, and no earlier pair hears of it."""
    names, by_english, by_french = [], {}, {}
    for place, (english, french) in enumerate(pairs):
        name = min(by_english.get(english, place), by_french.get(french, place))
        by_english[english] = by_french[french] = name
        names.append(name)
    return names


def _numbered_in_turn(pairs):
    numbers = {}
    return [numbers.setdefault(name, len(numbers)) for name in _linked(pairs)]


def _named_after_the_last(pairs):
    names = _linked(pairs)
    return [len(names) - 1 - names[::-1].index(name) for name in names]


def _by_matrix(pairs):
    if not pairs:
        return []
    ids = np.array(pairs)
    reach = (ids[:, None] == ids[None, :]).any(axis=-1)
    for _ in range(len(pairs)):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    return reach.argmax(axis=1)


def _by_roots(pairs):
    parent = {}

    def root(name):
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    for english, french in pairs:
        parent[root(("french", french))] = root(("english", english))
    roots = [root(("english", english)) for english, _ in pairs]
    return tuple(roots.index(name) for name in roots)


TOGETHER = Exercise(
    id="10.4",
    title="What must stay together",
    kind="implement",
    minutes=15,
    difficulty=3,
    statement="""\
`pairs` is a list of (English, French) sentences. Each sentence is given as a number, and English 3 has nothing to do with French 3. Pairs that share a sentence on either side must go to the same part of a split, \
and so must pairs that are linked through others. Write `groups(pairs)`: for each pair the position of the first pair of its group. Plain Python is enough.""",
    hints=(
        "By hand: pairs 0 and 1 share their French, pairs 1 and 2 their English. Which of the three may be separated?",
        "Give each pair its own position as a name. Two pairs that share a sentence take the smaller name. Is it enough to do that once?",
        "Repeat it until no name changes.",
    ),
    stub="def groups(pairs):\n    return ...",
    reference=_linked,
    cases=_linked_cases,
    returns=("groups",),
    wrong={
        "English only": (
            _one_side(0),
            "Two pairs with the same French are in different groups. A model that has seen the French has seen the answer.",
        ),
        "French only": (_one_side(1), "Two pairs with the same English are in different groups. Compare both sides of the pairs."),
        "only direct neighbours": (
            lambda pairs: [min(b for b, other in enumerate(pairs) if other[0] == pair[0] or other[1] == pair[1]) for pair in pairs],
            "Pairs that share a sentence are together, but a group may be a chain: a with b, and b with c. Where does c belong?",
        ),
        "languages mixed up": (
            _languages_mixed,
            "You joined an English sentence with a French one because their numbers are equal. Keep the two languages apart.",
        ),
        "only identical pairs": (
            lambda pairs: [pairs.index(pair) for pair in pairs],
            "You join pairs only if both sides are equal. One shared sentence is enough to leak.",
        ),
        "one pass only": (
            _one_pass,
            "You go through the pairs once. When a pair joins two groups that already have names, the pairs before it do not hear of it.",
        ),
        "groups numbered in turn": (
            _numbered_in_turn,
            "The groups are right, but you number them 0, 1, 2, … The statement asks for the position of each group's first pair.",
        ),
        "positions from 1": (lambda pairs: [name + 1 for name in _linked(pairs)], "The groups are right. Count positions from 0."),
        "last pair of the group": (
            _named_after_the_last,
            "The groups are right, but each is named after one of its other pairs. The statement asks for the first one.",
        ),
    },
    alternatives={"matrix power": _by_matrix, "roots": _by_roots},
    success="Nothing in one group is linked to anything in another.",
    solution=r"""
Each pair starts with its own position as its name. Wherever two pairs share a sentence, both take the smaller name. We repeat this until
no name changes, because a name may have to travel along a chain.

```python
def groups(pairs):
    names = list(range(len(pairs)))
    changed = True
    while changed:
        changed = False
        for a, (english, french) in enumerate(pairs):
            for b, (other_english, other_french) in enumerate(pairs):
                shared = english == other_english or french == other_french
                if shared and names[b] < names[a]:
                    names[a], changed = names[b], True
    return names


check(...)
```

The loop compares all pairs with all pairs in every round. The library's `linked_groups` visits each pair only once;
[page w3](../w3_data_that_arrives_whole.ipynb#all-groups-in-one-visit) shows how.
""",
)

NEWCOMERS = ("Cheers! / Merci.", "Thanks a lot. / Merci !", "I see. / Je vous remercie.", "Bless you. / À vos souhaits.")


def _renamed(*answers):
    return dict(zip(NEWCOMERS, answers, strict=True))


RENAMED = Exercise(
    id="10.5",
    title="A newcomer renames a group",
    kind="predict",
    minutes=5,
    difficulty=2,
    statement="""\
We add *one* new pair to the six pairs of this section, and try four candidates in turn. Does the group of *Many thanks* get a new name, and so perhaps move to another part? Answer True or False for each.""",
    hints=(
        "Ask two questions for each newcomer. Does it belong to the group at all? And which sentence of the group then comes first in the alphabet?",
        "Case and punctuation do not count, and English names come before French ones. The name so far is `en:manythanks`.",
        "The third newcomer shares a sentence with *two* groups, so it joins them.",
    ),
    stub="""\
answer = {"Cheers! / Merci.": ..., "Thanks a lot. / Merci !": ...,
          "I see. / Je vous remercie.": ..., "Bless you. / À vos souhaits.": ...}""",
    reference=_renamed(True, False, True, False),
    wrong={
        "every newcomer renames": Misconception(
            _renamed(True, True, True, True),
            "You say that any new pair changes the name. But a group is named after one of its sentences. Which one?",
            whole=True,
        ),
        "no newcomer renames": Misconception(
            _renamed(False, False, False, False),
            "You say that a name never changes. Sort the English sentences of the group, with the new one among them.",
            whole=True,
        ),
        "linked is enough": (
            _renamed(True, True, True, False),
            "Three of the four join the group; that is right. Which of them come before *Many thanks* in the alphabet?",
        ),
        "alphabet without links": (
            _renamed(True, False, True, True),
            "All the pairs that you marked come before *Many thanks*. Does each of them belong to the group?",
        ),
        "joined group forgotten": (
            _renamed(True, False, False, False),
            "One newcomer shares its English with one group and its French with another. What happens to the two groups?",
        ),
        "alphabet turned round": Misconception(
            _renamed(False, True, False, False),
            "You marked a pair that comes after *Many thanks*, and left out one that comes before it. The first in the alphabet gives a group its name.",
            recognise=lambda answer: not answer[NEWCOMERS[0]] and bool(answer[NEWCOMERS[1]]),
            whole=True,
        ),
        "French links alone": (
            _renamed(True, True, False, False),
            "You marked the two that end in *Merci*. What else can link a pair to the group? And does each of the two change the name?",
        ),
        "links not looked at": (
            _renamed(False, False, True, True),
            "Take the newcomers one by one. Is it linked to the group? Does it come first in the alphabet? Both must be true.",
            lambda answer: bool(answer[NEWCOMERS[3]]) and not answer[NEWCOMERS[0]],
        ),
    },
    alternatives={"NumPy booleans": _renamed(*np.array([True, False, True, False])), "ones and zeros": _renamed(1, 0, 1, 0)},
    success="A split belongs to one version of the corpus.",
    solution=r"""
A group is named after its alphabetically first sentence, here `en:manythanks`. *Cheers* joins the group by its French and comes before
*Many thanks*. *Thanks a lot* joins, but comes after. *I see* joins two groups into one, which is named `en:isee`. *Bless you* comes
before, but shares no sentence with the group.

```python
answer = {"Cheers! / Merci.": True, "Thanks a lot. / Merci !": False,
          "I see. / Je vous remercie.": True, "Bless you. / À vos souhaits.": False}
check(...)
```

```python
from xformer_lib.data.corpora import linked_groups

pairs = [("Thank you.", "Merci."), ("Thank you.", "Je vous remercie."), ("Thanks!", "Merci !"),
         ("I see.", "Je vois."), ("I see the cat.", "Je vois le chat."), ("Many thanks.", "Merci.")]
renamed = {newcomer: linked_groups([*pairs, tuple(newcomer.split(" / "))])[5]
           for newcomer in answer}
for newcomer, name in renamed.items():
    print(f"{newcomer:30}{name}")
```

```python claims
#@title Claims about the book's numbers
assert {newcomer: name != linked_groups(pairs)[5] for newcomer, name in renamed.items()} == answer
```
""",
)

EXERCISES = (LINKS, TOGETHER, RENAMED)
