"""Train on up to 16 letters, test on up to 64: what does each scheme of positions know about unseen places?

    python benchmarks/extrapolation.py [--steps 6000] [--seeds 3] [--jobs 1] [--json results/extrapolation.json]

Three tasks, six schemes, one model each and seed; the tasks, the model and its training are chapter 09a's
(``xformer_course.lessons.extrapolation``). Each scheme first chooses its learning rate for each task: one short trial a rate, judged by the
loss on rows of trained length alone. Then every run is tested on its way, ten times, so that the record shows whether its curves are flat.
A run of 6,000 steps takes about a minute and a half on one CPU thread, all of them about two hours. The file is rewritten after every run,
and a second call does only the runs that it lacks.
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
from torch.nn.functional import cross_entropy

from xformer_course.lessons.extrapolation import LETTERS, TASKS, TESTED, TRAINED, UNASKED, Labeller, Task, right_by_place, train_labeller
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.nn.positions import POSITIONS

LENGTHS = (TRAINED, 24, 32, 48, TESTED)
STEPS, LOOKS = 6000, 10
RATES = (0.001, 0.003, 0.006, 0.012)
TRIAL_STEPS, TRIAL_SEED = 1000, 100


@torch.inference_mode()
def loss_of(model: Labeller, task: Task) -> float:
    """The loss on 512 rows of the longest trained length; rows of a seed that neither training nor test draws."""
    ids = torch.randint(LETTERS, (512, TRAINED), generator=torch.Generator().manual_seed(1_000))
    return cross_entropy(model(ids).flatten(0, 1), task.rule(ids).flatten(), ignore_index=UNASKED).item()


def try_rate(name: tuple[str, str, float]) -> dict:
    """One short run with one learning rate, judged at the trained length."""
    task, scheme, rate = name
    torch.set_num_threads(1)
    model = train_labeller(TASKS[task], scheme, seed=TRIAL_SEED, steps=TRIAL_STEPS, rate=rate)
    return {"task": task, "scheme": scheme, "rate": rate, "loss": round(loss_of(model, TASKS[task]), 5)}


def share_right(model: Labeller, task: Task, length: int) -> float:
    right, asked = right_by_place(model, task, length)
    return round(int(right.sum()) / int(asked.sum()), 4)


def measure(name: tuple[str, str, int, int, float]) -> dict:
    """One model, trained and tested: the share of right answers on the way, by length, and by place in the longest rows."""
    task, scheme, seed, steps, rate = name
    torch.set_num_threads(1)
    start, curve = time.process_time(), []

    def watch(step: int, model: Labeller) -> None:
        if step % (steps // LOOKS) == 0:
            curve.append([step, *(share_right(model, TASKS[task], length) for length in (TRAINED, TESTED))])

    model = train_labeller(TASKS[task], scheme, seed=seed, steps=steps, rate=rate, watch=watch)
    right, asked = right_by_place(model, TASKS[task], TESTED)
    places = [round(r / a, 3) if a else None for r, a in zip(right.tolist(), asked.tolist(), strict=True)]
    return {
        "task": task,
        "scheme": scheme,
        "seed": seed,
        "rate": rate,
        "accuracy": {str(length): share_right(model, TASKS[task], length) for length in LENGTHS},
        "by_place": places,
        "curve": curve,
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def best_rate(trials: list[dict], task: str, scheme: str) -> float:
    """The rate of the lowest loss among a scheme's trials."""
    tried = [trial for trial in trials if (trial["task"], trial["scheme"]) == (task, scheme)]
    return min(tried, key=lambda trial: trial["loss"])["rate"]


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
        "trial_steps": TRIAL_STEPS,
    }


def store(path: Path, record: dict) -> None:
    """Write beside the file, then put it in its place: a killed run leaves a whole file."""
    record["seeds"] = sorted({run["seed"] for run in record["runs"]})
    record["cpu_minutes"] = round(sum(run["cpu_seconds"] for run in record["runs"]) / 60, 1)
    beside = path.with_suffix(".part")
    beside.write_text(json_text(record))
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
    record = {**provenance(options.steps), "trials": [], "runs": []}
    if options.json.exists():
        earlier = json.loads(options.json.read_text())
        if all(earlier[name] == record[name] for name in ("trained", "lengths", "steps")):
            record = earlier
    asked = [(task, scheme) for task in options.tasks for scheme in options.schemes]
    tried = {(trial["task"], trial["scheme"], trial["rate"]) for trial in record["trials"]}
    done = {(run["task"], run["scheme"], run["seed"]) for run in record["runs"]}
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for trial in pool.imap(try_rate, [(*pair, rate) for pair in asked for rate in RATES if (*pair, rate) not in tried]):
            record["trials"].append(trial)
            store(options.json, record)
            print(*trial.values(), flush=True)
        missing = [
            (*pair, seed, options.steps, best_rate(record["trials"], *pair))
            for seed in range(options.seeds)
            for pair in asked
            if (*pair, seed) not in done
        ]
        for run in pool.imap(measure, missing):
            record["runs"].append(run)
            store(options.json, record)
            print(f"{run['task']:22}{run['scheme']:12}seed {run['seed']}  ", *run["accuracy"].values(), flush=True)


if __name__ == "__main__":
    main()
