"""Multi-head attention against its definition, written out as loops over heads, queries and keys."""

import math

import numpy as np
import pytest

from xformer_lib.reference.masks import length_mask
from xformer_lib.reference.multi_head import multi_head_attention, per_head

BATCH, NUM_HEADS, NUM_QUERIES, NUM_KEYS = 2, 3, 5, 7
WIDTH_M, WIDTH_C, WIDTH_D, WIDTH_E, WIDTH_O = 11, 13, 17, 19, 23  # all sizes are different primes


@pytest.fixture
def rng():
    return np.random.default_rng(6)


@pytest.fixture
def weights(rng):
    shapes = ((NUM_HEADS, WIDTH_M, WIDTH_D), (NUM_HEADS, WIDTH_C, WIDTH_D), (NUM_HEADS, WIDTH_C, WIDTH_E), (NUM_HEADS * WIDTH_E, WIDTH_O))
    return [rng.normal(size=shape) / 3 for shape in shapes]


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(NUM_QUERIES, WIDTH_M)), rng.normal(size=(NUM_KEYS, WIDTH_C))


def by_loops(x, context, w_q, w_k, w_v, w_o, mask):
    """Head by head, query by query, key by key."""
    maps = np.zeros((len(w_q), len(x), len(context)))
    rows = []
    for i, word in enumerate(x):
        row = []
        for h in range(len(w_q)):
            allowed = [j for j in range(len(context)) if mask[h, i, j]]
            scores = {j: (word @ w_q[h]) @ (context[j] @ w_k[h]) / math.sqrt(w_q.shape[2]) for j in allowed}
            total = sum(math.exp(score) for score in scores.values())
            read = np.zeros(w_v.shape[2])
            for j, score in scores.items():
                maps[h, i, j] = math.exp(score) / total
                read += maps[h, i, j] * (context[j] @ w_v[h])
            row.extend(read)
        rows.append(np.array(row) @ w_o)
    return np.array(rows), maps


def random_mask(rng, *shape):
    mask = rng.random(shape) < 0.5
    mask[..., 1, :] = False  # one query may attend to nothing
    mask[..., 2, :] = True
    return mask


def assert_same(got, expected):
    for value, reference in zip(got, expected, strict=True):
        assert value.shape == reference.shape
        np.testing.assert_allclose(value, reference, rtol=1e-11, atol=1e-13)


class TestMultiHeadAttention:
    def test_is_its_definition(self, inputs, weights):
        everything = np.ones((NUM_HEADS, NUM_QUERIES, NUM_KEYS), dtype=bool)
        assert_same(multi_head_attention(*inputs, *weights), by_loops(*inputs, *weights, everything))

    def test_batch_axes_are_independent(self, rng, weights):
        x = rng.normal(size=(BATCH, 4, NUM_QUERIES, WIDTH_M))
        context = rng.normal(size=(BATCH, 4, NUM_KEYS, WIDTH_C))
        output, maps = multi_head_attention(x, context, *weights)
        assert maps.shape == (BATCH, 4, NUM_HEADS, NUM_QUERIES, NUM_KEYS)
        for place in np.ndindex(BATCH, 4):
            assert_same((output[place], maps[place]), multi_head_attention(x[place], context[place], *weights))

    @pytest.mark.parametrize(
        "shape",
        [
            (NUM_QUERIES, NUM_KEYS),
            (BATCH, NUM_QUERIES, NUM_KEYS),
            (BATCH, NUM_HEADS, NUM_QUERIES, NUM_KEYS),
            (BATCH, 1, NUM_QUERIES, NUM_KEYS),
        ],
    )
    def test_masks_of_a_batch(self, rng, weights, shape):
        x = rng.normal(size=(BATCH, NUM_QUERIES, WIDTH_M))
        context = rng.normal(size=(BATCH, NUM_KEYS, WIDTH_C))
        mask = random_mask(rng, *shape)
        output, maps = multi_head_attention(x, context, *weights, mask=mask)
        with_heads = mask[:, None] if len(shape) == 3 else mask
        full = np.broadcast_to(with_heads, (BATCH, NUM_HEADS, NUM_QUERIES, NUM_KEYS))
        for b in range(BATCH):
            assert_same((output[b], maps[b]), by_loops(x[b], context[b], *weights, full[b]))

    def test_a_batch_as_large_as_the_number_of_heads_is_not_taken_for_heads(self, rng, weights):
        x = rng.normal(size=(NUM_HEADS, NUM_QUERIES, WIDTH_M))
        context = rng.normal(size=(NUM_HEADS, NUM_KEYS, WIDTH_C))
        _, maps = multi_head_attention(x, context, *weights, mask=length_mask([7, 2, 4], NUM_KEYS)[:, None, :])
        assert (maps[0] > 0).all()
        assert (maps[1, :, :, :2] > 0).all() and not maps[1, :, :, 2:].any()

    def test_float32_stays_float32(self, inputs, weights):
        arrays = [array.astype(np.float32) for array in (*inputs, *weights)]
        assert {array.dtype for array in multi_head_attention(*arrays)} == {np.dtype(np.float32)}


class TestPerHead:
    def test_head_n_has_the_nth_block_of_columns(self, rng):
        wide = rng.normal(size=(WIDTH_M, NUM_HEADS * WIDTH_D))
        cut = per_head(wide, NUM_HEADS)
        assert cut.shape == (NUM_HEADS, WIDTH_M, WIDTH_D)
        for n in range(NUM_HEADS):
            np.testing.assert_array_equal(cut[n], wide[:, n * WIDTH_D : (n + 1) * WIDTH_D])
