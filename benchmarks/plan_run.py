"""Is a run planned on paper right? Seconds of a training step, predicted from its operations and measured, on one thread.

    python benchmarks/plan_run.py --json results/bench-plan.json

One model is measured to learn what this machine reaches in operations a second; the steps of the others are then predicted from
their shapes alone (`xformer_lib.training.planning`) and measured. Rounds are interleaved; a number is the median of processor times.
"""

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import torch  # noqa: E402

from xformer_lib._json import json_text  # noqa: E402
from xformer_lib.cli.provenance import cpu_name, git_commit  # noqa: E402
from xformer_lib.data import Tokenizer, make_batch  # noqa: E402
from xformer_lib.nn.transformer import TransformerConfig  # noqa: E402
from xformer_lib.training import TrainConfig, loop, planning  # noqa: E402
from xformer_lib.training.memory import keep_freed_memory  # noqa: E402

BASE = TransformerConfig(vocab_size=8000, dropout=0.1, max_len=64)
# name: model, rows, places on either side; the first calibrates
SHAPES = {
    "the preset's model": (BASE, 64, 16),
    "half the rows": (BASE, 32, 16),
    "twice the length": (BASE, 32, 32),
    "twice the layers": (replace(BASE, num_encoder_layers=6, num_decoder_layers=6), 64, 16),
    "half the vocabulary": (replace(BASE, vocab_size=4000), 64, 16),
    "half the width": (replace(BASE, d_model=128, d_ff=512), 64, 16),
    "a quarter of the width": (replace(BASE, d_model=64, d_ff=256), 64, 16),
}


def prepare(model: TransformerConfig, rows: int, places: int, tokenizer: Tokenizer) -> tuple:
    """A run and a batch without padding."""
    rng = np.random.default_rng(0)
    ids = rng.integers(3, model.vocab_size, size=(rows, 2, places - 1))
    batch = make_batch([(source.tolist(), target.tolist()) for source, target in ids])
    config = TrainConfig("fragment", model, max_steps=1000, warmup_steps=1)
    pairs = {split: [("a", "a")] for split in ("train", "val")}
    run = loop.build_run(config, Path(tempfile.gettempdir()), tokenizer, pairs, "cpu")
    run.engine_model.train()
    return run, batch


def matrix_rate() -> float:
    """Operations a second of a product of two 1024 × 1024 matrices."""
    a, b = torch.randn(2, 1024, 1024)
    times = []
    for _ in range(15):
        start = time.process_time()
        a @ b
        times.append(time.process_time() - start)
    return 2 * 1024**3 / statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record here")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    start = time.time()
    tokenizer = Tokenizer.train(["a b"], vocab_size=260)
    runs = {name: prepare(*shape, tokenizer) for name, shape in SHAPES.items()}
    times = {name: [] for name in runs}
    peaks = []
    for number in range(options.rounds + 1):
        peaks.append(matrix_rate())
        for name, (run, batch) in runs.items():
            before = time.process_time()
            loop.train_step(run, batch)
            if number:  # the first round warms up
                times[name].append(time.process_time() - before)
    rows = []
    for name, (model, count, places) in SHAPES.items():
        run = runs[name][0]
        rows.append(
            {
                "name": name,
                "rows": count,
                "places": places,
                "model": asdict(model),
                "parameters": sum(weight.numel() for weight in run.model.parameters()),
                "flops": planning.step_flops(model, count, places, places, count * places),
                "measured_seconds": statistics.median(times[name]),
                "measured_quartiles": statistics.quantiles(times[name], n=4)[::2],
            }
        )
    rate = rows[0]["flops"] / rows[0]["measured_seconds"]
    for row in rows:
        row["predicted_seconds"] = row["flops"] / rate
        print(
            f"{row['name']:24} {row['flops'] / 1e9:7.1f} GFLOP  predicted {row['predicted_seconds']:.3f} s  "
            f"measured {row['measured_seconds']:.3f} s",
            flush=True,
        )
    record = {
        "command": "python benchmarks/plan_run.py " + " ".join(sys.argv[1:]),
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": 1,
        "minutes": round((time.time() - start) / 60, 1),
        "seed": 0,
        "rounds": options.rounds,
        "versions": {"torch": torch.__version__},
        "flops_per_second": rate,
        "matrix_flops_per_second": statistics.median(peaks),
        "shapes": rows,
    }
    if options.json:
        options.json.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
