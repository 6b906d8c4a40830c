"""Batches: the budget, every pair once, the shift, the generator."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xformer_lib.data.batching import Batch, batches, make_batch, pad_rows

IDS = st.lists(st.integers(4, 60), max_size=11)
PAIRS = st.lists(st.tuples(IDS, IDS), max_size=43)


def drawn(count, seed=0, longest=23):
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(4, 97, size=size).tolist() for size in rng.integers(1, longest, size=2)) for _ in range(count)]


def rows(batch):
    """The pairs of ids that a batch holds, read back from its matrices."""
    return [(tuple(s[s > 3].tolist()), tuple(t[t > 3].tolist())) for s, t in zip(batch.source, batch.target_in, strict=True)]


@settings(max_examples=200, deadline=None)
@given(PAIRS, st.integers(12, 60), st.integers(0, 5))
def test_every_pair_once_within_the_budget(pairs, max_tokens, seed):
    made = list(batches(pairs, max_tokens=max_tokens, rng=np.random.default_rng(seed)))
    assert Counter(row for batch in made for row in rows(batch)) == Counter((tuple(s), tuple(t)) for s, t in pairs)
    for batch in made:
        assert all(0 < matrix.size <= max_tokens for matrix in batch)


@settings(max_examples=100, deadline=None)
@given(PAIRS.filter(bool))
def test_rows_hold_what_the_model_reads(pairs):
    batch = make_batch(pairs)
    assert isinstance(batch, Batch) and all(matrix.dtype == np.int64 for matrix in batch)
    for (source, target), s, t_in, t_out in zip(pairs, *batch, strict=True):
        assert s.tolist() == [*source, 2] + [0] * (batch.source.shape[1] - len(source) - 1)
        assert t_in.tolist() == [1, *target] + [0] * (batch.target_in.shape[1] - len(target) - 1)
        assert t_out.tolist() == [*target, 2] + [0] * (batch.target_in.shape[1] - len(target) - 1)


def test_other_special_ids():
    batch = make_batch([([5], [6, 7])], pad_id=11, bos_id=13, eos_id=17)
    assert [matrix.tolist() for matrix in batch] == [[[5, 17]], [[13, 6, 7]], [[6, 7, 17]]]
    made = list(batches([([5], [6, 7]), ([8, 9, 10], [6])], max_tokens=8, pad_id=11, bos_id=13, eos_id=17))
    assert made[0].source.tolist() == [[8, 9, 10, 17], [5, 17, 11, 11]]


def test_an_epoch_follows_its_generator():
    pairs = drawn(211)

    def epochs(seed):
        rng = np.random.default_rng(seed)
        return [[rows(batch) for batch in batches(pairs, max_tokens=127, rng=rng)] for _ in range(2)]

    first, second = epochs(3)
    assert epochs(3) == [first, second]
    assert first != second and epochs(4)[0] != first
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in second}  # other company, too
    widths = [max(len(target) for _, target in batch) for batch in first]
    assert widths != sorted(widths)  # and not from short to long


def test_buckets_hold_little_padding():
    pairs = [(row, row) for row, _ in drawn(2003, longest=41)]
    made = list(batches(pairs, max_tokens=1009, rng=np.random.default_rng(0)))
    share = 1 - sum((b.source > 0).sum() for b in made) / sum(b.source.size for b in made)
    assert share < 0.05
    assert len(made) < 1.15 * sum(len(row) + 1 for row, _ in pairs) / 1009 + 2  # and the batches are full


def test_no_pairs_no_batches():
    assert list(batches([], max_tokens=7)) == []
    assert pad_rows([]).shape == (0, 0)


def test_a_batch_stops_where_the_budget_is_full():
    made = list(batches([([4] * 3, [5])] * 7, max_tokens=11))
    assert [batch.source.shape for batch in made] == [(2, 4), (2, 4), (2, 4), (1, 4)]


@pytest.mark.parametrize("pair", [([4] * 7, [5]), ([5], [4] * 7)])
def test_a_pair_over_the_budget_is_refused_at_once(pair):
    message = (
        r"pairs: expected at most max_tokens=7 ids a side, got .* in pair 1 and 1 such pairs in all; raise max_tokens or leave them out"
    )
    with pytest.raises(ValueError, match=message):
        batches([([4], [5]), pair], max_tokens=7)  # not yet iterated


@pytest.mark.parametrize("budget", [0, -3])
def test_an_impossible_budget(budget):
    with pytest.raises(ValueError, match="max_tokens"):
        batches([([], [])], max_tokens=budget)
