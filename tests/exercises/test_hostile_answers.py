"""Nothing a learner gives or does may raise or pass by accident, for any exercise of the catalogue."""

import sys
import warnings

import numpy as np
import pytest

from tests.ci import in_ci
from xformer_course.exercises import catalogue, check, hint
from xformer_course.exercises.exercise import STATUSES

EXERCISES = list(catalogue())


def trap(*args, **kwargs):
    raise RuntimeError("a trap was touched")


class Hostile:
    """Objects to everything, politely through exceptions."""

    __eq__ = __ne__ = __array__ = __repr__ = __str__ = __len__ = __iter__ = __bool__ = __float__ = trap
    __getitem__ = __getattr__ = __index__ = __lt__ = __add__ = __class_getitem__ = trap
    __hash__ = None


class Vicious(Hostile):
    """Ends the program whenever it is looked at."""

    def __array__(self, *args, **kwargs):
        sys.exit("gone")

    __repr__ = __len__ = __iter__ = __eq__ = __float__ = __array__


class Stop(BaseException):
    pass


class ALyingList(list):
    def __len__(self):
        return 3

    def __iter__(self):
        raise RuntimeError("no items")


def endless():
    while True:
        yield 1.0


VALUES = {
    "nothing": None,
    "not a number": float("nan"),
    "text": "forty-two",
    "empty list": [],
    "ragged": [[1.0], [2.0, 3.0]],
    "dict": {"a": 1},
    "generator": endless(),
    "module": np,
    "huge integer": 10**400,
    "object array": np.array([object(), None]),
    "all nan": np.full((2, 3), np.nan),
    "zero-dimensional": np.array(3.0),
    "a terabyte of zeros": np.broadcast_to(0.0, (10**6, 10**6)),
    "hostile": Hostile(),
    "vicious": Vicious(),
    "lying list": ALyingList([1.0]),
    "hostile items": [Hostile(), Vicious()],
    "dots inside": [..., 1.0],
}


def raising(error):
    def function(*args, **kwargs):
        raise error

    return function


def ruin(*args, **kwargs):
    for value in (*args, *kwargs.values()):
        if isinstance(value, np.ndarray):
            value.resize((1,) * value.ndim, refcheck=False)
    return 0.0


def deeper(*args, **kwargs):
    return deeper(*args, **kwargs)


def seterr(*args, **kwargs):
    np.seterr(all="raise")
    warnings.simplefilter("error")
    return np.exp(np.array([1e9]))


class Called:
    def __call__(self, *args, **kwargs):
        return Hostile()

    __getattr__ = trap


FUNCTIONS = {
    "raises": raising(ValueError("bad")),
    "exits": raising(SystemExit(3)),
    "stops": raising(Stop()),
    "recursion": deeper,
    "ruins its inputs": ruin,
    "sets errors to raise": seterr,
    "too many": lambda a, b, c, d, e, f, g, h: 1.0,
    "echo": lambda *a, **k: a[0] if a else None,
    "callable": Called(),
}
ANSWERS = [
    *((name, value) for name, value in VALUES.items()),
    *((f"returns {name}", lambda *a, value=value, **k: value) for name, value in VALUES.items()),
    *((f"returns twice {name}", lambda *a, value=value, **k: (value, value)) for name, value in VALUES.items()),
    *((f"calls {name}", function) for name, function in FUNCTIONS.items()),
]


def within(exercise, answer):
    """The answer as it is, and inside the form that the exercise asks for."""
    yield answer
    if exercise.kind == "prove":
        yield {**exercise.reference, exercise.steps[-1].name: answer}
        yield [answer] * len(exercise.steps)
    elif isinstance(exercise.reference, dict):
        yield {key: answer for key in exercise.reference}


@pytest.mark.parametrize("exercise", EXERCISES, ids=[e.id for e in EXERCISES])
def test_hostile_answers_never_raise_and_never_pass(exercise, capsys):
    if exercise.requires:
        pytest.importorskip(exercise.requires)
    settings, number = np.geterr(), EXERCISES.index(exercise)
    for name, answer in in_ci(ANSWERS, ANSWERS[number % 4 :: 4]):
        for shaped in within(exercise, answer):
            result = check(exercise.id, shaped, rng=np.random.default_rng(7))
            assert result.status in STATUSES and not result, name
            assert result.message.startswith(f"Exercise {exercise.id}: "), name
            assert "Traceback" not in capsys.readouterr().out, name
    assert np.geterr() == settings


WRONG_IDS = [3.1, "3.99", "x" * 400, "٣.١", Hostile()]


@pytest.mark.parametrize("wanted", WRONG_IDS, ids=[str(i) for i in range(len(WRONG_IDS))])
def test_a_wrong_id_is_answered(wanted, capsys):
    assert not check(wanted, 1.0)
    hint(wanted)
    assert capsys.readouterr().out.count("Unknown exercise: ") == 2


def test_an_interrupt_passes_through():
    with pytest.raises(KeyboardInterrupt):
        check("3.2", raising(KeyboardInterrupt()))
