"""What do fewer heads of keys and values cost? The fragment's translator with 4, 2 and 1 of them, three seeds each.

    python benchmarks/grouped_query.py --json results/grouped-query.json        (about 20 minutes on one core)

Everything else is the preset "fragment", with half its steps so that the models still differ. Validation loss, exact match on the held-out
sentences, parameters, and bytes that the decoder keeps for one sentence of 32 source and 32 target tokens.
"""

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.corpora import load_corpus
from xformer_lib.decoding import translate
from xformer_lib.decoding.limits import evaluation_mode
from xformer_lib.engine.decode import start_decoding
from xformer_lib.evaluation import exact_match
from xformer_lib.training.config import preset
from xformer_lib.training.loop import train

HEADS, SEEDS, STEPS, LENGTH = (4, 2, 1), (1, 2, 3), 400, 32


def kept_bytes(model, length: int = LENGTH) -> int:
    """Bytes of the keys and values of one sentence, all decoder layers."""
    with evaluation_mode(model) as model:
        steps = start_decoding(model, torch.full((1, length), 3))
        steps.next_logits(torch.full((1, length), 3))
    kept = [x for pair in steps.caches for cache in pair for x in (cache.k, cache.v)]
    return sum(x.numel() * x.element_size() for x in kept)


def run(heads: int, seed: int, steps: int, corpus: str = "fragment") -> dict:
    config = preset(corpus)
    config = replace(config, seed=seed, max_steps=steps, validate_every=steps, model=replace(config.model, num_kv_heads=heads))
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        done = train(config, folder, device="cpu", progress=False)
        seconds = time.process_time() - start
    sources, references = map(list, zip(*load_corpus(corpus, "test"), strict=True))
    said = translate(done.model, done.tokenizer, sources)
    return {
        "num_kv_heads": heads,
        "seed": seed,
        "validation_loss": round(done.history[-1]["validation_loss"], 4),
        "exact_match": round(exact_match(said, references), 2),
        "parameters": sum(x.numel() for x in done.model.parameters()),
        "kept_bytes": kept_bytes(done.model),
        "cpu_seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.perf_counter()
    rows = [run(heads, seed, options.steps) for seed in SEEDS for heads in HEADS]
    for heads in HEADS:
        mine = [row for row in rows if row["num_kv_heads"] == heads]
        losses = [row["validation_loss"] for row in mine]
        print(
            f"{heads} heads of keys: validation loss {statistics.mean(losses):.3f} ({min(losses)} to {max(losses)}), "
            f"{mine[0]['kept_bytes']:,} bytes kept"
        )
    if options.json:
        record = {
            "command": f"python benchmarks/grouped_query.py --steps {options.steps}",
            "commit": git_commit(),
            "device": cpu_name(),
            "threads": 1,
            "torch": torch.__version__,
            "corpus": "fragment",
            "length": LENGTH,
            "minutes": round((time.perf_counter() - start) / 60, 1),
            "runs": rows,
        }
        Path(options.json).write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
