"""The five models of exercise 9.18: each shows its fault, and the healthy one learns."""

import numpy as np
import pytest

from xformer_course.lessons.broken import FAULTS, broken


def test_each_fault_is_there_once_and_is_not_told():
    assert sorted(broken(letter)._fault for letter in "ABCDE") == sorted(FAULTS)
    assert repr(broken("D")) == "broken('D')" and broken("healthy")._fault == ""
    with pytest.raises(ValueError, match="letter: expected one of A, B"):
        broken("F")


def test_training_tells_a_healthy_model_from_one_that_cheats():
    losses = {letter: broken(letter).train()[-20:].mean() for letter in ("healthy", "B", "C", "D")}
    assert max(losses["B"], losses["D"]) < 0.1 < 0.8 < losses["healthy"] < 1.6 < losses["C"]


def test_padding_is_counted_by_one_alone():
    source, target = broken("A").batch(20)
    counted = {}
    for letter in ("healthy", "A"):
        patient = broken(letter)
        before = patient.loss(source, target)
        wider = np.pad(target, ((0, 0), (0, 3)))
        counted[letter] = abs(patient.loss(source, wider) - before) > 1e-3
    assert counted == {"healthy": False, "A": True}
