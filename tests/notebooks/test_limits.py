"""Every notebook keeps its limits."""

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
