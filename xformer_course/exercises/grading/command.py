"""The command `xformer grade`: one notebook or many, the reports, the exit status."""

import hashlib
import importlib.util
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from xformer_course.exercises.grading.kernel import Stopped
from xformer_course.exercises.grading.limits import Limits
from xformer_course.exercises.grading.report import NotebookGrade, Table, as_csv, as_json, as_text, from_json, one_line
from xformer_course.exercises.grading.run import grade_notebook
from xformer_course.exercises.grading.source import Unreadable, read_notebook
from xformer_course.exercises.printing import fitting
from xformer_lib.cli.files import STANDARD, check_output, write_text
from xformer_lib.data.files import find_descriptor, open_stream

ALL_PASSED, SOMETHING_OPEN = 0, 1  # and 2, by way of an error, when nothing could be graded
NEEDED = ("ipykernel", "jupyter_client", "zmq", "psutil")
FOR_SPREADSHEETS = "utf-8-sig"  # UTF-8 behind a mark without which Excel reads "Ł" as two letters
LONGEST = 500  # letters of an error in a row


def run_grade(options) -> int:
    """Grades what the options name, writes the reports and gives the exit status."""
    if threading.current_thread() is not threading.main_thread():
        return grade_and_report(options)
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows lacks the second
    before = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) is not signal.SIG_IGN}
    try:
        return grade_and_report(options)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(number: int, frame) -> None:
    """Ends the program on SIGTERM and SIGHUP as Ctrl-C does, so that no kernel and no folder stays behind."""
    raise SystemExit(128 + number)


def grade_and_report(options) -> int:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"grading needs {', '.join(missing)}; install it with pip install 'xformer-lib[grade]'")
    limits = Limits(seconds=options.timeout, cell_seconds=options.cell_timeout, memory=options.memory)
    if options.jobs < 1 or options.seed < 0:
        raise ValueError(
            f"--jobs, --seed: expected a number of 1 or more and a seed of 0 or more, got --jobs "
            f"{options.jobs} and --seed {options.seed}; leave them out for --jobs 1 --seed 0"
        )
    paths = [Path(path) for path in options.path]
    path, alone = paths[0], len(paths) == 1 and not paths[0].is_dir()
    if not alone:
        path, paths = hand_ins_of(paths)
    check_targets(options, paths)
    if options.new and (alone or not options.json):
        raise ValueError("--new: expected several notebooks and --json FILE with their last report, got less; add them, or leave --new out")
    if not alone:
        graded = grade_class(options, path, paths, limits)
    else:
        graded = [grade_alone(path, limits, options.seed)]
        write_json(options, graded)
        if options.csv:
            write_text(options.csv, as_csv(graded).encode(FOR_SPREADSHEETS).decode("utf-8"))
        if options.json != STANDARD:
            print(fitting(as_text(graded[0]), sys.stdout))
    return ALL_PASSED if all(one.complete for one in graded) else SOMETHING_OPEN


# ---------------------------------------------------------------- what is written


def check_targets(options, hand_ins: list[Path]) -> None:
    """Looks at the files for the reports before any work: no notebook is overwritten.

    Raises:
        OSError, ValueError: if a report cannot or must not be written there.
    """
    for option, target in (("--json", options.json), ("--csv", options.csv)):
        if target and (Path(target).suffix.lower() == ".ipynb" or any(is_same(Path(target), one) for one in hand_ins)):
            raise ValueError(f"{option}: expected a file for the report, got the notebook {target}; name another file")
        check_output(option, target)
    if options.json and options.csv and Path(options.json).resolve() == Path(options.csv).resolve():
        raise ValueError(f"--json, --csv: expected two files, got {options.json} for both; name another for one")


def is_same(file: Path, other: Path) -> bool:
    try:
        return file.samefile(other)
    except OSError:
        return False


def write_json(options, graded: list[NotebookGrade]) -> None:
    """Writes every verdict; what no encoding can write stands there as its escape."""
    if options.json:
        text = json.dumps(as_json(graded, options.seed), ensure_ascii=False, indent=1) + "\n"
        write_text(options.json, text.encode("utf-8", "backslashreplace").decode("utf-8"))


# ---------------------------------------------------------------- one notebook, or a class


def grade_alone(path: Path, limits: Limits, seed: int) -> NotebookGrade:
    """One notebook; what cannot be graded is an error."""
    if not path.exists():
        raise FileNotFoundError(f"path: no file or folder {path}; name a notebook, or a folder of notebooks")
    try:
        graded = grade_notebook(path, limits, seed=seed)
    except Unreadable as error:
        raise Unreadable(f"{path}: {error}") from None
    except (OSError, ValueError, ImportError):
        raise
    except Exception as error:
        if os.environ.get("XFORMER_TRACEBACK"):
            raise
        raise ValueError(f"{path}: {stopped_with(error)}; set XFORMER_TRACEBACK=1 to see where") from error
    if not graded.exercises:
        raise ValueError(
            f"{path}: expected a notebook with exercises of the course, got one without; "
            "it has neither a heading 'Exercise 3.1' nor a call of check"
        )
    return graded


def grade_class(options, folder: Path, paths: list[Path], limits: Limits) -> list[NotebookGrade]:
    """A folder: each row of the table is written as it is made, so that an interrupted class keeps its rows."""
    ids, graded = foreseen(paths), []
    settled = earlier_report(Path(options.json), options.seed) if options.new else {}
    with open_table(options) as file:
        table = Table(file, ids)

        def finish(place: int, one: NotebookGrade) -> None:
            graded.append((place, one))
            kept = "not run again: " if settled.get((one.name, one.digest)) is one else ""
            print(f"[{len(graded)} of {len(paths)}] {kept}{one.summary}", file=sys.stderr, flush=True)
            table.add(one)

        try:
            grade_all(folder, paths, limits, options.seed, options.jobs, finish, settled)
        finally:
            in_order = [one for _, one in sorted(graded, key=lambda pair: pair[0])]
            reached = {one.name for one in in_order}
            left = [one for one in settled.values() if one.name not in reached] if len(in_order) < len(paths) else []
            if graded:
                write_json(options, [*in_order, *left])  # an interrupted class keeps what an earlier call found
    if options.csv and options.jobs > 1 and os.path.isfile(options.csv) and not find_descriptor(options.csv):
        write_text(options.csv, as_csv(in_order, ids).encode(FOR_SPREADSHEETS).decode("utf-8"))  # the same rows, in order
    return in_order


def open_table(options) -> AbstractContextManager[TextIO]:
    """Where the rows of a class go: a file, what is no file of its own, or standard output, unless the JSON goes there."""
    if options.csv in (None, STANDARD):
        return open(os.devnull, "w", encoding="utf-8") if options.json == STANDARD else nullcontext(sys.stdout)
    stream = open_stream(options.csv)
    return TextIOWrapper(stream, FOR_SPREADSHEETS) if stream else open(options.csv, "w", encoding=FOR_SPREADSHEETS)


def earlier_report(file: Path, seed: int) -> dict[tuple[str, str], NotebookGrade]:
    """The verdicts that need not be found again; none where there is no report yet.

    Raises:
        ValueError: if the file is there and no report.
    """
    if not file.exists():
        return {}
    try:
        return from_json(json.loads(file.read_text(encoding="utf-8")), seed)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError(
            f"--new: expected the report of an earlier call in {file}, got another file; name the one that --json wrote"
        ) from None


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, or nothing where there is none to read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        return ""


def grade_folder(folder: Path, limits: Limits, seed: int, jobs: int) -> list[NotebookGrade]:
    """Every notebook below a folder, in the order of their names."""
    found = {}
    grade_all(folder, find_notebooks(folder), limits, seed, jobs, found.__setitem__)
    return [found[place] for place in sorted(found)]


def hand_ins_of(paths: list[Path]) -> tuple[Path, list[Path]]:
    """The folder that holds them all, and each notebook once: those that are named, and those below folders.

    Raises:
        FileNotFoundError: if one is not there, or a folder holds none.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise FileNotFoundError(f"path: no file or folder {path}; name notebooks, or folders of notebooks")
    if len(paths) == 1:
        return paths[0], find_notebooks(paths[0])
    paths = [Path(os.path.abspath(path)) for path in paths]
    found = [one for path in paths for one in (find_notebooks(path) if path.is_dir() else [path])]
    return Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths])), list(dict.fromkeys(found))


def find_notebooks(folder: Path) -> list[Path]:
    """What is called a notebook below a folder, in the order of the names; links to folders are not searched.

    Raises:
        FileNotFoundError: if there is none.
    """
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place) / name for name in files if name.endswith(".ipynb") and not name.startswith(".")]
    if not found:
        raise FileNotFoundError(f"path: no notebook (*.ipynb) in the folder {folder}; name a folder that holds some")
    return sorted(found)


def foreseen(paths: list[Path]) -> set[str]:
    """The exercises of a class, as far as reading the notebooks tells."""
    ids = set()
    for path in paths:
        try:
            ids |= {exercise.id for exercise in read_notebook(path).exercises}
        except Exception:  # whatever is wrong with this one will be said in its row
            continue
    return ids


def grade_all(
    folder: Path,
    paths: list[Path],
    limits: Limits,
    seed: int,
    jobs: int,
    finish: Callable[[int, NotebookGrade], None],
    settled: Mapping[tuple[str, str], NotebookGrade] = MappingProxyType({}),
) -> None:
    """Hands each notebook to `finish`, with its place in the list, before the next one is begun; one at a time.

    What is `settled` under its name and digest is not run again.

    One that cannot be graded, for whatever reason, is a row that says why. An interrupt ends those at work.
    """
    stop, turn = threading.Event(), threading.Lock()

    def work(place: int, path: Path) -> None:
        try:
            if stop.is_set():
                raise Stopped
            name, digest = path.relative_to(folder).as_posix(), digest_of(path)
            graded = settled.get((one_line(name), digest))
            if graded is None:
                graded = replace(grade_in_class(path, name, limits, seed, stop), digest=digest)
            with turn:
                finish(place, graded)
        except BaseException:
            stop.set()
            raise

    pool = ThreadPoolExecutor(jobs)
    try:
        for done in as_completed([pool.submit(work, place, path) for place, path in enumerate(paths)]):
            if not isinstance(done.exception(), Stopped):
                done.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def grade_in_class(path: Path, name: str, limits: Limits, seed: int, stop: threading.Event) -> NotebookGrade:
    """One notebook of many, whatever is wrong with it."""
    try:
        return grade_notebook(path, limits, seed=seed, name=name, stop=stop)
    except (OSError, ValueError) as error:
        return NotebookGrade(one_line(name), error=one_line(str(error)))
    except Stopped:
        raise
    except Exception as error:
        if os.environ.get("XFORMER_TRACEBACK"):
            traceback.print_exc()
        return NotebookGrade(one_line(name), error=stopped_with(error))


def stopped_with(error: Exception) -> str:
    """A fault of the grader's own, in one line."""
    words = f"{type(error).__name__}: {error}".removesuffix(": ")[:LONGEST]
    return one_line(f"the grader stopped with {words}")
