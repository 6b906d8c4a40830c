"""Reading a notebook: its code cells, the exercises it contains, and which cell answers which."""

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path

from xformer_course.exercises import registry
from xformer_course.exercises.exercise import Exercise

HEADING = re.compile(r"#{1,6}\s+Exercise\s+(\d{1,2}\.\d{1,2})\b")
TITLE = re.compile(r"^#{1,6}\s+(.+)$", re.MULTILINE)
ANCHOR = re.compile(r"<a id=.*")
LONGEST = 60  # letters of a cell's first line, and of its heading, in a note
CALL = re.compile(r"""^[^#\n]*\bcheck\(\s*["'](\d{1,2}\.\d{1,2})["']""", re.MULTILINE)
TITLED = re.compile(r"(#{1,6}\s+Exercise\s+)(\d{1,2}\.\d{1,2})\b(?:\s+·\s+(.*?))?(?=\s*(?:<a id=|$))", re.MULTILINE)
CALLED = re.compile(r"""(\b(?:check|hint)\(\s*["'])(\d{1,2}\.\d{1,2})(?=["'])""")
NOT_PYTHON = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)


class Unreadable(ValueError):
    """The file is no notebook; the message says why."""


@dataclass(frozen=True)
class Attempt:
    """A cell's answer to an exercise: which one, and the variable that holds it."""

    id: str
    name: str


@dataclass(frozen=True)
class Cell:
    """A code cell: its place in the notebook (from 1, text cells counted), its code, what it answers, and the heading above it."""

    place: int
    code: str
    attempts: tuple[Attempt, ...]
    heading: str = ""

    @property
    def words(self) -> str:
        """The cell as a reader finds it, who sees no places: by its first line and the heading above it."""
        line = next((line.strip() for line in self.code.splitlines() if line.strip()), "")
        under = f' under "{self.heading[:LONGEST]}"' if self.heading else ""
        return f'the cell "{line[:LONGEST]}{"…" * (len(line) > LONGEST)}"{under}'


@dataclass(frozen=True)
class Notebook:
    """The code cells in order, and the exercises that headings or checks name, in the catalogue's order."""

    cells: tuple[Cell, ...]
    exercises: tuple[Exercise, ...]
    earlier: bool = False  # it had the numbers of an earlier edition


def read_notebook(path: Path) -> Notebook:
    """Reads a notebook of format 4.

    Raises:
        Unreadable: if the file is no such notebook.
    """
    if not path.is_file():
        raise Unreadable("expected a notebook, got something that is no file; hand in the file itself")
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"expected a notebook, got a file that is not JSON ({error}); save it again in Jupyter") from None
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise Unreadable("expected a notebook of format 4 with a list of cells; save it again in Jupyter")
    return parse([(str(cell.get("cell_type")), text_of(cell)) for cell in cells])


def text_of(cell: dict) -> str:
    """The text of a cell; half a surrogate pair is written as its escape, which means the same in a string."""
    source = cell.get("source", "")
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return text.encode("utf-8", "backslashreplace").decode()


def parse(cells: list[tuple[str, str]]) -> Notebook:
    """Finds the exercises in pairs of a cell's kind and its text."""
    found, contained, current, above = [], {}, None, ""
    earlier = is_earlier(cells)
    if earlier:
        cells = [(kind, with_todays_numbers(text)) for kind, text in cells]
    checked = [checks_in(text) if kind == "code" else [] for kind, text in cells]
    called_for = {id for calls in checked for id, _ in calls}
    for place, (kind, text) in enumerate(cells):
        if kind == "markdown" and (titles := TITLE.findall(text)):
            above = ANCHOR.sub("", titles[-1]).strip()
        if kind == "markdown" and text.lstrip().startswith("#"):
            heading = HEADING.match(text.lstrip())
            current = known(heading[1]) if heading else None
            if current:
                contained[current.id] = current
        if kind == "code":
            attempts = [Attempt(exercise.id, name or exercise.answer_name) for id, name in checked[place] if (exercise := known(id))]
            if current and current.id not in called_for and current.answer_name in bound_names(text):
                attempts.append(Attempt(current.id, current.answer_name))  # its call was deleted
            contained |= {attempt.id: known(attempt.id) for attempt in attempts}
            found.append(Cell(place + 1, text, tuple(attempts), above))
    return Notebook(tuple(found), tuple(sorted(contained.values(), key=in_order)), earlier)


def is_earlier(cells: list[tuple[str, str]]) -> bool:
    """Whether a heading has the number that its exercise had in an earlier edition."""
    for kind, text in cells:
        heading = TITLED.match(text.lstrip()) if kind == "markdown" else None
        today = registry.renumbered().get(heading[2]) if heading else None
        if today and (exercise := known(today)) and exercise.title == heading[3]:
            return True
    return False


def with_todays_numbers(text: str) -> str:
    """The text of a cell with the exercises' numbers of this edition in its headings and calls."""
    numbers = registry.renumbered()
    for pattern in (TITLED, CALLED):
        text = pattern.sub(lambda found: found[0].replace(found[2], numbers.get(found[2], found[2]), 1), text)
    return text


def known(id: str) -> Exercise | None:
    """The exercise with this id, if the catalogue has it."""
    exercise = registry.find(id)
    return None if isinstance(exercise, str) else exercise


def in_order(exercise: Exercise) -> tuple[int, int]:
    """Chapter and number, so that 3.10 comes after 3.9."""
    chapter, number = exercise.id.split(".")
    return int(chapter), int(number)


def tree_of(code: str) -> ast.Module | None:
    """The cell as Python, magic lines left out; None when it is not Python."""
    try:
        return ast.parse(NOT_PYTHON.sub(r"\1pass", code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def checks_in(code: str) -> list[tuple[str, str | None]]:
    """The id of every call of `check` in a cell, with the variable it passes where it passes one."""
    tree = tree_of(code)
    if tree is None:
        return [(id, None) for id in CALL.findall(code)]
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and called(node) == "check"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]
    return [
        (call.args[0].value.strip(), call.args[1].id if len(call.args) > 1 and isinstance(call.args[1], ast.Name) else None)
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset))
    ]


def called(node: ast.Call) -> str | None:
    """The last part of the name that a call calls."""
    return getattr(node.func, "id", getattr(node.func, "attr", None))


def bound_names(code: str) -> set[str]:
    """The names that a cell defines or assigns at its top level."""
    tree = tree_of(code)
    names = set()
    for node in tree.body if tree else ():
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            names |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    return names
