"""The command `xformer grade`: one notebook or a folder of them, the reports, the exit status."""

import importlib.util
import json
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from xformer_lib.exercises.grading.limits import Limits
from xformer_lib.exercises.grading.report import NotebookGrade, as_csv, as_json, as_text, printable
from xformer_lib.exercises.grading.run import grade_notebook
from xformer_lib.exercises.grading.source import Unreadable

ALL_PASSED, SOMETHING_OPEN = 0, 1  # and 2, by way of an error, when nothing could be graded
NEEDED = ("ipykernel", "jupyter_client", "zmq", "psutil")


def run_grade(options) -> int:
    """Grades what the options name, writes the reports and gives the exit status."""
    if threading.current_thread() is not threading.main_thread():
        return grade_and_report(options)
    before = signal.signal(signal.SIGTERM, stop)
    try:
        return grade_and_report(options)
    finally:
        signal.signal(signal.SIGTERM, before)


def stop(number: int, frame) -> None:
    """Ends the program on SIGTERM as Ctrl-C does, so that no kernel and no folder stays behind."""
    raise SystemExit(128 + number)


def grade_and_report(options) -> int:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"grading needs {', '.join(missing)}; install it with pip install 'xformer-lib[grade]'")
    limits = Limits(seconds=options.timeout, cell_seconds=options.cell_timeout, memory=options.memory)
    if options.jobs < 1 or options.seed < 0:
        raise ValueError(f"--jobs, --seed: expected a number of 1 or more and a seed of 0 or more, got --jobs "
                         f"{options.jobs} and --seed {options.seed}; leave them out for --jobs 1 --seed 0")
    for option, file in (("--json", options.json), ("--csv", options.csv)):
        if file and not Path(file).absolute().parent.is_dir():
            raise FileNotFoundError(f"{option}: no folder {Path(file).parent}; make it first, or name another file")
    path = Path(options.path)
    graded = grade_folder(path, limits, options.seed, options.jobs) if path.is_dir() else [
        grade_alone(path, limits, options.seed)]
    if options.json:
        Path(options.json).write_text(json.dumps(as_json(graded, options.seed), ensure_ascii=False, indent=1) + "\n",
                                      encoding="utf-8")
    if options.csv:
        Path(options.csv).write_text(as_csv(graded), encoding="utf-8")
    if not path.is_dir():
        print(as_text(graded[0]))
    elif not options.csv:
        print(as_csv(graded), end="")
    return ALL_PASSED if all(one.complete for one in graded) else SOMETHING_OPEN


def grade_alone(path: Path, limits: Limits, seed: int) -> NotebookGrade:
    """One notebook; what cannot be graded is an error."""
    if not path.exists():
        raise FileNotFoundError(f"path: no file or folder {path}; name a notebook, or a folder of notebooks")
    try:
        graded = grade_notebook(path, limits, seed=seed)
    except Unreadable as error:
        raise Unreadable(f"{path}: {error}") from None
    if not graded.exercises:
        raise ValueError(f"{path}: expected a notebook with exercises of the course, got one without; "
                         "it has neither a heading 'Exercise 3.1' nor a call of check")
    return graded


def grade_folder(folder: Path, limits: Limits, seed: int, jobs: int) -> list[NotebookGrade]:
    """Every notebook below a folder, in the order of their names; one that cannot be graded is a row that says so."""
    paths = sorted(path for path in folder.rglob("*.ipynb") if path.is_file()
                   and not any(part.startswith(".") for part in path.relative_to(folder).parts))
    if not paths:
        raise FileNotFoundError(f"path: no notebook (*.ipynb) in the folder {folder}; name a folder that holds some")

    def one(path: Path) -> NotebookGrade:
        name = path.relative_to(folder).as_posix()
        try:
            graded = grade_notebook(path, limits, seed=seed, name=name)
        except (OSError, ValueError) as error:
            graded = NotebookGrade(printable(name), error=printable(str(error)))
        print(graded.summary, file=sys.stderr, flush=True)
        return graded

    if jobs == 1:
        return [one(path) for path in paths]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, paths))
