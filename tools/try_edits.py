"""Change something as a reader would, run all cells, and count where the notebook stops.

    python tools/try_edits.py                                five edits a page, of all pages
    python tools/try_edits.py --edits 20 chapters/03_*.ipynb

An edit changes a number, a list of numbers or a sentence that a story cell gives a name to, or hands to a function. The edited notebook
runs from top to bottom without corpora and ends at the first error, as *Run All* does; nothing is stored. For each edit there is a line:
the change, how many claims said that they held for the book's numbers, and where the notebook stopped, if it did.
"""

import argparse
import ast
import difflib
import os
import random
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import rhythm
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from run_notebooks import ROOT, out_of_sight

from xformer_course.claims import MARK

SENTENCES = ("the dog sees a small cat", "a man reads", "two women walk in the park with a dog")
SAYS = "Held with the book's numbers"
EDITED = "the edited cell"  # there the reader sees the error of an edit that makes no sense


def places(tree):
    """The numbers, lists of numbers and sentences that a reader would change."""
    found = []

    def look(node):
        if isinstance(
            node, (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.Subscript, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Dict)
        ):
            return
        if isinstance(node, ast.Call) and "subplots" in ast.unparse(node.func):
            return
        if isinstance(node, ast.keyword) and node.arg in ("axis", "dim", "figsize", "dtype", "decimals", "title", "color", "label", "loc"):
            return
        if isinstance(node, ast.List) and len(node.elts) > 1 and all(_is_number(one) for one in node.elts):
            found.append(node)
        elif _is_number(node) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w' ]+ [\w' .]+", node.value)
        ):
            found.append(node)
        else:
            for child in ast.iter_child_nodes(node):
                look(child)

    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.For)):
            look(statement.value if isinstance(statement, ast.Assign) else statement.iter)
    return found


def _is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def changed(node, draw):
    """Another text for the node."""
    if isinstance(node, ast.List):
        numbers = [one.value for one in node.elts]
        return repr([round(other_number(one, draw), 3) for one in numbers])
    if isinstance(node.value, str):
        words = node.value.split()
        return repr(draw.choice((" ".join(words[:-1]), " ".join(draw.sample(words, len(words))), *SENTENCES)))
    return repr(other_number(node.value, draw))


def other_number(number, draw):
    if isinstance(number, int):
        return draw.choice([one for one in (number - 1, number + 1, number + 2, number * 2) if one != number and one > 0])
    return draw.choice([one for one in (number / 2, number * 2, number + 0.5, 0.0) if one != number])


def edits(path, count, draw):
    """``(number of the cell, its new source)`` for each drawn edit, of different cells as far as there are."""
    cells = nbformat.read(path, as_version=4).cells
    offers = []
    for number, cell in enumerate(cells):
        if cell.cell_type == "code" and rhythm.is_open(cell) and "check(" not in cell.source and not cell.source.startswith(MARK):
            found = places(rhythm.parsed(cell.source))
            if found and not re.search(r"(?m)^[%!]", cell.source):
                offers.append((number, found))
    draw.shuffle(offers)
    for turn in range(count):
        number, found = offers[turn % len(offers)]
        node, lines = draw.choice(found), cells[number].source.encode().splitlines(keepends=True)
        before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
        after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
        yield number, (before + changed(node, draw).encode() + after).decode()


def attempt(path, number, source, seconds, environment):
    """Run the notebook with one cell changed; return how many claims spoke and where it stopped, or ""."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[number].source = source
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    client = NotebookClient(
        notebook,
        timeout=seconds,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    stop = ""
    try:
        client.execute(env=environment)
    except (CellExecutionError, CellTimeoutError) as error:
        words = f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else f"over {seconds} s"
        errors = [[output for output in cell.get("outputs", []) if output.output_type == "error"] for cell in notebook.cells]
        failed = [n for n, found in enumerate(errors) if found]
        where = EDITED if failed == [number] else f"cell {failed[0]}" if failed else "a cell"
        stop = f"{where}: {' '.join(words.split())[:160]}"
    text = "".join(output.get("text", "") for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)
    return text.count(SAYS), stop


def difference(old, new):
    lines = [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[:2] in ("- ", "+ ")]
    return "  ".join(line[:2] + line[2:].strip() for line in lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; without any, every chapter")
    parser.add_argument("--edits", type=int, default=5, help="how many edits a page (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="draw others")
    parser.add_argument("--seconds", type=int, default=300, help="at most for one cell (default: 300)")
    options = parser.parse_args(arguments)
    environment = {name: value for name, value in os.environ.items() if name != "XFORMER_CLAIMS"}
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    paths = [path.resolve() for path in options.paths] or rhythm.chapters()
    tasks = [(path, *edit) for path in paths for edit in edits(path, options.edits, random.Random(f"{path.stem} {options.seed}"))]
    stops, elsewhere, spoke = 0, 0, 0
    with tempfile.TemporaryDirectory() as empty, ThreadPoolExecutor(2) as workers:
        environment = {name: value for name, value in out_of_sight(environment, empty).items() if name != "XFORMER_CLAIMS"}

        def one(task):
            began = time.perf_counter()
            path, number, source = task
            return *attempt(path, number, source, options.seconds, environment), time.perf_counter() - began

        for (path, number, source), (claims, stop, seconds) in zip(tasks, workers.map(one, tasks)):
            old = nbformat.read(path, as_version=4).cells[number].source
            stops += bool(stop)
            elsewhere += bool(stop) and not stop.startswith(EDITED)
            spoke += bool(claims)
            print(f"{path.stem}, cell {number}: {difference(old, source)}", flush=True)
            print(f"    {claims} claims spoke, {seconds:.0f} s{f'; STOPPED in {stop}' if stop else ''}", flush=True)
    print(f"{len(tasks)} edits: {stops} stopped, {elsewhere} of them in a cell that was not edited; in {spoke} runs claims spoke.")
    return 1 if elsewhere else 0


if __name__ == "__main__":
    sys.exit(main())
