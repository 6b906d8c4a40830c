"""Does it pay to train the shipped model further? A run that began with its weights beside it, on the test parts of two corpora.
Or to exchange it? Another run beside it, on validation sentences, by which such a choice is made.

    xformer train --preset tatoeba --start-from xformer_lib/pretrained/en-fr --out runs/further --set max_steps=9000 dropout=0.25 …
    python benchmarks/trained_further.py runs/further          → results/trained-further.json
    xformer train --preset tatoeba --out runs/narrow --set d_model=192 d_ff=768 positions=rotary max_tokens=1024 max_steps=25000 decay=0.5
    python benchmarks/trained_further.py runs/narrow --split val --corpora tatoeba --out results/trained-narrow.json

BLEU and chrF of both, greedily and with four beams, and the paired bootstrap between them. The run's weights are rounded to half
precision first, as the shipped ones are.
"""

import argparse
import json
import shlex
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


def compare(shipped: Translator, further: Translator, corpus: str, split: str, beam: int, limit: int | None) -> dict:
    """Both models on a part of a corpus."""
    english, references = map(list, zip(*load_corpus(corpus, split)[:limit], strict=True))
    said = {name: model.translate(english, beam_size=beam) for name, model in (("shipped", shipped), ("further", further))}
    scores = {name: {"bleu": vars(bleu(lines, references)), "chrf": vars(chrf(lines, references))} for name, lines in said.items()}
    gap = paired_bootstrap(said["shipped"], said["further"], references)
    return {
        "corpus": corpus,
        "split": split,
        "beam": beam,
        "sentences": len(english),
        **scores,
        "paired_bootstrap": vars(gap),
        "translations": said["further"],
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--split", choices=("val", "test"), default="test", help="part of the corpora (default: test)")
    parser.add_argument("--corpora", nargs="+", default=["tatoeba", "multi30k"], help="names (default: tatoeba multi30k)")
    parser.add_argument("--limit", type=int, help="sentences of each corpus (default: all)")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "trained-further.json")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        pack(options.run, Path(folder))
        further = Translator(*load_model(folder))
    shipped = load_pretrained("en-fr")
    record = {
        "command": shlex.join(["python", "benchmarks/trained_further.py", *(sys.argv[1:] if arguments is None else arguments)]),
        "commit": git_commit(),
        "device": cpu_name(),
        "run": run_record(options.run),
        "scores": [compare(shipped, further, corpus, options.split, beam, options.limit) for corpus in options.corpora for beam in BEAMS],
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
