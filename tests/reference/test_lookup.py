"""Hard and soft lookup against loops, their limits, and the hull of the values."""

import math

import numpy as np
import pytest

from xformer_lib.reference import hard_lookup, soft_lookup

BATCH, NUM_QUERIES, NUM_KEYS, WIDTH, WIDTH_V = 2, 5, 11, 7, 3  # all sizes are different primes


@pytest.fixture
def rng():
    return np.random.default_rng(2)


@pytest.fixture
def table(rng):
    shapes = (NUM_QUERIES, WIDTH), (NUM_KEYS, WIDTH), (NUM_KEYS, WIDTH_V)
    return tuple(rng.normal(size=shape) for shape in shapes)


def by_loops(query, keys, values, temperature):
    """The definition for one query."""
    raw = [math.exp(sum(map(math.prod, zip(query, key, strict=True))) / temperature) for key in keys]
    weights = [one / math.fsum(raw) for one in raw]
    output = [math.fsum(w * value[e] for w, value in zip(weights, values, strict=True)) for e in range(len(values[0]))]
    return output, weights


class TestSoftLookup:
    @pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
    def test_is_its_definition(self, table, temperature):
        queries, keys, values = table
        for query in queries:
            got = soft_lookup(query, keys, values, temperature=temperature)
            for value, expected in zip(got, by_loops(query, keys, values, temperature), strict=True):
                np.testing.assert_allclose(value, expected, rtol=1e-12)

    def test_many_queries_are_one_after_the_other(self, rng, table):
        _, keys, values = table
        queries = rng.normal(size=(BATCH, NUM_QUERIES, WIDTH))
        output, weights = soft_lookup(queries, keys, values, temperature=0.7)
        assert output.shape == (BATCH, NUM_QUERIES, WIDTH_V) and weights.shape == (BATCH, NUM_QUERIES, NUM_KEYS)
        for place in np.ndindex(BATCH, NUM_QUERIES):
            alone, _ = soft_lookup(queries[place], keys, values, temperature=0.7)
            np.testing.assert_allclose(output[place], alone, rtol=1e-12)

    @pytest.mark.parametrize("temperature", [1e-300, 1e-3, 1.0, 1e3, math.inf])
    @pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
    def test_weights_are_at_least_zero_and_sum_to_one(self, table, temperature, size):
        queries, keys, values = table
        with np.errstate(all="raise", under="ignore"):
            _, weights = soft_lookup(size * queries, keys, values, temperature=temperature)
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-14)

    def test_temperature_to_zero_is_the_hard_lookup(self, rng):
        for _ in range(100):
            table = tuple(rng.normal(size=shape) for shape in ((NUM_QUERIES, WIDTH), (NUM_KEYS, WIDTH), (NUM_KEYS, 2)))
            hard, _ = hard_lookup(*table)
            far = [np.abs(soft_lookup(*table, temperature=t)[0] - hard).sum() for t in (1.0, 0.1, 1e-2, 1e-7)]
            assert far[0] > far[-1] < 1e-6
            np.testing.assert_array_equal(soft_lookup(*table, temperature=1e-300)[0], hard)

    def test_temperature_to_infinity_is_the_mean(self, table):
        output, weights = soft_lookup(*table, temperature=math.inf)
        np.testing.assert_allclose(weights, 1 / NUM_KEYS, rtol=1e-14)
        np.testing.assert_allclose(output, np.tile(table[2].mean(axis=0), (NUM_QUERIES, 1)), rtol=1e-12)

    def test_is_kernel_regression(self, rng):
        xs, ys, x, bandwidth = rng.uniform(0, 5, NUM_KEYS), rng.normal(size=NUM_KEYS), 2.3, 0.6
        kernel = np.exp(-((x - xs) ** 2) / (2 * bandwidth**2))
        keys = np.stack([xs, -(xs**2) / 2], axis=1)
        output, _ = soft_lookup(np.array([x, 1.0]), keys, ys[:, None], temperature=bandwidth**2)
        np.testing.assert_allclose(output[0], (kernel * ys).sum() / kernel.sum(), rtol=1e-12)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_keeps_the_precision_and_the_input(self, table, dtype):
        table = [array.astype(dtype) for array in table]
        before = [array.copy() for array in table]
        for lookup in (soft_lookup, hard_lookup):
            assert all(array.dtype == dtype for array in lookup(*table))
        for array, kept in zip(table, before, strict=True):
            np.testing.assert_array_equal(array, kept)


class TestHardLookup:
    def test_answers_with_the_value_of_the_best_key(self, table):
        queries, keys, values = table
        output, weights = hard_lookup(*table)
        best = [max(range(NUM_KEYS), key=lambda j, q=query: q @ keys[j]) for query in queries]
        np.testing.assert_array_equal(output, values[best])
        np.testing.assert_array_equal(weights, np.eye(NUM_KEYS)[best])

    def test_keys_that_tie_share(self):
        keys = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.0], [1.0, 0.0]])
        values = np.array([[3.0], [100.0], [6.0], [100.0], [9.0]])
        output, weights = hard_lookup(np.array([2.0, 1.0]), keys, values)
        np.testing.assert_allclose(weights, [1 / 3, 0, 1 / 3, 0, 1 / 3])
        np.testing.assert_allclose(output, [6.0])

    def test_is_a_dictionary_for_one_hot_keys(self, table):
        values = table[2]
        output, _ = hard_lookup(np.eye(NUM_KEYS), np.eye(NUM_KEYS), values)
        np.testing.assert_array_equal(output, values)
