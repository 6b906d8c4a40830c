"""Let a model that has read captions alone translate twenty everyday sentences, and write down what it says.

    python benchmarks/everyday.py runs/multi30k     → results/everyday-multi30k.json

Nothing is scored: there are no references. Page 12e prints the lines as they are.
"""

import argparse
import json
from pathlib import Path

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import git_commit
from xformer_lib.data.corpora import load_corpus
from xformer_lib.decoding import translate
from xformer_lib.training.checkpoint import load_model

ROOT = Path(__file__).parent.parent


def main(folder: Path, out: Path) -> None:
    model, tokenizer = load_model(folder)
    provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    sentences = (ROOT / "benchmarks" / "everyday.txt").read_text(encoding="utf-8").splitlines()
    trained = {english for english, _ in load_corpus(json.loads((folder / "config.json").read_text())["corpus"], "train")}
    record = {
        "command": f"python benchmarks/everyday.py {folder}",
        "commit": git_commit(),
        "trained_with": {key: provenance[key] for key in ("command", "commit", "device", "threads")},
        "decoding": "greedy",
        "in_training_data": sum(sentence in trained for sentence in sentences),
        "sentences": sentences,
        "translations": translate(model, tokenizer, sentences),
    }
    out.write_text(json_text(record), encoding="utf-8")
    for english, french in zip(sentences, record["translations"]):
        print(f"{english}\n    {french}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "everyday-multi30k.json")
    options = parser.parse_args()
    main(options.run, options.out)
