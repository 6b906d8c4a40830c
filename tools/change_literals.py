"""Change one number of a notebook at a time, as a reader does, and run all: no cell may stop.

    python tools/change_literals.py chapters/06_*.ipynb                      every number of the page
    python tools/change_literals.py --sample 20 --seed 7 chapters/0*.ipynb   some of each page

Changed are the cells whose code a reader sees and tries: no library cells, claims, exercises, nor folded cells that draw. A whole number
becomes a smaller and a larger one (of an index, a smaller one), a fraction a third less and a quarter more; of a matrix one number, of
the running example its last word. Left alone is what says where (an axis, the indices 0, 1, -1 and -2, the next in n + 1), which power,
how many names stand on the left, or how a figure looks. The notebook runs once, as Jupyter runs it; before each cell a copy of the
process (a fork) runs it with one change, and then those cells below that use what it makes. A change ends in one of

    fine      all cells ran, and the claims hold
    claims    all cells ran, and claims say which of the book's numbers hold no longer
    refused   a cell stopped with "name: expected …, got …; what to do": no such number can be
    slow      it was not done after LIMIT seconds
    stopped   a cell stopped with anything else
"""

import argparse
import ast
import io
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import nbformat
from run_notebooks import ROOT, out_of_sight

sys.path[:0] = [str(ROOT), str(ROOT / "book" / "live")]
from runner import base, changes, exercise_in, loads, targets  # noqa: E402

LIMIT = 60
REFUSAL = re.compile(r".+(: expected|must be) .+got .+", re.S)
DRAWS = {"plots", "plt", "ax", "axes", "figure", "fig"}
WHERE = {"axis", "dim", "start_dim", "end_dim", "transpose", "permute", "swapaxes", "unsqueeze", "squeeze", "flatten", "round"}


class Literals(ast.NodeVisitor):
    """Collects the literals that a reader tries others for, each with these others."""

    def __init__(self):
        self.found = []

    def visit_Constant(self, node):
        if type(node.value) is int:
            self.found.append((node, [str(number) for number in near(node.value)]))
        elif type(node.value) is float:
            more = node.value + (1 - node.value) / 4 if 0 <= node.value < 1 else node.value * 1.25  # a probability stays one
            self.found.append((node, [f"{number:.4g}" for number in {node.value * 2 / 3, more} - {node.value}]))

    def visit_List(self, node):
        numbers = [one for one in ast.walk(node) if isinstance(one, ast.Constant)]
        plain = all(isinstance(one, (ast.List, ast.Constant, ast.UnaryOp, ast.USub, ast.Load)) for one in ast.walk(node))
        if not plain or len(numbers) < 3:
            self.generic_visit(node)
        elif {one.value for one in numbers} != set(range(len(numbers))):  # an order has each place once
            self.visit(numbers[-1])  # of a matrix one number is like another

    def visit_Assign(self, node):
        names = max(len(getattr(target, "elts", ())) for target in node.targets)
        before = len(self.found)
        self.visit(node.value)
        if isinstance(node.value, ast.List) and ast.unparse(node.targets[0]) == "words":  # the running example
            self.found += [(one, [repr("dog")]) for one in node.value.elts[-1:] if isinstance(one, ast.Constant)]
        if names > 1:  # the names on the left count what is on the right
            self.found[before:] = [one for one in self.found[before:] if one[0].value != names]

    def visit_Subscript(self, node):
        self.visit(node.value)
        place = Literals()
        place.visit(node.slice)
        if getattr(node.value, "attr", "") != "shape":
            self.found += [(one, [str(one.value - 1)]) for one, _ in place.found if type(one.value) is int and one.value > 1]

    def visit_Slice(self, node):  # without its step
        for end in filter(None, (node.lower, node.upper)):
            self.visit(end)

    def visit_Compare(self, node):
        if getattr(node.left, "attr", "") != "ndim":
            self.generic_visit(node)

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if name not in WHERE and base(node.func) not in DRAWS:
            if name in ("range", "arange"):
                del node.args[2:]  # every second is a part of a formula
            self.generic_visit(node)

    def visit_keyword(self, node):
        if node.arg not in WHERE:
            self.visit(node.value)

    def visit_BinOp(self, node):
        self.visit(node.left)
        one_on = isinstance(node.op, (ast.Add, ast.Sub)) and getattr(node.right, "value", None) == 1  # the next, or the one before
        if not (one_on or isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant)):
            self.visit(node.right)

    def visit_UnaryOp(self, node):
        if getattr(node.operand, "value", None) not in (1, 2):  # -1 is the last, or the rest; -2 the one before
            self.visit(node.operand)

    def visit_JoinedStr(self, node):
        """What is printed beside a value."""


def near(number):
    """A smaller and a larger one; a power of two stays one."""
    if number < 10:
        return {max(number - 1, 1), number + 1} - {number}
    return {number // 2, number * 2} if number & (number - 1) == 0 else {number * 2 // 3, number * 3 // 2}


def with_text(source, node, text):
    """The source with another text in the place of a node."""
    lines = source.encode().splitlines(keepends=True)
    line = lines[node.lineno - 1]
    lines[node.lineno - 1] = line[: node.col_offset] + text.encode() + line[node.end_col_offset :]
    return b"".join(lines).decode()


class Cell:
    """A code cell: its changes, what it uses, and what it makes or touches."""

    def __init__(self, cell, known, within):
        tags, self.source, self.id = cell.metadata.get("tags", []), cell.source, cell.id
        tree = ast.parse(re.sub(r"(?m)^([ \t]*)[%!].*$", r"\1pass", self.source))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                known |= targets(node)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                within[node.name] = loads(node)
        self.uses, made = set(), set()
        for statement in tree.body:
            loops = [node.target for node in ast.walk(statement) if isinstance(node, ast.For)]
            self.uses |= loads(statement) - made.union(*map(targets, loops))
            made |= targets(statement)
        for name in sorted(self.uses & set(within)):
            self.uses |= within[name]
        self.binds = made
        self.makes = made | changes(tree) - known
        folded = "hide-input" in tags and "mystnb" in cell.metadata
        literals = Literals()
        if not (folded or exercise_in(tree) or {"claims", "bootstrap"} & set(tags) or re.match(r"\s*#\s*\|\s*export", self.source)):
            literals.visit(tree)
        self.literals = [(node, text) for node, texts in literals.found for text in texts]


def reached(cells, start):
    """The cells after one that a change in it reaches, and those that they need, in their order."""
    makes, reach, needs, run = set(cells[start].makes), set(), set(), []
    for cell in cells[start + 1 :]:
        if cell.uses & makes:
            reach.add(cell.id)
            makes |= cell.makes
        else:
            makes -= cell.binds
    for cell in reversed(cells[start + 1 :]):
        if cell.id in reach or cell.makes & needs:
            run.append(cell)
            needs |= cell.uses
    return run[::-1]


class Notebook:
    """The notebook's names, and how Jupyter would run its cells."""

    def __init__(self, path):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        os.chdir(path.parent)
        self.shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
        known, within = set(), {}
        cells = nbformat.read(path, as_version=4).cells
        self.cells = [Cell(cell, known, within) for cell in cells if cell.cell_type == "code" and cell.source.strip()]

    def run(self, source):
        """What a cell said, and what stopped it, or nothing."""
        import matplotlib.pyplot as plt

        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            result = self.shell.run_cell(source)
            plt.close("all")
        return said.getvalue(), result.error_before_exec or result.error_in_exec

    def outcome(self, cells, text):
        """How a run of these cells ends, the first with this text."""
        told = []
        for cell, source in zip(cells, [text, *(cell.source for cell in cells[1:])]):
            said, error = self.run(source)
            if error is not None:
                words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
                *_, (frame, _) = traceback.walk_tb(error.__traceback__)
                place = frame.f_globals.get("__name__", "")
                named = ("xformer_lib", "xformer_course.pictures", "xformer_course.records", "__main__")
                ours = place.startswith(named) and REFUSAL.match(str(error))
                return "refused" if ours else "stopped", f"{cell.id}: {words}"
            told += [line for line in said.splitlines() if line.startswith("Held with the book's numbers")]
        return ("claims", f"{len(told)}, such as: {told[-1]}") if told else ("fine", "")

    def in_a_fork(self, cells, text):
        """The same in a copy of this process, which leaves nothing here."""
        end, other = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(LIMIT)  # which ends the process
            try:
                os.write(other, json.dumps(self.outcome(cells, text)).encode())
            finally:
                os._exit(0)
        os.close(other)
        with open(end, encoding="utf-8") as told:
            words = told.read()
        _, status = os.waitpid(child, 0)
        return json.loads(words) if words else ("slow" if os.WTERMSIG(status) == signal.SIGALRM else "stopped", f"signal {status}")

    def changes(self, chosen):
        """Run all, and try the chosen changes, ``(number of the cell, number of the literal)``: what was changed, and how it ended."""
        for number, cell in enumerate(self.cells[: 1 + max(at for at, _ in chosen)]):
            for node, text in (cell.literals[one] for at, one in chosen if at == number):
                below = [cell, *reached(self.cells, number)]
                old = ast.get_source_segment(cell.source, node)
                yield cell.id, node.lineno, old, text, *self.in_a_fork(below, with_text(cell.source, node, text))
            said, error = self.run(cell.source)
            if error is not None or "Held with" in said:
                raise SystemExit(f"{cell.id}: {error or said}")


def try_notebook(path, sample, seed, every):
    notebook = Notebook(path)
    chosen = [(at, one) for at, cell in enumerate(notebook.cells) for one in range(len(cell.literals))]
    if sample and sample < len(chosen):
        chosen = sorted(random.Random(f"{seed} {path.name}").sample(chosen, sample))
    began, ends = time.perf_counter(), Counter()
    for cell, line, old, new, end, words in notebook.changes(chosen):
        ends[end] += 1
        if end in ("stopped", "refused", "slow") or every:
            print(f"  {end}: {cell}, line {line}: {old} -> {new}: {words}", flush=True)
    counts = ", ".join(f"{ends[end]} {end}" for end in ("fine", "claims", "refused", "slow", "stopped"))
    print(f"{path.name}: {len(chosen)} changes: {counts}; {time.perf_counter() - began:.0f} s", flush=True)
    return ends["stopped"]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="so many changes of each notebook, drawn; all without it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="a line for every change")
    options = parser.parse_args(arguments)
    failed = 0
    for path in [path.resolve() for path in options.paths]:
        if (child := os.fork()) == 0:  # each notebook in a process of its own
            with tempfile.TemporaryDirectory() as empty:
                os.environ.update({**out_of_sight(os.environ, empty), "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"})
                os.environ.pop("XFORMER_CLAIMS"), os.environ.pop("XFORMER_DATA", None)
                stopped = try_notebook(path, options.sample, options.seed, options.verbose)
            os._exit(bool(stopped))
        failed |= os.waitpid(child, 0)[1]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
