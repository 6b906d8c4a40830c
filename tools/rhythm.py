"""Measure how a notebook reads: words, cells, lines in the open and exported, predictions, figures, exercises.

    python tools/rhythm.py                 a table of all chapters, with the aims above it
    python tools/rhythm.py chapters/03_*   the chapters named

A code cell is *open* unless it is exported to the library, or tagged ``claims`` or ``bootstrap``: these a reader of the book finds
folded. *Words* are those on the way from the first line to the last; statements of exercises and sections called *Deeper*, which many
leave for another day, are counted beside them. An exercise is *given away* when one of the three code cells after it defines what the
learner is to write, or what the solution defines; ``my_softmax`` and ``softmax`` are one name. Aims are for the author to weigh; the
limits in ``broken_limits`` are checked by the tests.
"""

import ast
import re
import statistics
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
MAX_CODE_LINES = 25  # of a demonstration
MAX_LIBRARY_LINES = 45  # of a definition, where it reads best in one piece
MAX_WORDS = 220  # that nothing breaks up
BREAKS = re.compile(r"^(?=#+ )|(?:^(?:\||[-*] |\d+\. ).*\n?)+|```.*?```|\$\$.+?\$\$|<details>.*?</details>", re.S | re.M)
AIMS = {
    "words": "1800–2800",
    "in exercises": "",
    "in Deeper": "",
    "a sentence": "16–20",
    "open cells": "25–45",
    "open lines": "< 350",
    "export lines": "",
    "median": "3–8",
    "90 %": "≤ 15",
    "open asserts": "0",
    "shows %": "≥ 60",
    "predicts": "5–8",
    "sections": "",
    "figures": "",
    "exercises": "≥ 4",
    "given away": "0",
    "code in a row": "≤ 2",
}
GIVEN_AWAY = 3  # code cells after an exercise in which its answer may not stand


def chapters():
    """Every page of the course, in reading order: ``12_…``, its sub-pages ``12a_…``, ``12b_…``; last the workshop, ``w1_…``."""
    folder = ROOT / "chapters"
    return sorted(folder.glob("[0-9][0-9]*_*.ipynb")) + sorted(folder.glob("w[0-9]_*.ipynb"))


def is_subpage(path):
    """True for a page such as ``12a_…``, which continues a chapter and leaves the exercises to it, and for the workshop's."""
    return bool(re.match(r"(\d\d[a-z]|w\d)_", path.name))


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


def sentences(source):
    """Sentences of a markdown cell: ends of sentences in paragraphs and lists; headings, tables and formulas have none."""
    text = re.sub(r"\$\$.+?\$\$|\$[^$\n]+\$|`[^`]*`", "formula", source, flags=re.S)
    lines = [line for line in text.splitlines() if not re.match(r"\s*(#|\||<)", line)]
    return len(re.findall(r"[.!?:…][)\"'”*_]*(?=\s|$)", "\n".join(lines)))


def is_open(cell):
    """Whether a reader of the book meets the code of this cell unasked."""
    return not re.match(r"\s*#\s*\|\s*export", cell.source) and not {"claims", "bootstrap"} & set(cell.metadata.get("tags", []))


def asserts(source):
    return any(isinstance(node, ast.Assert) for node in ast.walk(parsed(source)))


def parsed(source):
    """The tree of a code cell; what only a notebook understands, such as a magic, has none."""
    plain = "\n".join(line for line in source.splitlines() if not re.match(r"\s*[%!]", line))
    return ast.parse(plain)


def defined(source):
    """Names of the functions and classes at the top of a code cell; a learner's ``my_softmax`` is ``softmax``."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name.removeprefix("my_").removeprefix("My") for node in parsed(source).body if isinstance(node, kinds)}


def exercise_cells(cells):
    """For each exercise, by number, the place of its last code cell and the names that its code cells define."""
    found, number = {}, None
    for place, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            heading = re.match(r"#+ Exercise (\d+\w?\.\d+)", cell.source)
            number = heading[1] if heading else number if not cell.source.startswith("#") else None
        elif number:
            names = found.get(number, (place, set()))[1]
            found[number] = (place, names | defined(cell.source))
            if f'check("{number}"' in cell.source:
                number = None
    return found


def given_away(cells, solution_cells=()):
    """The numbers of the exercises whose answer stands in one of the next code cells."""
    solved = exercise_cells(solution_cells)
    found = []
    for number, (place, names) in exercise_cells(cells).items():
        following = [cell for cell in cells[place + 1 :] if cell.cell_type == "code"][:GIVEN_AWAY]
        wanted = names | solved.get(number, (0, set()))[1]
        if any(wanted & defined(cell.source) for cell in following):
            found.append(number)
    return found


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


def words_by_part(text):
    """Words of the story, of the exercises' statements, and of the sections called *Deeper*, in the Markdown cells of a page."""
    counts, deeper = {"words": 0, "in exercises": 0, "in Deeper": 0}, False
    for cell in text:
        if re.match(r"##? ", cell.source):
            deeper = cell.source.startswith("## Deeper")
        part = "in exercises" if re.match(r"#+ Exercise \d", cell.source) else "in Deeper" if deeper else "words"
        counts[part] += words(cell.source)
    return counts


def measure(notebook, solution=None):
    """The numbers of one notebook, by the names in ``AIMS``; with its solutions, exercises given away by their names, too."""
    cells = [cell for cell in notebook.cells if not is_bootstrap(cell)]
    code = [cell for cell in cells if cell.cell_type == "code" and cell.source.strip()]
    text = [cell for cell in cells if cell.cell_type == "markdown"]
    opened = [cell for cell in code if is_open(cell)]
    lines = sorted(code_lines(cell.source) for cell in opened) or [0]
    prose = "\n".join(cell.source for cell in text)
    count = sum(words(cell.source) for cell in text)
    return {
        **words_by_part(text),
        "a sentence": round(count / max(1, sum(sentences(cell.source) for cell in text)), 1),
        "open cells": len(opened),
        "open lines": sum(lines),
        "export lines": sum(code_lines(cell.source) for cell in code if cell.source.lstrip().startswith("#| export")),
        "median": statistics.median(lines),
        "90 %": lines[int(0.9 * (len(lines) - 1))],
        "open asserts": sum(asserts(cell.source) for cell in opened),
        "shows %": round(100 * sum(bool(cell.outputs) for cell in code) / max(1, len(code))),
        "predicts": len(re.findall(r"(?m)^\*\*Predict", prose)),
        "sections": len(re.findall(r"(?m)^## ", prose)),
        "figures": sum(bool(figure_of(cell)[0]) for cell in code),
        "exercises": len(re.findall(r"(?m)^#+ Exercise \d", prose)),
        "given away": len(given_away(cells, solution.cells if solution else ())),
        "code in a row": longest_code_run(cells),
    }


def unbroken(cells):
    """Where text ends that neither code nor a heading, table, list, formula or folded answer breaks up: (index of the cell, words)."""
    count = 0
    for index, cell in enumerate(cells):
        parts = BREAKS.split(cell.source) if cell.cell_type == "markdown" else ["", ""]
        for part in parts[:-1]:
            yield index, count + words(part)
            count = 0
        count += words(parts[-1])
    yield len(cells) - 1, count


def broken_limits(notebook):
    """Sentences on every hard limit that a notebook breaks; none when it may be published."""
    texts = ((index, count) for index, count in unbroken(notebook.cells) if count > MAX_WORDS)
    found = [
        f"before the end of cell {index}: {count} words that nothing breaks up, at most {MAX_WORDS}; say less" for index, count in texts
    ]
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.strip():
            found += [f"cell {index}: {problem}" for problem in broken_code_limits(cell)]
    return found


def broken_code_limits(cell):
    lines = code_lines(cell.source)
    most = MAX_CODE_LINES if is_open(cell) else MAX_LIBRARY_LINES
    if lines > most:
        yield f"{lines} lines of code, at most {most}; split the cell, or move a helper to the library"
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
        solved = ROOT / "chapters" / "solutions" / path.name
        numbers = measure(nbformat.read(path, as_version=4), nbformat.read(solved, as_version=4) if solved.exists() else None)
        rows.append([path.stem, *(f"{numbers[name]:g}" for name in AIMS)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


if __name__ == "__main__":
    print(table([Path(name) for name in sys.argv[1:]] or chapters()))
