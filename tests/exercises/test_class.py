"""`xformer grade` over a class: hand-ins made from the chapter's own cells, the table for a spreadsheet, a second call."""

import csv
import json

import pytest

from xformer_course.exercises import registry
from xformer_course.exercises.authoring import check_call, code_cell, markdown_cell
from xformer_course.exercises.grading import command
from xformer_course.exercises.grading.report import Grade, NotebookGrade, as_csv, as_json, from_json
from xformer_lib import cli

CHAPTER = registry.chapter(3)
IMPORTS = "import numpy as np\nfrom xformer_course.exercises import check, hint"
ANSWERS = {  # by exercise: a right answer, and a wrong one that the course knows
    "3.1": ("weights = (0.25,) * 4", "weights = (2.5,) * 4"),
    "3.2": (
        "def my_softmax(scores, axis=-1):\n"
        "    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))\n"
        "    return raw / raw.sum(axis=axis, keepdims=True)",
        "def my_softmax(scores, axis=-1):\n    return np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)",
    ),
    "3.3": ('answer = {"add 5": "same", "times 5": "grows"}', 'answer = {"add 5": "grows", "times 5": "grows"}'),
}
RIGHT, WRONG, MISSING = range(3)


def hand_in(path, *how):
    """A notebook with the first exercises of chapter 3 as the chapter prints them, answered so; an int of `how` is for one."""
    cells = [("code", IMPORTS)]
    for exercise, kind in zip(CHAPTER.exercises, how):
        answered = code_cell(exercise) if kind == MISSING else f"{ANSWERS[exercise.id][kind]}\n\n\n{check_call(exercise)}"
        cells += [("markdown", markdown_cell(CHAPTER, exercise)), ("code", answered)]
    return store(path, cells)


def store(path, cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = [{"cell_type": kind, "source": text, "metadata": {}} for kind, text in cells]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": listed}), encoding="utf-8")
    return path


def make_class(folder, size=7):
    """Hand-ins in folders of their own: right, wrong and missing answers in turn, one without end, one torn."""
    for number in range(size - 2):
        how = [(number + place) % 3 for place in range(3)]
        hand_in(folder / f"student-{number:02d}" / "03.ipynb", *how)
    check = 'check("3.1", (0.25,) * 4)'
    store(folder / "Zoë Łuk" / "endless.ipynb", [("code", IMPORTS), ("code", "while True:\n    pass"), ("code", check)])
    (folder / "torn.ipynb").write_text('{"cells": [')
    return folder


def grade(*arguments):
    return cli.main(["grade", *map(str, arguments)])


def table(file):
    return {row["notebook"]: row for row in csv.DictReader(file.open(encoding="utf-8-sig"))}


def test_a_class_of_seven_has_a_table_and_a_second_call_runs_what_is_new(tmp_path, capsys, monkeypatch):
    folder, sheet, report = make_class(tmp_path / "class"), tmp_path / "table.csv", tmp_path / "report.json"
    options = (folder, "--csv", sheet, "--json", report, "--cell-timeout", 3, "--jobs", 2)
    assert grade(*options) == 1
    progress = capsys.readouterr().err.splitlines()
    assert [line.split("]")[0] for line in progress] == [f"[{place} of 7" for place in range(1, 8)]

    assert sheet.read_bytes().startswith(b"\xef\xbb\xbfnotebook,status,passed,attempted,total,3.1,3.2,3.3,seconds,error\n")
    assert sheet.read_bytes().count(b"\xef\xbb\xbf") == 1
    rows = table(sheet)
    assert len(rows) == 7 and rows["torn.ipynb"]["status"] == "not graded" and rows["torn.ipynb"]["error"].startswith("expected a notebook")
    assert rows["Zoë Łuk/endless.ipynb"]["3.1"] == "passed"
    for number in range(5):
        row, verdicts = rows[f"student-{number:02d}/03.ipynb"], []
        for place, id in enumerate(("3.1", "3.2", "3.3")):
            verdicts.append({RIGHT: "passed", WRONG: "misconception", MISSING: "not attempted"}[(number + place) % 3])
            assert row[id].split(":")[0] == verdicts[-1]
        assert (row["status"], row["total"]) == ("graded", "3")
        assert (int(row["passed"]), int(row["attempted"])) == (verdicts.count("passed"), 3 - verdicts.count("not attempted"))

    run, ran = command.grade_notebook, []

    def counted(path, limits, **more):
        ran.append(more["name"])
        return run(path, limits, **more)

    monkeypatch.setattr(command, "grade_notebook", counted)
    hand_in(folder / "student-01" / "03.ipynb", RIGHT, RIGHT, RIGHT)
    hand_in(folder / "late" / "03.ipynb", RIGHT)
    assert grade(*options, "--new") == 1
    assert sorted(ran) == ["late/03.ipynb", "student-01/03.ipynb", "torn.ipynb"]
    again = table(sheet)
    assert again["student-01/03.ipynb"]["passed"] == "3" and len(again) == 8
    assert all(again[name] == row for name, row in rows.items() if name != "student-01/03.ipynb")
    ran.clear()
    monkeypatch.setattr(command, "grade_notebook", lambda path, limits, **more: ran.append(path) or NotebookGrade(more["name"]))
    assert grade(*options, "--new", "--seed", 1) == 1 and len(ran) == 8, "another seed asks other questions"


def test_what_the_clock_decided_is_run_again(tmp_path, monkeypatch, capsys):
    """A verdict may have been late because the machine was busy; so may a crash."""
    for name in ("late", "lost", "done", "open"):
        hand_in(tmp_path / "class" / f"{name}.ipynb", RIGHT)
    status = {"late": "timed out", "lost": "crashed", "done": "passed", "open": "not attempted"}
    ran = []

    def graded(path, limits, *, name, **more):
        ran.append(path.stem)
        return NotebookGrade(name, (Grade("3.1", status[path.stem], "…", title="Equal scores"),), 0.5)

    monkeypatch.setattr(command, "grade_notebook", graded)
    options = (tmp_path / "class", "--json", tmp_path / "report.json", "--new")
    assert grade(*options) == 1 and grade(*options) == 1
    assert sorted(ran[:4]) == sorted(status) and sorted(ran[4:]) == ["late", "lost"]
    assert [one["name"] for one in json.loads((tmp_path / "report.json").read_text())["notebooks"]] == [
        f"{name}.ipynb" for name in sorted(status)
    ]


def test_a_second_call_runs_no_notebook_whose_own_error_stopped_it_and_says_what_it_kept(tmp_path, capsys, monkeypatch):
    """A syntax error stays one; an answer that raises goes on to; a package or a file that was missing may be there now."""
    name = IMPORTS + "\ncheck('3.1', [0.25] * fout)"
    cells = {"syntax": "def f( return\ncheck('3.1', f)", "name": name, "import": "import nowhere\ncheck('3.1', [0.25] * 4)"}
    cells["raises"] = IMPORTS + "\ncheck('3.2', lambda scores, axis=-1: scores.nothing)"
    for stem, cell in cells.items():
        store(
            tmp_path / "class" / f"{stem}.ipynb",
            [("markdown", "# Mine"), ("markdown", "Words.\n\n## Exercise 3.1 <a id='x'></a>\n\nMore."), ("code", cell)],
        )
    options = (tmp_path / "class", "--json", tmp_path / "report.json", "--new")
    assert grade(*options) == 1
    report = json.loads((tmp_path / "report.json").read_text())["notebooks"]
    errors = {one["name"]: [exercise["error"] for exercise in one["exercises"] if exercise["status"] == "crashed"] for one in report}
    found = {"syntax": "SyntaxError", "name": "NameError", "import": "ModuleNotFoundError", "raises": "AttributeError"}
    assert errors == {f"{stem}.ipynb": [error] for stem, error in found.items()}
    notes = [note for one in report if one["name"] == "syntax.ipynb" for note in one["notes"]]
    assert notes[0].startswith('the cell "def f( return" under "Exercise 3.1" stopped with SyntaxError'), notes
    capsys.readouterr()
    assert grade(*options) == 1
    lines = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    assert [line.startswith("not run again: ") for line in lines] == [False, True, True, True] and lines[0].startswith("import.ipynb: ")


@pytest.mark.parametrize("content", ["[]", "no report", '{"version": 1, "seed": 0}'])
def test_a_file_that_is_no_report_is_refused_and_kept(tmp_path, content, capsys):
    report = tmp_path / "report.json"
    report.write_text(content)
    hand_in(tmp_path / "class" / "a.ipynb", RIGHT)
    assert grade(tmp_path / "class", "--json", report, "--new") == 2
    assert "--new: expected the report of an earlier call" in capsys.readouterr().err and report.read_text() == content


@pytest.mark.parametrize(("id", "kept"), [("3.7", True), ("3.9", False)])
def test_a_verdict_under_an_earlier_number_is_not_taken_over(id, kept):
    grade = Grade(id, "passed", "correct", title="Only the recent past")
    report = as_json([NotebookGrade("a.ipynb", (grade,), 1.0, (), digest="d")], 0)
    assert bool(from_json(report, 0)) is kept


def test_new_needs_a_folder_and_a_report(tmp_path, capsys):
    hand_in(tmp_path / "class" / "a.ipynb", RIGHT)
    for arguments in ((tmp_path / "class",), (tmp_path / "class" / "a.ipynb", "--json", tmp_path / "r.json")):
        assert grade(*arguments, "--new") == 2
        assert "--new: expected several notebooks and --json FILE" in capsys.readouterr().err


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t"])
def test_no_cell_begins_as_a_formula(start):
    """Neither a student's file name, nor the name of a misconception, nor a message, nor a status."""
    hostile = f"{start}HYPERLINK(A1)"
    one = NotebookGrade(f"{hostile}.ipynb", (Grade("3.1", "misconception", "", hostile), Grade("3.2", hostile, "")), 1.0, (), hostile)
    (header, row) = csv.reader(as_csv([one]).splitlines())
    assert len(header) == len(row) == 9
    assert not [cell for cell in row if cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
