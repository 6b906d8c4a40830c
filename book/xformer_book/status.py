"""What runs: for every notebook its cells, its assertions, the exercises it checks, and the seconds it took when they were recorded."""

import ast
import json
import re

import nbformat

from .api import escaped
from .house import ROOT, notebooks

RECORD = ROOT / "results" / "bench-project.json"
PARTS = {"Chapters": "chapters", "Solutions": "chapters/solutions", "Back matter": "chapters/back"}
UNKNOWN = "not recorded"


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


def seconds(path, code, record):
    """Seconds of a processor and on the clock; None without any, and for a notebook that has other cells since."""
    name = path.relative_to(ROOT).as_posix()
    row = next((row for row in (record or {}).get("notebooks", []) if row["notebook"] == name), None)
    return None if row is None or row["code_cells"] != code else [f"{row['cpu_seconds']:.1f}", f"{row['wall_seconds']:.1f}"]


def words(record):
    """Where the seconds come from, or that there are none."""
    if record is None:
        return "No seconds have been recorded for this edition."
    return (
        f"Seconds: `{record['command']}`, commit `{record['commit']}`, {record['device']}, {record['threads']} thread, "
        f"Python {record['python']}. A notebook that has got or lost cells since then shows none."
    )


def table(file=RECORD):
    """A table for each part of the book, with its sums."""
    record = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    lines = [words(record), ""] if record else []
    for part, folder in PARTS.items():
        rows, times, totals = [], [], [0, 0, 0, 0]
        for path in [ROOT / name for name in notebooks() if name.rpartition("/")[0] == folder]:
            found = measure(path)
            numbers = [found["cells"], found["code"], found["assertions"], found["exercises"]]
            totals = [a + b for a, b in zip(totals, numbers)]
            link = f"[{escaped(found['title'])}](../../{path.relative_to(ROOT).as_posix()})"
            rows.append([link, *map(str, numbers)])
            times.append(seconds(path, found["code"], record))
        rows = [["page", "cells", "code cells", "assertions", "exercise checks"], ["---"] * 5, *rows, ["**all**", *map(str, totals)]]
        if any(times):
            more = [["seconds of a processor", "seconds on the clock"], ["---"] * 2, *(time or [UNKNOWN] * 2 for time in times), [""] * 2]
            rows = [row + its for row, its in zip(rows, more)]
        lines += [f"## {part}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    return "\n".join(lines if record else [*lines, words(record)])
