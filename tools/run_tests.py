"""Everything `make test` checks, in five steps, with the time each one took.

    1. style     ruff over the code
    2. form      ruff format, which must find nothing to change
    3. types     mypy over both packages
    4. book      the HTML build, warnings as errors
    5. tests     unit, parity, property and doctests, the re-export, every notebook against its stored outputs
                 (nbval), the built pages, in parallel

A step that fails does not keep the next from running. The exit status is 0 when all passed.

    python tools/run_tests.py --only library        another step: both packages on any system, without notebooks and pages
    python tools/run_tests.py --only style types    these alone
    python tools/run_tests.py --near                style, form, types, the re-export, and the tests near what was changed
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from near_tests import changed_files, near, test_files

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CORES = os.cpu_count() or 1
JOBS = min(CORES + 1, 12)  # one more than there are cores, since many a test waits for a browser or a process; each may take 2 GB
TOGETHER = ("style", "form", "types", "export", "exercises", "book")  # each of these keeps one core busy, and none needs another
# What is no test of the two packages: pages, notebooks, measurements, the project's own files, records and types, which follow
# the exact versions of the lock file.
BESIDE = ("bench", "book", "explorables", "notebooks", "pictures", "project", "records", "tools", "test_int8.py", "test_types.py")


def steps(jobs):
    style = [BIN / "ruff", "check", "--quiet", "."]
    form = [BIN / "ruff", "format", "--check", "--quiet", "."]
    types = [sys.executable, "-m", "mypy"]
    book = [sys.executable, "book/build.py"]
    tests = [*pytest_with_notebooks(jobs), "--durations", "15"]
    # In the order that tests/conftest.py gives them; xdist itself would take the file with the most tests first.
    tests += ["--no-loadscope-reorder", "chapters", "tests", "xformer_lib", "xformer_course", "README.md"]
    return {"style": style, "form": form, "types": types, "book": book, "tests": tests}


def pytest_with_notebooks(jobs):
    tests = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", str(jobs), "--dist", "loadfile"]
    tests += ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", "900", "--nbval-kernel-startup-timeout", "300"]
    return [*tests, "--nbval-sanitize-with", "tests/notebooks/sanitize.cfg", "-rsfE"]  # what failed is named last


def checks(jobs):
    """What one asks for between two edits, in some two minutes; prints which tests are taken, and why."""
    runs, lines = near(changed_files(ROOT), test_files(ROOT), lambda path: (ROOT / path).exists())
    print("\n".join(lines), flush=True)
    first = {name: command for name, command in steps(jobs).items() if name in ("style", "form", "types")}
    export = [sys.executable, "tools/export_library.py", "--check"]
    exercises = [sys.executable, "tools/write_exercises.py", "--check"]
    return (
        first
        | {"export": export, "exercises": exercises}
        | {name: [*pytest_with_notebooks(jobs), *arguments] for name, arguments in runs.items()}
    )


def library(jobs):
    """The tests of `xformer_lib` and `xformer_course`: no make, no book, no notebook is run."""
    tests = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", str(jobs), "--dist", "loadfile", "-rsfE", "--durations", "15"]
    return [*tests, "tests", "xformer_lib", "xformer_course", *(f"--ignore=tests/{name}" for name in BESIDE)]


def environment(jobs):
    """One thread pool a worker, and no bytecode left behind."""
    threads = max(1, CORES // jobs)
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    fixed = {"OMP_NUM_THREADS": str(threads), "PYTHONDONTWRITEBYTECODE": "1", "PATH": path}
    return os.environ | fixed


def open_closed_streams():
    """Give the tests an empty stream for each standard one that is closed: pytest starts with none of them missing."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def main(arguments=None):
    open_closed_streams()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"tests that run at the same time (default: {JOBS})")
    every = list(steps(1))
    parser.add_argument(
        "--only", nargs="+", choices=[*every, "library"], default=every, metavar="STEP", help="these steps alone, or library"
    )
    parser.add_argument("--near", action="store_true", help="style, form, types, the re-export, and the tests near what was changed")
    options = parser.parse_args(arguments)
    known = checks(options.jobs) if options.near else steps(options.jobs) | {"library": library(options.jobs)}
    began = time.perf_counter()
    environ = environment(options.jobs)

    def run(name, **output):
        start = time.perf_counter()
        done = subprocess.run([str(part) for part in known[name]], cwd=ROOT, env=environ, **output)
        return done, time.perf_counter() - start

    chosen, verdicts = list(known) if options.near else options.only, {}
    with ThreadPoolExecutor() as pool:
        early = {name: pool.submit(run, name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for name in chosen if name in TOGETHER}
        for name in chosen:
            print(f"== {name}", flush=True)
            done, seconds = early[name].result() if name in early else run(name)
            if name in early:
                print((done.stdout or b"").decode(errors="replace"), end="")
            verdicts[name] = done.returncode
            print(f"== {name}: {'FAILED' if done.returncode else 'ok'}, {seconds:.0f} s", flush=True)
    failed = [name for name, status in verdicts.items() if status]
    print(f"{'Failed: ' + ', '.join(failed) if failed else 'All passed'} ({time.perf_counter() - began:.0f} s).")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
