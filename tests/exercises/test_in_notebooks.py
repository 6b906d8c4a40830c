"""Every exercise stands in its chapter as the catalogue has it, and is solved on the solutions page."""

import json
from pathlib import Path

import pytest

from xformer_course.exercises.authoring import check_call, code_cell, markdown_cell
from xformer_course.exercises.registry import chapters

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [pytest.param(chapter, exercise, id=exercise.id) for chapter in chapters() for exercise in chapter.exercises]
placed = pytest.mark.parametrize(("chapter", "exercise"), PAIRS)


def cells(path):
    notebook = json.loads((ROOT / path).read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"]), cell.get("outputs", [])) for cell in notebook["cells"]]


def text_of(outputs):
    return "".join("".join(output.get("text", "")) for output in outputs)


@placed
def test_the_chapter_prints_the_exercise_word_for_word(chapter, exercise):
    found = cells(f"chapters/{exercise.page or chapter.slug}.ipynb")
    place = next((i for i, (_, source, _) in enumerate(found) if source.startswith(f"### {exercise.heading}")), None)
    assert place is not None, f"no cell begins with '### {exercise.heading}'"
    assert found[place][1].strip() == markdown_cell(chapter, exercise).strip()
    kind, source, outputs = found[place + 1]
    assert (kind, source.strip()) == ("code", code_cell(exercise).strip())
    assert text_of(outputs).startswith(f"Exercise {exercise.id}: not attempted yet.")


@placed
def test_the_solutions_page_has_the_anchor_and_a_green_check(chapter, exercise):
    found = cells(f"chapters/solutions/{chapter.slug}.ipynb")
    headings = [i for i, (kind, source, _) in enumerate(found) if kind == "markdown" and source.startswith(f"## {exercise.heading}")]
    assert len(headings) == 1, f"'## {exercise.heading}' must head exactly one cell"
    later = found[headings[0] + 1 :]
    end = next((i for i, (_, source, _) in enumerate(later) if source.startswith("## ")), len(later))
    checked = [text_of(outputs) for _, source, outputs in later[:end] if check_call(exercise).split(",")[0] in source]
    assert any(f"Exercise {exercise.id}: correct" in text for text in checked)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_the_chapter_holds_its_exercises_and_no_others(chapter):
    """Ids stay when a page is told anew, so their order on it is the story's; solutions stand in the order of their numbers."""

    def found(path, mark):
        return [
            source.splitlines()[0].removeprefix(mark).split(" · ")[0]
            for kind, source, _ in cells(path)
            if kind == "markdown" and source.startswith(mark)
        ]

    for page in {exercise.page or chapter.slug for exercise in chapter.exercises}:
        wanted = [exercise.id for exercise in chapter.exercises if (exercise.page or chapter.slug) == page]
        assert sorted(found(f"chapters/{page}.ipynb", "### Exercise ")) == sorted(wanted), page
    assert found(f"chapters/solutions/{chapter.slug}.ipynb", "## Exercise ") == [exercise.id for exercise in chapter.exercises]
