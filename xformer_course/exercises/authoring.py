"""The notebook cells of an exercise, written from the catalogue so that the two cannot differ."""

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
