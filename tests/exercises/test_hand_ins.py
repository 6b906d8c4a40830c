"""Hand-ins as files: what is not followed, what is not overwritten, and a table that grows row by row."""

import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from xformer_course.exercises.grading import command, run
from xformer_course.exercises.grading.kernel import KernelDied, Reply, Stopped
from xformer_course.exercises.grading.limits import Limits, Workplace
from xformer_course.exercises.grading.report import Grade, NotebookGrade, Table, as_csv
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


# ---------------------------------------------------------------- what is copied


@pytest.fixture
def hand_in(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("of the machine, not of the hand-in")
    return write(tmp_path / "anna" / "chapters" / "one.ipynb", HONEST)


def copied(notebook):
    """The files that the kernel of this notebook would find in `../results`, and what was said about the others."""
    place = Workplace(notebook)
    folder = place.root / "results"
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")) if folder.exists() else None
    place.remove()
    return found, place.left_out


@LINKS
def test_links_pipes_and_sockets_in_results_are_left_out(hand_in, tmp_path):
    results = hand_in.parent.parent / "results"
    (results / "runs").mkdir(parents=True)
    (results / "runs" / "small.json").write_text("{}")
    (results / "file").symlink_to(tmp_path / "outside" / "secret.txt")
    (results / "folder").symlink_to(tmp_path / "outside")
    (results / "around").symlink_to(results)
    (results / "nowhere").symlink_to("nothing-here")
    os.mkfifo(results / "pipe")
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind(str(results / "ear"))
        assert copied(hand_in) == (["runs", "runs/small.json"], "results: links and special files were left out")


@LINKS
def test_a_results_folder_that_is_a_link_is_left_out(hand_in, tmp_path):
    (hand_in.parent.parent / "results").symlink_to(tmp_path / "outside")
    assert copied(hand_in) == (None, "results: a link, not a folder; it was left out")


@LINKS
def test_a_linked_notebook_brings_no_results_from_where_it_leads(hand_in, tmp_path):
    far = write(tmp_path / "far" / "chapters" / "one.ipynb", HONEST)
    (tmp_path / "far" / "results").mkdir()
    (tmp_path / "far" / "results" / "run.json").write_text("{}")
    hand_in.unlink()
    hand_in.symlink_to(far)
    assert copied(hand_in) == (None, "")


@LINKS
def test_an_endless_device_behind_a_link_is_not_read(hand_in):
    """In a process that may write a megabyte, so that the test is harmless where it fails."""
    results = hand_in.parent.parent / "results"
    results.mkdir()
    (results / "zeros").symlink_to("/dev/zero")
    program = (
        "import resource, signal, sys\nfrom pathlib import Path\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))\n"
        "from xformer_course.exercises.grading.limits import Workplace\n"
        "Workplace(Path(sys.argv[1])).remove()"
    )
    done = subprocess.run([sys.executable, "-c", program, hand_in], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shape", ["one file", "many files", "deep"])
def test_too_much_is_left_out_as_a_whole_and_said(hand_in, shape):
    results = hand_in.parent.parent / "results"
    results.mkdir()
    if shape == "one file":
        with open(results / "hole", "wb") as file:
            file.truncate(10**12)  # a terabyte that fills no disk
    elif shape == "many files":
        for number in range(2003):
            (results / f"{number}").touch()
    else:
        results.joinpath(*"abcdefghijklmnopqrstuvwxyz").mkdir(parents=True)
    found, said = copied(hand_in)
    assert found is None and said.startswith("results: left out, because it holds more than ")


def test_what_the_table_says_about_results_left_out(hand_in):
    results = hand_in.parent.parent / "results"
    results.mkdir()
    with open(results / "hole", "wb") as file:
        file.truncate(10**12)
    (graded,) = command.grade_folder(hand_in.parent, Limits(seconds=60), seed=0, jobs=1)
    assert graded.complete and graded.notes[0].startswith("results: left out, because it holds more than ")


# ---------------------------------------------------------------- what is no notebook


@LINKS
def test_every_odd_file_of_a_class_has_a_row_that_says_what_it_is(tmp_path, capsys):
    answer = write(tmp_path / "teacher" / "03.ipynb", HONEST)
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "a link.ipynb").symlink_to(answer)
    (folder / "b gone.ipynb").symlink_to("nothing-here")
    os.mkfifo(folder / "c pipe.ipynb")
    (folder / "d folder.ipynb").mkdir()
    (folder / "e empty.ipynb").touch()
    (folder / "f linked").symlink_to(answer.parent)
    assert grade(folder) == 1
    captured = capsys.readouterr()
    said = {row["notebook"]: row["error"] for row in csv.DictReader(io.StringIO(captured.out))}
    assert said.pop("e empty.ipynb").startswith("expected a notebook, got a file that is not JSON")
    assert said == {
        name: f"expected a notebook, got {kind}; hand in the file itself"
        for name, kind in (
            ("a link.ipynb", "a link"),
            ("b gone.ipynb", "a link"),
            ("c pipe.ipynb", "a pipe"),
            ("d folder.ipynb", "a folder"),
        )
    }
    assert "f linked: a link to a folder, not searched" in captured.err


@LINKS
@pytest.mark.errors
def test_a_pipe_named_by_itself_is_refused_at_once(tmp_path, capsys):
    os.mkfifo(tmp_path / "one.ipynb")
    assert grade(tmp_path / "one.ipynb") == 2
    assert "one.ipynb: expected a notebook, got a pipe; hand in the file itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda: " " * 50_000_001, "got a file of more than 50,000,000 bytes; clear its outputs"),
        (lambda: json.dumps({"cells": [{}] * 10_001}), "got 10,001 cells, more than 10,000"),
        (lambda: '{"cells": [{"cell_type": "code", "source": ' + "[" * 700 + "]" * 700 + "}]}", ""),
        (lambda: json.dumps({"nbformat": 3, "worksheets": [{"cells": []}]}), "of format 4"),
    ],
    ids=["large", "many cells", "deep source", "format 3"],
)
def test_a_notebook_that_is_too_much_is_refused(tmp_path, content, words):
    path = tmp_path / "one.ipynb"
    path.write_text(content())
    try:
        assert read_notebook(path).exercises == () and words == ""
    except Unreadable as error:
        assert words and words in str(error)


@pytest.mark.parametrize(
    "text",
    ["\n" * 200_000, "x\n" * 2_000_000, "check(" * 100_000, "-" * 10**6 + "1"],
    ids=["blank lines", "a large cell", "open calls", "deep"],
)
def test_reading_takes_no_longer_for_an_odd_cell(text):
    began = time.monotonic()
    assert parse([("code", text), ("code", 'check("3.1", a)')]).exercises[0].id == "3.1"
    assert time.monotonic() - began < 10


# ---------------------------------------------------------------- what is written


@pytest.mark.errors
@pytest.mark.parametrize("option", ["--json", "--csv"])
@pytest.mark.parametrize("target", ["other.ipynb", "new.IPYNB", "linked.txt", "renamed.json", "hard.csv"])
def test_a_report_never_takes_the_place_of_a_notebook(tmp_path, option, target, capsys):
    notebook = write(tmp_path / "one.ipynb", HONEST)
    other = write(tmp_path / "other.ipynb", HONEST)
    write(tmp_path / "renamed.json", HONEST)
    (tmp_path / "linked.txt").symlink_to(other)
    os.link(notebook, tmp_path / "hard.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert grade(notebook, option, tmp_path / target) == 2
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    said = capsys.readouterr().err
    assert said == f"xformer grade: {option}: expected a file for the report, got the notebook {tmp_path / target}; name another file\n"


@pytest.mark.errors
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--json", "."], "--json: expected a file, got the folder .; name a file in it"),
        (["--csv", "."], "--csv: expected a file, got the folder .; name a file in it"),
        (["--json", ""], "--json: expected the name of a file, got ''; leave the option out for none"),
        (["--csv", "out", "--json", "out"], "--json, --csv: expected two files, got out for both; name another for one"),
    ],
)
def test_a_report_that_cannot_be_is_refused_before_the_work(tmp_path, monkeypatch, options, words, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "grade_notebook", lambda *anything, **more: pytest.fail("too late"))
    write(tmp_path / "one.ipynb", HONEST)
    assert grade("one.ipynb", *options) == 2
    assert capsys.readouterr().err == f"xformer grade: {words}\n"


@pytest.mark.errors
@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="this system has no folder in which nobody can make a file")
@pytest.mark.parametrize("option", ["--json", "--csv"])
def test_a_place_that_takes_no_file_is_refused_before_the_work(tmp_path, monkeypatch, option, capsys):
    monkeypatch.setattr(command, "grade_notebook", lambda *anything, **more: pytest.fail("too late"))
    write(tmp_path / "class" / "one.ipynb", HONEST)
    assert grade(tmp_path / "class" / "one.ipynb", option, "/sys/report") == 2
    assert grade(tmp_path / "class", option, "/sys/report") == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all("/sys/report" in line for line in lines)


@pytest.mark.errors
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


def test_each_row_stands_in_the_table_before_the_next_notebook(class_of_five, tmp_path, monkeypatch, capsys):
    seen = []

    def look(path, limits, *, seed, name, **more):
        seen.append((tmp_path / "table.csv").read_text().count("\n"))
        return graded_as(name)

    monkeypatch.setattr(command, "grade_notebook", look)
    assert grade(class_of_five, "--csv", tmp_path / "table.csv") == 0
    assert seen == [1, 2, 3, 4, 5]  # the header, and a row for each that is done
    assert (
        (tmp_path / "table.csv")
        .read_text(encoding="utf-8-sig")
        .startswith("notebook,status,passed,attempted,total,3.1,seconds,error\na.ipynb,graded,1,1,1,passed")
    )


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


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("no\nsuch \ud800 luck"),
        RecursionError(),
        MemoryError(),
        AssertionError(),
        AttributeError("'str' object has no attribute 'get'"),
        OSError(28, "No space"),
    ],
)
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


def test_with_several_jobs_the_file_ends_in_the_order_of_the_names(class_of_five, tmp_path, monkeypatch, capsys):
    def slow_first(path, limits, *, seed, name, **more):
        time.sleep(0.4 if name == "a.ipynb" else 0)
        return graded_as(name)

    monkeypatch.setattr(command, "grade_notebook", slow_first)
    assert grade(class_of_five, "--csv", tmp_path / "table.csv", "--jobs", 4) == 0
    rows = list(csv.DictReader((tmp_path / "table.csv").open(encoding="utf-8-sig")))
    assert [row["notebook"] for row in rows] == [f"{name}.ipynb" for name in "abcde"]


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


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "\u00a0=1",
        "\ufeff=1",
        "\u200b=1",
        "\u3000=1",
        "＝1",
        "＋1",
        "－1",
        "＠1",
        "\u2212=1",
        "a\n=1",
        "a\r\n=1",
        "a\u2028=1",
        "a\x85=1",
        "a\n＝1",
        "a;=1",
        "a,＝1",
        "a\t@1",
        "\ud800=1",
        "﹦1",
        "﹢1",
        "₌1",
        "⁼1",
        "'=1",
        '"=1',
        "a\x0b=1",
    ],
)
def test_no_name_is_a_formula(name):
    """However the table is cut into cells: by commas, semicolons or tabs, whatever a program takes for a line's end."""
    import re
    import unicodedata

    text = as_csv([NotebookGrade(f"{name}.ipynb", error=name)])
    text.encode()
    assert len(text.split("\n")) == 3 and len(text.splitlines()) == 2
    for cell in re.split(r"[,;\t\n\"]", text):
        plain = unicodedata.normalize("NFKC", cell).lstrip(" ")
        assert not plain.startswith(("=", "+", "-", "@")), cell


def test_an_ordinary_name_stays_as_it_is():
    ordinary = "anna-lena/03 (2) – Übung_a=b.ipynb"
    assert as_csv([NotebookGrade(ordinary)]).splitlines()[1].split(",")[0] == ordinary


@LINKS
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_table_that_is_sent_into_a_file_is_utf_8_where_something_else_is_usual(tmp_path, encoding):
    """As on Windows."""
    for name in ("Łukasz", "Ωμέγα", "anna"):
        write(tmp_path / "class" / f"{name}.ipynb", "1")
    done = subprocess.run(
        [sys.executable, "-m", "xformer_lib.cli", "grade", tmp_path / "class"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    rows = done.stdout.decode("utf-8").splitlines()
    assert [line.split(",")[0] for line in rows] == ["notebook", "anna.ipynb", "Łukasz.ipynb", "Ωμέγα.ipynb"]


def test_letters_that_a_terminal_lacks_stand_in_the_table_as_escapes():
    written = io.BytesIO()
    table = Table(io.TextIOWrapper(written, encoding="cp1252"), set())
    table.add(NotebookGrade("Łukasz – Übung.ipynb"))
    assert written.getvalue().decode("cp1252").splitlines()[1].startswith(r"\u0141ukasz – Übung.ipynb,")


@pytest.mark.errors
def test_one_notebook_that_breaks_the_grader_is_one_line(tmp_path, monkeypatch, capsys):
    def break_it(*anything, **more):
        raise RuntimeError("no such\nluck")

    monkeypatch.setattr(command, "grade_notebook", break_it)
    monkeypatch.delenv("XFORMER_TRACEBACK", raising=False)
    assert grade(write(tmp_path / "one.ipynb", HONEST)) == 2
    assert capsys.readouterr().err == (
        f"xformer grade: {tmp_path / 'one.ipynb'}: the grader stopped with RuntimeError: no such?luck; "
        "set XFORMER_TRACEBACK=1 to see where\n"
    )


@LINKS
def test_names_that_are_no_text_and_names_of_two_lines_are_graded(tmp_path, capfd):
    folder = tmp_path / "class"
    folder.mkdir()
    for name in (b"\xff=1.ipynb", b"two\nlines.ipynb", "＝1.ipynb".encode()):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("{")
    assert grade(folder, "--json", tmp_path / "all.json") == 1
    out, err = capfd.readouterr()
    assert out.count("\n") == 4 and err.count("\n") == 3
    assert [row["notebook"] for row in csv.DictReader(io.StringIO(out))] == ["two?lines.ipynb", "?=1.ipynb", "'＝1.ipynb"]
    assert len(json.loads((tmp_path / "all.json").read_text())["notebooks"]) == 3
