"""The letters of pages 12c and 12g: rows to write backwards, and how many come out right."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from xformer_course.lessons import ALPHABET, random_row, share_right, spelled, train_backwards  # noqa: E402
from xformer_lib.nn.recurrent import GRUTranslator  # noqa: E402


def test_rows_hold_letters_and_no_special_ids():
    row = random_row(1000, np.random.default_rng(0))
    assert set(row) == set(range(3, 3 + len(ALPHABET)))
    assert set(spelled(row)) == set(ALPHABET) and spelled([3, 12, 5]) == "ajc"


def test_a_row_counts_if_every_letter_is_right(monkeypatch):
    def written(model, source):  # all backwards, with a mistake in the last letter of each row that begins with an a
        rows = [row[-2::-1] for row in source.tolist()]
        return [[*row[:-1], 4] if row[-1] == 3 else row for row in rows]

    monkeypatch.setattr("xformer_course.lessons.backwards.greedy", written)
    rng = np.random.default_rng(7)
    wrong = sum(random_row(7, rng)[0] == 3 for _ in range(50))
    assert 0 < wrong < 50
    assert share_right(torch.nn.Identity(), 7, rows=50) == pytest.approx(1 - wrong / 50)


def test_a_seed_fixes_the_model(monkeypatch):
    from xformer_course.lessons import backwards

    real = backwards.batches
    monkeypatch.setattr(backwards, "batches", lambda pairs, **settings: real(pairs[:37], **settings))
    first, again, other = (train_backwards(GRUTranslator, 8, seed) for seed in (1, 1, 2))
    weights = [model.state_dict()["output.weight"] for model in (first, again, other)]
    assert not first.training
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
