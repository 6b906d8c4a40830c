"""Write the exercises of the catalogue into the notebooks.

On its page an exercise has two cells, the statement and the stub, found by its title; a new one is written where the author has put a
Markdown cell ``<!-- exercise 4.6 -->``. On the solutions page everything below the first heading of an exercise is written. A cell whose
text stays as it was keeps its outputs; those of the others come from ``tools/run_notebooks.py``.

    python tools/write_exercises.py             write
    python tools/write_exercises.py --check     name the notebooks that would change, write nothing
"""

import argparse
import re
import sys
from pathlib import Path

import nbformat

from xformer_course.exercises.authoring import code_cell, markdown_cell, solution_cells
from xformer_course.exercises.registry import chapters

ROOT = Path(__file__).resolve().parent.parent
HEADING = re.compile(r"#{2,3} Exercise [\d.]+ · (.*?)(?: <a id=.*)?$", re.MULTILINE)
PLACE = re.compile(r"<!-- exercise ([\d.]+) -->")
CLAIMS = {"tags": ["claims"], "jupyter": {"source_hidden": True}, "cellView": "form"}


class NoPlace(ValueError):
    """An exercise that stands on no page, or a page that holds one of which the catalogue knows nothing."""


def pages():
    """Each page with exercises, as the slug of its notebook, and the pairs of chapter and exercise that belong there."""
    found = {}
    for chapter in chapters():
        for exercise in chapter.exercises:
            found.setdefault(exercise.page or chapter.slug, []).append((chapter, exercise))
    return found


def new_cell(notebook, kind, source, name):
    """A cell that was not run, with an id that no other cell has."""
    used = {cell.id for cell in notebook.cells}
    cell = nbformat.v4.new_code_cell(source) if kind == "code" else nbformat.v4.new_markdown_cell(source)
    cell.id = next(name for name in (name, *(f"{name}-{n}" for n in range(2, 99))) if name not in used)
    return cell


def put(notebook, index, kind, source, name):
    """Have a cell of this kind and text at the index; what stands there already is changed only where it differs."""
    cells = notebook.cells
    there = cells[index].source if index < len(cells) and cells[index].cell_type == kind else None
    if there is not None and there.strip() == source.strip():
        return
    cell = new_cell(notebook, kind, source, name)
    if there is None:
        cells.insert(index, cell)
    else:
        cell.id, cell.metadata = cells[index].id, cells[index].metadata
        cells[index] = cell


def write_page(notebook, slug, wanted):
    """Write statement and stub of each exercise of a page."""
    places = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := HEADING.match(cell.source) or PLACE.fullmatch(cell.source.strip())):
            places[found[1]] = cell
    for chapter, exercise in wanted:
        cell = places.pop(exercise.title, None) or places.pop(exercise.id, None)
        if cell is None:
            raise NoPlace(
                f"exercise {exercise.id}: expected its place in chapters/{slug}.ipynb, got none; "
                f"put a Markdown cell <!-- exercise {exercise.id} --> there"
            )
        at, name = notebook.cells.index(cell), f"exercise-{exercise.id.replace('.', '-')}"
        put(notebook, at, "markdown", markdown_cell(chapter, exercise), name)
        stub_follows = at + 1 < len(notebook.cells) and "check(" in notebook.cells[at + 1].source
        if not stub_follows:
            notebook.cells.insert(at + 1, new_cell(notebook, "code", "", f"{name}-stub"))
        put(notebook, at + 1, "code", code_cell(exercise), f"{name}-stub")
    if places:
        raise NoPlace(
            f"chapters/{slug}.ipynb: expected exercises of the catalogue, got {', '.join(places)}; write them there or take them out"
        )


def write_solutions(notebook, chapter):
    """Write the solutions of a chapter below the cells that come before the first of them."""
    cells = notebook.cells
    first = next((n for n, cell in enumerate(cells) if cell.source.startswith("## Exercise ")), len(cells))
    before, old = cells[:first], cells[first:]
    notebook.cells = list(before)
    for exercise in chapter.exercises:
        for n, (kind, source, tag) in enumerate(solution_cells(exercise)):
            same = next((cell for cell in old if cell.cell_type == kind and cell.source.strip() == source), None)
            if same is not None:
                old.remove(same)
            else:
                same = new_cell(notebook, kind, source, f"solution-{exercise.id.replace('.', '-')}-{n}")
                same.metadata = nbformat.from_dict(CLAIMS if tag else {})
            notebook.cells.append(same)


def main(arguments=None):
    """Write the notebooks, or name those that would change; the exit status is 1 where there are any and ``--check`` was given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="name the notebooks that would change, write nothing")
    options = parser.parse_args(arguments)
    jobs = [(f"chapters/{slug}.ipynb", write_page, (slug, wanted)) for slug, wanted in pages().items()]
    jobs += [(f"chapters/solutions/{chapter.slug}.ipynb", write_solutions, (chapter,)) for chapter in chapters()]
    changed = []
    for name, write, given in jobs:
        before = (ROOT / name).read_text(encoding="utf-8")
        notebook = nbformat.reads(before, as_version=4)
        try:
            write(notebook, *given)
        except NoPlace as error:
            sys.exit(str(error))
        after = nbformat.writes(notebook) + "\n"
        if after != before:
            changed.append(name)
            if not options.check:
                (ROOT / name).write_text(after, encoding="utf-8", newline="\n")
    for name in changed:
        print(f"{name}: {'would be written' if options.check else 'written; store it with tools/run_notebooks.py'}")
    return int(options.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
