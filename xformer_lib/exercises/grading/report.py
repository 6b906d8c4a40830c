"""What grading found, as text, as JSON, and as a table with one row a notebook."""

import csv
import io
import textwrap
from dataclasses import asdict, dataclass

from xformer_lib import __version__
from xformer_lib.exercises.grading.source import in_order, known

WIDTH = 100
SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so is a formula to a spreadsheet
EXPLAINED = ("misconception", "wrong", "crashed", "timed out", "not verified")


@dataclass(frozen=True)
class Grade:
    """The verdict on one exercise.

    Attributes:
        id: The exercise.
        status: passed, misconception, wrong, crashed, timed out, not attempted or not verified.
        message: What the learner reads.
        misconception: The name of the misconception that was recognised, or "".
        rechecked: Whether the notebook had left the course's check out, so that the grader made it.
        cell: The place of the cell in the notebook, counted from 1; 0 when no cell answers.
        title: The exercise's title.
    """

    id: str
    status: str
    message: str
    misconception: str = ""
    rechecked: bool = False
    cell: int = 0
    title: str = ""

    @property
    def short(self) -> str:
        """The status, with the misconception's name where there is one."""
        return f"misconception: {self.misconception}" if self.misconception else self.status


@dataclass(frozen=True)
class NotebookGrade:
    """All exercises of one notebook; `error` says why it could not be graded, and is "" otherwise."""

    name: str
    exercises: tuple[Grade, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def passed(self) -> int:
        return sum(grade.status == "passed" for grade in self.exercises)

    @property
    def complete(self) -> bool:
        """Whether there are exercises and all are passed."""
        return bool(self.exercises) and self.passed == len(self.exercises)

    @property
    def summary(self) -> str:
        """One line."""
        if self.error:
            return f"{self.name}: not graded: {self.error}"
        return f"{self.name}: {self.passed} of {len(self.exercises)} passed ({self.seconds:.0f} s)"


def as_text(notebook: NotebookGrade) -> str:
    """The summary, a line for each exercise, and the diagnosis under those that need one."""
    lines = [notebook.summary]
    for grade in notebook.exercises:
        again = " (checked by the grader)" if grade.rechecked else ""
        lines.append(f"  {grade.id:<6}{grade.short:<15} {grade.title}{again}" if not grade.misconception else
                     f"  {grade.id:<6}{grade.short}{again}")
        if grade.status in EXPLAINED:
            first, *rest = grade.message.removeprefix(f"Exercise {grade.id}: ").split("\n")
            lines.append(textwrap.fill(first, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8))
            lines.extend(" " * 8 + line for line in rest)
    return "\n".join([*lines, *(f"  {note}" for note in notebook.notes)])


def as_json(notebooks: list[NotebookGrade], seed: int) -> dict:
    """Everything, as plain data."""
    return {"version": __version__, "seed": seed, "notebooks": [
        {"name": one.name, "passed": one.passed, "total": len(one.exercises), "seconds": one.seconds,
         "error": one.error, "notes": list(one.notes), "exercises": [asdict(grade) for grade in one.exercises]}
        for one in notebooks]}


def as_csv(notebooks: list[NotebookGrade]) -> str:
    """A header and one row a notebook; an exercise that a notebook does not contain is left empty."""
    ids = {grade.id for one in notebooks for grade in one.exercises}
    columns = [exercise.id for exercise in sorted(map(known, ids), key=in_order)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["notebook", "passed", "total", *columns, "seconds", "error"])
    for one in notebooks:
        verdicts = {grade.id: grade.short for grade in one.exercises}
        cells = [verdicts.get(id, "") for id in columns]
        row = [one.name, one.passed, len(one.exercises), *cells, one.seconds, one.error]
        writer.writerow([harmless(value) for value in row])
    return text.getvalue()


def harmless(value):
    """Text that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(SPREADSHEET) else value


def printable(text: str) -> str:
    """Text without control characters, which a learner's error message may hold."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
