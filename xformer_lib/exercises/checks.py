"""The five kinds of check. Each takes an exercise and an answer and gives a `Verdict`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from xformer_lib.exercises import guard, values
from xformer_lib.exercises.exercise import Case, Exercise, Misconception, Step


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

    def difference(self, expected: guard.Outcome, got: guard.Outcome) -> str | None:
        """How one outcome departs from another, or None."""
        if expected.error is not None or got.error is not None:
            return None if type(expected.error) is type(got.error) else "one of them raised an error"
        if self.pure and expected.mutated != got.mutated:
            names = dict(enumerate(guard.argument_names(self.reference)))
            changed = [str(names.get(key, key)) for key in got.mutated]
            return f"the result is not looked at, because the function changed its input ({', '.join(changed)})"
        with guard.quiet():
            if self.compare is not None:
                return self.compare(expected.value, got.value)
            return values.returned(expected.value, got.value, self.returns, self.tolerance)

    def same(self, expected: guard.Outcome, got: guard.Outcome) -> bool:
        """Whether two outcomes agree; an outcome that cannot be read agrees with nothing."""
        try:
            return self.difference(expected, got) is None
        except (values.Unreadable, TypeError, ValueError, AttributeError):
            return False


def judge(exercise: Exercise, answer: Any, rng: Any) -> Verdict:
    """Judges an answer that is not an untouched stub."""
    if exercise.kind in ("predict", "explore"):
        problem = unreadable(exercise, answer)
        if problem:
            return Verdict("wrong", problem)
    if exercise.kind == "predict":
        return judge_value(exercise, answer)
    if exercise.kind == "explore":
        return judge_exploration(exercise, answer)
    if exercise.kind == "prove":
        return judge_steps(exercise, answer, rng)
    task = Task(exercise.answer_name, exercise.reference, exercise.cases(rng), exercise.returns,
                exercise.tolerance, exercise.misconceptions, exercise.pure, exercise.compare)
    return judge_function(task, answer)


def unreadable(exercise: Exercise, answer: Any) -> str | None:
    """Why an answer that should be a value cannot be read as one, or None."""
    if isinstance(answer, dict):
        unfilled = [key for key, value in answer.items() if value is Ellipsis]
        if unfilled:
            return f"the entry {str(unfilled[0])!r} still holds the dots of the stub."
    if exercise.kind == "explore" and callable(exercise.reference):
        return None
    if not values.is_plain(answer):
        return f"expected plain numbers, words or arrays, got {values.describe(answer)}."
    if isinstance(exercise.reference, Mapping) and not isinstance(answer, Mapping):
        return f"{values.form_problem(exercise.reference, answer)}."
    return None


def judge_value(exercise: Exercise, answer: Any) -> Verdict:
    """A prediction: compared with the reference, then with the wrong values we know."""
    compare = exercise.compare or (
        lambda expected, got: values.difference(expected, got, tolerance=exercise.tolerance, name="your answer"))
    found = compare(exercise.reference, answer)
    if found is None:
        return Verdict("passed")
    for known in exercise.misconceptions:
        if recognises(known, answer) if known.recognise else compare(known.implementation, answer) is None:
            return Verdict("misconception", known.diagnosis, known.name)
    form = None if exercise.compare else values.form_problem(exercise.reference, answer)
    return Verdict("wrong", f"{form}." if form else
                   "that is not it; work out the smallest case on paper and try again.")


def judge_exploration(exercise: Exercise, answer: Any) -> Verdict:
    """A measurement or a construction: the exercise says whether it holds."""
    for known in exercise.misconceptions:
        if known.recognise is not None and recognises(known, answer):
            return Verdict("misconception", known.diagnosis, known.name)
    missing = exercise.accepts(answer)
    if missing is None:
        return Verdict("passed")
    return Verdict("wrong", missing)


def recognises(known: Misconception, answer: Any) -> bool:
    """Asks a misconception's own test; a test that cannot read the answer says no."""
    try:
        return bool(known.recognise(answer))
    except Exception:
        return False


def judge_steps(exercise: Exercise, answer: Any, rng: Any) -> Verdict:
    """A proof: every step is a function, and each is confronted with an independent computation."""
    names = [step.name for step in exercise.steps]
    if isinstance(answer, (list, tuple)) and len(answer) == len(names):
        answer = dict(zip(names, answer, strict=True))
    if not isinstance(answer, Mapping):
        return Verdict("wrong", f"the answer is a dict with the keys {', '.join(map(repr, names))}; "
                                f"this is {values.describe(answer)}.")
    for position, step in enumerate(exercise.steps, start=1):
        function = answer.get(step.name, ...)
        if guard.is_untouched(function, exercise.stub, step.name):
            return Verdict("not attempted" if position == 1 else "wrong",
                           f"step {position}, {step.name!r}, is still to be written.")
        verdict = judge_function(task_of(step, rng), function)
        if verdict.status != "passed":
            words = f"step {position}, {step.name!r} ({step.claim}): {verdict.text}"
            return Verdict("not attempted" if verdict.status == "not attempted" and position == 1 else
                           verdict.status if verdict.status != "not attempted" else "wrong",
                           words, verdict.misconception)
    return Verdict("passed")


def task_of(step: Step, rng: Any) -> Task:
    """A step of a proof as a function to judge, with the falsifier as its truth."""
    return Task(step.name, step.truth, step.cases(rng), (step.name,), step.tolerance, step.misconceptions,
                counterexample=step.counterexample)


def judge_function(task: Task, answer: Any) -> Verdict:
    """Runs a function on every case and looks for the misconception that explains what it did."""
    if isinstance(answer, type):
        return Verdict("wrong", f"{answer.__name__} is a class; pass a function, or an instance that can be called.")
    if not callable(answer):
        return Verdict("wrong", f"the check needs the function {task.name} itself, not a value; "
                                f"this is {values.describe(answer)}.")
    unfit = [one for one in task.cases if not guard.signature_fits(answer, one)]
    if unfit:
        return Verdict("wrong", f"your function cannot take the arguments of "
                                f"{guard.explain_call(task.name, unfit[0])}; keep the stub's signature.")
    wanted = [guard.call(task.reference, one) for one in task.cases]
    got = [guard.call(answer, one) for one in task.cases]
    if all(outcome.error is None and guard.is_untouched(outcome.value, "", "")
           and outcome.value is not None for outcome in got):
        return Verdict("not attempted", "the function still returns the dots of the stub.")
    failing = [i for i, pair in enumerate(zip(wanted, got, strict=True)) if not task.same(*pair)]
    if not failing:
        return Verdict("passed", f"{len(task.cases)} fresh cases")
    known = recognise(task, wanted, got)
    if known is not None:
        text = known.diagnosis + seen_in(task, failing) + falsified(task, answer, task.cases[failing[0]])
        return Verdict("misconception", text, known.name)
    first = next((i for i in failing if got[i].error is None), failing[0])
    return explain_failure(task, answer, task.cases[first], wanted[first], got[first])


def recognise(task: Task, wanted: list[guard.Outcome], got: list[guard.Outcome]) -> Misconception | None:
    """The wrong implementation that does what the learner's did wherever it departs from the reference.

    One that agrees on every case goes before one that explains only some of the failures.
    """
    partly = None
    for known in task.misconceptions:
        wrong = [guard.call(known.implementation, one) for one in task.cases]
        departs = [i for i, w in enumerate(wrong) if not task.same(wanted[i], w)]
        if not departs or not all(task.same(wrong[i], got[i]) for i in departs):
            continue
        rest = [i for i in range(len(got)) if i not in departs]
        if all(task.same(wanted[i], got[i]) for i in rest):
            return known
        if partly is None and any(got[i].error is None for i in departs):
            partly = known
    return partly


def seen_in(task: Task, failing: list[int]) -> str:
    """Where the misconception showed, when the first failing case has a name."""
    note = task.cases[failing[0]].note
    return f" (Seen with {note}.)" if note else ""


def falsified(task: Task, answer: Callable, given: Case) -> str:
    """For a step of a proof: the enumeration that contradicts it, and what the learner's formula says there."""
    if task.counterexample is None:
        return ""
    got = guard.call(answer, given)
    said = "an error" if got.error is not None else values.show(got.value).strip()
    lines = task.counterexample(*given.args, **given.kwargs).split("\n")
    return "".join(f"\n  {line}" for line in [*lines, f"your formula says {said}"])


def explain_failure(task: Task, answer: Callable, given: Case, wanted: guard.Outcome, got: guard.Outcome) -> Verdict:
    """The first failing case at hand size: the call, the arrays if they are small, and the first difference."""
    note = f", {given.note}" if given.note else ""
    head = f"in {guard.explain_call(task.name, given)}{note}: "
    if got.error is not None:
        return Verdict("crashed", f"{head}your function raised {guard.explain_error(got.error, answer)}.")
    if got.value is None:
        return Verdict("wrong", f"{head}your function returned None; is there a `return`?")
    try:
        found = task.difference(wanted, got)
    except values.Unreadable as reason:
        found = str(reason)
    shown = "".join(f"\n  {label} ={values.show(value)}" for label, value in _small(given, answer))
    return Verdict("wrong", f"{head}{found}.{shown}{falsified(task, answer, given)}")


def _small(given: Case, answer: Callable):
    names = guard.argument_names(answer)
    items = [(names[i] if i < len(names) else f"argument {i}", v) for i, v in enumerate(given.args)]
    items += list(given.kwargs.items())
    arrays = [(label, v) for label, v in items if hasattr(v, "shape")]
    if arrays and all(v.ndim <= 2 and v.numel() <= 16 if values.is_tensor(v) else v.ndim <= 2 and v.size <= 16
                      for _, v in arrays):
        return arrays
    return []
