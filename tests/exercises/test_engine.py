"""The engine by itself: what it accepts, what it says, what it remembers."""

import io
import subprocess
import sys

import numpy as np
import pytest

from xformer_course.exercises import api, catalogue, check, hint, progress, registry
from xformer_course.exercises.exercise import Exercise, Result, case
from xformer_course.exercises.registry import find
from xformer_course.exercises.session import Session


@pytest.fixture
def session(monkeypatch):
    fresh = Session()
    monkeypatch.setattr(api, "SESSION", fresh)
    return fresh


def stable(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raw / raw.sum(axis=axis, keepdims=True)


class Callable:
    def __call__(self, scores, axis=-1):
        return stable(scores, axis)


@pytest.mark.parametrize(
    "style",
    [
        lambda scores, axis=-1: stable(scores, axis).tolist(),
        lambda scores, axis=-1: stable(scores.astype(np.longdouble), axis),
        lambda scores, axis=-1: np.asfortranarray(stable(scores, axis))[..., ::1],
        lambda scores, axis=-1: stable(scores.copy(), axis).view(),
        lambda s, axis=0: (
            stable(s, axis)
            if axis == 0 and s.ndim == 2 and s.shape == (3, 5) and abs(s).max() < 100
            else stable(s, axis if s.ndim == 3 else -1)
        ),
        Callable(),
        stable,
        lambda *args, **kwargs: stable(*args, **kwargs),
    ],
    ids=["lists", "long double", "Fortran order", "copy and view", "odd but right", "object", "function", "stars"],
)
def test_right_answers_in_any_style(style):
    assert check("3.2", style)


def test_tensors_are_read_where_arrays_are_expected():
    torch = pytest.importorskip("torch")
    assert check("3.2", lambda scores, axis=-1: torch.softmax(torch.tensor(scores), dim=axis))
    assert check("3.1", torch.full((4,), 0.25, dtype=torch.bfloat16))
    assert check("3.8", {"scores": torch.Size([5, 7]), "weights": torch.zeros(5, 7).shape, "output": (5, 2)})


def test_a_module_is_accepted_where_a_function_is_expected():
    torch = pytest.importorskip("torch")

    class Embed(torch.nn.Module):
        def forward(self, ids, weight, positions):
            return torch.nn.functional.embedding(ids, weight) * weight.shape[1] ** 0.5 + positions[: ids.shape[1]]

    assert check("9.2", Embed())
    assert check("9.2", torch.nn.Linear(2, 3)).status == "crashed"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda scores, axis=-1: print(end=""), "returned None; is there a `return`?"),
        (lambda scores, axis=-1: stable(scores)[:1], "expected shape (2, 3), got shape (1, 3)"),
        (lambda scores, axis=-1: "weights", "a str where numbers were expected"),
        (lambda scores, axis=-1: iter([1.0]), "a list_iterator where an array was expected"),
        (lambda scores, axis=-1: [[1.0], [1.0, 2.0]], "rows have different lengths"),
        (lambda scores, axis=-1: stable(scores) * 1j, "got complex ones"),
        (lambda scores, axis=-1: scores + 0.5, "weights[0, 0]: expected 0.0900306, got 0.5 (6 of 6 entries differ)"),
        (lambda scores: scores, "cannot take the arguments of my_softmax(array(3, 5), axis=0)"),
        (Exercise, "Exercise is a class"),
        (0.5, "the check needs the function my_softmax itself, not a value; this is 0.5"),
        (stable(np.zeros(3)), "this is a float64 array of shape (3,)"),
    ],
    ids=range(11),
)
def test_a_wrong_answer_is_described_in_plain_words(answer, words):
    result = check("3.2", answer)
    assert result.status == "wrong"
    assert words.lower() in result.message.lower()


def test_numbers_that_differ_in_a_late_digit_are_shown_with_it():
    result = check("3.2", lambda scores, axis=-1: stable(scores, axis) + 1e-8)
    assert "weights[0, 0]: expected 0.0900305732, got 0.0900305832 (6 of 6 entries differ)" in result.message


def test_what_a_probe_cannot_read_is_what_was_returned():
    result = check("11.6", lambda gradients, largest: [{} for _ in gradients])
    assert result.status == "wrong" and ": you returned a dict where an array was expected." in result.message


def test_inputs_of_the_failing_case_are_shown_when_small(capsys):
    check("3.2", lambda scores, axis=-1: scores + 0.5)
    assert "  scores =\n    [[0. 1. 2.]\n     [1. 1. 4.]]" in capsys.readouterr().out


def test_an_error_names_the_line_and_shows_no_traceback(capsys):
    def broken(scores, axis=-1):
        total = scores.sum()
        return scores.foo / total

    assert check("3.2", broken).status == "crashed"
    shown = " ".join(capsys.readouterr().out.split())
    assert "AttributeError: 'numpy.ndarray' object has no attribute 'foo' (line 3 of your function)" in shown
    assert "Traceback" not in shown


def test_a_measurement_that_does_not_hold_is_named():
    result = check("3.4", {4: 2.0, 16: 4.1, 64: 7.9, 256: 19.0})
    assert result.status == "wrong" and "for width 256 you report 19" in result.message.lower()


def test_leaving_the_program_is_an_error_like_any_other():
    def leave(scores, axis=-1):
        raise SystemExit(3)

    result = check("3.2", leave)
    assert result.status == "crashed" and "your function raised SystemExit: 3 (line 2 of your function)" in result.message


def test_words_are_read_whatever_their_case():
    assert check("3.3", {"add 5": " Same", "times 5": "GROWS"})


@pytest.mark.parametrize("answer", [..., lambda scores, axis=-1: ..., lambda scores: ...], ids=range(3))
def test_dots_are_not_an_attempt(answer, session):
    assert check("3.2", answer).status == "not attempted"
    assert not session.results


def test_a_stub_with_preparation_is_not_an_attempt():
    def half(scores, axis=-1):
        top = scores.max(axis=axis, keepdims=True)
        return ... if top.size else None

    assert check("3.2", half).status == "not attempted"


def forgets(scores, axis=-1):
    """Computes the weights, and leaves it at that."""
    stable(scores, axis)


def passes(scores, axis=-1):
    pass


@pytest.mark.parametrize("answer", [forgets, passes, lambda scores, axis=-1: None], ids=["forgets", "passes", "None"])
def test_a_forgotten_return_is_an_attempt(answer, session):
    result = check("3.2", answer)
    assert result.status == "wrong" and "returned None; is there a `return`?" in result.message
    assert session.results["3.2"] is result


@pytest.mark.parametrize("id", ["3.1", "3.2", "3.3", "3.4", "3.5"])
def test_none_handed_in_is_an_attempt_too(id, session):
    """As after `answer = show(x)`, where `show` has no `return`."""
    result = check(id, None)
    assert result.status == "wrong" and "none" in result.message.lower()
    assert id in session.results


def test_a_step_of_a_proof_without_a_return_is_an_attempt():
    steps = {name: lambda *anything: None for name in ("product", "total", "score", "divisor")}
    assert check("3.5", steps).status == "wrong"
    assert check("3.5", dict.fromkeys(steps)).status == "wrong"


def test_none_may_be_right(monkeypatch):
    exercise = Exercise(
        id="3.1",
        title="t",
        kind="implement",
        minutes=1,
        difficulty=1,
        statement="s",
        hints=("a", "b", "c"),
        stub="def place_of(x, y):\n    return ...",
        reference=lambda x, y: x.index(y) if y in x else None,
        cases=lambda rng: [case([1, 2], 3), case([1, 2], 2)],
        wrong={"from one": (lambda x, y: x.index(y) + 1 if y in x else None, "Count from 0.")},
    )
    monkeypatch.setattr(api.registry, "find", lambda wanted: exercise)
    assert check("3.1", lambda x, y: None if y not in x else x.index(y))
    assert check("3.1", lambda x, y: None).status == "wrong"
    assert check("3.1", lambda x, y: x.index(y) + 1 if y in x else None).misconception == "from one"
    assert check("3.1", lambda x, y: ...).status == "not attempted"


def test_the_printed_bug_is_not_an_attempt_but_retyping_it_is():
    namespace = {"np": np}
    exec(find("3.6").stub, namespace)
    assert check("3.6", namespace["leaky_attention"]).status == "not attempted"

    def retyped(q, k, v, mask):
        raw = np.exp(np.where(mask, q @ k.T / np.sqrt(q.shape[-1]), 0))
        weights = raw / raw.sum(axis=-1, keepdims=True)
        return weights @ v, weights

    assert check("3.6", retyped).misconception == "forbidden score of 0"


def test_a_proof_stops_at_its_first_wrong_step_with_a_counterexample():
    steps = {"product": lambda a, b: a * b, "total": lambda v, d: v * d + 1, "score": ..., "divisor": ...}
    result = check("3.5", steps)
    assert result.status == "wrong"
    assert "step 2, 'total'" in result.message.lower() and "over the 4 outcomes" in result.message
    assert "your formula says 3" in result.message
    steps["total"] = lambda v, d: v * d
    assert "Step 3, 'score', is still to be written." in check("3.5", steps).message


def test_a_misconception_is_recognised_under_other_parameter_names_and_in_float32():
    def mine(s, axis=-1):
        s -= s.max(axis=axis, keepdims=True)
        return np.exp(s) / np.exp(s).sum(axis=axis, keepdims=True)

    assert check("3.2", mine).misconception == "input changed in place"
    naive = check("3.2", lambda s, axis=-1: (np.exp(s) / np.exp(s).sum(axis, keepdims=True)).astype(np.float32))
    assert naive.misconception == "exponentials overflow"


def test_the_memory_of_a_call_is_measured_without_what_torch_loads_for_the_first_look():
    """Its first operation under a mode imports hundreds of modules, which takes 20 seconds while memory is traced."""
    pytest.importorskip("torch")
    code = """
import sys, torch
from xformer_course.exercises.memory import peak_bytes
def loaded():
    before = set(sys.modules)
    torch.zeros(3).add(1)
    return sorted(set(sys.modules) - before)
print(peak_bytes(loaded)[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_half_filled_prediction_names_the_entry_that_is_left():
    result = check("3.8", {"scores": (5, 7), "weights": ..., "output": (5, 2)})
    assert "the entry 'weights' still holds the dots" in result.message.lower()


def test_results_are_true_exactly_when_passed_and_show_nothing_in_a_notebook(capsys):
    assert Result("1.1", "passed", "") and not Result("1.1", "wrong", "")
    assert repr(Result("1.1", "wrong", "")) == "<Exercise 1.1: wrong>"
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    assert formatter.format(Result("1.1", "passed", "shown once")) == ({}, {})
    assert capsys.readouterr().out == ""


def test_hints_climb_a_ladder(session, capsys):
    for _ in range(4):
        hint("3.2")
    hint("3.2", level=1)
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Exercise 3.2: ")]
    starts = [
        "hint 1 of 3, a question.",
        "hint 2 of 3, a pointer.",
        "hint 3 of 3, the key step.",
        "those were all 3 hints;",
        "hint 1 of 3, a question.",
    ]
    assert all(line.startswith(f"Exercise 3.2: {start}") for line, start in zip(said, starts, strict=True))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_letters_that_standard_output_lacks_are_printed_as_escapes(session, monkeypatch, encoding):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    hint("11.7", level=3)
    check("13.8", find("13.8").misconceptions[0].implementation)
    progress()
    sys.stdout.flush()
    said = written.getvalue().decode(encoding)
    assert "\\u03a3 tokens" in said and "Exercise 13.8: not yet" in said and "13 " in said


def test_progress_counts_what_was_tried_and_passed(session, capsys):
    check("3.1", [0.25] * 4)
    check("3.2", lambda scores, axis=-1: scores)
    check("3.1", [1.0] * 4)  # once passed, an exercise stays passed
    capsys.readouterr()
    progress()
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("3 · "))
    total = sum(exercise.minutes for exercise in catalogue(3))
    assert row.split()[-4:] == ["1", "2", str(len(catalogue(3))), str(total - find("3.1").minutes)]


def test_a_chapter_without_exercises_is_an_error_for_the_catalogue():
    with pytest.raises(ValueError, match=r"chapter: expected one of \[.*got 99; leave it out"):
        catalogue(99)


def test_an_unknown_number_lists_the_ids_of_the_chapter(capsys):
    check("3.99")
    assert "chapter 3 has 3.1, 3.2," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "essay"}, "kind: expected one of predict"),
        ({"kind": "implement"}, "needs cases"),
        ({"kind": "prove"}, "needs steps"),
        ({"kind": "explore"}, "needs accepts"),
    ],
)
def test_an_incomplete_exercise_cannot_be_made(fields, words):
    common = dict(id="1.1", title="t", minutes=1, difficulty=1, statement="s", hints=("a", "b", "c"), stub="x = ...")
    with pytest.raises(ValueError, match=words):
        Exercise(**common, **fields)


def test_a_wide_misconception_may_crash(monkeypatch):
    exercise = Exercise(
        id="3.1",
        title="t",
        kind="implement",
        minutes=1,
        difficulty=1,
        statement="s",
        hints=("a", "b", "c"),
        stub="def f(x):\n    return ...",
        reference=lambda x: x.sum(),
        cases=lambda rng: [case(np.ones(2)), case(np.ones((2, 3)))],
        wrong={"built-in int": (lambda x: int(x.sum(axis=0)), "Several numbers are no int.")},
    )
    monkeypatch.setattr(api.registry, "find", lambda wanted: exercise)
    assert check("3.1", lambda x: int(np.add.reduce(x))).misconception == "built-in int"
    assert check("3.1", lambda x: x + y).status == "crashed"  # noqa: F821


def test_importing_the_engine_loads_neither_torch_nor_any_exercise():
    program = (
        "import sys, xformer_course.exercises as e\n"
        "assert not any('chapter_' in m for m in sys.modules), 'a chapter was loaded'\n"
        "e.check('3.1'); e.progress(); e.catalogue()\n"
        "assert not {'torch', 'matplotlib'} & set(sys.modules), 'torch was loaded'\n"
        "assert 'xformer_course.exercises.grading' not in sys.modules, 'the book has no grader in its pages'"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- several mistakes in one answer


def attention_with(q, k, v, mask, *, divisor, axis=-1, shift=True):
    """As a learner writes it who masks the weights."""
    scores = q @ k.T / divisor
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True) * shift)
    weights = raw / raw.sum(axis=axis, keepdims=True)
    weights = weights if mask is None else weights * mask
    return weights @ v, weights


SEVERAL = {
    "3.9": lambda q, k, v, mask=None: attention_with(q, k, v, mask, divisor=q.shape[-1]),
    "4.1": lambda x, w_q, w_k, w_v, mask=None: attention_with(x @ w_q, x @ w_k, x @ w_v, mask, divisor=w_q.shape[1]),
    "6.2": lambda x, context, w_q, w_k, w_v, w_o, mask=None: joined(
        [attention_with(x @ q, context @ k, context @ v, mask, divisor=q.shape[1]) for q, k, v in zip(w_q, w_k, w_v)], w_o
    ),
}


def joined(heads, w_o):
    return np.concatenate([output for output, _ in heads], axis=1) @ w_o, np.stack([weights for _, weights in heads])


@pytest.mark.parametrize("id", SEVERAL)
@pytest.mark.parametrize("seed", [0, 1])
def test_two_mistakes_at_once_are_both_named(id, seed):
    """Divided by d_k and the weights multiplied by the mask: each alone is in the table of the exercise."""
    exercise = registry.find(id)
    result = api.examine(exercise, SEVERAL[id], np.random.default_rng(seed))
    one, other = result.misconception.split(" + ")
    assert one in ("divided by d_k", "root forgotten") and other == "mask after softmax"
    known = {known.name: known.diagnosis for known in exercise.misconceptions}
    assert "Two mistakes at once" in result.message and known[one] in result.message and known[other] in result.message


def test_three_mistakes_and_one_that_nobody_knows():
    def three(q, k, v, mask=None):
        return attention_with(q, k, v, mask, divisor=1.0, axis=0)

    names = api.examine(registry.find("3.9"), three, np.random.default_rng(0)).misconception.split(" + ")
    assert names == ["no scaling", "softmax over queries", "mask after softmax"]
    unknown = api.examine(
        registry.find("3.9"), lambda q, k, v, mask=None: attention_with(q, k, v, mask, divisor=3.0), np.random.default_rng(0)
    )
    assert unknown.status == "misconception" and unknown.misconception == "mask after softmax" or unknown.status == "wrong"


def test_all_that_is_made_together_is_in_the_table_by_itself():
    """The settings of a name make the wrong answer of that name."""
    made = [exercise for number in registry.chapter_numbers() for exercise in registry.chapter(number).exercises if exercise.together]
    assert {exercise.id for exercise in made} == set(SEVERAL)
    for exercise in made:
        make, settings = exercise.together
        for name, options in settings.items():
            found = api.examine(exercise, make(**options), np.random.default_rng(3))
            assert found.misconception == name, (exercise.id, name, found.misconception)
