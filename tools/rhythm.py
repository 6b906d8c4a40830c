"""Measure how a notebook reads: cells, lines, words, predictions, figures.

    python tools/rhythm.py                 a table of all chapters, with the aims above it
    python tools/rhythm.py chapters/03_*   the chapters named

Aims are for the author to weigh; the limits in ``broken_limits`` are checked by the tests.
"""

import re
import statistics
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
MAX_CODE_LINES = 25
MAX_WORDS = 150
AIMS = {
    "cells": "45–90",
    "code %": "40–50",
    "median lines": "≤ 6",
    "90 % lines": "≤ 15",
    "shows %": "≥ 60",
    "words": "2000–3500",
    "predictions": "1 a section",
    "sections": "",
    "figures": "",
    "exercises": "≥ 4",
    "code in a row": "≤ 2",
}


def chapters():
    """Every page of the course, in reading order: ``12_…``, then its sub-pages ``12a_…``, ``12b_…``."""
    return sorted((ROOT / "chapters").glob("[0-9][0-9]*_*.ipynb"))


def is_subpage(path):
    """True for a page such as ``12a_…``, which continues a chapter and leaves the exercises to it."""
    return bool(re.match(r"\d\d[a-z]_", path.name))


def solutions():
    return sorted((ROOT / "chapters" / "solutions").glob("*.ipynb"))


def back_pages():
    return sorted((ROOT / "chapters" / "back").glob("*.ipynb"))


def code_lines(source):
    """Lines of a code cell that a reader reads: blank lines and the export directive do not count."""
    return sum(1 for line in source.splitlines() if line.strip() and not re.match(r"\s*#\|", line))


def words(source):
    """Words of a markdown cell; a formula or a cited work counts as one, the address of a link as none."""
    text = re.sub(r"\$\$.+?\$\$|\$[^$\n]+\$", " formula ", source, flags=re.S)
    text = re.sub(r"\[[^][]+?(?: \(\d{4}\)|, \d{4})\]\([^)]*\)", " work ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"<[^>]+>", " ", text)
    return len(re.findall(r"\w[\w'’.,-]*", text))


def is_bootstrap(cell):
    return "bootstrap" in cell.metadata.get("tags", [])


def figure_of(cell):
    """The figure settings of a cell: ``(caption, alternative text)``."""
    settings = cell.metadata.get("mystnb", {})
    return settings.get("figure", {}).get("caption", ""), settings.get("image", {}).get("alt", "")


def draws(cell):
    return any("image/png" in out.get("data", {}) or "image/svg+xml" in out.get("data", {}) for out in cell.outputs)


def longest_code_run(cells):
    """Most code cells in a row without a sentence between them."""
    longest = current = 0
    for cell in cells:
        current = current + 1 if cell.cell_type == "code" else 0
        longest = max(longest, current)
    return longest


def measure(notebook):
    """The numbers of one notebook, by the names in ``AIMS``."""
    cells = [cell for cell in notebook.cells if not is_bootstrap(cell)]
    code = [cell for cell in cells if cell.cell_type == "code" and cell.source.strip()]
    text = [cell for cell in cells if cell.cell_type == "markdown"]
    lines = sorted(code_lines(cell.source) for cell in code) or [0]
    prose = "\n".join(cell.source for cell in text)
    return {
        "cells": len(cells),
        "code %": round(100 * len(code) / max(1, len(cells))),
        "median lines": statistics.median(lines),
        "90 % lines": lines[int(0.9 * (len(lines) - 1))],
        "shows %": round(100 * sum(bool(cell.outputs) for cell in code) / max(1, len(code))),
        "words": sum(words(cell.source) for cell in text),
        "predictions": len(re.findall(r"(?m)^\*\*Predict", prose)),
        "sections": len(re.findall(r"(?m)^## ", prose)),
        "figures": sum(bool(figure_of(cell)[0]) for cell in code),
        "exercises": len(re.findall(r"(?m)^#+ Exercise \d", prose)),
        "code in a row": longest_code_run(cells),
    }


def broken_limits(notebook):
    """Sentences on every hard limit that a notebook breaks; none when it may be published."""
    found = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            count = words(cell.source)
            if count > MAX_WORDS:
                found.append(f"cell {index}: {count} words, at most {MAX_WORDS}; split it, or say less")
        elif cell.cell_type == "code" and cell.source.strip():
            found += [f"cell {index}: {problem}" for problem in broken_code_limits(cell)]
    return found


def broken_code_limits(cell):
    lines = code_lines(cell.source)
    if lines > MAX_CODE_LINES:
        yield f"{lines} lines of code, at most {MAX_CODE_LINES}; split the cell, or move a helper to the library"
    if cell.execution_count is None:
        yield "not run; run 'make notebooks'"
    for output in cell.outputs:
        if output.output_type == "error":
            yield f"ends in an error: {output.ename}"
        if output.output_type == "stream" and output.name == "stderr":
            yield f"writes to standard error: {output.text.strip()[:80]}"
    if draws(cell):
        caption, alternative = figure_of(cell)
        if not caption.strip():
            yield "draws a figure without a caption (metadata mystnb.figure.caption)"
        if not alternative.strip():
            yield "draws a figure without alternative text (metadata mystnb.image.alt)"


def table(paths):
    """The numbers of several notebooks, one row each."""
    rows = [["", *AIMS], ["aim", *AIMS.values()]]
    for path in paths:
        numbers = measure(nbformat.read(path, as_version=4))
        rows.append([path.stem, *(f"{numbers[name]:g}" for name in AIMS)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


if __name__ == "__main__":
    print(table([Path(name) for name in sys.argv[1:]] or chapters()))
