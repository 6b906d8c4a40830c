"""The notebooks hold the exercises as the catalogue has them: nothing is left to write, and every stored check says what it should."""

import json
from pathlib import Path

import nbformat
import pytest
import write_exercises

from xformer_course.exercises.authoring import check_call, code_cell, markdown_cell, solution_cells
from xformer_course.exercises.registry import chapter, chapters

ROOT = Path(__file__).resolve().parents[2]
by_chapter = pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))


def code_cells(path):
    notebook = json.loads((ROOT / path).read_text(encoding="utf-8"))
    return [("".join(cell["source"]), cell.get("outputs", [])) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def said(cells, call):
    """What the cells with this call of `check` have printed."""
    outputs = [output for source, outputs in cells if call in source for output in outputs]
    return "".join("".join(output.get("text", "")) for output in outputs)


def test_nothing_is_left_to_write(capsys):
    assert write_exercises.main(["--check"]) == 0, capsys.readouterr().out


@by_chapter
def test_what_is_stored_is_not_attempted_on_the_page_and_correct_among_the_solutions(chapter):
    solved = code_cells(f"chapters/solutions/{chapter.slug}.ipynb")
    for exercise in chapter.exercises:
        asked = code_cells(f"chapters/{exercise.page or chapter.slug}.ipynb")
        assert said(asked, check_call(exercise)).startswith(f"Exercise {exercise.id}: not attempted yet.")
        assert f"Exercise {exercise.id}: correct" in said(solved, check_call(exercise))


def page(*sources):
    cells = [nbformat.v4.new_code_cell(text) if "check(" in text else nbformat.v4.new_markdown_cell(text) for text in sources]
    return nbformat.v4.new_notebook(cells=cells)


FOURTH = chapter(4)
FIRST, SECOND = FOURTH.exercises[:2]
WANTED = [(FOURTH, FIRST), (FOURTH, SECOND)]
WRITTEN = [text for pair in WANTED for text in (markdown_cell(*pair), code_cell(pair[1]))]


@pytest.mark.parametrize(
    "sources",
    [
        ["before", *WRITTEN, "after"],
        ["before", f"<!-- exercise {FIRST.id} -->", *WRITTEN[2:], "after"],
        [
            "before",
            WRITTEN[0].replace(FIRST.id, "4.13"),
            WRITTEN[1].replace(FIRST.id, "4.13"),
            WRITTEN[2] + "by hand",
            *WRITTEN[3:],
            "after",
        ],
    ],
    ids=["as it is", "new", "renumbered and edited"],
)
def test_a_page_is_written_where_its_exercises_stand(sources):
    notebook = page(*sources)
    write_exercises.write_page(notebook, "04_self_attention", WANTED)
    assert [cell.source for cell in notebook.cells] == ["before", *WRITTEN, "after"]
    assert len({cell.id for cell in notebook.cells}) == 6
    nbformat.validate(notebook)


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        (WRITTEN[:2], f"exercise {SECOND.id}: .* put a Markdown cell <!-- exercise {SECOND.id} -->"),
        ([*WRITTEN, "### Exercise 4.9 · Nobody knows it"], "got Nobody knows it; .* take them out"),
    ],
)
def test_an_exercise_without_a_place_and_a_place_without_an_exercise_are_refused(sources, says):
    with pytest.raises(write_exercises.NoPlace, match=says):
        write_exercises.write_page(page(*sources), "04_self_attention", WANTED)


def test_a_cell_that_stays_keeps_its_outputs():
    notebook = page("# Solutions", *(source for _, source, _ in solution_cells(FIRST)))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("stream", text="kept")]
    write_exercises.write_solutions(notebook, FOURTH)
    assert [cell.source for cell in notebook.cells[1:]] == [
        text for exercise in FOURTH.exercises for _, text, _ in solution_cells(exercise)
    ]
    kept = [bool(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    assert kept[0] and not kept[-1]
