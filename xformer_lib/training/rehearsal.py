"""What a fine-tuned model began with: its sentences are rehearsed, and compared at the end; page 12h shows it."""

import json
from importlib.resources import files
from itertools import chain
from pathlib import Path

from xformer_lib.data.corpora import normalise
from xformer_lib.data.files import write_atomically
from xformer_lib.data.fragment import fragment_split
from xformer_lib.data.pairs import load_pairs
from xformer_lib.decoding.sentences import translate
from xformer_lib.training.checkpoint import load_model, load_settings
from xformer_lib.training.config import TrainConfig

__all__: list[str] = []  # for the library itself

NAME = "kept.json"  # in the folder of a run
COMPARED = 20  # sentences, never rehearsed
MOST = 1000  # sentences that are rehearsed


def known_sentences(folder: Path) -> tuple[list[str], list[str]]:
    """Return sentences that a trained model reads: some to rehearse, and others to compare.

    They are those of its own pairs where its folder has them, and otherwise everyday ones
    and the fragment's, which come with the library.
    """
    corpus, own = load_settings(folder)[0].corpus, load_pairs(folder)
    if own is not None:
        rows = own["train"]
    else:
        rows = [(one.source, one.target) for one in fragment_split("train")[:MOST]]
        if not corpus.startswith("fragment"):
            text = (
                files("xformer_lib.data").joinpath("everyday.json").read_text("utf-8")
            )
            everyday = list(map(tuple, json.loads(text)))
            mixed = chain.from_iterable(zip(everyday[COMPARED:], rows))  # by turns
            rows = [*everyday[:COMPARED], *mixed, *rows]
    side = int(own is None and corpus.endswith("-fr-en"))
    texts = list(dict.fromkeys(normalise(row[side]) for row in rows))
    compared = min(COMPARED, len(texts) // 2)
    return texts[compared:], texts[:compared]


def rehearse(config: TrainConfig, corpus: dict, start: Path, device: str) -> dict:
    """Return the pairs with ``config.rehearsal`` old sentences for each new one in training,
    each with what the model of ``start`` makes of it."""
    new = {normalise(source) for part in corpus.values() for source, _ in part}
    old = [text for text in known_sentences(start)[0] if text not in new]
    old = old[: min(MOST, round(config.rehearsal * len(corpus["train"])))]
    said = translate(*load_model(start, device=device), old) if old else []
    kept = [(source, target) for source, target in zip(old, said) if target.strip()]
    return {**corpus, "train": [*corpus["train"], *kept]}


def note_before(folder: Path, start: Path, device: str) -> None:
    """Keep what the model of ``start`` makes of some sentences in the folder of a run."""
    sources = known_sentences(start)[1]
    before = translate(*load_model(start, device=device), sources)
    write_record(folder, {"start": start.name, "sources": sources, "before": before})


def compare(folder: Path, device: str) -> dict | None:
    """Return how much of what a run's first model wrote its best one writes, word for
    word and in BLEU; None for a run that began with no trained model."""
    path = folder / NAME
    if not path.exists():
        return None
    from xformer_lib.evaluation import (
        bleu,
    )  # which needs sacreBLEU, as training does not

    record = json.loads(path.read_text(encoding="utf-8"))
    after = translate(*load_model(folder, device=device), record["sources"])
    same = sum(map(str.__eq__, after, record["before"]))
    score = bleu(after, record["before"]).value
    return record | {"after": after, "same": same, "bleu": round(score, 1)}


def write_record(folder: Path, record: dict) -> None:
    text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    write_atomically(folder / NAME, text.encode())
