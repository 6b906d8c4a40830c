"""Parallel corpora: read in pairs, compared with their checksums, split so that no sentence leaks; page w3 explains it."""

import gzip
import hashlib
import json
import unicodedata
from collections import Counter
from functools import cache
from importlib.resources import files

from xformer_lib.data._download import CorpusDamaged, CorpusUnavailable, corpus_bytes
from xformer_lib.data._words import find_words
from xformer_lib.data.fragment import fragment_split
from xformer_lib.data.splits import _part_of, linked_groups, sentence_keys

__all__ = ["normalise", "load_corpus"]


_PLAIN = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'})


def normalise(text: str) -> str:
    """Composed characters, plain spaces and quotes, nothing at the ends.

    >>> normalise("  Ça va\u202f?  L’été ")
    "Ça va ? L'été"
    """
    return " ".join(unicodedata.normalize("NFC", text).translate(_PLAIN).split())


# for files that are wrong or missing
CORPUS_ERRORS = (CorpusDamaged, CorpusUnavailable)


def _paired(name: str, english: str, french: str) -> list[tuple[str, str]]:
    """Two texts read side by side: line n of one translates line n of the other."""
    left, right = (text.rstrip("\n").split("\n") for text in (english, french))
    if len(left) != len(right):
        raise CorpusDamaged(
            f"{name}: expected as many English as French lines, got {len(left)} and {len(right)}; download both files again"
        )
    return [(normalise(one), normalise(other)) for one, other in zip(left, right, strict=True)]


_PUBLISHED = {"train": "train", "val": "val", "test": "test_2016_flickr"}


def _multi30k_published(split: str) -> list[tuple[str, str]]:
    """A part of Multi30k as its authors cut it, normalised."""
    packed = [corpus_bytes(f"multi30k/{_PUBLISHED[split]}.{language}.gz") for language in ("en", "fr")]
    return _paired(f"multi30k {split}", *(gzip.decompress(data).decode("utf-8") for data in packed))


def _multi30k(split: str) -> list[tuple[str, str]]:
    """The same, less the training pairs that share a sentence with the other parts."""
    pairs = _multi30k_published(split)
    if split != "train":
        return pairs
    held_out = {key for part in ("val", "test") for pair in _multi30k_published(part) for key in sentence_keys(pair)}
    return [pair for pair in pairs if held_out.isdisjoint(sentence_keys(pair))]


_SOURCES = files("xformer_lib.data").joinpath("sources.json")
_LISTED = frozenset(json.loads(_SOURCES.read_text(encoding="utf-8"))["offensive"])


@cache
def _is_listed(language: str, word: str) -> bool:
    """Is it a listed slur or obscenity? The list holds hashes, not the words."""
    return hashlib.sha256(f"{language}:{word}".encode()).hexdigest()[:8] in _LISTED


def _is_offensive(pair: tuple[str, str]) -> bool:
    return any(
        _is_listed(language, word) for language, text in zip(("en", "fr"), pair, strict=True) for word in find_words(text.casefold())
    )


@cache
def _tatoeba_parts() -> dict[str, tuple]:
    """Distinct, inoffensive pairs; groups of more than 20 go to training."""
    lines = corpus_bytes("tatoeba/fra-eng.zip").decode("utf-8").rstrip("\n").split("\n")
    rows = [line.split("\t") for line in lines]
    distinct = dict.fromkeys((normalise(row[0]), normalise(row[1])) for row in rows)
    pairs = [pair for pair in distinct if not _is_offensive(pair)]

    groups = linked_groups(pairs)
    sizes = Counter(groups)
    parts: dict[str, list] = {"train": [], "val": [], "test": []}
    for pair, group in zip(pairs, groups, strict=True):
        parts[_part_of(group) if sizes[group] <= 20 else "train"].append(pair)
    return {split: tuple(part) for split, part in parts.items()}


def _fragment(split: str) -> list[tuple[str, str]]:
    return [(example.source, example.target) for example in fragment_split(split)]


def _tatoeba(split: str) -> list[tuple[str, str]]:
    return list(_tatoeba_parts()[split])


_CORPORA = {"fragment": _fragment, "multi30k": _multi30k, "tatoeba": _tatoeba}


def load_corpus(name: str, split: str = "train") -> list[tuple[str, str]]:
    """English–French sentence pairs: ``split`` is "train", "val" or "test".

    ``fragment`` is generated here. ``multi30k`` (image captions, for research and
    education only) and ``tatoeba`` (CC BY 2.0 FR, credit to tatoeba.org and
    manythings.org) come from the folder that ``XFORMER_DATA`` names, or are downloaded
    once; both are checked against what was published. With ``-fr-en`` behind it a name
    stands for the same pairs turned round, French first.

    >>> len(load_corpus("fragment", "test"))
    500
    """
    corpus, parts = str(name).removesuffix("-fr-en"), ("train", "val", "test")
    if corpus not in _CORPORA:
        raise ValueError(
            f"name: expected one of {', '.join(_CORPORA)}, got {name!r}; choose one of these, for French first with -fr-en behind it"
        )
    if split not in parts:
        raise ValueError(f"split: expected one of {', '.join(parts)}, got {split!r}; choose one of these")
    pairs = _CORPORA[corpus](split)
    return pairs if corpus == name else [(french, english) for english, french in pairs]
