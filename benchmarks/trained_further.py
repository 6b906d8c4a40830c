"""Does it pay to train the shipped model further? A run that began with its weights beside it, on the test parts of two corpora.

    xformer train --preset tatoeba --start-from xformer_lib/pretrained/en-fr --out runs/further --set max_steps=9000 dropout=0.25 …
    python benchmarks/trained_further.py runs/further          → results/trained-further.json

BLEU and chrF of both, greedily and with four beams, and the paired bootstrap between them. The run's weights are rounded to half
precision first, as the shipped ones are.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from xformer_lib import load_pretrained
from xformer_lib.cli import cpu_name, git_commit, run_record
from xformer_lib.data.corpora import load_corpus
from xformer_lib.decoding import Translator
from xformer_lib.evaluation import bleu, chrf, paired_bootstrap
from xformer_lib.training.checkpoint import load_model

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))
from pack_model import pack  # noqa: E402

BEAMS = (1, 4)


def compare(shipped: Translator, further: Translator, corpus: str, beam: int, limit: int | None) -> dict:
    """Both models on the test part of a corpus."""
    english, references = map(list, zip(*load_corpus(corpus, "test")[:limit], strict=True))
    said = {name: model.translate(english, beam_size=beam) for name, model in (("shipped", shipped), ("further", further))}
    scores = {name: {"bleu": vars(bleu(lines, references)), "chrf": vars(chrf(lines, references))} for name, lines in said.items()}
    gap = paired_bootstrap(said["shipped"], said["further"], references)
    return {
        "corpus": corpus,
        "split": "test",
        "beam": beam,
        "sentences": len(english),
        **scores,
        "paired_bootstrap": vars(gap),
        "translations": said["further"],
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--limit", type=int, help="sentences of each corpus (default: all)")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "trained-further.json")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        pack(options.run, Path(folder))
        further = Translator(*load_model(folder))
    shipped = load_pretrained("en-fr")
    record = {
        "command": f"python benchmarks/trained_further.py {options.run}",
        "commit": git_commit(),
        "device": cpu_name(),
        "run": run_record(options.run),
        "scores": [compare(shipped, further, corpus, beam, options.limit) for corpus in ("tatoeba", "multi30k") for beam in BEAMS],
    }
    for one in record["scores"]:
        gap = one["paired_bootstrap"]
        print(
            f"{one['corpus']}, beam {one['beam']}: BLEU {gap['first']:.2f} → {gap['second']:.2f}, "
            f"gap {gap['low']:+.2f} to {gap['high']:+.2f}, p {gap['p_value']:.3f}"
        )
    options.out.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
