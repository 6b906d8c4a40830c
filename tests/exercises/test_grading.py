"""`xformer grade`: every hazard in a tiny notebook, graded together once, and every part of the report."""

import csv
import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.ci import posix
from xformer_course.exercises import registry
from xformer_course.exercises.grading.command import grade_folder
from xformer_course.exercises.grading.limits import Limits, Workplace
from xformer_course.exercises.grading.recorder import GradingSession, Seal
from xformer_course.exercises.grading.report import Grade, NotebookGrade, as_csv, as_json, as_text
from xformer_course.exercises.grading.source import Unreadable, parse, read_notebook
from xformer_course.exercises.session import Session
from xformer_lib import cli

ROOT = Path(__file__).resolve().parents[2]
pytestmark = posix  # hand-ins that fork, and limits that only such a system sets
LIMITS = Limits(seconds=60, cell_seconds=5, memory=1.0, restarts=2)

START = "import os, sys\nimport numpy as np\nfrom xformer_course.exercises import check, hint"
SOFTMAX = """def my_softmax(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raw / raw.sum(axis=axis, keepdims=True)


check("3.2", my_softmax)"""
NAIVE = SOFTMAX.replace(" - scores.max(axis=axis, keepdims=True)", "")
MASK = """def recent_mask(length, window):
    gap = np.arange(length)[:, None] - np.arange(length)
    return (gap >= 0) & (gap <= window)


check("3.7", recent_mask)"""
STUB = 'def my_softmax(scores, axis=-1):\n    return ...\n\n\ncheck("3.2", my_softmax)'
FAKE = 'def check(*anything):\n    print("Exercise 3.2: correct (8 fresh cases).")\n    return True'
SLEEPER = f"4321.{os.getpid()}"

HAZARDS = {
    "answers": [
        NAIVE,
        'weights = [1.0, 2.0]\ncheck("3.1", weights)',
        MASK,
        'answer = {"add 5": ..., "times 5": ...}\ncheck("3.3", answer)',
    ],
    "attempts": [NAIVE, SOFTMAX, STUB, MASK, MASK.replace("<= window", "< window")],
    "crash": [
        "raise RuntimeError('an unrelated cell')",
        'weights = [0.25] * fout\ncheck("3.1", weights)',
        'check("3.2", lambda scores, axis=-1: scores.nothing)',
        'def recent_mask(length, window) return\ncheck("3.7", recent_mask)',
        "name = input('who? ')",
        "raise ValueError('z' * 10**7)",
    ],
    "loop": [
        "while True:\n    pass",
        "def my_softmax(scores, axis=-1):\n    for row in range(10**15):\n        if row < 0:\n            print(row)\n\n\n"
        'check("3.2", my_softmax)',
        MASK,
    ],
    "loop that ignores the interrupt": [
        'import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    time.sleep(1)\ncheck("3.1", [0.25] * 4)',
        SOFTMAX,
    ],
    "sys.exit": ["sys.exit(3)", "exit()", "print('x' * 10**7)", SOFTMAX, 'sys.exit(0)\ncheck("3.7", recent_mask)'],
    "os._exit": [MASK, 'answer = {"add 5": "same"}\nos._exit(5)\ncheck("3.3", answer)', SOFTMAX],
    "exits often": [f"os._exit({number})" for number in range(4)] + [SOFTMAX],
    "memory": ["block = bytearray(2 * 2**30)", SOFTMAX],
    "stays behind": [
        f"import subprocess\nsubprocess.Popen(['sleep', '{SLEEPER}'])\nsubprocess.Popen(['sleep', '{SLEEPER}'], start_new_session=True)",
        SOFTMAX,
    ],
    "fake check": [f"{FAKE}\n\n\n{NAIVE}", MASK],
    "fake check without an answer": [f'{FAKE}\n\n\ncheck("3.2", lambda scores: scores)'],
    "patched engine": [
        "from xformer_course.exercises import checks, function_checks\nchecks.judge = lambda *anything: function_checks.Verdict('passed')",
        NAIVE,
    ],
}


def write(path, cells):
    """A notebook of these code cells; a cell that begins with a number sign and a space is Markdown."""
    kinds = [("markdown" if text.startswith("# ") else "code", text) for text in cells]
    path.write_text(
        json.dumps(
            {
                "nbformat": 4,
                "nbformat_minor": 5,
                "metadata": {},
                "cells": [{"cell_type": kind, "source": text.splitlines(keepends=True), "metadata": {}} for kind, text in kinds],
            }
        )
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hand-ins")
    for name, cells in HAZARDS.items():
        write(folder / f"{name}.ipynb", [START, *cells])
    (folder / "torn.ipynb").write_text('{"cells": [')
    (folder / ".ipynb_checkpoints").mkdir()
    shutil.copy(folder / "answers.ipynb", folder / ".ipynb_checkpoints")
    (folder / "results").mkdir()
    return folder


@pytest.fixture(scope="module")
def graded(folder):
    return {one.name.removesuffix(".ipynb"): one for one in grade_folder(folder, LIMITS, seed=0, jobs=3)}


def verdicts(notebook):
    return {grade.id: grade.short for grade in notebook.exercises}


OVERFLOW = "misconception: exponentials overflow"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("answers", {"3.1": "wrong", "3.2": OVERFLOW, "3.3": "not attempted", "3.7": "passed"}),
        ("attempts", {"3.2": "passed", "3.7": "misconception: window counts itself"}),
        ("crash", {"3.1": "crashed", "3.2": "crashed", "3.7": "crashed"}),
        ("loop", {"3.2": "timed out", "3.7": "passed"}),
        ("loop that ignores the interrupt", {"3.1": "timed out", "3.2": "passed"}),
        ("sys.exit", {"3.2": "passed", "3.7": "crashed"}),
        ("os._exit", {"3.2": "passed", "3.3": "crashed", "3.7": "passed"}),
        ("exits often", {"3.2": "crashed"}),
        ("memory", {"3.2": "passed"}),
        ("stays behind", {"3.2": "passed"}),
        ("fake check", {"3.2": OVERFLOW, "3.7": "passed"}),
        ("fake check without an answer", {"3.2": "not verified"}),
        ("patched engine", {"3.2": "not verified"}),
    ],
)
def test_every_hazard_gets_its_verdict_and_harms_nobody(graded, name, expected):
    assert verdicts(graded[name]) == expected, as_text(graded[name])


@pytest.mark.parametrize(
    ("name", "id", "words"),
    [
        ("answers", "3.2", "Right for small scores, but not a number for large ones."),
        ("crash", "3.1", "the cell stopped before its check with NameError: name 'fout' is not defined."),
        ("crash", "3.2", "AttributeError: 'numpy.ndarray' object has no attribute 'nothing'"),
        ("crash", "3.7", "the cell stopped before its check with SyntaxError"),
        ("loop", "3.2", "still running after 2.5 s: it was stopped in line "),
        ("loop that ignores the interrupt", "3.1", "it ran for 5 s and did not obey an interrupt."),
        ("sys.exit", "3.7", "SystemExit: 0"),
        ("os._exit", "3.3", "the kernel ended with exit status 5, as after os._exit(5)."),
        ("exits often", "3.2", "this cell was not reached: the notebook had ended its kernel 3 times."),
        ("fake check without an answer", "3.2", "there is no variable my_softmax to check."),
        ("patched engine", "3.2", "the notebook replaced xformer_course.exercises.checks.judge, so its checks prove nothing."),
    ],
)
def test_the_message_says_what_happened(graded, name, id, words):
    message = next(grade.message for grade in graded[name].exercises if grade.id == id)
    assert words in message and message.startswith(f"Exercise {id}: ")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("crash", '"raise RuntimeError('),
        ("crash", "stopped with RuntimeError: an unrelated cell"),
        ("crash", " stopped with StdinNotImplementedError"),
        ("crash", " stopped with ValueError: zzz"),
        ("loop", " stopped after 5 s"),
        ("memory", " stopped with MemoryError"),
    ],
)
def test_notes_name_the_cell_that_went_wrong(graded, name, words):
    assert any(words in note and len(note) < 400 for note in graded[name].notes), graded[name].notes


def test_what_goes_well_leaves_no_note(graded):
    """Of the two calls of sys.exit each ends its cell alone."""
    assert not graded["answers"].notes and len(graded["sys.exit"].notes) == 2


def test_the_verdict_of_a_replaced_check_is_the_graders_own(graded):
    by_id = {grade.id: grade.rechecked for grade in graded["fake check"].exercises}
    assert by_id == {"3.2": True, "3.7": True}  # the name stays replaced in later cells
    assert not graded["answers"].exercises[0].rechecked


def test_a_file_that_is_no_notebook_is_a_row_of_its_own(graded):
    assert "expected a notebook, got a file that is not JSON" in graded["torn"].error
    assert len(graded) == len(HAZARDS) + 1, "checkpoints of Jupyter are left out"


def test_nothing_stays_behind(graded):
    assert not [p for p in psutil.process_iter(["cmdline"]) if SLEEPER in (p.info["cmdline"] or [])]
    # Not by cmdline() of each child: it raises for one that has ended and waits for its parent, maybe another test's.
    ours = {p.pid for p in psutil.Process().children(recursive=True)}
    commands = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"]) if p.pid in ours]
    assert not [command for command in commands if "grading.launcher" in command]


# ---------------------------------------------------------------- the command


def grade(*arguments):
    return cli.main(["grade", *map(str, arguments)])


def test_the_solutions_pass_and_the_untouched_chapter_is_not_attempted(tmp_path, capsys):
    file = "03_scaled_dot_product_attention.ipynb"
    assert grade(ROOT / "chapters" / "solutions" / file, "--json", tmp_path / "all.json") == 0
    assert f"{file}: 11 of 11 passed" in capsys.readouterr().out
    assert grade(ROOT / "chapters" / file, "--csv", tmp_path / "none.csv") == 1
    assert f"{file}: 0 of 10 passed" in capsys.readouterr().out
    (notebook,) = json.loads((tmp_path / "all.json").read_text())["notebooks"]
    assert [one["status"] for one in notebook["exercises"]] == ["passed"] * 11
    assert notebook["notes"] == [] and (notebook["passed"], notebook["total"]) == (11, 11)
    header, row = csv.reader((tmp_path / "none.csv").open(encoding="utf-8-sig"))
    assert header[5:-2] == [f"3.{number}" for number in (*range(1, 10), 11)]
    assert row[1:-2] == ["graded", "0", "0", "10"] + ["not attempted"] * 10


def test_a_folder_gives_a_table_on_standard_output(tmp_path, capsys):
    write(tmp_path / "b.ipynb", [START, MASK])
    (tmp_path / "anna").mkdir()
    write(tmp_path / "anna" / "=a.ipynb", ["# No exercise here"])
    assert grade(tmp_path, "--jobs", 2) == 1
    captured = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    assert [(row["notebook"], row["total"], row["3.7"]) for row in rows] == [("anna/=a.ipynb", "0", ""), ("b.ipynb", "1", "passed")]
    assert captured.err.count("\n") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.ipynb"], "path: no file or folder nowhere.ipynb; name a notebook"),
        (["empty"], "path: no notebook (*.ipynb) in the folder empty"),
        (["torn.ipynb"], "torn.ipynb: expected a notebook, got a file that is not JSON"),
        (["list.ipynb"], "list.ipynb: expected a notebook of format 4 with a list of cells"),
        (["bytes.ipynb"], "got a file that is not JSON"),
        (["deep.ipynb"], "got a file that is not JSON"),
        (["plain.ipynb"], "plain.ipynb: expected a notebook with exercises of the course, got one without"),
        (["plain.ipynb", "--timeout", "0"], "--timeout: expected seconds above 0, got 0"),
        (["plain.ipynb", "--cell-timeout", "nan"], "--cell-timeout: expected seconds above 0, got nan"),
        (["plain.ipynb", "--memory", "0.1"], "--memory: expected gigabytes, 0.5 or more, got 0.1"),
        (["plain.ipynb", "--csv", "no/table.csv"], "--csv: no folder no; make it first"),
        (["plain.ipynb", "--jobs", "0"], "--jobs, --seed: expected a number of 1 or more"),
    ],
)
def test_mistakes_end_in_one_line_and_status_2(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write(tmp_path / "plain.ipynb", [])
    for name, content in (("torn", b"{"), ("list", b"[1]"), ("bytes", b"\xff\xfe\x00"), ("deep", b"[" * 10**5)):
        (tmp_path / f"{name}.ipynb").write_bytes(content)
    assert grade(*arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err and captured.err.count("\n") == 1 and captured.out == ""


def test_what_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setattr("xformer_course.exercises.grading.command.NEEDED", ("psutil", "no_such_package"))
    assert grade("anything.ipynb") == 2
    assert capsys.readouterr().err == ("xformer grade: grading needs no_such_package; install it with pip install 'xformer-lib[grade]'\n")


# ---------------------------------------------------------------- its parts


def attempts(*cells):
    kinds = [("markdown" if text.startswith("#") else "code", text) for text in cells]
    return [[(one.id, one.name) for one in cell.attempts] for cell in parse(kinds).cells]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["x = 1"], [[]]),
        (['check("3.2", my_softmax)'], [[("3.2", "my_softmax")]]),
        (['check("3.2", other)'], [[("3.2", "other")]]),
        (['if exercises.check(" 3.3 ", {"a": 1}):\n    check("3.7")'], [[("3.3", "answer"), ("3.7", "recent_mask")]]),
        (['# check("3.2", f)', 'print("check")\n"check(\'3.2\')"'], [[]]),
        (['%%time\n!ls\ncheck("3.2", f)'], [[("3.2", "f")]]),
        (['files = !ls\ncheck("3.2", f)\n# check("3.3", f)'], [[("3.2", "my_softmax")]]),
        (['def f(:\n    check("3.1", 2)'], [[("3.1", "weights")]]),
        (['check("3.99", x)\ncheck("99.1", x)\nuncheck("3.1", x)\ncheck(name, x)\ncheck()'], [[]]),
        (
            ["### Exercise 3.2 · Title", "import math", "def my_softmax(x):\n    return 1", "## Next", "my_softmax = 2"],
            [[], [("3.2", "my_softmax")], []],
        ),
        (["### Exercise 3.2 · Title", 'check("3.2", f)', "my_softmax = 'of the page'"], [[("3.2", "f")], []]),
        (["### Exercise 3.3 · Title", "answer: dict = {}", "(answer, b) = 1, 2"], [[("3.3", "answer")]] * 2),
    ],
)
def test_cells_are_matched_with_the_exercises_they_answer(cells, expected):
    assert attempts(*cells) == expected


def test_a_notebook_of_an_earlier_edition_is_checked_under_todays_numbers():
    """Its 3.9 is today's 3.7 and its 3.6 today's 3.8; a heading with number and title shows which edition it is."""
    old = "### Exercise 3.9 · Only the recent past <a id='x'></a>\n\ntext"
    cells = [("markdown", old), ("code", 'check("3.9", recent_mask)\nhint("3.2")'), ("code", "check( '3.6', shapes)")]
    notebook = parse(cells)
    assert notebook.earlier and [exercise.id for exercise in notebook.exercises] == ["3.7", "3.8"]
    assert [cell.code for cell in notebook.cells] == ['check("3.7", recent_mask)\nhint("3.2")', "check( '3.8', shapes)"]
    assert [one.id for cell in notebook.cells for one in cell.attempts] == ["3.7", "3.8"]
    today = [("markdown", old.replace("3.9", "3.7")), *cells[1:]]
    assert not parse(today).earlier and not parse(cells[1:]).earlier


def test_every_earlier_number_leads_to_an_exercise_of_its_own():
    numbers = registry.renumbered()
    every = {exercise.id for chapter in registry.chapters() for exercise in chapter.exercises}
    assert set(numbers.values()) <= every and len(set(numbers.values())) == len(numbers)
    assert all(old != new for old, new in numbers.items())


@pytest.mark.parametrize("folder", ["chapters", "chapters/solutions"])
def test_one_cell_of_a_page_answers_each_exercise(folder):
    paths = sorted((ROOT / folder).glob("*.ipynb"))
    assert len(paths) >= 15
    own = {chapter.slug for chapter in registry.chapters()}
    lettered = {exercise.page for chapter in registry.chapters() for exercise in chapter.exercises} - {""}
    pages = own | lettered if folder == "chapters" else own
    for path in paths:
        notebook = read_notebook(path)
        answered = [attempt.id for cell in notebook.cells for attempt in cell.attempts]
        assert sorted(answered) == sorted(exercise.id for exercise in notebook.exercises), path.name
        assert bool(answered) == (path.stem in pages), path.name


def test_a_notebook_is_read_in_either_spelling_of_its_source(tmp_path):
    path = tmp_path / "one.ipynb"
    cells = [{"cell_type": "code", "source": 'check("3.1", 1)'}, {"cell_type": "code", "source": ["a\n", "b"]}, {}]
    path.write_text("\ufeff" + json.dumps({"cells": cells}), encoding="utf-8")
    assert [cell.code for cell in read_notebook(path).cells] == ['check("3.1", 1)', "a\nb"]
    path.write_text(json.dumps({"worksheets": [{"cells": cells}]}))
    with pytest.raises(Unreadable, match="of format 4"):
        read_notebook(path)


def test_everybody_gets_the_same_cases_whatever_the_notebook_passes():
    session = GradingSession(seed=5)
    drawn = {session.generator(rng).random() for rng in (None, np.random.default_rng(7))}
    assert drawn == {np.random.default_rng(5).random()}
    assert Session().generator(None).random() != Session().generator(None).random()


@pytest.mark.parametrize("name", ["comparison.difference", "api.SESSION", "chapter_03.CHAPTER"])
def test_a_seal_breaks_and_stays_broken(name):
    seal, name = Seal([3]), f"xformer_course.exercises.{name}"
    assert seal.look() == ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name, lambda *anything: None)
        assert seal.look() == name
    assert seal.look() == name


def test_a_workplace_holds_copies(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "run.json").write_text("{}")
    (tmp_path / "chapters").mkdir()
    place = Workplace(tmp_path / "chapters" / "one.ipynb")
    environment = place.environment(2.5)
    assert environment["XFORMER_CHECK_SECONDS"] == "2.5" and Path(environment["TMPDIR"]).parent == place.root
    assert (place.work / "../results/run.json").read_text() == "{}" and place.left_out == ""
    (place.work / "../results/run.json").write_text("spoilt")
    (place.work / "link").symlink_to(tmp_path / "results")
    place.remove()
    assert not place.root.exists() and (tmp_path / "results" / "run.json").read_text() == "{}"


def test_results_that_cannot_be_copied_whole_are_a_note(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "chapters").mkdir()
    os.mkfifo(tmp_path / "results" / "pipe")
    place = Workplace(tmp_path / "chapters" / "one.ipynb")
    place.remove()
    assert place.left_out.startswith("results: not all of it could be copied") and "pipe" in place.left_out


def test_the_table_leaves_empty_what_a_notebook_does_not_contain():
    one = NotebookGrade("=one", (Grade("3.10", "passed", ""), Grade("3.7", "misconception", "", "too far")), 1.0)
    two = NotebookGrade("two, torn", error="not JSON")
    assert as_csv([one, two]) == (
        "notebook,status,passed,attempted,total,3.7,3.10,seconds,error\n"
        "'=one,graded,1,2,2,misconception: too far,passed,1.0,\n"
        '"two, torn",not graded,0,0,0,,,0.0,not JSON\n'
    )
    assert as_json([one], seed=3)["notebooks"][0]["exercises"][1]["misconception"] == "too far"
    assert not one.complete and not two.complete and not NotebookGrade("empty").complete
    assert "two, torn: not graded: not JSON" == as_text(two)
