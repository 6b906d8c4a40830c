"""A reader changes one number of a page and runs all: no cell stops. Some changes here, more with CI=true, all by the tool itself."""

import ast
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import change_literals
import nbformat
import pytest

from tests.ci import in_ci, posix
from xformer_course.claims import MARK

ROOT = Path(__file__).resolve().parents[2]
SEED = os.environ.get("XFORMER_SEED", "0")
NUMPY_PAGES = sorted((ROOT / "chapters").glob("0[1-7]*.ipynb"))
PAGES = random.Random(SEED).sample(NUMPY_PAGES, in_ci(6, 1))


def tried(paths, *options):
    command = [sys.executable, ROOT / "tools" / "change_literals.py", *options, *paths]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize(
    "source, changed",
    [
        ("steps = 300", ["200", "450"]),
        ("width = 512", ["256", "1024"]),
        ("rate = 0.9", ["0.6", "0.925"]),
        ("x[0], x[3:5], x[-1], x[::2], x.shape[2]", ["2", "4"]),
        ("x.sum(axis=1) ** 2 + x[n + 1]", []),
        ("x.transpose(1, 0, 2).reshape(4, -1)", ["3", "5"]),
        ("x = np.array([[1, 2], [3, 7]])", ["6", "8"]),
        ("order = [1, 2, 0]\nx = np.arange(0, 8, 2)", ["1", "7", "9"]),
        ("q, k = rng.normal(size=(2, 5))", ["4", "6"]),
        ("words = ['The', 'big', 'cat']", ["'dog'"]),
        ("print(f'{x:8.2f}')\nax.text(400, 1)", []),
    ],
)
def test_what_a_reader_would_change(source, changed):
    literals = change_literals.Literals()
    literals.visit(ast.parse(source))
    assert [text for _, texts in literals.found for text in sorted(texts, key=lambda text: (len(text), text))] == changed


def page(tmp_path, *cells):
    made = [nbformat.v4.new_code_cell(source, metadata=metadata, id=name) for name, source, metadata in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=made), tmp_path / "page.ipynb")
    return tmp_path / "page.ipynb"


@posix
def test_how_each_change_ends(tmp_path):
    """Twice written, impossible, and reported by a claim; what is not of an open cell stays as it is."""
    start = "from xformer_course import claims\nclaims.start()\nimport numpy as np\nfrom xformer_lib.reference.positions import frequencies"
    notebook = page(
        tmp_path,
        ("start", start, {"tags": ["bootstrap"]}),
        ("twice", "x = np.ones(4)\ny = x * np.ones(4)", {}),
        ("own", "frequencies(8)", {}),
        ("by-width", "z = np.ones(3)\nw = z + np.ones(len(z))", {}),
        ("claim", f"{MARK}\nassert w.sum() == 6", {"tags": ["claims"]}),
        ("library", "#| export reference.masks\nn = 5", {}),
        ("figure", "np.ones(5) + np.ones(5)", {"tags": ["hide-input"], "mystnb": {"figure": {}}}),
    )
    done = tried([notebook], "--verbose")
    ends = re.findall(r"^  (\w+): ([\w-]+), line (\d): (\S+) -> (\S+):", done.stdout, re.M)
    assert done.returncode == 1 and len(ends) == 8, done
    assert {(cell, end) for end, cell, *_ in ends} == {("twice", "stopped"), ("own", "refused"), ("by-width", "claims")}


@posix
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_changed_number_stops_a_page(path):
    done = tried([path], "--sample", in_ci("12", "4"), "--seed", SEED)
    assert done.returncode == 0 and re.search(r" changes: .*\b[1-9]\d* (fine|claims)", done.stdout), done.stdout + done.stderr
