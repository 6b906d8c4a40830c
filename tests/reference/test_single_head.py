"""Self- and cross-attention against loops over words, and the cost table against counted products."""

import math

import numpy as np
import pytest

from xformer_lib.reference.masks import causal_mask, local_mask
from xformer_lib.reference.single_head import cross_attention, layer_cost, self_attention

BATCH, LENGTH, CONTEXT = 2, 5, 7
WIDTH, CONTEXT_WIDTH, WIDTH_K, WIDTH_V = 11, 13, 3, 17  # all sizes are different primes


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.fixture
def own(rng):
    """A sequence and the matrices with which it reads itself."""
    sizes = (LENGTH, WIDTH), (WIDTH, WIDTH_K), (WIDTH, WIDTH_K), (WIDTH, WIDTH_V)
    return tuple(rng.normal(size=size) for size in sizes)


@pytest.fixture
def two(rng):
    """Two sequences of different lengths and widths, and the matrices with which one reads the other."""
    sizes = ((LENGTH, WIDTH), (CONTEXT, CONTEXT_WIDTH), (WIDTH, WIDTH_K), (CONTEXT_WIDTH, WIDTH_K), (CONTEXT_WIDTH, WIDTH_V))
    return tuple(rng.normal(size=size) for size in sizes)


def read_by_loops(x, context, w_q, w_k, w_v, mask=None):
    """The definition, word by word and number by number."""
    output, weights = np.zeros((len(x), w_v.shape[1])), np.zeros((len(x), len(context)))
    for i, word in enumerate(x):
        allowed = [j for j in range(len(context)) if mask is None or mask[i, j]]
        raw = {}
        for j in allowed:
            query = [sum(word[m] * w_q[m, d] for m in range(len(word))) for d in range(w_q.shape[1])]
            key = [sum(context[j][c] * w_k[c, d] for c in range(len(context[j]))) for d in range(w_k.shape[1])]
            raw[j] = math.exp(sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(w_q.shape[1]))
        for j in allowed:
            weights[i, j] = raw[j] / sum(raw.values())
            for e in range(w_v.shape[1]):
                output[i, e] += weights[i, j] * sum(context[j][c] * w_v[c, e] for c in range(len(context[j])))
    return output, weights


@pytest.mark.parametrize("mask", [None, causal_mask(LENGTH), local_mask(LENGTH, 1)], ids=["all", "causal", "local"])
def test_self_attention_is_its_definition(own, mask):
    x, *matrices = own
    expected = read_by_loops(x, x, *matrices, mask)
    for got, wanted in zip(self_attention(*own, mask=mask), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-13)


def test_cross_attention_is_its_definition(rng, two):
    mask = rng.random((LENGTH, CONTEXT)) < 0.5
    mask[:, 2] = True
    for chosen in (None, mask):
        expected = read_by_loops(*two, chosen)
        for got, wanted in zip(cross_attention(*two, mask=chosen), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-13)


def test_self_attention_has_itself_as_context(own):
    x, *matrices = own
    for one, other in zip(self_attention(*own), cross_attention(x, x, *matrices), strict=True):
        np.testing.assert_array_equal(one, other)


def test_batch_axes_are_independent(rng, two):
    x, context = rng.normal(size=(BATCH, LENGTH, WIDTH)), rng.normal(size=(BATCH, CONTEXT, CONTEXT_WIDTH))
    output, weights = cross_attention(x, context, *two[2:])
    assert output.shape == (BATCH, LENGTH, WIDTH_V) and weights.shape == (BATCH, LENGTH, CONTEXT)
    for b in range(BATCH):
        np.testing.assert_allclose(output[b], cross_attention(x[b], context[b], *two[2:])[0])


def test_the_same_matrices_read_any_length(rng, own):
    for length in (1, 2, 31):
        output, weights = self_attention(rng.normal(size=(length, WIDTH)), *own[1:])
        assert output.shape == (length, WIDTH_V) and weights.shape == (length, length)


def test_a_query_that_may_attend_to_nothing_gets_zeros(own):
    mask = causal_mask(LENGTH)
    mask[3] = False
    output, weights = self_attention(*own, mask=mask)
    assert not output[3].any() and not weights[3].any() and output[2].any()


def test_keeps_the_precision(two):
    for array in cross_attention(*(array.astype(np.float32) for array in two)):
        assert array.dtype == np.float32


class TestLayerCost:
    """The formulas against loops that count each product as they make it."""

    def loop(self, kind, length, width, taps):
        """Products and depth, by the loops that a layer would run; a number is the depth it has."""
        products = 0

        def times(rows, inner, columns, depth):
            nonlocal products
            for _ in range(rows):
                for _ in range(columns):
                    for _ in range(inner):
                        products += 1
            return depth + 1

        if kind == "self-attention":
            depth = max(times(length, width, width, 0) for _ in range(3))
            depth = times(length, width, length, depth)
            depth = times(length, length, width, depth)
        elif kind == "recurrence":
            depth = 0
            for _ in range(length):
                depth = max(times(1, width, width, 0), times(1, width, width, depth))
        elif kind == "convolution":
            depth = max(times(length, width, width, 0) for _ in range(taps))
        else:
            depth = times(1, length * width, length * width, 0)
        return products, depth

    @pytest.mark.parametrize("kind", ["self-attention", "recurrence", "convolution", "dense"])
    @pytest.mark.parametrize("length,width,taps", [(5, 3, 7), (2, 5, 3), (7, 2, 5), (1, 1, 1)])
    def test_products_and_depth_are_those_of_the_loops(self, kind, length, width, taps):
        cost = layer_cost(kind, length, width, taps=taps)
        assert (cost.products, cost.depth) == self.loop(kind, length, width, taps)

    @pytest.mark.parametrize(
        "kind,matrices",
        [("self-attention", [(5, 5)] * 3), ("recurrence", [(5, 5)] * 2), ("convolution", [(5, 5)] * 7), ("dense", [(15, 15)])],
    )
    def test_parameters_are_the_sizes_of_the_matrices(self, kind, matrices):
        assert layer_cost(kind, 3, 5, taps=7).parameters == sum(np.ones(shape).size for shape in matrices)

    @pytest.mark.errors
    def test_unknown_kind_lists_the_known_ones(self):
        with pytest.raises(ValueError, match="expected one of self-attention, recurrence, convolution, dense, got 'rnn'"):
            layer_cost("rnn", 2, 3)
