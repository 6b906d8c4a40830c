"""Make a folder of ``xformer_lib/pretrained`` from a finished run.

    python tools/pack_model.py runs/tatoeba xformer_lib/pretrained/en-fr

Copies ``tokenizer.json`` and ``config.json``, the latter without the id of the run, and writes the weights in half precision: the
model halves, and each weight keeps three significant digits. ``words.txt`` gets the words of the sentences it learned from. The model
card beside them is written by hand.
"""

import argparse
import json
import shutil
from itertools import groupby
from pathlib import Path

import torch

from xformer_lib.data.corpora import load_corpus
from xformer_lib.data.files import write_atomically
from xformer_lib.data.typed import known_words, simplify
from xformer_lib.training.checkpoint import load_tensors, save_tensors


def pack(run: Path, out: Path) -> int:
    """Write the folder; returns the bytes it holds."""
    out.mkdir(parents=True, exist_ok=True)
    weights, state = load_tensors(run / "model.safetensors")
    largest = max(float(tensor.abs().max()) for tensor in weights.values())
    if not largest < torch.finfo(torch.float16).max:
        raise ValueError(f"weights: expected numbers that half precision holds, got {largest}; train with clipping")
    halves = {name: tensor.to(torch.float16) for name, tensor in weights.items()}
    kept = {key: state[key] for key in ("step", "tokens", "made_for") if key in state}
    save_tensors(out / "model.safetensors", halves, kept)
    shutil.copyfile(run / "tokenizer.json", out / "tokenizer.json")
    settings = json.loads((run / "config.json").read_text(encoding="utf-8"))
    settings.pop("run", None)
    write_atomically(out / "config.json", json.dumps(settings, indent=1).encode())
    return sum(path.stat().st_size for path in out.iterdir())


def pack_words(out: Path) -> None:
    """Write the words of the corpus that the packed model learned from, those with the same two first letters in one line."""
    pairs = load_corpus(json.loads((out / "config.json").read_text(encoding="utf-8"))["corpus"], "train")
    words = known_words(simplify(source) for source, _ in pairs)
    lines = [" ".join(alike) for _, alike in groupby(sorted(words), key=lambda word: word[:2])]
    write_atomically(out / "words.txt", ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    pack(options.run, options.out)
    pack_words(options.out)
    print(f"{options.out}: {sum(path.stat().st_size for path in options.out.iterdir()) / 1e6:.2f} MB")
