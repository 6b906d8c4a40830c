"""Scaled dot-product and additive attention against their definitions, written out as loops."""

import math

import numpy as np
import pytest

from xformer_lib.reference.attention import additive_attention, scaled_dot_product_attention, softmax
from xformer_lib.reference.masks import length_mask

BATCH, NUM_HEADS, NUM_QUERIES, NUM_KEYS = 2, 3, 5, 7
WIDTH_Q, WIDTH_K, WIDTH_V, WIDTH_A = 11, 13, 17, 19  # all sizes are different primes


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def qkv(rng):
    """Queries and keys of one width, values of another."""
    shapes = (NUM_QUERIES, WIDTH_Q), (NUM_KEYS, WIDTH_Q), (NUM_KEYS, WIDTH_V)
    return tuple(rng.normal(size=shape) for shape in shapes)


@pytest.fixture
def scorer(rng):
    return tuple(rng.normal(size=shape) for shape in ((WIDTH_Q, WIDTH_A), (WIDTH_K, WIDTH_A), (WIDTH_A,)))


def blend_by_loops(score, q, k, v, mask):
    """The definition: for each query a weighted mean of the values that it may read."""
    output, weights = np.zeros((len(q), v.shape[1])), np.zeros((len(q), len(k)))
    for i, query in enumerate(q):
        allowed = [j for j in range(len(k)) if mask[i, j]]
        total = sum(math.exp(score(query, k[j])) for j in allowed)
        for j in allowed:
            weights[i, j] = math.exp(score(query, k[j])) / total
            output[i] += weights[i, j] * v[j]
    return output, weights


def random_mask(rng):
    mask = rng.random((NUM_QUERIES, NUM_KEYS)) < 0.5
    mask[1] = False  # one query may attend to nothing
    mask[2] = True
    return mask


class TestSoftmax:
    def test_is_exp_over_sum(self, rng):
        scores = rng.normal(size=(3, 5))
        expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(softmax(scores), expected, rtol=1e-14)

    @pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
    def test_works_along_the_axis_asked_for(self, rng, axis):
        scores = rng.normal(size=(2, 3, 5))
        weights = softmax(scores, axis=axis)
        np.testing.assert_allclose(weights.sum(axis=axis), 1.0, rtol=1e-14)
        np.testing.assert_allclose(weights, np.moveaxis(softmax(np.moveaxis(scores, axis, -1)), -1, axis))

    @pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
    def test_large_scores_neither_overflow_nor_underflow(self, shift):
        with np.errstate(all="raise", under="ignore"):
            np.testing.assert_allclose(softmax(np.array([1.0, 2.0, 3.0]) + shift), softmax(np.array([1.0, 2.0, 3.0])))

    def test_minus_infinity_gets_weight_zero(self):
        np.testing.assert_array_equal(softmax(np.array([0.0, -np.inf, 0.0])), [0.5, 0.0, 0.5])

    def test_nothing_but_minus_infinity_gives_zeros_without_a_warning(self):
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(softmax(np.full((2, 3), -np.inf)), np.zeros((2, 3)))

    def test_no_scores_at_all(self):
        assert softmax(np.zeros((3, 0))).shape == (3, 0)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_keeps_the_precision(self, dtype):
        assert softmax(np.array([1.0, -np.inf, 3.0], dtype=dtype)).dtype == dtype

    def test_leaves_its_argument_alone(self):
        scores = np.array([1.0, 2.0])
        softmax(scores)
        np.testing.assert_array_equal(scores, [1.0, 2.0])


class TestScaledDotProductAttention:
    @pytest.mark.parametrize("masked", [False, True])
    def test_is_its_definition(self, rng, qkv, masked):
        mask = random_mask(rng) if masked else np.ones((NUM_QUERIES, NUM_KEYS), dtype=bool)
        expected = blend_by_loops(lambda query, key: query @ key / math.sqrt(WIDTH_Q), *qkv, mask)
        got = scaled_dot_product_attention(*qkv, mask=mask if masked else None)
        for value, reference in zip(got, expected, strict=True):
            np.testing.assert_allclose(value, reference, rtol=1e-12, atol=1e-14)

    def test_batch_axes_are_independent(self, rng):
        q = rng.normal(size=(BATCH, NUM_HEADS, NUM_QUERIES, WIDTH_Q))
        k = rng.normal(size=(BATCH, NUM_HEADS, NUM_KEYS, WIDTH_Q))
        v = rng.normal(size=(BATCH, NUM_HEADS, NUM_KEYS, WIDTH_V))
        output, weights = scaled_dot_product_attention(q, k, v)
        assert output.shape == (BATCH, NUM_HEADS, NUM_QUERIES, WIDTH_V)
        assert weights.shape == (BATCH, NUM_HEADS, NUM_QUERIES, NUM_KEYS)
        for index in np.ndindex(BATCH, NUM_HEADS):
            np.testing.assert_allclose(output[index], scaled_dot_product_attention(q[index], k[index], v[index])[0])

    def test_a_mask_over_keys_applies_to_every_query_of_its_row(self, rng):
        q = rng.normal(size=(BATCH, NUM_QUERIES, WIDTH_Q))
        k, v = rng.normal(size=(2, BATCH, NUM_KEYS, WIDTH_Q))
        output, weights = scaled_dot_product_attention(q, k, v, mask=length_mask([5, 0], NUM_KEYS)[:, None, :])
        short, _ = scaled_dot_product_attention(q[0], k[0, :5], v[0, :5])
        np.testing.assert_allclose(output[0], short)
        assert not weights[0, :, 5:].any()
        assert not weights[1].any() and not output[1].any()

    def test_without_keys_there_is_nothing_to_attend_to(self, qkv):
        output, weights = scaled_dot_product_attention(qkv[0], qkv[1][:0], qkv[2][:0])
        assert weights.shape == (NUM_QUERIES, 0)
        np.testing.assert_array_equal(output, np.zeros((NUM_QUERIES, WIDTH_V)))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_keeps_the_precision(self, rng, qkv, dtype):
        q, k, v = (array.astype(dtype) for array in qkv)
        for array in scaled_dot_product_attention(q, k, v, mask=random_mask(rng)):
            assert array.dtype == dtype


class TestAdditiveAttention:
    def arrays(self, rng):
        shapes = (NUM_QUERIES, WIDTH_Q), (NUM_KEYS, WIDTH_K), (NUM_KEYS, WIDTH_V)
        return tuple(rng.normal(size=shape) for shape in shapes)

    def test_is_its_definition(self, rng, scorer):
        w_q, w_k, w_v = scorer
        arrays, mask = self.arrays(rng), random_mask(rng)
        expected = blend_by_loops(lambda query, key: w_v @ np.tanh(query @ w_q + key @ w_k), *arrays, mask)
        for value, reference in zip(additive_attention(*arrays, *scorer, mask=mask), expected, strict=True):
            np.testing.assert_allclose(value, reference, rtol=1e-12, atol=1e-14)

    def test_batch_axes_are_independent(self, rng, scorer):
        q = rng.normal(size=(BATCH, NUM_QUERIES, WIDTH_Q))
        k = rng.normal(size=(BATCH, NUM_KEYS, WIDTH_K))
        v = rng.normal(size=(BATCH, NUM_KEYS, WIDTH_V))
        output, _ = additive_attention(q, k, v, *scorer)
        for b in range(BATCH):
            np.testing.assert_allclose(output[b], additive_attention(q[b], k[b], v[b], *scorer)[0])

    def test_keeps_the_precision(self, rng, scorer):
        arrays = [array.astype(np.float32) for array in (*self.arrays(rng), *scorer)]
        assert additive_attention(*arrays)[0].dtype == np.float32
