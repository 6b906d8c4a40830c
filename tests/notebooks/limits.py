"""The notebooks, and the limits that each keeps: short cells, short texts, figures with captions, run without an error."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*_*.ipynb"))
SOLUTIONS = sorted((ROOT / "chapters" / "solutions").glob("*.ipynb"))
BACK_PAGES = sorted((ROOT / "chapters" / "back").glob("*.ipynb"))
EVERY = CHAPTERS + SOLUTIONS + BACK_PAGES
MAX_CODE_LINES = 25  # of a demonstration
MAX_LIBRARY_LINES = 60  # of one definition, and of a library, claims or folded cell: they read best in one piece
MAX_LISTING_LINES = 140  # of a whole program, in a cell with the tag "listing": it runs as it stands
MAX_WORDS = 220  # that nothing breaks up
BREAKS = re.compile(r"^(?=#+ )|(?:^(?:\||[-*] |\d+\. ).*\n?)+|```.*?```|\$\$.+?\$\$|<details>.*?</details>", re.S | re.M)


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


def is_open(cell):
    """Whether a reader of the book meets the code of this cell unasked."""
    return not re.match(r"\s*#\s*\|\s*export", cell.source) and not {"claims", "bootstrap"} & set(cell.metadata.get("tags", []))


def is_one_definition(cell):
    return [type(node) for node in ast.parse(cell.source).body] in ([ast.ClassDef], [ast.FunctionDef])


def is_bootstrap(cell):
    return "bootstrap" in cell.metadata.get("tags", [])


def figure_of(cell):
    """The figure settings of a cell: ``(caption, alternative text)``."""
    settings = cell.metadata.get("mystnb", {})
    return settings.get("figure", {}).get("caption", ""), settings.get("image", {}).get("alt", "")


def draws(cell):
    return any("image/png" in out.get("data", {}) or "image/svg+xml" in out.get("data", {}) for out in cell.outputs)


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
    most = MAX_CODE_LINES if is_open(cell) and not is_one_definition(cell) else MAX_LIBRARY_LINES
    tags = cell.metadata.get("tags", [])
    if "hide-input" in tags:
        most = MAX_LIBRARY_LINES
    if "listing" in tags:
        most = MAX_LISTING_LINES
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
