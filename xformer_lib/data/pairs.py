"""Sentence pairs of one's own: read from files, divided into parts, and kept beside the model that learned from them."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xformer_lib.data.corpora import linked_groups, normalise
from xformer_lib.data.files import write_atomically
from xformer_lib.data.typed import text_lines

__all__ = ["read_pairs", "split_pairs"]

Pair = tuple[str, str]
PARTS = ("train", "val", "test")
LEAST = 20  # pairs, of which one is held out for validation and one for a test
HELD_OUT = 1000  # pairs at most, in each of the two parts
NAME = "pairs.tsv"  # in the folder of a run


def read_pairs(*files: str | Path) -> list[Pair]:
    """Read one file with a source, a tab and a target in each line, or two files side by side; blank lines are passed over.

    Raises:
        ValueError: for a file that is no UTF-8, a line without exactly two columns, or with an empty one, two files that differ in
            their number of lines, or fewer than `LEAST` pairs.
        OSError: for a file that is not there.
    """
    if len(files) not in (1, 2):
        raise ValueError(f"pairs: expected one file with tabs, or two files side by side, got {len(files)}; name one or two")
    texts = [_lines(Path(file)) for file in files]
    if len(files) == 2 and len(texts[0]) != len(texts[1]):
        raise ValueError(
            f"pairs: expected as many lines in {files[1]} as in {files[0]}, got {len(texts[1])} and {len(texts[0])}; "
            "line n of one must translate line n of the other"
        )
    rows = [line.split("\t") for line in texts[0]] if len(files) == 1 else [list(row) for row in zip(*texts)]
    pairs = []
    for number, row in enumerate(rows, start=1):
        if not any(text.strip() for text in row):
            continue
        where = f"line {number} of {' and '.join(map(str, files))}"
        if len(row) != 2:
            wanted = "write one tab between source and target" if len(row) == 1 else "keep two, for example with cut -f 1,2"
            raise ValueError(f"pairs: expected two columns, got {len(row)} in {where}, {row[0][:30]!r}; {wanted}")
        source, target = map(normalise, row)
        if not source or not target:
            raise ValueError(f"pairs: expected a source and a target, got an empty one in {where}; fill it, or leave the line out")
        pairs.append((source, target))
    distinct = list(dict.fromkeys(pairs))
    if len(distinct) < LEAST:
        raise ValueError(f"pairs: expected at least {LEAST} different ones, got {len(distinct)}; a translator needs thousands")
    return distinct


def _lines(path: Path) -> list[str]:
    if path.is_dir():
        raise IsADirectoryError(f"pairs: expected a file, got the folder {path}; name a file in it")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"pairs: expected text in UTF-8, got other bytes at place {error.start} of {path}; save it as UTF-8") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"pairs: no file {path}; check the name, and the folder that you are in") from None
    return text_lines(text)


def split_pairs(pairs: list[Pair], *, seed: int = 1) -> dict[str, list[Pair]]:
    """Divide pairs into train, val and test; pairs that share a sentence stay together, a twentieth is held out for each of the two."""
    groups: dict[str, list[Pair]] = {}
    for pair, group in zip(pairs, linked_groups(pairs)):
        groups.setdefault(group, []).append(pair)
    order = [groups[name] for name in sorted(groups)]
    random.Random(seed).shuffle(order)
    order.sort(key=len, reverse=True)  # the largest groups are for training: they go first, the held-out parts are cut from the end
    wanted = min(HELD_OUT, max(1, len(pairs) // 20))
    parts: dict[str, list[Pair]] = {"train": [], "val": [], "test": []}
    for name in ("val", "test"):
        while len(order) > 1 and len(parts[name]) < wanted:
            parts[name] += order.pop()
    parts["train"] = [pair for group in order for pair in group]
    empty = [name for name in PARTS if not parts[name]]
    if empty:
        raise ValueError(
            f"pairs: expected sentences that differ, got too few for {' and '.join(empty)}; pairs that share a sentence "
            "stay in one part, and these all hang together"
        )
    return parts


def check_pairs_of(name: str, pairs: Any) -> None:
    """Raise ValueError unless these are (source, target) pairs of texts, one or more, that can be read more than once."""
    say = f"{name}: expected a list of pairs (source, target)"
    if isinstance(pairs, str | bytes | Mapping) or not isinstance(pairs, Sequence):
        raise ValueError(f"{say}, got {type(pairs).__name__}; write list(…), or read a file with data.pairs.read_pairs")
    for number, pair in enumerate(pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise ValueError(f"{say}, got {pair!r:.60} at place {number}; write [(source, target), …]")
        if not all(text.strip() for text in pair):
            raise ValueError(f"{say}, got an empty text at place {number}; leave the pair out")


def save_pairs(folder: Path, corpus: Mapping[str, Sequence[Pair]]) -> None:
    """Keep what a run learns from in its folder, a line for each pair: part, source, target."""
    rows = ["\t".join((part, *map(normalise, pair))) for part in PARTS for pair in corpus.get(part, ())]
    write_atomically(folder / NAME, ("\n".join(rows) + "\n").encode())


def load_pairs(folder: Path) -> dict[str, list[Pair]] | None:
    """Read what `save_pairs` kept; None where a run has learned from a corpus of the library."""
    path = folder / NAME
    if not path.exists():
        return None
    corpus: dict[str, list[Pair]] = {part: [] for part in PARTS}
    for number, line in enumerate(_lines(path), start=1):
        part, _, pair = line.partition("\t")
        source, tab, target = pair.partition("\t")
        if part not in corpus or not tab:
            raise ValueError(f"pairs: expected part, source and target, got {line[:30]!r} in line {number} of {path}; restore the file")
        corpus[part].append((source, target))
    return corpus
