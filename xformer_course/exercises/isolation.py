"""Calling code that a learner wrote, so that nothing it does can get out."""

import copy
import dis
import inspect
import linecache
import os
import types
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from xformer_course.exercises.comparison import describe, is_plain, is_tensor
from xformer_course.exercises.exercise import Case

_OURS = (os.path.dirname(os.path.dirname(__file__)) + os.sep, os.path.dirname(os.__file__) + os.sep)
TRIVIAL = {"RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "NOP", "COPY_FREE_VARS"}


@contextmanager
def quiet():
    """Overflow and division warnings belong to the answer under test, not on the learner's page."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class Outcome:
    """What one call did: a value, or an error, and which inputs it changed (places or keywords)."""

    value: Any = None
    error: BaseException | None = None
    mutated: tuple[int | str, ...] = ()


def call(function: Callable, given: Case) -> Outcome:
    """Calls `function` on copies of the arguments. Only `KeyboardInterrupt` passes through."""
    args, kwargs = copy.deepcopy(given.args), copy.deepcopy(given.kwargs)
    try:
        with quiet():
            value = function(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Outcome(error=error)
    return Outcome(value=value, mutated=tuple(_changed(given, args, kwargs)))


def _changed(given: Case, args: tuple, kwargs: dict) -> Iterable[int | str]:
    before = {**dict(enumerate(given.args)), **given.kwargs}
    after = {**dict(enumerate(args)), **kwargs}
    for key, value in before.items():
        if not unchanged(value, after[key]):
            yield key


def unchanged(before: Any, after: Any) -> bool:
    """Whether an input is what it was: arrays, tensors, and lists, tuples and dicts of these and of plain values."""
    if isinstance(before, np.ndarray):
        return np.array_equal(before, after, equal_nan=before.dtype.kind in "fc")
    if is_tensor(before):
        return before.shape == after.shape and bool(((before == after) | (before != before) & (after != after)).all())
    if type(before) in (list, tuple):
        return len(before) == len(after) and all(map(unchanged, before, after))
    if type(before) is dict:
        return before.keys() == after.keys() and all(unchanged(value, after[key]) for key, value in before.items())
    if type(before) in (set, frozenset, str, int, float, bool):
        return before == after or before != before
    return True  # a function, a layer: only its own methods could tell


def argument_names(function: Callable) -> list[str]:
    """Names of the parameters, or nothing where Python cannot tell."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def explain_call(name: str, given: Case) -> str:
    """The call as the learner would write it: `softmax(a float64 array of shape (3, 5), axis=1)`."""
    parts = [_brief(value) for value in given.args]
    parts += [f"{key}={_brief(value)}" for key, value in given.kwargs.items()]
    return f"{name}({', '.join(parts)})"


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray) or is_tensor(value):
        return f"array{tuple(value.shape)}" if isinstance(value, np.ndarray) else f"tensor{tuple(value.shape)}"
    plain = type(value) in (list, tuple, dict) and is_plain(value) and len(repr(value)) <= 60
    return repr(value) if plain else describe(value)


def signature_fits(function: Callable, given: Case) -> bool:
    """Whether the function can take these arguments at all (true where Python cannot tell)."""
    try:
        inspect.signature(function).bind(*given.args, **given.kwargs)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def explain_error(error: BaseException, function: Callable) -> str:
    """The exception's name, its words, and the line of the learner's code it came from."""
    try:
        words = " ".join(str(error).split())
    except KeyboardInterrupt:
        raise
    except BaseException:
        words = ""
    text = type(error).__name__ + (f": {words[:200]}" if words else "")
    line = line_reached(error, function)
    inner = None if line is not None and _last_frame_is(error, function) else place_reached(error)
    return text + (inner or ("" if line is None else f" (line {line} of your function)"))


def _last_frame_is(error: BaseException, function: Any) -> bool:
    """Whether the error came from the function's own lines, and not from something that it called."""
    frames = [frame for frame in _frames(error) if _is_the_learners(frame.tb_frame.f_code.co_filename)]
    code = inspect.unwrap(function).__code__ if inspect.isfunction(function) else None
    return not frames or frames[-1].tb_frame.f_code is code


def _frames(error: BaseException) -> list[types.TracebackType]:
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    return frames


def _is_the_learners(filename: str) -> bool:
    """Whether code is neither the course's, nor an installed package's, nor Python's own."""
    return not filename.startswith((*_OURS, "<frozen")) and "site-packages" not in filename and "dist-packages" not in filename


def place_reached(error: BaseException) -> str | None:
    """The innermost line of the learner's own code that an error came through, with its text where Python has it."""
    frames = [frame for frame in _frames(error) if _is_the_learners(frame.tb_frame.f_code.co_filename)]
    if not frames:
        return None
    code = frames[-1].tb_frame.f_code
    number = line_of(code, frames[-1].tb_lasti)
    text = linecache.getline(code.co_filename, number).strip()
    name = getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2]
    return f" (line {number - code.co_firstlineno + 1} of your {name}{': ' + text if text else ''})"


def line_reached(error: BaseException, function: Any) -> int | None:
    """The line of a function, counted from its `def`, in which an error was raised or passed through."""
    code = inspect.unwrap(function).__code__ if inspect.isfunction(function) else None
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line = line_of(code, trace.tb_lasti) - code.co_firstlineno + 1
        trace = trace.tb_next
    return line


def line_of(code: types.CodeType, place: int) -> int:
    """The line of an instruction, or of the last one before it that has a line: the jump at the end of a loop may have none."""
    lines = [line for start, _, line in code.co_lines() if start <= place and line is not None]
    return lines[-1] if lines else code.co_firstlineno


def is_untouched(answer: Any, stub: str, name: str) -> bool:
    """Whether an answer is the stub as printed: `...`, a body that returns `...`, or the very same code.

    None is none of these: it is what a function gives that was written and lacks its `return`.
    """
    if answer is Ellipsis:
        return True
    if type(answer) is dict:
        return bool(answer) and all(is_untouched(item, stub, key) for key, item in answer.items())
    if type(answer) in (list, tuple):
        return bool(answer) and all(item is Ellipsis for item in answer)
    code = getattr(answer, "__code__", None)
    if not isinstance(code, types.CodeType):
        return False
    if returns_dots(code):
        return True
    return any(same_code(code, other) for other in _codes(stub) if other.co_name == name)


def returns_dots(code: types.CodeType) -> bool:
    """Whether a body is only `return ...`, under a docstring or not."""
    instructions = list(dis.get_instructions(code))
    constants = [one.argval for one in instructions if one.opname in ("LOAD_CONST", "RETURN_CONST")]
    return {one.opname for one in instructions} <= TRIVIAL and constants == [Ellipsis]


def _codes(source: str) -> list[types.CodeType]:
    found = [c for c in compile(source, "<stub>", "exec").co_consts if isinstance(c, types.CodeType)]
    return found + [inner for code in found for inner in code.co_consts if isinstance(inner, types.CodeType)]


def same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two functions were written alike, wherever they stand."""
    if (one.co_code, one.co_names, one.co_varnames) != (other.co_code, other.co_names, other.co_varnames):
        return False
    pairs = list(zip(one.co_consts, other.co_consts, strict=False))
    return len(one.co_consts) == len(other.co_consts) and all(
        same_code(a, b) if isinstance(a, types.CodeType) and isinstance(b, types.CodeType) else type(a) is type(b) and a == b
        for a, b in pairs
    )
