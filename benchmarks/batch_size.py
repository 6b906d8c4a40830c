"""How many steps a larger batch saves: a small translator of the fragment, trained until it reaches one validation loss.

    python benchmarks/batch_size.py --json results/bench-batch-size.json

For each batch size every learning rate of a small grid is tried with each seed, after a warm-up at a constant rate. What counts
is the number of optimiser steps until the validation loss on held-out sentences falls to the target, found between two
validations on a straight line in log loss. Steps and target tokens do not depend on the machine's speed.
"""

import argparse
import math
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from xformer_lib._json import json_text  # noqa: E402
from xformer_lib.cli.provenance import cpu_name, git_commit  # noqa: E402
from xformer_lib.data import Tokenizer, load_corpus  # noqa: E402
from xformer_lib.nn.transformer import TransformerConfig  # noqa: E402
from xformer_lib.training import TrainConfig, loop, validation_loss  # noqa: E402

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
RATES = (4e-3, 8e-3, 16e-3)
SEEDS = (1, 2, 3)
TARGET = 1.5  # nats a token
MODEL = TransformerConfig(
    vocab_size=400, d_model=48, num_heads=4, d_ff=96, num_encoder_layers=1, num_decoder_layers=1, dropout=0.0, max_len=64
)
STEPS_AT_MOST, TOKENS_AT_MOST = 1000, 900_000  # padding included; a run that has not arrived by then is given up


def steps_to_target(size: int, rate: float, seed: int, corpus: dict, tokenizer: Tokenizer) -> dict:
    """Steps and target tokens until the validation loss is ``TARGET``; None for both where it never was."""
    config = TrainConfig(
        "fragment", MODEL, max_steps=100_000, max_tokens=size, peak_rate=rate, warmup_steps=20, decay=1e-5, label_smoothing=0.0, seed=seed
    )
    every = max(1, min(20, 2048 // size * 5))
    run = loop.build_run(config, Path(tempfile.gettempdir()), tokenizer, corpus, "cpu")
    run.engine_model.train()
    before = None
    for batch in islice(loop.batch_stream(run), min(STEPS_AT_MOST, TOKENS_AT_MOST // size)):
        try:
            loop.train_step(run, batch)
        except FloatingPointError:
            break
        if run.step % every:
            continue
        loss = validation_loss(run.engine_model, run.validation_data, max_tokens=2048, device="cpu")
        if loss <= TARGET and before is not None:
            step, tokens, old = before
            share = (math.log(old) - math.log(TARGET)) / (math.log(old) - math.log(loss))
            return {"steps": round(step + share * (run.step - step), 1), "tokens": round(tokens + share * (run.tokens - tokens))}
        before = run.step, run.tokens, loss
    return {"steps": None, "tokens": None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    corpus = {split: load_corpus("fragment", split) for split in ("train", "val")}
    corpus["val"] = corpus["val"][:200]
    tokenizer = Tokenizer.train([text for pair in corpus["train"] for text in pair], vocab_size=MODEL.vocab_size)
    runs, start = [], time.time()
    for size in SIZES:
        for rate in RATES:
            for seed in SEEDS:
                found = steps_to_target(size, rate, seed, corpus, tokenizer)
                runs.append({"max_tokens": size, "rate": rate, "seed": seed, **found})
                print(runs[-1], f"{time.time() - start:.0f} s", flush=True)
    record = {
        "command": "python benchmarks/batch_size.py " + " ".join(sys.argv[1:]),
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": 1,
        "minutes": round((time.time() - start) / 60, 1),
        "seeds": SEEDS,
        "versions": {"torch": torch.__version__},
        "target": TARGET,
        "model": {**vars(MODEL)},
        "runs": runs,
    }
    if options.json:
        options.json.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
