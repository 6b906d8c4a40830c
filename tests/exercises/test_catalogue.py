"""What every exercise of every chapter must keep: the promises of xformer_course/exercises/README.md."""

import numpy as np
import pytest

from tests.ci import in_ci
from xformer_course.exercises import catalogue, check
from xformer_course.exercises.authoring import code_cell
from xformer_course.exercises.chapter_12.heads import Team
from xformer_course.exercises.exercise import FUNCTION_KINDS, IMPLEMENTABLE_MISCONCEPTIONS
from xformer_course.exercises.registry import chapters

SEEDS = (0, 1, 2)
FIRST = in_ci(SEEDS, SEEDS[:1])  # for the many wrong answers
EXERCISES = list(catalogue())


def wrong_answers(exercise):
    """Every misconception of an exercise as a complete answer; in a proof the other steps are right."""
    yield from ((known, known.implementation) for known in exercise.misconceptions)
    for step in exercise.steps:
        yield from ((known, {**exercise.reference, step.name: known.implementation}) for known in step.misconceptions)


def right_answers(exercise):
    yield "reference", exercise.reference
    yield from exercise.alternatives.items()


RIGHT = [pytest.param(e, answer, id=f"{e.id}-{name}") for e in EXERCISES for name, answer in right_answers(e)]
WRONG = [pytest.param(e, known, answer, id=f"{e.id}-{known.name}") for e in EXERCISES for known, answer in wrong_answers(e)]
FUNCTIONS = [e for e in EXERCISES if e.kind in FUNCTION_KINDS]
by_id = pytest.mark.parametrize("exercise", EXERCISES, ids=[e.id for e in EXERCISES])


@pytest.fixture(autouse=True)
def torch_if_needed(request):
    exercise = request.node.callspec.params.get("exercise") if hasattr(request.node, "callspec") else None
    if exercise is not None and exercise.requires:
        pytest.importorskip(exercise.requires)


@pytest.mark.parametrize(("exercise", "answer"), RIGHT)
def test_right_answers_pass(exercise, answer):
    for seed in SEEDS:
        result = check(exercise.id, answer, rng=np.random.default_rng(seed))
        assert result.status == "passed", f"seed {seed}: {result.message}"


def in_single_precision(value):
    """A result as a calculation in float32 would give it."""
    if type(value) in (list, tuple):
        return type(value)(map(in_single_precision, value))
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype == float else value


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=[e.id for e in FUNCTIONS])
def test_a_right_answer_in_single_precision_passes(exercise):
    result = check(exercise.id, lambda *args, **kwargs: in_single_precision(exercise.reference(*args, **kwargs)))
    assert result.status == "passed", result.message


@pytest.mark.parametrize(("exercise", "known", "answer"), WRONG)
def test_misconceptions_get_their_own_diagnosis(exercise, known, answer):
    for seed in FIRST:
        result = check(exercise.id, answer, rng=np.random.default_rng(seed))
        assert result.status == "misconception", f"seed {seed}: {result.message}"
        assert result.misconception == known.name, f"seed {seed}: {result.message}"
        diagnosis = known.diagnosis[1:].split("\n")[0]  # the first letter may change its case
        assert diagnosis in result.message


@by_id
def test_the_stub_is_not_attempted(exercise, capsys):
    result = check(exercise.id, run_stub(exercise))
    assert result.status == "not attempted" and not result
    assert f"Exercise {exercise.id}: not attempted yet." in capsys.readouterr().out


@by_id
def test_nothing_returned_is_an_attempt_and_no_right_one(exercise):
    result = check(exercise.id, None)
    assert result.status in ("wrong", "misconception") and "None" in result.message
    if exercise.kind in FUNCTION_KINDS:
        result = check(exercise.id, lambda *args, **kwargs: None)
        assert result.status in ("wrong", "misconception")
        assert result.misconception or "returned None" in result.message


@by_id
def test_the_cell_as_printed_runs_and_asks_for_an_attempt(exercise, capsys):
    exec(code_cell(exercise), namespace_of_a_chapter(exercise))
    assert "not attempted yet" in capsys.readouterr().out


def namespace_of_a_chapter(exercise):
    namespace = {"np": np, "check": check}
    if exercise.requires:
        namespace["torch"] = pytest.importorskip("torch")
    return namespace


def run_stub(exercise):
    namespace = namespace_of_a_chapter(exercise)
    exec(exercise.stub, namespace)
    return namespace[exercise.answer_name]


@by_id
def test_every_exercise_is_complete(exercise):
    assert exercise.title.strip() and exercise.statement.strip()
    assert 1 <= exercise.minutes <= 60 and exercise.difficulty in (1, 2, 3)
    assert len(exercise.hints) == 3 and all(hint.strip() for hint in exercise.hints)
    assert len(exercise.statement.split()) <= (230 if exercise.minutes == 60 else 130), "with heading and links it must stay short"
    known = [m.name for m, _ in wrong_answers(exercise)]
    assert all(m.diagnosis.strip() for m, _ in wrong_answers(exercise))
    if exercise.kind in FUNCTION_KINDS:
        assert len(known) >= IMPLEMENTABLE_MISCONCEPTIONS
        assert exercise.alternatives, "at least one right answer in another style"
        assert len(set(known)) == len(known)
    else:
        assert known


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.pure], ids=lambda e: e.id)
def test_an_exercise_that_forbids_work_in_place_says_so(exercise):
    assert any(words in exercise.statement for words in ("as it was", "as they were", "a new list"))


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=[e.id for e in FUNCTIONS])
def test_cases_are_fresh_and_of_different_sizes(exercise):
    one, again, other = (exercise.cases(np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert len(one) >= 3
    assert len({shapes(case) for case in one}) >= 3
    assert repr(one) == repr(again), "cases draw everything from rng"
    assert repr(one) != repr(other), "cases must change with the seed"


def shapes(case):
    values = [*case.args, *case.kwargs.values()]
    return tuple(sizes(value) for value in values)


def sizes(value):
    """The shape of an array, the sizes of what a list holds, and anything else as it is."""
    if hasattr(value, "shape"):
        return tuple(value.shape)
    return tuple(map(sizes, value)) if isinstance(value, (list, tuple)) else repr(value)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_ids_run_without_gaps(chapter):
    expected = [f"{chapter.number}.{place}" for place in range(1, len(chapter.exercises) + 1)]
    assert [exercise.id for exercise in chapter.exercises] == expected
    assert len(chapter.exercises) >= 4
    assert len({exercise.title for exercise in chapter.exercises}) == len(chapter.exercises)


def test_a_set_of_heads_costs_the_same_in_any_order():
    """To the last bit: exercise 12.8 asks whether one set is dearer than another, and they may be the same."""
    rng = np.random.default_rng(11)
    team = Team(rng.normal(size=17), rng.exponential(0.6, size=(17, 17)))
    chosen = [3, 16, 0, 7, 11, 5, 2]
    assert {team(rng.permutation(chosen)) for _ in range(53)} == {team(chosen)}
