"""Does a compiler remove the calls of a step? torch.compile beside the library's own, for a word of the shipped model and for training.

    python -m benchmarks.compiled [--rounds 9] [--json results/bench-compiled.json]

Sizes stay open, so that one program serves every length. Each row: milliseconds of one thread's processor time per word, the median of
rounds in which both take turns, and the seconds until the first word of a new process, with an empty cache of compiled code and with the
one that the first process left behind. Training: the model's vectors through the compiler, loss and Adam as they are, in the sizes of the
preset multi30k; seconds of the first step, and the ratio of the steps after it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from benchmarks.contenders.ours import shipped_model
from benchmarks.gpu import random_run
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.engine import start_decoding
from xformer_lib.export.programs import EncoderProgram, StepProgram, ready_for_export
from xformer_lib.training.config import preset
from xformer_lib.training.loss import chunked_cross_entropy
from xformer_lib.training.memory import keep_few_kernels, keep_freed_memory
from xformer_lib.training.step import train_step

WORDS, READ = 24, 16


def compiled_step(model):
    """The encoder's program, and the step's through the compiler with its sizes open."""
    ready = ready_for_export(model)
    return EncoderProgram(ready).eval(), torch.compile(StepProgram(ready).eval(), dynamic=True, fullgraph=True)


def by_step(programs, source, line, heads, d_head):
    encoder, step = programs
    _, cross_keys, cross_values = encoder(source)
    keys = values = cross_keys.new_zeros(len(cross_keys), len(source), heads, 0, d_head)
    found = []
    for place in range(line.shape[1]):
        logits, keys, values = step(line[:, place : place + 1], source, cross_keys, cross_values, keys, values)
        found.append(logits)
    return torch.stack(found, dim=1)


def by_library(model, source, line):
    steps = start_decoding(model, source)
    return torch.stack([steps.next_logits(line[:, : place + 1]) for place in range(line.shape[1])], dim=1)


def work(batch: int, vocab_size: int):
    generator = torch.Generator().manual_seed(batch)
    source, line = (torch.randint(4, vocab_size, (batch, length), generator=generator) for length in (READ, WORDS))
    line[:, 0] = 1
    return source, line


def measure(rounds: int) -> dict:
    """Seconds until the first sentence is done, then rows for one sentence and for 64."""
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    model, _ = shipped_model()
    config = model.config
    sizes = config.num_heads, config.d_model // config.num_heads
    programs, rows = compiled_step(model), []
    began = time.perf_counter()
    by_step(programs, *work(1, config.vocab_size), *sizes)
    first = time.perf_counter() - began
    for batch in (1, 64) if rounds else ():
        source, line = work(batch, config.vocab_size)
        ways = {"ours": partial(by_library, model, source, line), "compiled": partial(by_step, programs, source, line, *sizes)}
        gap = (ways["ours"]() - ways["compiled"]()).abs().max().item()
        times = {name: [] for name in ways}
        for turn in range(rounds):
            for name in sorted(ways, reverse=turn % 2 == 1):
                start = time.process_time()
                ways[name]()
                times[name].append(1e3 * (time.process_time() - start) / WORDS)
        ratios = sorted(other / own for own, other in zip(times["ours"], times["compiled"]))
        rows.append(
            {
                "at_once": batch,
                **{f"{name}_ms": round(statistics.median(found), 2) for name, found in times.items()},
                "compiled_over_ours": [round(ratios[0], 2), round(statistics.median(ratios), 2), round(ratios[-1], 2)],
                "largest_difference": gap,
            }
        )
    return {"first_sentence_seconds": round(first, 1), "rows": rows}


def compiled_loss(model):
    """`translation_loss` with the model's vectors made by compiled code."""
    states = torch.compile(lambda source, target_in: model.states(target_in, model.encode(source), source), dynamic=True, fullgraph=True)

    def loss(source, target_in, target_out, *, label_smoothing=0.0):
        real = target_out != model.config.pad_id
        found = states(source, target_in)[real]
        return chunked_cross_entropy(found, model.embedding.weight, target_out[real], label_smoothing=label_smoothing), int(real.sum())

    return loss


def measure_training(precision: str, rounds: int, folder: Path) -> dict:
    """A row: seconds of the first compiled step, and the ratio of the steps after it."""
    config = replace(preset("multi30k"), precision=precision)
    (ours, batch), (other, _) = (random_run(config, "cpu", folder) for _ in range(2))
    other.processes.loss = compiled_loss(other.engine_model)
    began = time.perf_counter()
    train_step(other, batch)
    first = time.perf_counter() - began
    ratios = []
    for turn in range(rounds + 2):
        seconds = {}
        for name, run in sorted({"ours": ours, "compiled": other}.items(), reverse=turn % 2 == 1):
            start = time.process_time()
            train_step(run, batch)
            seconds[name] = time.process_time() - start
        ratios.append(seconds["compiled"] / seconds["ours"])
    ratios = sorted(ratios[2:])  # the first two turns are a warm-up
    return {
        "precision": precision,
        "first_step_seconds": round(first, 1),
        "compiled_over_ours": [round(ratios[0], 2), round(statistics.median(ratios), 2), round(ratios[-1], 2)],
    }


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", help="write the record here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
        found = measure(options.rounds)
        code = "from benchmarks.compiled import measure; print(measure(0)['first_sentence_seconds'])"
        torch.set_grad_enabled(True)
        keep_few_kernels()
        keep_freed_memory()
        training = [measure_training(precision, options.rounds, Path(cache)) for precision in ("float32", "bfloat16")]
        again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    record = {
        "command": f"python -m benchmarks.compiled --rounds {options.rounds}",
        "commit": git_commit(),
        "device": cpu_name(),
        "torch": torch.__version__,
        "threads": 1,
        "cold_seconds": found["first_sentence_seconds"],
        "cached_seconds": float(again.stdout),
        "rows": found["rows"],
        "training": training,
    }
    print(json_text(record))
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")
    return record


if __name__ == "__main__":
    main()
