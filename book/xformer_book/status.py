"""What runs: for every notebook its cells, its assertions and the exercises it checks."""

import ast
import re

import nbformat

from .api import escaped
from .project import ROOT, notebooks

PARTS = {"Chapters": "chapters", "Solutions": "chapters/solutions", "Back matter": "chapters/back"}


def code_cells(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "code" and "bootstrap" not in cell.metadata.get("tags", [])]


def name_of(call):
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def checks(sources):
    """``(assertions, exercise checks)`` in some code cells: ``assert``, calls of ``assert_…``, and calls of ``check``."""
    assertions = exercises = 0
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            called = name_of(node) if isinstance(node, ast.Call) else ""
            assertions += isinstance(node, ast.Assert) or called.startswith("assert_")
            exercises += called == "check" and bool(node.args) and isinstance(node.args[0], ast.Constant)
    return assertions, exercises


def measure(path):
    """What one notebook holds."""
    notebook = nbformat.read(path, as_version=4)
    cells = code_cells(notebook)
    assertions, exercises = checks(cells)
    every = sum(cell.cell_type == "code" for cell in notebook.cells)
    title = re.match(r"# (.*)", notebook.cells[0].source)[1]
    return {"title": title, "cells": len(notebook.cells), "code": every, "assertions": assertions, "exercises": exercises}


def table():
    """A table for each part of the book, with its sums."""
    lines = []
    for part, folder in PARTS.items():
        rows, totals = [], [0, 0, 0, 0]
        for path in [ROOT / name for name in notebooks() if name.rpartition("/")[0] == folder]:
            found = measure(path)
            numbers = [found["cells"], found["code"], found["assertions"], found["exercises"]]
            totals = [a + b for a, b in zip(totals, numbers)]
            link = f"[{escaped(found['title'])}](../../{path.relative_to(ROOT).as_posix()})"
            rows.append([link, *map(str, numbers)])
        rows = [["page", "cells", "code cells", "assertions", "exercise checks"], ["---"] * 5, *rows, ["**all**", *map(str, totals)]]
        lines += [f"## {part}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    return "\n".join(lines)
