"""What a training run on a CPU holds in memory, and what it costs to hold less: how many kernels oneDNN and torch's layer over it keep.

    python -m benchmarks.memory [--steps 60] [--rounds 3] [--threads 1] [--json results/bench-memory.json]

Every run is a process of its own that trains the preset multi30k (the fragment, where the captions cannot be had) and saves; the ways take
turns. Rows: seconds per step, and the largest memory of the process with its validation and its last save.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit

ROOT = Path(__file__).resolve().parent.parent
KEPT = (1024, 64)  # kernels: oneDNN's own number, and ours


def one_run(steps: int, threads: int) -> dict:
    """Train in this process."""
    import torch

    from xformer_lib.data.corpora import CORPUS_ERRORS, load_corpus
    from xformer_lib.training import preset, train

    torch.set_num_threads(threads)
    config = replace(preset("multi30k"), max_steps=steps, warmup_steps=steps // 3, validate_every=steps)
    try:
        load_corpus(config.corpus, "val")
    except CORPUS_ERRORS:
        config = replace(config, corpus="fragment")
    with tempfile.TemporaryDirectory() as folder:
        run = train(config, Path(folder) / "run", progress=False, device="cpu")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"corpus": config.corpus, "seconds_per_step": round(run.seconds / steps, 4), "peak_mib": round(peak)}


def in_a_process(kept: int, steps: int, threads: int) -> dict:
    names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    environ = os.environ | dict.fromkeys(names, str(kept)) | {"OMP_NUM_THREADS": str(threads)}
    code = f"import json; from benchmarks.memory import one_run; print(json.dumps(one_run({steps}, {threads})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="write the record here")
    options = parser.parse_args(arguments)
    commit = git_commit()
    found = {kept: [] for kept in KEPT}
    for _ in range(options.rounds):
        for kept, runs in found.items():
            runs.append(in_a_process(kept, options.steps, options.threads))
            print(kept, runs[-1], flush=True)
    record = {
        "command": f"python -m benchmarks.memory --steps {options.steps} --rounds {options.rounds} --threads {options.threads}",
        "commit": commit,
        "device": cpu_name(),
        "threads": options.threads,
        "corpus": found[KEPT[0]][0]["corpus"],
        "steps": options.steps,
        "rows": [
            {
                "kernels_kept": kept,
                "seconds_per_step": statistics.median(one["seconds_per_step"] for one in runs),
                "every_seconds_per_step": [one["seconds_per_step"] for one in runs],
                "peak_mib": max(one["peak_mib"] for one in runs),
            }
            for kept, runs in found.items()
        ],
    }
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")
    return record


if __name__ == "__main__":
    main()
