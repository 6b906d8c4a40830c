"""Collecting answers that no exercise was written with, for the tests that hold the checks to them."""

import numpy as np
import pytest

from xformer_course.exercises import check


class HeldOut:
    """Right and wrong answers of one file, as parameters of its tests."""

    def __init__(self):
        self.rights, self.wrongs = [], []

    def right(self, id):
        """Marks a right answer to an exercise."""
        return lambda answer: self.rights.append(pytest.param(id, answer, id=f"{id}-{answer.__name__}")) or answer

    def wrong(self, id, name=None):
        """Marks a wrong answer to an exercise, and the misconception that it should be told."""
        return lambda answer: self.wrongs.append(pytest.param(id, answer, name, id=f"{id}-{answer.__name__}")) or answer

    def table(self, id, right=None, wrong=None, told=None):
        """Adds short answers to an exercise: by a name of their own, and in `told` by the misconception that they should be told."""
        self.rights += [pytest.param(id, answer, id=f"{id}-{name}") for name, answer in (right or {}).items()]
        self.wrongs += [pytest.param(id, answer, None, id=f"{id}-{name}") for name, answer in (wrong or {}).items()]
        self.wrongs += [pytest.param(id, answer, name, id=f"{id}-{name}") for name, answer in (told or {}).items()]


def judged(id, answer, seed=0):
    pytest.importorskip("torch")  # without it, as in the book's pages, some exercises are given arrays
    return check(id, answer, rng=np.random.default_rng(seed))


def must_pass(id, answer):
    for seed in (0, 1):
        result = judged(id, answer, seed)
        assert result.status == "passed", f"seed {seed}: {result.message}"


def must_not_pass(id, answer, name):
    """The word "crashed" is for an answer that raises; what is wrong is told apart by what it returns."""
    for seed in (0, 1):
        result = judged(id, answer, seed)
        assert result.status in ("wrong", "misconception", "crashed"), f"seed {seed}: {result.message}"
        assert name is None or result.misconception == name, f"seed {seed}: {result.message}"


def as_tests(answers):
    """The two tests of a file of answers: what each right one and each wrong one must do."""

    @pytest.mark.parametrize(("id", "answer"), answers.rights)
    def test_a_right_answer_passes_in_any_style(id, answer):
        must_pass(id, answer)

    @pytest.mark.parametrize(("id", "answer", "name"), answers.wrongs)
    def test_a_wrong_answer_never_passes(id, answer, name):
        must_not_pass(id, answer, name)

    return test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes
