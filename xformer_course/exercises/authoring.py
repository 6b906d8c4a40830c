"""The notebook cells of an exercise: `tools/write_exercises.py` writes them into the chapter and the solutions page."""

import re

from xformer_course.exercises.exercise import Chapter, Exercise


def markdown_cell(chapter: Chapter, exercise: Exercise) -> str:
    """The cell with heading, statement and link to the solution."""
    unit = "minute" if exercise.minutes == 1 else "minutes"
    return (
        f'### {exercise.heading} <a id="{exercise.anchor}"></a>\n\n'
        f"*{exercise.kind} · {exercise.minutes} {unit} · difficulty {exercise.difficulty} of 3*\n\n"
        f"{exercise.statement.strip()}\n\n"
        f'Stuck? `hint("{exercise.id}")`. '
        f"[Solution](solutions/{chapter.slug}.ipynb#{exercise.anchor})"
    )


def check_call(exercise: Exercise) -> str:
    """The line that checks the answer."""
    return f'check("{exercise.id}", {exercise.answer_name})'


def code_cell(exercise: Exercise) -> str:
    """The cell with the stub and the call of `check`."""
    gap = "\n\n\n" if "def " in exercise.stub else "\n"
    return f"{exercise.stub.strip()}{gap}{check_call(exercise)}"


FENCE = re.compile(r"^```python( claims)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def solution_cells(exercise: Exercise) -> list[tuple[str, str, str]]:
    """The cells of the solutions page, each with its kind, its text, and "claims" where it holds claims."""
    parts = FENCE.split(exercise.solution.strip())  # text, mark, code, text, mark, code, …, text
    heading = f'## {exercise.heading} <a id="{exercise.anchor}"></a>'
    cells = [("markdown", f"{heading}\n\n{parts[0].strip()}".strip(), "")]
    for mark, code, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        cells.append(("code", code.strip().replace("check(...)", check_call(exercise)), (mark or "").strip()))
        if text.strip():
            cells.append(("markdown", text.strip(), ""))
    return cells
