"""Explicit against fused attention by length: which path should "auto" take?

    python benchmarks/attention_paths.py [--device cuda] [--json results/bench-attention-paths.json]

Forward and backward of one attention layer (batch × length = 4,096 queries, 4 heads of 64, padding mask),
the two paths in turn within one process; the median of each and their ratio. Only the ratio travels from
one machine to another.
"""

import argparse
import statistics
import time

import torch

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.engine import accelerate
from xformer_lib.nn.multi_head import MultiHeadAttention

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
TOKENS, D_MODEL, NUM_HEADS = 4096, 256, 4


def seconds(layer, x, mask, device):
    start = time.perf_counter()
    output, _ = layer(x, x, x, mask=mask)
    output.sum().backward()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(length: int, device: str, rounds: int) -> dict:
    """Medians of both paths at one length, taken in turn."""
    torch.manual_seed(0)
    layers = {path: accelerate(MultiHeadAttention(D_MODEL, NUM_HEADS), path=path).to(device) for path in ("explicit", "fused")}
    x = torch.randn(TOKENS // length, length, D_MODEL, device=device, requires_grad=True)
    mask = (torch.arange(length, device=device) < length - length // 8).expand(len(x), 1, length)
    times = {path: [] for path in layers}
    for _ in range(rounds):
        for path, layer in layers.items():
            times[path].append(seconds(layer, x, mask, device))
    medians = {path: 1e3 * statistics.median(values[1:]) for path, values in times.items()}
    return {
        "length": length,
        "explicit_ms": round(medians["explicit"], 2),
        "fused_ms": round(medians["fused"], 2),
        "explicit_over_fused": round(medians["explicit"] / medians["fused"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = [measure(length, options.device, options.rounds) for length in LENGTHS]
    print("length  explicit ms  fused ms  explicit / fused")
    for row in rows:
        print(f"{row['length']:6}  {row['explicit_ms']:11.2f}  {row['fused_ms']:8.2f}  {row['explicit_over_fused']:.2f}")
    if options.json:
        device = torch.cuda.get_device_name() if options.device.startswith("cuda") else cpu_name()
        record = {
            "command": "python benchmarks/attention_paths.py",
            "commit": git_commit(),
            "device": device,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "rows": rows,
        }
        with open(options.json, "w") as file:
            file.write(json_text(record))


if __name__ == "__main__":
    main()
