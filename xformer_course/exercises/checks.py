"""The kinds of check: each takes an exercise and an answer and gives a `Verdict`."""

from collections.abc import Mapping
from typing import Any

from xformer_course.exercises import comparison, isolation
from xformer_course.exercises.exercise import Exercise, Misconception, Step
from xformer_course.exercises.function_checks import Task, Verdict, judge_function


def judge(exercise: Exercise, answer: Any, rng: Any) -> Verdict:
    """Judges an answer that is not an untouched stub."""
    verdict = exercise.examine(answer, rng) if exercise.examine is not None else None
    if verdict is not None:
        return verdict
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
    assert exercise.cases is not None  # `Exercise` refuses to be without
    task = Task(
        exercise.answer_name,
        exercise.reference,
        exercise.cases(rng),
        exercise.returns,
        exercise.tolerance,
        exercise.misconceptions,
        exercise.pure,
        exercise.compare,
        probe=exercise.probe,
        combinations=exercise.combinations,
    )
    return judge_function(task, answer)


def unreadable(exercise: Exercise, answer: Any) -> str | None:
    """Why an answer that should be a value cannot be read as one, or None."""
    if answer is None:
        return "your answer is None; does the function that made it lack a `return`?"
    if isinstance(answer, dict):
        unfilled = [key for key, value in answer.items() if holds_dots(value)]
        if unfilled:
            return f"the entry {str(unfilled[0])!r} still holds the dots of the stub."
    if exercise.kind == "explore" and callable(exercise.reference):
        return None
    if not comparison.is_plain(answer):
        return f"expected plain numbers, words or arrays, got {comparison.describe(answer)}."
    if isinstance(exercise.reference, Mapping) and not isinstance(answer, Mapping):
        return f"{comparison.form_problem(exercise.reference, answer)}."
    return None


def holds_dots(value: Any) -> bool:
    """Whether a value is the dots of a stub, or a pair or list with such dots in it."""
    return value is Ellipsis or (isinstance(value, (tuple, list)) and any(one is Ellipsis for one in value))


def judge_value(exercise: Exercise, answer: Any) -> Verdict:
    """A prediction: compared with the reference, then with the wrong values we know."""
    compare = exercise.compare or (
        lambda expected, got: comparison.difference(expected, got, tolerance=exercise.tolerance, name="your answer")
    )
    found = compare(exercise.reference, answer)
    if found is None:
        return Verdict("passed")
    for known in exercise.misconceptions:
        if recognises(known, answer) if known.recognise else compare(known.implementation, answer) is None:
            return Verdict("misconception", known.diagnosis, known.name)
    for known in exercise.misconceptions:
        if exercise.compare is None and not known.whole and shares_every_mistake(exercise, known, answer):
            return Verdict("misconception", known.diagnosis, known.name)
    form = None if exercise.compare else comparison.form_problem(exercise.reference, answer)
    return Verdict("wrong", f"{form}." if form else "that is not it; work out the smallest case on paper and try again.")


def shares_every_mistake(exercise: Exercise, known: Misconception, answer: Any) -> bool:
    """For a dict with several entries: whether each wrong entry is wrong as in the misconception."""
    reference, wrong = exercise.reference, known.implementation
    if not isinstance(reference, Mapping) or not reference.keys() <= answer.keys():
        return False

    def same(one: Any, other: Any) -> bool:
        return comparison.difference(one, other, tolerance=exercise.tolerance) is None

    mistakes = [key for key, value in reference.items() if not same(value, answer[key])]
    return all(same(wrong[key], answer[key]) for key in mistakes)


def judge_exploration(exercise: Exercise, answer: Any) -> Verdict:
    """A measurement or a construction: the exercise says whether it holds, and only then which mistake it may be."""
    try:
        assert exercise.accepts is not None  # `Exercise` refuses to be without
        missing, trouble = exercise.accepts(answer), None
    except Exception as error:
        missing, trouble = "", error
    if missing is None:
        return Verdict("passed")
    for known in exercise.misconceptions:
        if known.recognise is not None and recognises(known, answer):
            return Verdict("misconception", known.diagnosis, known.name)
    if trouble is not None:
        raise trouble
    return Verdict("wrong", missing)


def recognises(known: Misconception, answer: Any) -> bool:
    """Asks a misconception's own test; a test that cannot read the answer says no."""
    try:
        return known.recognise is not None and bool(known.recognise(answer))
    except Exception:
        return False


def judge_steps(exercise: Exercise, answer: Any, rng: Any) -> Verdict:
    """A proof: every step is a function, and each is confronted with an independent computation."""
    names = [step.name for step in exercise.steps]
    if isinstance(answer, (list, tuple)) and len(answer) == len(names):
        answer = dict(zip(names, answer, strict=True))
    if not isinstance(answer, Mapping):
        return Verdict("wrong", f"the answer is a dict with the keys {', '.join(map(repr, names))}; this is {comparison.describe(answer)}.")
    for position, step in enumerate(exercise.steps, start=1):
        function = answer.get(step.name, ...)
        if isolation.is_untouched(function, exercise.stub, step.name):
            return Verdict("not attempted" if position == 1 else "wrong", f"step {position}, {step.name!r}, is still to be written.")
        verdict = judge_function(task_of(step, rng), function)
        if verdict.status != "passed":
            words = f"step {position}, {step.name!r} ({step.claim}): {verdict.text}"
            return Verdict(
                "not attempted"
                if verdict.status == "not attempted" and position == 1
                else verdict.status
                if verdict.status != "not attempted"
                else "wrong",
                words,
                verdict.misconception,
            )
    return Verdict("passed")


def task_of(step: Step, rng: Any) -> Task:
    """A step of a proof as a function to judge, with the falsifier as its truth."""
    return Task(
        step.name, step.truth, step.cases(rng), (step.name,), step.tolerance, step.misconceptions, counterexample=step.counterexample
    )
