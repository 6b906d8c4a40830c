"""Judging a function: run it beside the reference and beside every misconception, on the same copies.

Implement, find the bug, and each step of a proof come through here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xformer_course.exercises import comparison, isolation
from xformer_course.exercises.exercise import Case, Complaint, Misconception


@dataclass(frozen=True)
class Verdict:
    """A status, the words for it, and the misconception behind it where one was recognised."""

    status: str
    text: str = ""
    misconception: str = ""


@dataclass(frozen=True)
class Task:
    """What is needed to judge one function: shared by implement, find the bug and a step of a proof."""

    name: str
    reference: Callable
    cases: list[Case]
    returns: tuple[str, ...]
    tolerance: float
    misconceptions: tuple[Misconception, ...]
    pure: bool = False
    compare: Callable[[Any, Any], str | None] | None = None
    counterexample: Callable[..., str] | None = None
    probe: Callable[[Callable], Callable] | None = None
    combinations: tuple[Misconception, ...] = ()

    def run(self, function: Callable, cases: list[Case]) -> list[isolation.Outcome]:
        """What a function does on these cases, seen through the probe if there is one."""
        seen = self.probe(function) if self.probe else function
        return [isolation.call(seen, one) for one in cases]

    def difference(self, expected: isolation.Outcome, got: isolation.Outcome) -> str | None:
        """How one outcome departs from another, or None."""
        if expected.error is not None or got.error is not None:
            return None if type(expected.error) is type(got.error) else "one of them raised an error"
        if self.pure and expected.mutated != got.mutated:
            names: dict[int | str, str] = {**dict(enumerate(isolation.argument_names(self.reference)))}
            changed = [str(names.get(key, key)) for key in got.mutated]
            return f"the result is not looked at, because the function changed its input ({', '.join(changed)})"
        with isolation.quiet():
            if self.compare is not None:
                return self.compare(expected.value, got.value)
            return comparison.returned(expected.value, got.value, self.returns, self.tolerance)

    def same(self, expected: isolation.Outcome, got: isolation.Outcome) -> bool:
        """Whether two outcomes agree; an outcome that cannot be read agrees with nothing."""
        try:
            return self.difference(expected, got) is None
        except (comparison.Unreadable, TypeError, ValueError, AttributeError):
            return False


def judge_function(task: Task, answer: Any) -> Verdict:
    """Runs a function on every case and looks for the misconception that explains what it did."""
    if isinstance(answer, type):
        return Verdict("wrong", f"{answer.__name__} is a class; pass a function, or an instance that can be called.")
    if not callable(answer):
        return Verdict("wrong", f"the check needs the function {task.name} itself, not a value; this is {comparison.describe(answer)}.")
    unfit = [one for one in task.cases if not isolation.signature_fits(answer, one)]
    if unfit:
        return Verdict(
            "wrong", f"your function cannot take the arguments of {isolation.explain_call(task.name, unfit[0])}; keep the stub's signature."
        )
    first = isolation.call(answer, task.cases[0]).value
    if isolation.is_untouched(first, "", ""):
        return Verdict("not attempted", "the function still returns the dots of the stub.")
    wanted, got = task.run(task.reference, task.cases), task.run(answer, task.cases)
    failing = [i for i, pair in enumerate(zip(wanted, got, strict=True)) if not task.same(*pair)]
    if not failing:
        return Verdict("passed", f"{len(task.cases)} fresh cases")
    first = next((i for i in failing if got[i].error is None), failing[0])
    fit = recognise(task, wanted, got, first)
    if fit is not None:
        seen = task.cases[fit.explained[0]]
        note = f" (Seen with {seen.note}.)" if seen.note else ""
        return Verdict("misconception", fit.known.diagnosis + note + falsified(task, answer, seen), fit.known.name)
    return explain_failure(task, answer, task.cases[first], wanted[first], got[first])


@dataclass(frozen=True)
class Fit:
    """How far a wrong implementation explains what the learner's function did."""

    known: Misconception
    explained: tuple[int, ...]  # cases on which both depart from the reference in the same way
    unexplained: int  # cases on which the learner's function is wrong in another way
    by_value: bool  # some explained case holds a value and not only the same kind of error

    @property
    def whole(self) -> bool:
        return not self.unexplained


def recognise(task: Task, wanted: list[isolation.Outcome], got: list[isolation.Outcome], first: int) -> Fit | None:
    """The misconception, or several at once, that explain every failure; else that which explains the first and the most."""
    fits = []
    for known in task.misconceptions:
        fit = fit_of(task, known, wanted, got)
        if fit is not None and fit.whole:
            return fit
        if fit is not None and fit.by_value and first in fit.explained:
            fits.append(fit)
    for several in task.combinations:
        fit = fit_of(task, several, wanted, got)
        if fit is not None and fit.whole:
            return fit
    return min(fits, key=lambda fit: fit.unexplained, default=None)


def fit_of(task: Task, known: Misconception, wanted: list[isolation.Outcome], got: list[isolation.Outcome]) -> Fit | None:
    """Compares case by case, and gives up as soon as the misconception is ruled out."""
    explained, unexplained, missed, by_value = [], 0, 0, False
    for place, (given, want, have) in enumerate(zip(task.cases, wanted, got, strict=True)):
        wrong = task.run(known.implementation, [given])[0]
        right = task.same(want, have)
        if task.same(want, wrong):
            unexplained += not right
        elif not right and task.same(wrong, have):
            explained.append(place)
            by_value |= have.error is None
        elif right or not explained:
            return None
        else:
            missed += 1
    if not explained or missed >= len(explained):
        return None
    return Fit(known, tuple(explained), unexplained + missed, by_value)


def falsified(task: Task, answer: Callable, given: Case) -> str:
    """For a step of a proof: the enumeration that contradicts it, and what the learner's formula says there."""
    if task.counterexample is None:
        return ""
    got = isolation.call(answer, given)
    said = "an error" if got.error is not None else comparison.show(got.value).strip()
    lines = task.counterexample(*given.args, **given.kwargs).split("\n")
    return "".join(f"\n  {line}" for line in [*lines, f"your formula says {said}"])


def explain_failure(task: Task, answer: Callable, given: Case, wanted: isolation.Outcome, got: isolation.Outcome) -> Verdict:
    """The first failing case at hand size: the call, the arrays if they are small, and the first difference."""
    note = f", {given.note}" if given.note else ""
    head = f"in {isolation.explain_call(task.name, given)}{note}: "
    if returns_nothing(task, answer, given):
        return Verdict("wrong", f"{head}your function returned None; is there a `return`?")
    if isinstance(got.error, Complaint):
        return Verdict("wrong", f"{head}{got.error}.")
    if isinstance(got.error, comparison.Unreadable):  # a probe could not read it
        return Verdict("wrong", f"{head}you returned {got.error}.")
    if got.error is not None:
        return Verdict("crashed", f"{head}your function raised {isolation.explain_error(got.error, answer)}.")
    try:
        found = task.difference(wanted, got)
    except comparison.Unreadable as reason:
        found = str(reason)
    shown = "".join(f"\n  {label} ={comparison.show(value)}" for label, value in _small(given, answer))
    return Verdict("wrong", f"{head}{found}.{shown}{falsified(task, answer, given)}")


def returns_nothing(task: Task, answer: Callable, given: Case) -> bool:
    """Whether a function gives None where the reference gives something, whatever a probe makes of it."""

    def gives_none(function: Callable) -> bool:
        outcome = isolation.call(function, given)
        return outcome.error is None and outcome.value is None

    return gives_none(answer) and not gives_none(task.reference)


def _small(given: Case, answer: Callable) -> list[tuple[str, Any]]:
    names = isolation.argument_names(answer)
    items = [(names[i] if i < len(names) else f"argument {i}", v) for i, v in enumerate(given.args)]
    items += list(given.kwargs.items())
    arrays = [(label, v) for label, v in items if hasattr(v, "shape")]
    if arrays and all(v.ndim <= 2 and v.numel() <= 16 if comparison.is_tensor(v) else v.ndim <= 2 and v.size <= 16 for _, v in arrays):
        return arrays
    return []
