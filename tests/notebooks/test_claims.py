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
import torch
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
        "Held with the book's numbers: undefined. Now: NameError: name 'undefined' is not defined.",
    ]


def test_a_claim_that_cannot_be_computed_is_one_line(monkeypatch):
    said = as_a_reader(page([2.5], f"{claims.MARK}\nlast = x[1]\nassert last == 0.5\nassert last > 0"), monkeypatch)
    assert said[2:] == [
        "Held with the book's numbers: 2 claims of this cell. Now: `last = x[1]` stops with IndexError: list index out of range, so "
        "they could not be looked at.\n",
        "on\n",
    ]


@pytest.mark.parametrize(
    "claim, now",
    [
        ("assert (x == y).all()", "x[3] is 3 and y[3] is 4, and so in 1 of 8 places"),
        ("assert np.allclose(x, y)", "x[3] is 3 and y[3] is 4, and so in 1 of 8 places"),
        ("assert np.array_equal(2 * x, x + x + y)", "(2 * x)[1] is 2 and (x + x + y)[1] is 3, and so in 7 of 8 places"),
        ("assert (x < 6).all()", "x[6] is 6, and so in 2 of 8 places"),
        ("assert (m <= x).all()", "m[1, 0] is 8 and x[0] is 0, and so in 8 of 16 places"),
        ("assert (t == x).all()", "t[7] is 0 and x[7] is 7, and so in 1 of 8 places"),
        ("assert x.shape == (3,)", "x.shape is (8,)"),
        ("assert sum(x) == 3", "sum(x) is 28"),
        ("assert 1 == 2\nz = x[9]\nassert x[0]\nassert x[1]", ""),
    ],
)
def test_of_arrays_the_first_entry_that_fails_is_told(claim, now):
    x = np.arange(8)
    names = {"np": np, "x": x, "y": np.where(x == 3, 4, x), "m": np.stack([x, x + 8]), "t": torch.tensor([*range(7), 0])}
    lines = claims.check(claim, names)
    if now:
        assert len(lines) == 1 and lines[0].endswith(f" Now: {now}.")
    else:
        assert lines[1].startswith("Held with the book's numbers: the last 2 claims of this cell. Now: `z = x[9]` stops with IndexError: ")


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
