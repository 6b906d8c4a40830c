"""Count what the caption models of chapter 11 got right, sentence by sentence, so that a page needs no caption to compare them.

    python benchmarks/captions.py          → results/captions-compared.json

Multi30k may be used for research and teaching and not be handed on, so results/ holds none of its sentences. Counts are not
sentences: from BLEU's ten counts of each sentence the bootstrap of page 12e is computed on any machine, and from the
commonness of words the last but one misconception is refuted. Reads the translations that the recorded runs stored.
"""

import argparse
import json
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import sacrebleu

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.corpora import load_corpus
from xformer_lib.evaluation import bleu, bleu_by_length, bleu_counts, word_errors

ROOT = Path(__file__).parent.parent
RUNS = {"short run": "multi30k-en-fr-10min", "long run": "multi30k-en-fr-30min"}


def system(name: str, run: str, english: list[str], french: list[str]) -> dict:
    """The counts of one recorded run: BLEU's, sentence by sentence, by length, and its word errors by kind."""
    record = json.loads((ROOT / "results" / f"{run}.json").read_text(encoding="utf-8"))
    said = record["hypotheses"]
    groups = [asdict(group) for group in bleu_by_length(english, said, french)]
    errors = Counter(error.kind for pair in zip(said, french, strict=True) for error in word_errors(*pair))
    return {
        "name": name,
        "record": run,
        "minutes": record["minutes"],
        "dropout": record["config"]["model"]["dropout"],
        "bleu": vars(bleu(said, french)),
        "by_length": groups,
        "word_errors": dict(sorted(errors.items())),
        "counts": bleu_counts(said, french).T.tolist(),  # ten rows, a column per sentence
    }


def short_and_long(english: list[str]) -> list[int]:
    """The captions of up to 8 and of 19 words and more, by their numbers."""
    return [n for n, text in enumerate(english) if not 8 < len(text.split()) < 19]


def ladder(english: list[str], french: list[str]) -> dict:
    """BLEU's counts of the shortest and the longest captions, for each seed of the families of page 12c."""
    found, chosen = {}, short_and_long(english)
    runs = json.loads((ROOT / "results" / "ladder.json").read_text(encoding="utf-8"))
    for family in ("gru", "gru-attention", "transformer"):
        said = [runs[f"{family}-seed{seed}"]["hypotheses"] for seed in (1, 2, 3)]
        found[family] = [bleu_counts(one, french)[chosen].T.tolist() for one in said]
    return {"captions": chosen, "counts": found}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def commonness(texts: list[str], seen: Counter) -> list[float]:
    """For each text the mean of log(1 + how often a word of it occurs in the training part)."""
    return [round(float(np.mean([np.log(1 + seen[word]) for word in words(text)])), 6) for text in texts]


def unmasking(run: str, french: list[str]) -> dict:
    """How common the words of the machine and of the person are, and whether the two wrote the same."""
    said = json.loads((ROOT / "results" / f"{run}.json").read_text(encoding="utf-8"))["hypotheses"]
    seen = Counter(word for _, text in load_corpus("multi30k", "train") for word in words(text))
    return {
        "record": run,
        "machine": commonness(said, seen),
        "person": commonness(french, seen),
        "same": [n for n, pair in enumerate(zip(said, french, strict=True)) if pair[0] == pair[1]],
    }


def measure() -> dict:
    english, french = map(list, zip(*load_corpus("multi30k", "test")))
    return {
        "corpus": "multi30k",
        "split": "test",
        "source_words": [len(text.split()) for text in english],
        "systems": [system(name, run, english, french) for name, run in RUNS.items()],
        "ladder": ladder(english, french),
        "commonness": unmasking(RUNS["short run"], french),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "captions-compared.json")
    options = parser.parse_args()
    origin = {
        "command": "python benchmarks/captions.py",
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": 1,
        "versions": {"sacrebleu": sacrebleu.__version__, "numpy": np.__version__},
    }
    options.out.write_text(json_text({**origin, **measure()}), encoding="utf-8")
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")
