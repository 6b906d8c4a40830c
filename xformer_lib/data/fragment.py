"""The fragment: English and French sentences of a small grammar, with exact word links; page w3 explains it."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from xformer_lib.data._grammar import Agreement, Phrase, be, elides, noun_phrase, phrase, predicate_noun, random_phrase

__all__: list[str] = []  # for the library itself


@dataclass(frozen=True)
class Example:
    """A sentence pair with its gold word alignment.

    ``alignment`` holds pairs (source word, target word), counted from 0 over
    ``split_words``. A word that only one language needs ("do", or "an" before a
    profession) has no link.

    Raises:
        ValueError: If a link leads to a word that is not there.
    """

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]

    def __post_init__(self):
        words = len(split_words(self.source)), len(split_words(self.target))
        for link in self.alignment:
            if not all(0 <= place < count for place, count in zip(link, words)):
                raise ValueError(f"alignment: expected places in {words[0]} and {words[1]} words, counted from 0, got {link}")


def split_words(text: str) -> list[str]:
    """Cut a sentence at its spaces and after each apostrophe.

    >>> split_words("L'homme n'est pas ici")
    ["L'", 'homme', "n'", 'est', 'pas', 'ici']
    """
    return re.findall(r"[^\s']+'?", text)


_ELISION = {word: word[0] + "'" for word in ("je", "ne", "de", "le", "la", "me", "te")}
_CONTRACTION = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}


def _elide(french: tuple) -> list:
    """je ai → j'ai, la école → l'école."""
    return [
        (_ELISION[text] if text in _ELISION and elides(after) else text, links)
        for (text, links), (after, _) in pairwise((*french, (".", ())))
    ]


def _contract(french: list) -> list:
    """à le jardin → au jardin; the joined word keeps the links of both."""
    joined = french[:1]
    for text, links in french[1:]:
        before, its_links = joined[-1]
        if (before, text) in _CONTRACTION:
            joined[-1] = (_CONTRACTION[before, text], its_links + links)
        else:
            joined.append((text, links))
    return joined


def _sentence(words: Phrase) -> Example:
    """The finished pair: elision, then contraction, capitals,
    and the links read off."""
    french = _contract(_elide(words.french))
    source = " ".join(words.english)
    target = " ".join(text for text, _ in french).replace("' ", "'")
    links = sorted((link, position) for position, (_, found) in enumerate(french) for link in found)
    return Example(source[0].upper() + source[1:], target[0].upper() + target[1:], tuple(links))


def sample_example(rng: np.random.Generator) -> Example:
    """One sentence pair of the fragment, at most ten English words long."""
    while True:
        drawn = random_phrase(rng)
        if len(drawn.english) <= 10:
            return _sentence(drawn)


def sample_pairs(n: int, *, rng: np.random.Generator) -> list[Example]:
    """``n`` examples with distinct English sentences, in the order they were drawn."""
    if not 0 <= n <= 100_000:
        raise ValueError(f"n: expected a number from 0 to 100000, got {n}; ask for fewer sentences")
    found: dict[str, Example] = {}
    while len(found) < n:
        example = sample_example(rng)
        found.setdefault(example.source, example)
    return list(found.values())


def running_examples() -> list[Example]:
    """The three sentences that come back throughout the course,
    made by the same rules."""
    speaker = phrase("I", "je/0", Agreement(0))
    return [
        _sentence(phrase("hello world", "bonjour/0 le/ monde/1")),
        _sentence(noun_phrase("the", "big", "yellow", "cat", False)),
        _sentence(be(speaker, False).then(predicate_noun("engineer", speaker.agreement))),
    ]


@cache
def _drawn() -> tuple[Example, ...]:
    """13,000 examples, distinct in English and in French;
    the running examples stand first."""
    found: dict[str, Example] = {}
    drawn = sample_pairs(13_500, rng=np.random.default_rng(10))
    for example in running_examples() + drawn:
        found.setdefault(example.target, example)
    return tuple(found.values())[:13_000]


def fragment_split(split: str = "train") -> list[Example]:
    """A part of the fragment: 12,000 training, 500 validation, 500 test examples.

    No sentence, English or French, occurs in two parts; the running examples are in
    training.
    """
    ends = {"train": (0, 12_000), "val": (12_000, 12_500), "test": (12_500, 13_000)}
    if split not in ends:
        raise ValueError(f"split: expected one of {', '.join(ends)}, got {split!r}; choose one of these")
    return list(_drawn()[slice(*ends[split])])
