"""What grading found, as text, as JSON, and as a table with one row a notebook."""

import csv
import io
import textwrap
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import TextIO

from xformer_course.exercises.grading.source import in_order, known
from xformer_course.exercises.printing import fitting
from xformer_lib import __version__

WIDTH = 100
FIRST = ("notebook", "status", "passed", "attempted", "total")  # then one column an exercise
LAST = ("seconds", "error")
OWN_ERRORS = (  # of a cell, on whatever machine it runs; not those of memory, files and packages
    *("SyntaxError", "IndentationError", "TabError", "NameError", "UnboundLocalError", "TypeError", "ValueError", "IndexError"),
    *("KeyError", "AttributeError", "ZeroDivisionError", "AssertionError", "NotImplementedError"),
)
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
        error: The name of the error that stopped the cell before its check, or "".
    """

    id: str
    status: str
    message: str
    misconception: str = ""
    rechecked: bool = False
    cell: int = 0
    title: str = ""
    error: str = ""

    @property
    def short(self) -> str:
        """The status, with the misconception's name where there is one."""
        return f"misconception: {self.misconception}" if self.misconception else self.status


@dataclass(frozen=True)
class NotebookGrade:
    """All exercises of one notebook; `error` says why it could not be graded, or not be trusted, and is "" otherwise.

    `digest` is the SHA-256 of the file that was graded, by which a later call knows it again.
    """

    name: str
    exercises: tuple[Grade, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    error: str = ""
    digest: str = ""

    @property
    def passed(self) -> int:
        return sum(grade.status == "passed" for grade in self.exercises)

    @property
    def attempted(self) -> int:
        """How many exercises hold an answer, right or wrong."""
        return sum(grade.status != "not attempted" for grade in self.exercises)

    @property
    def status(self) -> str:
        """Graded; with gaps, when not every verdict could be had or trusted; or not graded at all."""
        if not self.error:
            return "graded"
        return "graded with gaps" if self.exercises else "not graded"

    @property
    def complete(self) -> bool:
        """Whether there are exercises and all are passed."""
        return bool(self.exercises) and self.passed == len(self.exercises)

    @property
    def summary(self) -> str:
        """One line."""
        if self.error and not self.exercises:
            return f"{self.name}: not graded: {self.error}"
        reason = f": {self.error}" if self.error else ""
        return f"{self.name}: {self.passed} of {len(self.exercises)} passed ({self.seconds:.0f} s){reason}"


def as_text(notebook: NotebookGrade) -> str:
    """The summary, a line for each exercise, and the diagnosis under those that need one."""
    lines = [notebook.summary]
    for grade in notebook.exercises:
        again = " (checked by the grader)" if grade.rechecked else ""
        lines.append(
            f"  {grade.id:<6}{grade.short:<15} {grade.title}{again}" if not grade.misconception else f"  {grade.id:<6}{grade.short}{again}"
        )
        if grade.status in EXPLAINED:
            first, *rest = grade.message.removeprefix(f"Exercise {grade.id}: ").split("\n")
            lines.append(textwrap.fill(first, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8))
            lines.extend(" " * 8 + line for line in rest)
    return "\n".join([*lines, *(f"  {note}" for note in notebook.notes)])


def as_json(notebooks: list[NotebookGrade], seed: int) -> dict:
    """Everything, as plain data."""
    return {
        "version": __version__,
        "seed": seed,
        "notebooks": [
            {
                "name": one.name,
                "sha256": one.digest,
                "status": one.status,
                "passed": one.passed,
                "attempted": one.attempted,
                "total": len(one.exercises),
                "seconds": one.seconds,
                "error": one.error,
                "notes": list(one.notes),
                "exercises": [asdict(grade) for grade in one.exercises],
            }
            for one in notebooks
        ],
    }


def from_json(report: object, seed: int) -> dict[tuple[str, str], NotebookGrade]:
    """What an earlier report settled, by name and digest: graded by this version, numbers and seed, whole, and by no clock.

    Raises:
        KeyError, TypeError, AttributeError: if it is no report.
    """
    same = (report["version"], report["seed"]) == (__version__, seed)
    settled = {}
    for one in report["notebooks"]:
        grades = tuple(Grade(**grade) for grade in one["exercises"])
        whole = not one["error"] and all(map(lasts, grades))
        numbered = all((exercise := known(grade.id)) and exercise.title == grade.title for grade in grades)
        if same and whole and numbered and one["sha256"]:
            made = NotebookGrade(one["name"], grades, one["seconds"], tuple(one["notes"]), digest=one["sha256"])
            settled[made.name, made.digest] = made
    return settled


def lasts(grade: Grade) -> bool:
    """Whether a verdict would be the same again: no clock made it, and no crash but by an error that the notebook itself makes."""
    return grade.status != "timed out" and (grade.status != "crashed" or grade.error in OWN_ERRORS)


class Table:
    """The table of a class, written row by row: what is in it when the class is interrupted stays in it."""

    def __init__(self, file: TextIO, ids: Collection[str]) -> None:
        self.file, self.ids = file, [exercise.id for exercise in sorted(map(known, ids), key=in_order)]
        self.write([*FIRST, *self.ids, *LAST])

    def add(self, one: NotebookGrade) -> None:
        """A row; an exercise that the notebook does not contain is left empty, one without a column is named last."""
        verdicts = {grade.id: grade.short for grade in one.exercises}
        cells = [verdicts.get(id, "") for id in self.ids]
        others = ", ".join(f"{id} {short}" for id, short in verdicts.items() if id not in self.ids)
        remarks = filter(None, [one.error, others and f"also checked: {others}"])
        self.write([one.name, one.status, one.passed, one.attempted, len(one.exercises), *cells, one.seconds, "; ".join(remarks)])

    def write(self, row: list) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow([harmless(value) for value in row])
        self.file.write(fitting(line.getvalue(), self.file))
        self.file.flush()


def as_csv(notebooks: list[NotebookGrade], ids: Collection[str] | None = None) -> str:
    """The whole table: a header and one row a notebook."""
    text = io.StringIO()
    found = {grade.id for one in notebooks for grade in one.exercises}
    table = Table(text, found if ids is None else ids)
    for one in notebooks:
        table.add(one)
    return text.getvalue()


def harmless(value):
    """Text of one line that no spreadsheet takes for a formula, or for a row of its own."""
    if not isinstance(value, str):
        return value
    line = one_line(value)
    return f"'{line}" if line.lstrip().startswith(("=", "+", "-", "@")) else line


def printable(text: str) -> str:
    """Text without control characters, which a learner's error message may hold."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def one_line(text: str) -> str:
    """The same in one line, for a name or a remark."""
    return printable(text).replace("\n", "?")
