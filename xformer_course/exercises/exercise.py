"""What an exercise is: plain, frozen data that the engine reads.

`README.md` in this folder explains how to write one.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

KINDS = ("predict", "implement", "find the bug", "prove", "explore")
FUNCTION_KINDS = ("implement", "find the bug")
IMPLEMENTABLE_MISCONCEPTIONS = 4


@dataclass(frozen=True)
class Case:
    """One call of the learner's function: arguments and a few words on what is special about them."""

    args: tuple
    kwargs: dict = field(default_factory=dict)
    note: str = ""


def case(*args: Any, note: str = "", **kwargs: Any) -> Case:
    """Writes a `Case` as the call it stands for: `case(scores, axis=0, note="axis 0")`."""
    return Case(args, kwargs, note)


def tensor_or_array(array: Any) -> Any:
    """Return a tensor of a NumPy array; where there is no torch, as in the book's pages, return the array."""
    try:
        import torch
    except ModuleNotFoundError:
        return array
    return torch.from_numpy(array)


class Complaint(Exception):
    """Raised by a `probe` to say, in the learner's terms, why it cannot look further."""


@dataclass(frozen=True)
class Misconception:
    """A wrong answer that learners really give.

    Attributes:
        implementation: The wrong answer: a function, or for predict and explore a value.
        diagnosis: What the learner reads. It says what to look at and keeps the solution back.
        recognise: For predict and explore, an optional test on the answer, where one wrong
            value cannot stand for all; `implementation` is then an example that it accepts.
        whole: For predict, whether the diagnosis speaks of all entries of a dict, so that an
            answer with some of its mistakes is another one.
        name: Two to five words: its key in the table of the exercise.
    """

    implementation: Any
    diagnosis: str
    recognise: Callable[[Any], bool] | None = None
    whole: bool = False
    name: str = ""


class WithWrongAnswers:
    """What an exercise and a step of a proof share: a table of wrong answers.

    In `wrong` the name of a misconception stands before a tuple: answer, diagnosis and, for some, `recognise`.
    """

    wrong: dict[str, tuple | Misconception]

    @cached_property
    def misconceptions(self) -> tuple[Misconception, ...]:
        """The table's rows, each with its name."""
        rows = {name: row if isinstance(row, Misconception) else Misconception(*row) for name, row in self.wrong.items()}
        return tuple(replace(row, name=name) for name, row in rows.items())


@dataclass(frozen=True, kw_only=True)
class Step(WithWrongAnswers):
    """One step of a proof, written by the learner as a function that can be tested.

    Attributes:
        name: The key under which the learner files the function.
        claim: What the function must equal, in words.
        reference: The model answer.
        truth: The falsifier: the same quantity by an independent, slow and safe route.
        cases: Hand-sized inputs, made from a generator.
        wrong: Wrong functions for this step with their diagnoses, by name.
        tolerance: Largest difference allowed, relative and absolute.
        counterexample: The hand-sized example behind a failing case, as lines of text.
    """

    name: str
    claim: str
    reference: Callable
    truth: Callable
    cases: Callable[[Any], list[Case]]
    wrong: dict[str, tuple | Misconception] = field(default_factory=dict)
    tolerance: float = 1e-9
    counterexample: Callable[..., str] | None = None


@dataclass(frozen=True, kw_only=True)
class Exercise(WithWrongAnswers):
    """One exercise. Every field that a kind does not need keeps its default.

    Attributes:
        id: Chapter and number, such as "3.2".
        title: Words for the heading.
        kind: One of `KINDS`.
        minutes: How long a prepared reader takes.
        difficulty: 1, 2 or 3.
        statement: Markdown, printed word for word in the chapter.
        hints: A question, a pointer, the key step.
        stub: Source of the cell the learner fills in, without the call of `check`.
        reference: A right answer: a function, a value, or one function for each step.
        cases: For functions, `cases(rng)` gives the calls to make; small ones come first.
        returns: Names of what the function returns, for the messages.
        wrong: Wrong answers with their diagnoses, by name.
        together: A function that makes wrong answers from settings, and the settings of some in `wrong`, by name: two or three of
            them at once are recognised, too.
        alternatives: Right answers in other styles, by name; the tests hold the check to accepting them.
        accepts: For explore, `accepts(answer)` gives None, or what is missing in one sentence.
        steps: For prove, the steps in order.
        tolerance: Largest difference allowed, relative and absolute.
        compare: `compare(expected, got)` in place of the usual comparison; gives None or a
            sentence on the difference.
        probe: `probe(function)` gives the function that is run in its place, on the reference and
            the misconceptions alike: a gradient, say, beside the value.
        examine: `examine(answer, rng)`, asked before the usual check: a `Verdict`, or None to leave the answer to it.
        pure: Whether changing an input array in place is a mistake here.
        requires: A package the check needs besides NumPy: "" or "torch".
        success: A sentence added to the praise: what the answer shows.
        page: Slug of the page it stands on, where that is not the chapter's own: "08a_…".
        solution: Markdown for the solutions page: the idea, and the code in fences, with `check(...)` for the check.
    """

    id: str
    title: str
    kind: str
    minutes: int
    difficulty: int
    statement: str
    hints: tuple[str, str, str]
    stub: str
    reference: Any = None
    cases: Callable[[Any], list[Case]] | None = None
    returns: tuple[str, ...] = ("result",)
    wrong: dict[str, tuple | Misconception] = field(default_factory=dict)
    together: tuple[Callable[..., Callable], dict[str, dict[str, Any]]] | None = None
    alternatives: dict[str, Any] = field(default_factory=dict)
    accepts: Callable[[Any], str | None] | None = None
    steps: tuple[Step, ...] = ()
    tolerance: float = 1e-9
    compare: Callable[[Any, Any], str | None] | None = None
    probe: Callable[[Callable], Callable] | None = None
    examine: Callable[[Any, Any], Any] | None = None
    pure: bool = False
    requires: str = ""
    success: str = ""
    page: str = ""
    solution: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {self.kind!r}")
        needed = {"prove": self.steps, "explore": self.accepts}.get(self.kind, self)
        if not needed:
            raise ValueError(f"exercise {self.id}: a {self.kind} exercise needs {'steps' if self.kind == 'prove' else 'accepts'}")
        if self.kind in FUNCTION_KINDS and self.cases is None:
            raise ValueError(f"exercise {self.id}: a {self.kind} exercise needs cases")

    @cached_property
    def combinations(self) -> tuple[Misconception, ...]:
        """Two or three of the mistakes that can be made in one answer, each with its own diagnosis."""
        if self.together is None:
            return ()
        make, settings = self.together
        known, found = {one.name: one for one in self.misconceptions}, []
        for names in [*combinations(settings, 2), *combinations(settings, 3)]:
            changes = [change for name in names for change in settings[name].items()]
            if len({key for key, _ in changes}) == len(changes):
                diagnosis = " ".join(f"({number}) {known[name].diagnosis}" for number, name in enumerate(names, start=1))
                text = f"{'Two' if len(names) == 2 else 'Three'} mistakes at once. {diagnosis}"
                found.append(Misconception(make(**dict(changes)), text, name=" + ".join(names)))
        return tuple(found)

    @property
    def chapter(self) -> int:
        """The chapter number."""
        return int(self.id.split(".")[0])

    @property
    def heading(self) -> str:
        """The heading under which the exercise and its solution stand."""
        return f"Exercise {self.id} · {self.title}"

    @property
    def anchor(self) -> str:
        """The anchor of the heading in the built solutions page."""
        return re.sub(r"[^a-z0-9]+", "-", self.heading.lower()).strip("-")

    @property
    def answer_name(self) -> str:
        """The name that the stub gives to the answer: the last thing it defines."""
        last = ast.parse(self.stub).body[-1]
        return last.targets[0].id if isinstance(last, ast.Assign) else last.name


@dataclass(frozen=True)
class Chapter:
    """The exercises of one chapter, by number, and the file name of its notebook without the ending."""

    number: int
    title: str
    slug: str
    exercises: tuple[Exercise, ...]

    def __post_init__(self) -> None:
        in_order = sorted(self.exercises, key=lambda exercise: int(exercise.id.split(".")[1]))
        object.__setattr__(self, "exercises", tuple(in_order))


STATUSES = ("passed", "misconception", "wrong", "crashed", "timed out", "not attempted")


@dataclass(frozen=True)
class Result:
    """What a check found; true exactly when the answer passed.

    Attributes:
        id: The exercise.
        status: One of `STATUSES`.
        message: What was printed.
        misconception: The name of the misconception that was recognised, or "".
    """

    id: str
    status: str
    message: str
    misconception: str = ""

    @property
    def passed(self) -> bool:
        """Whether the answer was right."""
        return self.status == "passed"

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Exercise {self.id}: {self.status}>"

    def _ipython_display_(self) -> None:
        """Shows nothing under a notebook cell: the message has been printed already."""
