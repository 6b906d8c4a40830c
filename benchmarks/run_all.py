"""Run the benchmarks, one after the other, and write results/bench-*.json when all are through.

    python benchmarks/run_all.py [NAME …] [--smoke] [--out results]

The files are written together at the end, so that each names the commit it was measured on and none a working tree that the
file before it had changed. One thread, unless OMP_NUM_THREADS says otherwise.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# name: arguments, arguments for a first look, the file, and about how many minutes on one core
BENCHMARKS = {
    "attention_paths": ((), ("--rounds", "2"), "bench-attention-paths.json", 1),
    "decoding": (("--rounds", "3"), ("--rounds", "1"), "bench-decoding.json", 2),
    "peers": ((), ("--smoke",), "bench-peers.json", 8),
    "growth": ((), ("--smoke",), "bench-growth.json", 6),
    "one_change": ((), ("--rounds", "1"), "bench-one-change.json", 3),
    "device": (("--device", "cpu"), ("--device", "cpu", "--smoke"), "bench-device-cpu.json", 3),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(f"{name} ({row[3]} min)" for name, row in BENCHMARKS.items()))
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds: do they run?")
    parser.add_argument("--out", type=Path, default=ROOT / "results")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"expected names of {', '.join(BENCHMARKS)}, got {', '.join(sorted(unknown))}")
    names = options.names or list(BENCHMARKS)
    failed, options.out = [], options.out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            full, small, file, _ = BENCHMARKS[name]
            print(f"\n== {name}", flush=True)
            began = time.perf_counter()
            command = [sys.executable, "-m", f"benchmarks.{name}", *(small if options.smoke else full), "--json", str(Path(folder) / file)]
            if subprocess.run(command, cwd=ROOT, env={"OMP_NUM_THREADS": "1", **os.environ}).returncode:
                failed.append(name)
            print(f"== {name}: {'FAILED' if name in failed else 'ok'}, {time.perf_counter() - began:.0f} s", flush=True)
        options.out.mkdir(parents=True, exist_ok=True)
        for path in sorted(Path(folder).glob("*.json")):
            (options.out / path.name).write_bytes(path.read_bytes())
            print(f"written: {options.out / path.name}")
    if failed:
        print(f"Failed: {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
