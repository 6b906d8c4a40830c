"""What one device does with the library: tokens a second, share of its peak, memory, and the two attention paths by length.

    python benchmarks/device.py [--device cuda|mps|cpu] [--widths 192 256] [--smoke] [--json results/bench-device-NAME.json]

One command for any device that PyTorch knows, so that whoever has one can record it: the name of the device is in the file. Training is the
library's own step with the multi30k preset, at its own width and at wider ones (the feed-forward nets four times as wide, heads of at most
64), in float32 and in bfloat16 where the device multiplies such numbers; batches are of random ids, all rows full, so that no corpus is
needed and no padding counts as work. The peak is the fastest of a few large matrix products at the same precision on the same device.
Medians; on a GPU the clock waits for the device.
"""

import argparse
import platform
import resource
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.contenders import Sizes, useful_flops
from benchmarks.contenders.ours import SHIPPED
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.batching import make_batch
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.engine import accelerate
from xformer_lib.nn.attention import MultiHeadAttention
from xformer_lib.training import has_bfloat16, keep_freed_memory, pick_device, train_step
from xformer_lib.training.config import preset
from xformer_lib.training.run import build_run
from xformer_lib.training.step import read_loss

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
ROW = 24  # tokens a sentence, about that of a caption
PEAK_SIDES = {"cpu": (512, 1024, 2048), "other": (2048, 4096, 8192)}
LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
WIDTHS = {"cpu": (192, 256), "other": (192, 256, 512, 1024)}  # the preset's first


def wait(device: str) -> None:
    """Until the device has done what it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    elif device.startswith("mps"):
        torch.mps.synchronize()


def median_seconds(work, device: str, rounds: int) -> float:
    """The median over ``rounds`` calls, after one that warms up."""
    found = []
    for _ in range(rounds + 1):
        wait(device)
        began = time.perf_counter()
        work()
        wait(device)
        found.append(time.perf_counter() - began)
    return statistics.median(found[1:])


def three_digits(value: float) -> float:
    """``value`` with three significant digits, so that a busy moment's tiny speed is not rounded to none."""
    return float(f"{value:.3g}")


def precisions(device: str) -> list[str]:
    """float32 everywhere, bfloat16 where the device has it in hardware."""
    return ["float32"] + ["bfloat16"] * has_bfloat16(device)


# ---------------------------------------------------------------- the peak


def matrix_peak(device: str, precision: str, rounds: int, sides: tuple) -> dict:
    """The fastest square product, in teraflop a second."""
    speeds = {}
    for side in sides:
        a, b = (torch.randn(side, side, device=device, dtype=TYPES[precision]) for _ in range(2))
        speeds[side] = 2 * side**3 / median_seconds(lambda a=a, b=b: a @ b, device, rounds) / 1e12
    best = max(speeds, key=speeds.get)
    return {"side": best, "teraflop_per_second": three_digits(speeds[best])}


# ---------------------------------------------------------------- training


def memory_mb(device: str) -> int:
    """The most that was held: by the device's allocator on a GPU, by the process so far on a CPU."""
    if device.startswith("cuda"):
        return round(torch.cuda.max_memory_allocated() / 2**20)
    if device.startswith("mps"):
        return round(torch.mps.driver_allocated_memory() / 2**20)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if platform.system() == "Darwin" else 2**10))


def loss_of_a_step(run, batch) -> float:
    """The loss of one more step; a GPU is waited for."""
    read_loss(run)
    return train_step(run, batch)[0] + read_loss(run)


def training_row(device: str, precision: str, width: int, max_tokens: int, rounds: int, peak: dict) -> dict:
    """The library's own step on full batches of random ids."""
    config = preset("multi30k")
    model = replace(config.model, d_model=width, num_heads=max(4, width // 64), d_ff=4 * width)
    config = replace(config, model=model, precision=precision, max_tokens=max_tokens)
    torch.manual_seed(config.seed)
    tokenizer, pair = Tokenizer.load(SHIPPED / "tokenizer.json"), [("a", "a")]
    run = build_run(config, Path(tempfile.gettempdir()), tokenizer, {"train": pair, "val": pair}, device)
    run.engine_model.train()
    rng = np.random.default_rng(config.seed)
    rows = rng.integers(4, model.vocab_size, size=(max_tokens // ROW, 2, ROW - 1))
    batch = make_batch([(source.tolist(), target.tolist()) for source, target in rows])
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
    first = loss_of_a_step(run, batch)
    seconds = median_seconds(lambda: train_step(run, batch), device, rounds)
    last = loss_of_a_step(run, batch)
    tokens = len(rows) * ROW
    sizes = Sizes(vocab_size=model.vocab_size, d_model=model.d_model, d_ff=model.d_ff, num_layers=model.num_encoder_layers)
    speed = useful_flops(sizes, [(ROW, ROW)] * len(rows)) / seconds / 1e12
    return {
        "precision": precision,
        "width": width,
        "batch_tokens": tokens,
        "tokens_per_second": round(tokens / seconds),
        "teraflop_per_second": three_digits(speed),
        "fraction_of_peak": three_digits(speed / peak["teraflop_per_second"]),
        "memory_mb": memory_mb(device),
        "first_loss": round(first / tokens, 3),
        "last_loss": round(last / tokens, 3),
    }


# ---------------------------------------------------------------- attention


def attention_row(device: str, precision: str, length: int, tokens: int, rounds: int) -> dict:
    """Forward and backward of one layer by both paths, in turn, on the same number of tokens."""
    found = {"explicit": [], "fused": []}
    layers = {path: accelerate(MultiHeadAttention(256, 4), path=path).to(device, TYPES[precision]) for path in found}
    x = torch.randn(max(1, tokens // length), length, 256, device=device, dtype=TYPES[precision], requires_grad=True)
    mask = (torch.arange(length, device=device) < length - length // 8).expand(len(x), 1, length)
    for _ in range(rounds):
        for path, layer in layers.items():
            found[path].append(median_seconds(lambda layer=layer: layer(x, x, x, mask=mask)[0].sum().backward(), device, 1))
    ms = {path: 1e3 * statistics.median(values) for path, values in found.items()}
    return {
        "precision": precision,
        "length": length,
        "explicit_ms": round(ms["explicit"], 3),
        "fused_ms": round(ms["fused"], 3),
        "explicit_over_fused": round(ms["explicit"] / ms["fused"], 2),
    }


# ---------------------------------------------------------------- the command


def device_name(device: str) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    return f"{platform.processor()} (mps)" if device.startswith("mps") else cpu_name()


def print_rows(rows: list[dict]) -> None:
    names = list(rows[0])
    print("  ".join(names))
    for row in rows:
        print("  ".join(f"{row[name]:>{len(name)}}" for name in names))


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="cuda, mps or cpu (default: the best one here)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--widths", type=int, nargs="+", help="of the trained models (default: what the device can be expected to hold)")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds: does it run?")
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    device, began = pick_device(options.device), time.perf_counter()
    rounds, is_cpu = 3 if options.smoke else options.rounds, device == "cpu"
    sides = (64, 128) if options.smoke else PEAK_SIDES["cpu" if is_cpu else "other"]
    budgets = (240,) if options.smoke else (2048, 8192) if is_cpu else (2048, 8192, 32768)
    widths = options.widths or ((32, 48) if options.smoke else WIDTHS["cpu" if is_cpu else "other"])
    lengths, tokens = (LENGTHS[:2], 256) if options.smoke else (LENGTHS, 4096 if is_cpu else 65536)
    if is_cpu:
        keep_freed_memory()
    record = {
        "command": f"python -m benchmarks.device --device {device} --rounds {rounds} --widths {' '.join(map(str, widths))}",
        "commit": git_commit(),
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "peaks": {name: matrix_peak(device, name, rounds, sides) for name in precisions(device)},
    }
    record["training"] = [
        training_row(device, name, width, budget, rounds, record["peaks"][name])
        for name in precisions(device)
        for width in widths
        for budget in budgets
    ]
    record["attention"] = [attention_row(device, name, length, tokens, rounds) for name in precisions(device) for length in lengths]
    record["minutes"] = round((time.perf_counter() - began) / 60, 1)
    print(f"{record['device']}: peaks {record['peaks']}")
    print_rows(record["training"])
    print_rows(record["attention"])
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")
    return record


if __name__ == "__main__":
    main()
