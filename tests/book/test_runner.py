"""What the pages run, outside of a browser: every cell alone gives what the notebook stored; what is missing there is left out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "live"))
import runner  # noqa: E402

PAGES = sorted([*(ROOT / "chapters").glob("0[1-7]*.ipynb"), ROOT / "chapters" / "09b_without_pytorch.ipynb"])
# Each cell in a page of its own, so that nothing but what `needed` names can have run before it.
ALONE = """
import json, sys
import numpy as np
import runner

cells = json.loads(sys.stdin.read())
found = {}
for number, cell in enumerate(runner.prepare(cells)):
    if cell.runs and cell.kind == "story":
        with np.printoptions():
            found[number] = runner.Page(cells).run(number, cell.source)
print(json.dumps(found))
"""


def code_cells(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored(cell):
    """What a cell printed, and the value of its last line."""
    said = []
    for output in cell["outputs"]:
        said.append("".join(output.get("text", "")) or "".join(output["data"].get("text/plain", "")) + "\n")
    return "".join(said)


def prepared(*sources, **tags):
    return runner.prepare([{"source": source, "tags": tags.get(f"cell_{n}", [])} for n, source in enumerate(sources)])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_cell_alone_says_what_the_notebook_stored(path):
    cells = code_cells(path)
    given = json.dumps([{"source": "".join(cell["source"]), "tags": cell["metadata"].get("tags", [])} for cell in cells])
    done = subprocess.run(
        [sys.executable, "-c", ALONE], input=given, capture_output=True, text=True, cwd=ROOT / "book" / "live", env=environment()
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) >= 5
    for number, answer in found.items():
        timed = "times as long" in answer["text"]  # a clock's numbers
        assert answer["error"] == "" and (timed or answer["text"] == stored(cells[int(number)])), number


def environment():
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'book' / 'live'}", "OMP_NUM_THREADS": "1"}


def test_what_needs_torch_or_a_figure_is_left_out_and_all_that_follows_from_it():
    cells = prepared(
        "import numpy as np\nimport torch\nfrom xformer_course import plots\nplots.use_style()",
        "x = np.arange(3)\nfig = plots.line_plot(x)\ny = x + 1",
        "z = torch.ones(3)",
        "print(z)",
        "print(y)",
        "z = 5\nprint(z)",
    )
    assert [cell.runs for cell in cells] == [False, False, False, False, True, True]
    assert cells[0].kept == "import numpy as np" and cells[1].kept == "x = np.arange(3)\ny = x + 1"
    assert runner.needed(cells, 4, {"y", "print"}) == [0, 1]


def test_a_generator_that_a_lost_cell_has_moved_on_is_lost():
    cells = prepared(
        "import numpy as np\nimport torch\nrng = np.random.default_rng(0)",
        "a = rng.normal()",
        "print(a)",
        "b = torch.ones(int(rng.normal()))",
        "print(rng.normal())",
    )
    assert [cell.runs for cell in cells] == [True, True, True, False, False]


def test_a_claim_counts_where_it_moves_a_generator_on():
    cells = prepared(
        "import numpy as np\nrng = np.random.default_rng(0)", "assert rng.normal() < 9", "print(rng.normal())", cell_1=["claims"]
    )
    assert runner.needed(cells, 2, {"rng"}) == [0, 1]


def test_a_function_needs_what_its_annotations_name():
    """They are read when it is defined, unlike the names in its body."""
    cells = prepared("class Word: pass", "x = 1", "def f(one: Word, *, more: list[Word] = ()) -> Word: return one")
    assert runner.needed(cells, 2, cells[2].uses) == [0]


def test_claims_are_checked_with_what_the_reader_typed(monkeypatch):
    from xformer_course.exercises import api

    for owner, name in ((api, "_say"), (sys, "stdin")):  # `start` exchanges them for good
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    """Those right below a cell that ran, if the edit may break them; one that breaks stops no cell, one that needs more is not checked."""
    cells = [
        {"source": "import numpy as np\nrng = np.random.default_rng(0)\nunit = 1", "tags": []},
        {"source": "x = [0.5, 0.5]", "tags": []},
        {"source": "import torch\nassert sum(x) == 1", "tags": ["claims"]},
        {"source": "assert sum(x) == unit and rng.random() < 2\nassert unit == 1\nx = 3", "tags": ["claims"]},
        {"source": "print(len(x), rng.random())", "tags": []},
        {"source": "assert unit == 1", "tags": ["claims"]},
    ]
    prepared = runner.prepare(cells)
    assert [runner.asks(prepared, number) for number in (2, 3, 5)] == [[0, 1], [0, 1], [0, 4]]
    runner.start(json.dumps(cells))

    def told(number, typed):
        said = json.loads(runner.run(number, typed.get(number, cells[number]["source"]), json.dumps(typed)))
        return said["error"], said["claims"]

    line = "Held with the book's numbers: sum(x) == unit. Now: sum(x) is 5 and unit is 1."
    for _ in range(2):
        assert told(1, {1: "x = [5]"}) == ("", {"3": [line]})
    assert told(4, {1: "x = [5]"}) == ("", {})
    assert told(1, {1: "x = [1]"}) == ("", {"3": []}) and told(1, {}) == ("", {}) == told(1, {4: "x = 7"})
    assert told(1, {0: "unit = 2", 1: "x = [2]"})[1]["3"][0].startswith("Held with the book's numbers: sum(x) == unit and rng")
    assert told(1, {1: "x = ["})[1] == {}


def test_what_a_function_names_inside_is_its_own():
    cells = prepared(
        "from xformer_course import plots\nfig = plots.new()",
        "def f(fig, n=2):\n    total = fig + n\n    return [total for total in range(n)]",
        "print(f(1))",
    )
    assert [cell.runs for cell in cells] == [False, True, True]


def test_an_answer_speaks_in_one_line_and_keeps_its_story():
    page = runner.Page([{"source": "x = 1", "tags": []}, {"source": "x + 1", "tags": []}])
    assert page.run(1, "x + 1") == {"text": "2\n", "spoken": [], "error": "", "trace": "", "status": ""}
    wrong = page.run(1, "y = 2\nx / 0")
    assert wrong["error"] == "ZeroDivisionError: division by zero (line 2)" and "Traceback" in wrong["trace"]
    assert page.run(1, "x +")["error"] == "SyntaxError: invalid syntax (line 1)"
    assert page.run(1, "x", {0: "y ="})["error"] == "SyntaxError: invalid syntax (in a cell above)"


LINE = "x" * 99


@pytest.mark.parametrize(
    ("source", "shown", "most"),
    [
        ("for n in range(5_000_000):\n    print(n)", "999\n… cut here", 4_200),
        (f"while True:\n    print('{LINE}')\n    if next(turns) == 3_000:\n        break", f"{LINE}\n… cut here", 51_000),
        ("print('y' * 10**8)", "yyy\n… cut here", 51_000),
        ("print(end='')\nprint('y' * 50_000)\nprint(2)", "yyy\n… cut here", 51_000),
        ("list(range(10**6))", "\n… cut here", 51_000),
    ],
)
def test_output_without_end_is_cut(source, shown, most):
    """Before it is kept or sent; what comes after is lost, and a sentence says so."""
    page = pages("from itertools import count\nturns = count()", "x")
    said = page.run(1, source)["text"]
    assert shown in said and len(said) < most and "print less" in said.splitlines()[-1] and said.count("cut here") == 1
    assert page.run(1, "print(7)")["text"] == "7\n"


@pytest.mark.parametrize(
    ("source", "name", "advice"),
    [
        ("x = input('word? ')", "EOFError: input: ", "write the value into the code"),
        ("import sys\nfor line in sys.stdin:\n    pass", "EOFError: input: ", "write the value into the code"),
        ("import pandas_that_is_nowhere", "ModuleNotFoundError: pandas_that_is_nowhere is not", "has NumPy alone and Python's own"),
        ("def f():\n    from torch_of_none import nn\nf()", "ModuleNotFoundError: torch_of_none is not", "needs no more"),
        ("import xformer_lib.nowhere", "ModuleNotFoundError: xformer_lib.nowhere is not", "open the notebook in Jupyter"),
    ],
)
def test_what_a_page_cannot_do_names_what_to_do(monkeypatch, source, name, advice):
    monkeypatch.setattr(sys, "stdin", runner.Nobody())  # as `start` has it
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, runner.Absent])
    error = pages("x = 1", "x").run(1, source)["error"]
    assert error.startswith(name) and advice in error and "(line " in error


def test_a_check_gives_its_verdict_and_prints_no_value(monkeypatch):
    from xformer_course.exercises import api

    page = runner.Page(
        [{"source": "from xformer_course.exercises import check", "tags": []}, {"source": 'w = ...\ncheck("3.1", w)', "tags": []}]
    )
    monkeypatch.setattr(api, "_say", page.speak)  # as `start` has it
    right = page.run(1, 'print("Exercise")\nw = [0.25] * 4\ncheck("3.1", w)')
    assert right["status"] == "passed" and right["text"] == "Exercise\n" and right["spoken"][0].startswith("Exercise 3.1: correct")
    assert page.run(1, 'w = [1, 1, 1, 1]\ncheck("3.1", w)')["status"] in ("wrong", "misconception")


def pages(*sources):
    return runner.Page([{"source": source, "tags": []} for source in sources])


def test_a_cell_finds_what_the_cells_above_it_make():
    """In whatever order the cells are pressed; what is above runs again only where something else has run since."""
    page = pages("ran = []\nx = 2", "ran.append(1)\nprint(x)", "x = 3\ny = 5", "print(x + y)", "x = 7\nprint(ran)")
    say = lambda number: page.run(number, page.cells[number].source)["text"]  # noqa: E731
    assert [say(number) for number in (4, 1, 3, 1, 1, 3)] == ["[1]\n", "2\n", "8\n", "2\n", "2\n", "8\n"]
    assert [say(number) for number in (1, 1, 4)] == ["2\n", "2\n", "[1, 1]\n"]
    page = pages("x = 2", "print(x)", "x = 11")
    assert say(1) == "2\n" and page.run(2, "x = 11\nx / 0")["error"]
    assert say(1) == "2\n", "what a cell below left when it failed"
    page = pages("x = 2", "y = 3", "x = 5", "print(x + y)")
    assert page.run(2, "x = 5")["error"] == "" and page.run(3, "print(x + y)")["text"] == "8\n"


def test_what_the_reader_typed_above_is_what_runs():
    page = pages("x = 2", "y = x + 1", "print(y)", "x = 7")
    typed = {0: "x = 11"}
    assert page.run(2, "print(y)")["text"] == "3\n"
    assert page.run(2, "print(y)", typed)["text"] == "12\n" and page.run(3, "x = 7", typed)["text"] == ""
    assert page.run(2, "print(y)", typed)["text"] == "12\n" and page.run(2, "print(y)")["text"] == "3\n"
    assert page.run(2, "print(y)", {0: "y = 13"})["error"] == "NameError: name 'x' is not defined (in a cell above)"


def test_an_answer_serves_other_exercises_and_leaves_the_lesson_alone():
    check = 'check("3.1", f)'
    page = pages("from xformer_course.exercises import check\nx = 2", f"def f(): ...\n{check}", "print(x)", "print(f(x))")
    answer = f"x = 11\ndef f(n):\n    return n + 1\n{check}"
    assert page.run(1, answer, {1: answer})["error"] == "" and page.run(2, "print(x)", {1: answer})["text"] == "2\n"
    assert page.run(0, "x = 2", {1: answer})["text"] == ""
    assert page.run(3, "print(f(x))", {1: answer}) == {"text": "3\n", "spoken": [], "error": "", "trace": "", "status": ""}
    assert page.run(3, "f = abs\nprint(f(x))", {1: "f = undefined"})["text"] == "2\n", "half an answer stops nobody"


def test_what_goes_to_standard_error_is_shown():
    page = pages("x = 1", "x")
    assert page.run(1, "import sys\nprint(2)\nprint(3, file=sys.stderr)\nx")["text"] == "2\n3\n1\n"
