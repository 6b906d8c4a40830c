"""Every notebook keeps its limits, and what breaks a limit is noticed."""

import re

import nbformat
import pytest

from tests.notebooks.limits import BACK_PAGES, CHAPTERS, EVERY, broken_limits, is_bootstrap, is_open


@pytest.mark.parametrize("path", EVERY, ids=[f"{path.parent.name}/{path.stem}" for path in EVERY])
def test_keeps_the_limits(path):
    notebook = nbformat.read(path, as_version=4)
    cells = notebook.cells
    assert broken_limits(notebook) == []
    assert cells[0].source.startswith("# ") and (path in BACK_PAGES or is_bootstrap(cells[1])), "a title, then the cell for Colab"
    counts = [cell.execution_count for cell in cells if cell.cell_type == "code" and cell.source.strip()]
    assert counts == list(range(1, len(counts) + 1)), "run from top to bottom: make notebooks"
    assert len({cell.id for cell in cells}) == len(cells), "cell ids repeat"
    opened = [cell.source for cell in cells if cell.cell_type == "code" and is_open(cell)]
    assert path not in CHAPTERS or not re.findall(r"(?m)^\s*assert\b", "\n".join(opened)), "an assertion stands in a cell of claims"


def notebook_of(*cells):
    return nbformat.v4.new_notebook(cells=list(cells))


def ran(source, **settings):
    return nbformat.v4.new_code_cell(source, execution_count=1, **settings)


PICTURE = nbformat.v4.new_output("display_data", {"image/png": "", "text/plain": "<Figure size 640x480 with 1 Axes>"})
BROKEN = {
    "long code": (ran("\n".join(["x = 1"] * 26)), "26 lines of code, at most 25"),
    "a long definition": (ran("#| export nn.layers\n" + "\n".join(["x = 1"] * 61)), "61 lines of code, at most 60"),
    "long prose": (nbformat.v4.new_markdown_cell("word " * 221), "221 words"),
    "not run": (nbformat.v4.new_code_cell("x = 1"), "not run"),
    "standard error": (ran("x", outputs=[nbformat.v4.new_output("stream", name="stderr", text="oh")]), "standard error"),
    "no caption": (ran("plot()", outputs=[PICTURE]), "caption"),
    "no alternative": (
        ran("plot()", outputs=[PICTURE], metadata={"mystnb": {"figure": {"caption": "Weights sum to one."}}}),
        "alternative text",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_limit_is_noticed(name):
    cell, sentence = BROKEN[name]
    problems = broken_limits(notebook_of(cell))
    assert any(sentence in problem for problem in problems), problems
