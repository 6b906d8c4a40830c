"""A claim that a reader's numbers break is told in one line, and the notebook goes on; where outputs are stored or tested it stops."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import run_notebooks
import sync_bootstrap
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.notebooks.limits import EVERY
from xformer_course import claims

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = f"""{claims.MARK}
for size in (1, 2, 3):
    assert sum(x) < 2 and len(x) * size > 0
assert all(a < b for a, b in zip(x, x[1:])), "they grow"
assert x[1] == 0.5
assert undefined"""


def code(source, *tags):
    return nbformat.v4.new_code_cell(source, execution_count=1, metadata={"tags": list(tags)})


def page(x, claim=CLAIMS, *tags):
    bootstrap = code(sync_bootstrap.bootstrap_source(), "bootstrap")
    title = nbformat.v4.new_markdown_cell("# A page")
    cells = [title, bootstrap, code(f"x = {x}"), code(claim, "claims", *tags), code("assert x\nprint('on')")]
    cells[-1].outputs = [nbformat.v4.new_output("stream", name="stdout", text="on\n")]
    for count, cell in enumerate(cells[1:], 1):
        cell.execution_count = count
    return nbformat.v4.new_notebook(cells=cells)


def as_a_reader(notebook, monkeypatch):
    """What each code cell prints after Run All."""
    monkeypatch.delenv("XFORMER_CLAIMS", raising=False)
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    return ["".join(output.text for output in cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def test_a_broken_claim_is_one_line_and_the_next_cell_runs(monkeypatch):
    said = as_a_reader(page([2.5, 2.25]), monkeypatch)
    assert said == ["", "", said[2], "on\n"]
    assert said[2].splitlines() == [
        "Held with the book's numbers: sum(x) < 2. Now: sum(x) is 4.75.",
        "Held with the book's numbers: they grow: all(a < b for a, b in zip(x, x[1:])). Now: a is 2.5 and b is 2.25.",
        "Held with the book's numbers: x[1] == 0.5. Now: x[1] is 2.25.",
        "Held with the book's numbers: undefined. Now: it stops with NameError: name 'undefined' is not defined.",
    ]


def test_a_claim_that_cannot_be_computed_is_one_line(monkeypatch):
    said = as_a_reader(page([2.5], f"{claims.MARK}\nassert x\nlast = x[1]\nassert last == 0.5\nassert last > 0"), monkeypatch)
    told = "last == 0.5, and 1 more below it. Now: last = x[1] stops with IndexError: list index out of range."
    assert said[2:] == [f"Held with the book's numbers: {told}\n", "on\n"]


@pytest.mark.parametrize(
    "claim, now",
    [
        ("np.allclose(x, y)", "at [1, 2], x is 8 and y is 10"),
        ("(x < 5).all()", "at [0, 5], x is 5"),
        ("(x + 2 > y).all()", "at [1, 2], x + 2 is 10 and y is 10"),
        ("np.allclose(x, 2)", "x is of shape (2, 6), from 0 to 11"),
        ("x.shape == (3, 6)", "x.shape is (2, 6)"),
        ("np.array_equal(x, y[0])", "x is of shape (2, 6), from 0 to 11 and y[0] is [0, 1, 2, 4, 4, 5]"),
        ("np.array_equal(names, names[::-1])", "at [0], names is 'a' and names[::-1] is 'g'"),
        ("np.array_equal(odd, odd[::-1])", "at [1], odd is 1 and odd[::-1] is 4"),
        ("np.allclose(y / (x != 4), x)", "at [0, 4], y / (x != 4) is inf and x is 4"),
        ("x[2, 0] > 0", "it stops with IndexError: index 2 is out of bounds for axis 0 with size 2"),
    ],
)
def test_a_line_says_what_is_different_now(claim, now):
    x = np.arange(12).reshape(2, 6)
    y = x + (x == 3) + 2 * (x == 8)
    y[0, 3], y[1, 2] = 4, 10
    names = {"np": np, "x": x, "y": y, "names": np.array(list("abcdefg")), "odd": np.array([None, 1, "a", 2, 3, 4, 1])}
    with np.errstate(divide="ignore"):
        told = claims.check(f"assert {claim}", names)
    assert told == [f"Held with the book's numbers: {claim}. Now: {now}."]


@pytest.mark.parametrize("x, claim", [([], f"{claims.MARK}\nassert x"), ([1], "assert x == []")])
def test_assertions_of_a_readers_own_raise(monkeypatch, x, claim):
    """In a story cell; in a cell without the mark."""
    with pytest.raises(CellExecutionError, match="AssertionError"):
        as_a_reader(page(x, claim), monkeypatch)


TAGS = [(), ("nbval-ignore-output",)]


@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("x, status, told", [([0.25], 0, "4 passed"), ([0.75], 1, "assert sum(x) < 0.5")])
def test_nbval_stops_at_a_broken_claim(tmp_path, tags, x, status, told):
    (tmp_path / "conftest.py").write_text((ROOT / "chapters" / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    nbformat.write(page(x, f"{claims.MARK}\nassert sum(x) < 0.5", *tags), tmp_path / "page.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, "-c", os.devnull]
    command += ["--nbval", "--nbval-current-env", tmp_path / "page.ipynb"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'tools'}{os.pathsep}{ROOT}"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert run.returncode == status and told in run.stdout, run.stdout + run.stderr


@pytest.mark.parametrize("tags", TAGS)
def test_no_broken_claim_is_stored(tmp_path, tags):
    path = tmp_path / "page.ipynb"
    nbformat.write(page([0.75], f"{claims.MARK}\nassert sum(x) < 0.5", *tags), path)
    before = path.read_text(encoding="utf-8")
    [problem] = run_notebooks.run(path)
    assert "AssertionError" in problem and path.read_text(encoding="utf-8") == before


def test_every_cell_of_claims_is_marked():
    """And no other cell is: ``tools/sync_bootstrap.py`` writes the line."""
    cells = [(path.name, cell) for path in EVERY for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    odd = [
        f"{name}: {cell.id}" for name, cell in cells if cell.source.startswith(claims.MARK) != ("claims" in cell.metadata.get("tags", []))
    ]
    assert odd == [] and sum(cell.source.startswith(claims.MARK) for _, cell in cells) > 300


def test_a_value_is_looked_at_once_and_a_function_of_one_cell_serves_another():
    names = {"drawn": iter(range(9))}
    assert claims.check("assert next(drawn) > 0 and next(drawn) > 0\nassert next(drawn) == 1", names) == [
        "Held with the book's numbers: next(drawn) > 0. Now: next(drawn) is 0."
    ]
    assert claims.check("def low(x):\n    assert x < 3\n    return x\n\n\nassert low(2) == 2", names) == []
    assert claims.check("assert low(5) == 6", names) == ["Held with the book's numbers: low(5) == 6. Now: low(5) is 5."]
