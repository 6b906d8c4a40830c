"""Decoding with and without the cache, and with wider beams: what does each cost?

    python benchmarks/decoding.py [--device cuda] [--json results/bench-decoding.json]

Two tables. The first decodes a fixed number of steps over sources of 20 tokens with a model of the shipped one's sizes and random
weights, cached and uncached in turn. The second translates the sentences of ``benchmarks/everyday.txt`` with the shipped model, with
beams of several widths in turn. Medians within one process; only the ratios travel from one machine to another.
"""

import argparse
import statistics
import time
from functools import partial
from pathlib import Path

import torch

from xformer_lib._json import json_text
from xformer_lib.cli.models import chosen_model
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.decoding import translate
from xformer_lib.decoding.limits import evaluation_mode
from xformer_lib.engine.decode import start_decoding
from xformer_lib.nn import Transformer, TransformerConfig
from xformer_lib.training.checkpoint import load_model

STEPS, BATCHES, WIDTHS, SOURCE_LENGTH = (8, 16, 32, 64), (1, 16), (1, 2, 4, 8), 20
EVERYDAY = Path(__file__).with_name("everyday.txt")


def seconds(work, device: str) -> float:
    """On a processor its own time, which other programs on the machine hardly change; on a GPU that of the clock."""
    clock = time.perf_counter if device.startswith("cuda") else time.process_time
    start = clock()
    work()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return clock() - start


def in_turn(works: dict, rounds: int, device: str) -> dict:
    """The median time of each, all taken once a round; the first round warms up."""
    times = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            times[name].append(seconds(work, device))
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def decode(model: Transformer, source: torch.Tensor, steps: int, use_cache: bool) -> None:
    """That many steps over one source; what is said does not matter."""
    with evaluation_mode(model) as model:
        going = start_decoding(model, source, engine="fast" if use_cache else "plain")
        tokens = torch.full((len(source), steps), model.config.bos_id, device=source.device)
        for length in range(1, steps + 1):
            going.next_logits(tokens[:, :length])


def cache_rows(device: str, rounds: int) -> list[dict]:
    torch.manual_seed(0)
    model, rows = Transformer(TransformerConfig(vocab_size=8000)).to(device), []
    for batch_size in BATCHES:
        source = torch.randint(3, 8000, (batch_size, SOURCE_LENGTH), device=device)
        for steps in STEPS:
            works = {use_cache: partial(decode, model, source, steps, use_cache) for use_cache in (True, False)}
            median = in_turn(works, rounds, device)
            rows.append(
                {
                    "batch": batch_size,
                    "steps": steps,
                    "cached_ms": round(1e3 * median[True], 1),
                    "uncached_ms": round(1e3 * median[False], 1),
                    "uncached_over_cached": round(median[False] / median[True], 2),
                }
            )
    return rows


def beam_rows(device: str, rounds: int) -> list[dict]:
    model, tokenizer = load_model(chosen_model(None), device=device)
    texts, rows = EVERYDAY.read_text(encoding="utf-8").splitlines(), []
    for batch_size in (1, len(texts)):
        works = {width: partial(translate, model, tokenizer, texts, beam_size=width, batch_size=batch_size) for width in WIDTHS}
        median = in_turn(works, rounds, device)
        rows += [
            {
                "batch": batch_size,
                "beam_size": width,
                "ms_a_sentence": round(1e3 * median[width] / len(texts), 1),
                "over_greedy": round(median[width] / median[1], 2),
            }
            for width in WIDTHS
        ]
    return rows


def table(rows: list[dict]) -> None:
    names = list(rows[0])
    print("  ".join(names))
    for row in rows:
        print("  ".join(f"{row[name]:>{len(name)}}" for name in names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    record = {
        "command": f"python benchmarks/decoding.py --rounds {options.rounds}",
        "commit": git_commit(),
        "device": torch.cuda.get_device_name() if options.device.startswith("cuda") else cpu_name(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "cache": cache_rows(options.device, options.rounds),
        "beam": beam_rows(options.device, options.rounds),
    }
    table(record["cache"])
    table(record["beam"])
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
