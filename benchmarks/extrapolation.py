"""Train on up to 16 letters, test on up to 64: what does each scheme of positions know about unseen places?

    python benchmarks/extrapolation.py [--seeds 3] [--jobs 1] [--json results/extrapolation.json]
    python benchmarks/extrapolation.py --steps 3000 --tasks "two back, causal" --schemes rotary alibi --json results/extrapolation-long.json

Three tasks, six schemes, one model each and seed; the tasks, the model and its training are chapter 09a's
(``xformer_course.lessons.extrapolation``). A run takes some ten seconds on one CPU thread. The file is
rewritten after every run, and a second call does only the runs that it lacks.
"""

import argparse
import json
import multiprocessing
import os
import shlex
import sys
import time
from pathlib import Path

import torch

from xformer_course.lessons.extrapolation import TASKS, TESTED, TRAINED, right_by_place, train_labeller
from xformer_lib.cli import cpu_name, git_commit
from xformer_lib.nn.positions import POSITIONS

LENGTHS = (TRAINED, 24, 32, 48, TESTED)
STEPS = 500


def measure(name: tuple[str, str, int, int]) -> dict:
    """One model, trained and tested: the share of right answers by length, and by place in the longest rows."""
    task, scheme, seed, steps = name
    torch.set_num_threads(1)
    start = time.process_time()
    model = train_labeller(TASKS[task], scheme, seed=seed, steps=steps)
    accuracy = {}
    for length in LENGTHS:
        right, asked = right_by_place(model, TASKS[task], length)
        accuracy[str(length)] = round(int(right.sum()) / int(asked.sum()), 4)
    places = [round(r / a, 3) if a else None for r, a in zip(right.tolist(), asked.tolist(), strict=True)]
    return {
        "task": task,
        "scheme": scheme,
        "seed": seed,
        "accuracy": accuracy,
        "by_place": places,
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def provenance(steps: int) -> dict:
    return {
        "command": shlex.join(["python", "benchmarks/extrapolation.py", *sys.argv[1:]]),
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": 1,
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__},
        "trained": TRAINED,
        "lengths": list(LENGTHS),
        "steps": steps,
    }


def store(path: Path, record: dict) -> None:
    """Write beside the file, then put it in its place: a killed run leaves a whole file."""
    record["seeds"] = sorted({run["seed"] for run in record["runs"]})
    record["cpu_minutes"] = round(sum(run["cpu_seconds"] for run in record["runs"]) / 60, 1)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(record, indent=1) + "\n")
    os.replace(beside, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each with one thread")
    parser.add_argument("--json", type=Path, default=Path("results/extrapolation.json"))
    parser.add_argument("--steps", type=int, default=STEPS, help="of training (default: %(default)s)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--schemes", nargs="+", choices=POSITIONS, default=list(POSITIONS))
    options = parser.parse_args()
    record = {**provenance(options.steps), "runs": []}
    if options.json.exists():
        earlier = json.loads(options.json.read_text())
        if all(earlier[name] == record[name] for name in ("trained", "lengths", "steps")):
            record = earlier
    done = {(run["task"], run["scheme"], run["seed"]) for run in record["runs"]}
    wanted = [(task, scheme, seed) for seed in range(options.seeds) for task in options.tasks for scheme in options.schemes]
    missing = [(*name, options.steps) for name in wanted if name not in done]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for run in pool.imap(measure, missing):
            record["runs"].append(run)
            store(options.json, record)
            print(f"{run['task']:22}{run['scheme']:12}seed {run['seed']}  ", *run["accuracy"].values(), flush=True)


if __name__ == "__main__":
    main()
