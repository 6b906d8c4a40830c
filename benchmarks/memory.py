"""How much memory a training run on a CPU holds, step by step.

    python -m benchmarks.memory --steps 2000 --json results/bench-memory.json
    python -m benchmarks.memory --steps 150 --never            # as if nothing were ever given back

The preset is trained as `xformer train` trains it, validations included; its weights are thrown away. Resident memory is read after every
25th step, and the highest so far is that of the whole process, by the system's own account. Stopped with Ctrl-C or SIGTERM, it writes
what it has; with `--folder RUN` the run is kept there, and the same command goes on from it in a new process, whose readings are added to
those in `--json`, each with the number of its sitting.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.training import loop, preset

EVERY = 25  # steps from one reading to the next
GIB = 2**30


def highest() -> float:
    """The most that was ever resident, in GiB (the system counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB


class Watch:
    """Stands in for `loop.train_step`, and reads the memory before every 25th step."""

    def __init__(self, train_step, curve=()):
        self.train_step = train_step
        self.curve = list(curve)
        self.sitting = 1 + max((row["sitting"] for row in self.curve), default=0)

    def __call__(self, run, batch):
        if run.step % EVERY == 0:
            self.curve.append(
                {
                    "sitting": self.sitting,
                    "step": run.step,
                    "resident_gib": round(loop.resident_memory() / GIB, 3),
                    "highest_gib": round(highest(), 3),
                    "tokens": run.tokens,
                    "cpu_seconds": round(run.cpu_seconds, 1),
                }
            )
            print(*self.curve[-1].values(), flush=True)
        return self.train_step(run, batch)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="multi30k", help="fragment, multi30k (default) or tatoeba")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--never", action="store_true", help="never give anything back")
    parser.add_argument("--folder", type=Path, help="where the run is kept, so that the same command goes on with it")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    config = preset(options.preset)
    warmup, every = min(config.warmup_steps, 1 + options.steps // 5), min(config.validate_every, options.steps)
    config = replace(config, max_steps=options.steps, warmup_steps=warmup, validate_every=every)
    if options.never:
        loop.return_unused_memory = lambda: None
    goes_on = options.folder is not None and options.folder.exists()
    earlier = json.loads(options.json.read_text(encoding="utf-8"))["curve"] if goes_on else []
    loop.train_step = watch = Watch(loop.train_step, earlier)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if goes_on:
                loop.resume(options.folder, device="cpu", progress=False)
            else:
                loop.train(config, options.folder or Path(folder) / "run", device="cpu", progress=False)
        except loop.Stopped:
            print("stopped: what there is, is written", file=sys.stderr)
    record = {
        "command": "python -m benchmarks.memory " + " ".join(sys.argv[1:] if arguments is None else arguments),
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": torch.get_num_threads(),
        "seed": config.seed,
        "versions": {"torch": torch.__version__},
        "preset": options.preset,
        "highest_gib": max([round(highest(), 3), *(row["highest_gib"] for row in watch.curve)]),
        "curve": watch.curve,
    }
    if options.json:
        options.json.write_text(json_text(record), encoding="utf-8")
    print(json.dumps({name: value for name, value in record.items() if name != "curve"}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
