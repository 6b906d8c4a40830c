"""The functions that readers call."""

import importlib.util
import sys
import textwrap
from typing import Any

import numpy as np

from xformer_course.exercises import checks, isolation, registry, time_limit
from xformer_course.exercises.exercise import Exercise, Result
from xformer_course.exercises.function_checks import Verdict
from xformer_course.exercises.printing import fitting
from xformer_course.exercises.session import Session

WIDTH = 88
SESSION = Session()
OPENINGS = {
    "passed": "correct",
    "misconception": "not yet",
    "wrong": "not yet",
    "crashed": "it stopped with an error",
    "not attempted": "not attempted yet",
}


def check(id: str, answer: Any = ..., *, rng: np.random.Generator | None = None) -> Result:
    """Checks an answer, prints one short message and returns the result.

    Nothing that the answer is or does makes this raise, except an interrupt from the keyboard. An answer that runs
    for longer than a minute is stopped; set `XFORMER_CHECK_SECONDS` to allow another time, or 0 for any.

    Args:
        id: The exercise, such as "3.2".
        answer: The value or the function; `...` stands for "not yet".
        rng: Source of the cases; fresh on every call by default.
    """
    exercise = registry.find(id)
    if isinstance(exercise, str):
        return _report(Result(str(id)[:20] if type(id) is str else "?", "not attempted", f"Unknown exercise: {exercise}."), record=False)
    return _report(examine(exercise, answer, SESSION.generator(rng)))


def examine(exercise: Exercise, answer: Any, rng: np.random.Generator) -> Result:
    """The verdict on an answer, with nothing printed and nothing recorded."""
    seconds = time_limit.seconds_allowed()
    try:
        with time_limit.limit(seconds):
            verdict = _judge(exercise, answer, rng)
    except time_limit.TimeUp as stop:
        verdict = Verdict("timed out", _unfinished(stop, answer, seconds))
    return Result(exercise.id, verdict.status, _message(exercise, verdict), verdict.misconception)


def _judge(exercise: Exercise, answer: Any, rng: np.random.Generator) -> Verdict:
    try:
        if answer is Ellipsis or isolation.is_untouched(answer, exercise.stub, exercise.answer_name):
            return Verdict("not attempted")
        if exercise.requires and importlib.util.find_spec(exercise.requires) is None:
            return Verdict("not attempted", f"this check needs {exercise.requires}; install it with pip install {exercise.requires}.")
        with isolation.quiet():
            return checks.judge(exercise, answer, rng)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Verdict("crashed", _unreadable(error))


def _unfinished(stop: BaseException, answer: Any, seconds: float) -> str:
    """Where an answer was when its time was over."""
    functions = list(answer.values()) if type(answer) is dict else [answer]
    reached = (isolation.line_reached(stop, one) for one in functions if callable(one))
    lines = [line for line in reached if line is not None]
    where = f"it was stopped in line {lines[0]} of your function" if lines else "your answer was stopped"
    return f"still running after {seconds:g} s: {where}. Is there a loop that never ends?"


def _unreadable(error: BaseException) -> str:
    try:
        words = " ".join(str(error).split())[:200]
    except KeyboardInterrupt:
        raise
    except BaseException:
        words = ""
    return f"the answer could not be read ({type(error).__name__}{': ' + words if words else ''}); return plain numbers or arrays."


def _message(exercise: Exercise, verdict: Verdict) -> str:
    if verdict.status == "timed out":
        return f"Exercise {exercise.id}: {verdict.text}"
    text = f"Exercise {exercise.id}: {OPENINGS[verdict.status]}."
    if verdict.status == "passed":
        text = text[:-1] + (f" ({verdict.text})." if verdict.text else ".")
        return f"{text} {exercise.success}".strip()
    if verdict.status == "not attempted" and not verdict.text:
        todo = "fix the function" if exercise.kind == "find the bug" else "replace the dots"
        verdict = Verdict("not attempted", f'{todo} and run the cell again; hint("{exercise.id}") helps.')
    return f"{text} {verdict.text[:1].upper()}{verdict.text[1:]}"


def _report(result: Result, *, record: bool = True) -> Result:
    if record:
        SESSION.record(result)
    _say(result.message)
    return result


def _say(message: str) -> None:
    first, *rest = message.split("\n")
    _print("\n".join([textwrap.fill(first, WIDTH, break_long_words=False, break_on_hyphens=False), *rest]))


def _print(text: str) -> None:
    print(fitting(text, sys.stdout))


def hint(id: str, *, level: int | None = None) -> None:
    """Prints the next hint for an exercise: a question, then a pointer, then the key step.

    Args:
        id: The exercise, such as "3.2".
        level: 1, 2 or 3 to see one rung again.
    """
    exercise = registry.find(id)
    if isinstance(exercise, str):
        _say(f"Unknown exercise: {exercise}.")
    else:
        words = SESSION.next_hint(exercise, level)
        _say(f"Exercise {exercise.id}: {words}")


def progress() -> None:
    """Prints what was solved since the kernel started, a line for each chapter."""
    _print(SESSION.table(registry.chapters()))


def catalogue(chapter: int | None = None) -> tuple[Exercise, ...]:
    """All exercises, or those of one chapter, in order.

    Raises:
        ValueError: if the chapter has no exercises.
    """
    one = None if chapter is None else registry.chapter(chapter)
    if chapter is not None and one is None:
        raise ValueError(f"chapter: expected one of {registry.chapter_numbers()}, got {chapter!r}; leave it out for all exercises")
    return tuple(exercise for each in (registry.chapters() if one is None else [one]) for exercise in each.exercises)
