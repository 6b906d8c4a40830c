"""Hand-ins as files: what is not followed, what is not overwritten, and a table that grows row by row."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from xformer_course.exercises.grading import command, run
from xformer_course.exercises.grading.kernel import KernelDied, Reply, Stopped
from xformer_course.exercises.grading.limits import Limits
from xformer_course.exercises.grading.report import Grade, NotebookGrade
from xformer_course.exercises.grading.source import Unreadable, parse, read_notebook
from xformer_lib import cli

LINKS = pytest.mark.skipif(os.name != "posix", reason="this system has no such files")
HONEST = 'from xformer_course.exercises import check\ncheck("3.1", [0.25] * 4)'


def write(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {
                "nbformat": 4,
                "nbformat_minor": 5,
                "metadata": {},
                "cells": [{"cell_type": "code", "source": text, "metadata": {}} for text in cells],
            }
        )
    )
    return path


def grade(*arguments):
    return cli.main(["grade", *map(str, arguments)])


# ---------------------------------------------------------------- what is no notebook


@LINKS
def test_every_odd_file_of_a_class_has_a_row_that_says_what_it_is(tmp_path, capsys):
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "a gone.ipynb").symlink_to("nothing-here")
    os.mkfifo(folder / "b pipe.ipynb")
    (folder / "c empty.ipynb").touch()
    (folder / "d bytes.ipynb").write_bytes(bytes(range(256)))
    write(folder / "e honest.ipynb", HONEST)
    assert grade(folder) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["status"] for row in rows] == ["not graded"] * 4 + ["graded"] and rows[4]["3.1"] == "passed"
    assert all("something that is no file; hand in the file itself" in row["error"] for row in rows[:2])
    assert all("not JSON" in row["error"] for row in rows[2:4])


def test_notebooks_that_are_named_are_a_class(tmp_path, capsys):
    """As a shell makes of *.ipynb: with a row each, named from the folder that holds them all."""
    files = [write(tmp_path / name, cell) for name, cell in (("a/1.ipynb", HONEST), ("a/2.ipynb", "x = 1"), ("b.ipynb", HONEST))]
    assert grade(files[0], files[1], files[0]) == 1
    assert [row["notebook"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == ["1.ipynb", "2.ipynb"]
    assert grade(tmp_path / "a", files[2], "--json", tmp_path / "out.json") == 1
    assert [row["notebook"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == ["a/1.ipynb", "a/2.ipynb", "b.ipynb"]
    assert grade(files[0], files[2], "--new", "--json", tmp_path / "new.json") == 0
    assert grade(files[0], tmp_path / "gone.ipynb") == 2 and "no file or folder" in capsys.readouterr().err
    assert grade(*files, "--csv", files[1]) == 2 and "got the notebook" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [{"nbformat": 3, "worksheets": [{"cells": []}]}, {"cells": {"a": 1}}, {"cells": [1, "two"]}],
    ids=["format 3", "cells in a dict", "cells that are none"],
)
def test_what_is_no_notebook_is_refused(tmp_path, content):
    (tmp_path / "one.ipynb").write_text(json.dumps(content))
    with pytest.raises(Unreadable, match="of format 4.*Jupyter"):
        read_notebook(tmp_path / "one.ipynb")


def test_an_odd_cell_is_read():
    """Half a character, a source without end: what is not Python holds no check, and the next cell is read."""
    for text in ("x = '\ud800'", "check(" * 1000, "-" * 10**5 + "1"):
        assert parse([("code", text), ("code", 'check("3.1", a)')]).exercises[0].id == "3.1"


# ---------------------------------------------------------------- what is written


@pytest.mark.parametrize("option", ["--json", "--csv"])
@pytest.mark.parametrize("target", ["other.ipynb", "new.IPYNB", "linked.csv"])
def test_a_report_never_takes_the_place_of_a_notebook(tmp_path, option, target, capsys):
    notebook = write(tmp_path / "one.ipynb", HONEST)
    write(tmp_path / "other.ipynb", HONEST)
    (tmp_path / "linked.csv").symlink_to(notebook)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert grade(notebook, option, tmp_path / target) == 2
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    said = capsys.readouterr().err
    assert said.startswith(f"xformer grade: {option}: ") and said.endswith("; name another file\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--json", "."], "--json: expected a file, got the folder .; name a file in it"),
        (["--csv", "."], "--csv: expected a file, got the folder .; name a file in it"),
        (["--json", ""], "--json: expected a file, got the folder .; name a file in it"),
        (["--csv", "out", "--json", "out"], "--json, --csv: expected two files, got out for both; name another for one"),
    ],
)
def test_a_report_that_cannot_be_is_refused_before_the_work(tmp_path, monkeypatch, options, words, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "grade_notebook", lambda *anything, **more: pytest.fail("too late"))
    write(tmp_path / "one.ipynb", HONEST)
    assert grade("one.ipynb", *options) == 2
    assert capsys.readouterr().err == f"xformer grade: {words}\n"


def test_a_full_disk_leaves_the_reports_that_were_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "grade_notebook", lambda path, limits, **more: graded_as(path.name))
    notebook, reports = write(tmp_path / "one.ipynb", HONEST), [tmp_path / "all.json", tmp_path / "table.csv"]
    assert grade(notebook, "--json", reports[0], "--csv", reports[1]) == 0
    assert json.loads(reports[0].read_text())["notebooks"][0]["passed"] == 1
    assert reports[1].read_bytes().startswith(b"\xef\xbb\xbfnotebook,status,"), "the mark by which Excel knows UTF-8"
    before = [report.read_bytes() for report in reports]

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # what was written so far is in the file, and the rest has no room
    for option, report in zip(("--json", "--csv"), reports, strict=True):
        assert grade(notebook, option, report) == 2
        assert f"{report}: could not be written (No space left on device)" in capsys.readouterr().err
    assert [report.read_bytes() for report in reports] == before


def graded_as(name, status="passed"):
    return NotebookGrade(name, (Grade("3.1", status, "Exercise 3.1: …"),), 1.0)


@pytest.fixture
def class_of_five(tmp_path):
    for name in "abcde":
        write(tmp_path / "class" / f"{name}.ipynb", HONEST)
    return tmp_path / "class"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit(143)])
def test_an_interrupted_class_keeps_its_rows(class_of_five, tmp_path, monkeypatch, jobs, error, capsys):
    """The interrupt comes while c is graded; with two jobs d is at work beside it, and e is never begun."""
    begun = []

    def until_the_third(path, limits, *, seed, name, stop, **more):
        begun.append(name)
        if name == "c.ipynb":
            time.sleep(0.3)
            raise error
        if name == "d.ipynb":
            assert stop.wait(20)
            raise Stopped
        return graded_as(name)

    monkeypatch.setattr(command, "grade_notebook", until_the_third)
    try:
        assert grade(class_of_five, "--csv", tmp_path / "t.csv", "--json", tmp_path / "t.json", "--jobs", jobs) == 130
    except SystemExit as stop:
        assert stop.code == 143
    rows = list(csv.DictReader((tmp_path / "t.csv").open(encoding="utf-8-sig")))
    assert sorted(row["notebook"] for row in rows) == ["a.ipynb", "b.ipynb"] and "e.ipynb" not in begun
    assert [one["name"] for one in json.loads((tmp_path / "t.json").read_text())["notebooks"]] == ["a.ipynb", "b.ipynb"]


@pytest.mark.parametrize("error", [RuntimeError("no\nsuch \ud800 luck"), MemoryError(), OSError(28, "No space")])
def test_a_class_goes_on_after_one_that_breaks_the_grader(class_of_five, monkeypatch, error, capsys):
    def break_once(path, limits, *, seed, name, **more):
        if name == "b.ipynb":
            raise error
        return graded_as(name)

    monkeypatch.setattr(command, "grade_notebook", break_once)
    assert grade(class_of_five) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["3.1"] for row in rows] == ["passed", "", "passed", "passed", "passed"]
    assert rows[1]["error"] and "\n" not in rows[1]["error"]


def test_an_exercise_that_no_reading_foresaw_is_in_the_row(class_of_five, monkeypatch, capsys):
    """A check whose id is computed has no column when the table begins."""
    unforeseen = (Grade("3.1", "passed", "…"), Grade("3.10", "wrong", "…"))
    monkeypatch.setattr(command, "grade_notebook", lambda path, limits, *, name, **more: NotebookGrade(name, unforeseen))
    grade(class_of_five)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert (rows[0]["total"], rows[0]["3.1"], rows[0]["error"]) == ("2", "passed", "also checked: 3.10 wrong")


@LINKS
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_table_goes_behind_what_a_descriptor_holds(class_of_five, tmp_path, monkeypatch, capsys, jobs):
    """`--csv /dev/stdout >>all`, and the same for a single notebook."""
    monkeypatch.setattr(command, "grade_notebook", lambda path, limits, *, name="", **more: graded_as(name or path.name))
    with open(tmp_path / "all", "ab") as file:
        file.write(b"before\n")
        file.flush()
        place = f"/dev/fd/{file.fileno()}"
        assert grade(class_of_five, "--csv", place, "--jobs", jobs) == 0
        assert grade(class_of_five / "a.ipynb", "--csv", place) == 0
    lines = (tmp_path / "all").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "before" and "notebook,status" in lines[1] and len(lines) == 9


@pytest.mark.skipif(os.name != "posix", reason="this system has no SIGTERM to send")
def test_a_class_that_is_ended_leaves_no_kernel_behind(tmp_path):
    for name in "abc":
        write(tmp_path / "class" / f"{name}.ipynb", "import time\ntime.sleep(300)", HONEST)
    grader = subprocess.Popen(
        [sys.executable, "-m", "xformer_lib.cli", "grade", tmp_path / "class", "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 60
    while len(kernels := psutil.Process(grader.pid).children()) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1)
    began = time.monotonic()
    grader.send_signal(signal.SIGTERM)
    grader.communicate(timeout=60)
    assert time.monotonic() - began < 30 and grader.returncode == 143
    assert len(kernels) == 2 and not any(kernel.is_running() for kernel in kernels)


def test_time_that_runs_out_while_cells_run_again_is_called_so(tmp_path, monkeypatch):
    """The kernel dies, the two slow cells are to run again, and there is time for the first of them alone."""
    clock = [0.0]

    class SlowKernel:
        def __init__(self, *anything):
            self.seen = []

        def run(self, code, attempts, seconds):
            self.seen.append(code)
            clock[0] += 3.0 if code.startswith("slow") else 0.1
            if code == "dies":
                raise KernelDied("gone")
            return Reply() if self.seen[:2] == ["slow 1", "slow 2"][: len(self.seen)] else Reply("NameError", "no such name")

        def close(self):
            self.seen = None

    monkeypatch.setattr("xformer_course.exercises.grading.run.Kernel", SlowKernel)
    monkeypatch.setattr("xformer_course.exercises.grading.run.time.monotonic", lambda: clock[0])
    path = write(tmp_path / "one.ipynb", "slow 1", "slow 2", "dies", 'check("3.1", weights)')
    (grade,) = run.grade_notebook(path, Limits(seconds=8.5)).exercises
    assert grade.status == "timed out", grade.message
    assert "the 8.5 s of the notebook were over before this cell was reached" in grade.message


# ---------------------------------------------------------------- names in a spreadsheet


@LINKS
def test_a_table_that_is_sent_into_a_file_is_utf_8_where_something_else_is_usual(tmp_path):
    """As on Windows."""
    for name in ("Łukasz", "Ωμέγα", "anna"):
        write(tmp_path / "class" / f"{name}.ipynb", "1")
    done = subprocess.run(
        [sys.executable, "-m", "xformer_lib.cli", "grade", tmp_path / "class"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    rows = done.stdout.decode("utf-8").splitlines()
    assert [line.split(",")[0] for line in rows] == ["notebook", "anna.ipynb", "Łukasz.ipynb", "Ωμέγα.ipynb"]


@LINKS
def test_names_that_are_no_text_and_names_of_two_lines_are_graded(tmp_path, capfd):
    folder = tmp_path / "class"
    folder.mkdir()
    for name in (b"\xff=1.ipynb", b"two\nlines.ipynb", "＝1.ipynb".encode()):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("{")
    assert grade(folder, "--json", tmp_path / "all.json") == 1
    out, err = capfd.readouterr()
    assert out.count("\n") == 4 and err.count("\n") == 3
    assert [row["notebook"] for row in csv.DictReader(io.StringIO(out))] == ["two?lines.ipynb", "?=1.ipynb", "＝1.ipynb"]
    assert len(json.loads((tmp_path / "all.json").read_text())["notebooks"]) == 3
