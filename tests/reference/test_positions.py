"""Positions: each definition against its formula, by loops; what is refused."""

import math

import numpy as np
import pytest

from xformer_lib.reference.attention import scaled_dot_product_attention, softmax
from xformer_lib.reference.masks import causal_mask
from xformer_lib.reference.positions import (
    alibi_bias,
    alibi_slopes,
    frequencies,
    learned_positions,
    relative_attention,
    relative_index,
    rotary,
    shift_matrix,
    sinusoidal_positions,
)

B, H, I, J, D, E, C = 2, 3, 5, 7, 6, 11, 2


class TestSinusoidal:
    @pytest.mark.parametrize("length,dim,base", [(5, 2, 10000.0), (7, 6, 10000.0), (11, 10, 50.0), (0, 4, 10000.0)])
    def test_formula(self, length, dim, base):
        table = sinusoidal_positions(length, dim, base=base)
        assert table.shape == (length, dim) and table.dtype == np.float64
        for i in range(length):
            for k in range(dim // 2):
                angle = i * base ** (-2 * k / dim)
                assert math.isclose(table[i, 2 * k], math.sin(angle), abs_tol=1e-12)
                assert math.isclose(table[i, 2 * k + 1], math.cos(angle), abs_tol=1e-12)

    @pytest.mark.parametrize("dim", [2, 6, 64])
    def test_wavelengths_grow_from_two_pi(self, dim):
        wavelengths = 2 * np.pi / frequencies(dim)
        assert wavelengths[0] == 2 * np.pi and (np.diff(wavelengths) > 0).all()
        assert math.isclose(wavelengths[-1], 2 * math.pi * 10000 ** ((dim - 2) / dim))

    def test_similarity_depends_on_the_offset_alone(self):
        table = sinusoidal_positions(31, 14)
        scores = table @ table.T
        np.testing.assert_allclose(scores[3:, 3:], scores[:-3, :-3], atol=1e-12)
        np.testing.assert_allclose(np.diag(scores), 7.0)


class TestShiftMatrix:
    @pytest.mark.parametrize("offset", [0, 1, 5, -3])
    @pytest.mark.parametrize("base", [10000.0, 30.0])
    def test_moves_every_row(self, offset, base):
        table = sinusoidal_positions(23, 10, base=base)
        matrix = shift_matrix(10, offset, base=base)
        for i in range(3, 17):
            np.testing.assert_allclose(matrix @ table[i], table[i + offset], atol=1e-12)

    def test_is_a_rotation_and_adds_up(self):
        a, b = shift_matrix(10, 3), shift_matrix(10, 8)
        np.testing.assert_allclose(a.T @ a, np.eye(10), atol=1e-15)
        np.testing.assert_allclose(a @ b, shift_matrix(10, 11), atol=1e-14)
        np.testing.assert_allclose(a.T, shift_matrix(10, -3), atol=1e-15)
        assert math.isclose(np.linalg.det(a), 1.0)


def test_learned_positions_are_rows():
    table = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_array_equal(learned_positions(table, [6, 0, 6]), table[[6, 0, 6]])
    np.testing.assert_array_equal(learned_positions(table, np.arange(4)), table[:4])
    assert learned_positions(table, []).shape == (0, 3)


@pytest.mark.errors  # the signature promises integers
def test_learned_positions_take_a_whole_number_of_any_type():
    table = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_array_equal(learned_positions(table, [2.0]), table[[2]])


class TestRelative:
    def arrays(self, seed=1):
        rng = np.random.default_rng(seed)
        shapes = (B, I, D), (B, J, D), (B, J, E), (2 * C + 1, D), (2 * C + 1, E)
        return [rng.normal(size=shape) for shape in shapes]

    def test_index(self):
        index = relative_index(I, J, C)
        for i in range(I):
            for j in range(J):
                assert index[i, j] == min(max(j - i, -C), C) + C

    @pytest.mark.parametrize("masked", [False, True])
    def test_formula(self, masked):
        q, k, v, key_table, value_table = self.arrays()
        mask = np.random.default_rng(2).random((I, J)) < 0.6
        mask[3] = False
        output, weights = relative_attention(q, k, v, key_table, value_table, mask=mask if masked else None)
        for b in range(B):
            for i in range(I):
                rows = [min(max(j - i, -C), C) + C for j in range(J)]
                scores = np.array([q[b, i] @ (k[b, j] + key_table[rows[j]]) / math.sqrt(D) for j in range(J)])
                expected = softmax(np.where(mask[i], scores, -np.inf) if masked else scores)
                np.testing.assert_allclose(weights[b, i], expected, atol=1e-14)
                mean = sum(expected[j] * (v[b, j] + value_table[rows[j]]) for j in range(J))
                np.testing.assert_allclose(output[b, i], mean, atol=1e-13)

    def test_without_tables_it_is_plain_attention(self):
        q, k, v, key_table, value_table = self.arrays()
        output, weights = relative_attention(q, k, v, 0 * key_table, 0 * value_table)
        expected, expected_weights = scaled_dot_product_attention(q, k, v)
        np.testing.assert_allclose(output, expected, atol=1e-14)
        np.testing.assert_allclose(weights, expected_weights, atol=1e-14)


class TestRotary:
    def test_formula(self):
        x = np.random.default_rng(3).normal(size=(I, D))
        places = np.array([4, 0, 7, 7, 100])
        turned = rotary(x, places)
        for i in range(I):
            for k in range(D // 2):
                angle = places[i] * 10000 ** (-2 * k / D)
                expected = complex(*x[i, 2 * k : 2 * k + 2]) * complex(math.cos(angle), math.sin(angle))
                np.testing.assert_allclose(turned[i, 2 * k : 2 * k + 2], [expected.real, expected.imag], atol=1e-12)

    @pytest.mark.parametrize("shift", [1, 13, 5000])
    def test_scores_depend_on_the_offset_alone(self, shift):
        rng = np.random.default_rng(4)
        q, k = rng.normal(size=(B, H, I, D)), rng.normal(size=(B, H, J, D))
        here = rotary(q, np.arange(I)) @ rotary(k, np.arange(J)).swapaxes(-1, -2)
        there = rotary(q, np.arange(I) + shift) @ rotary(k, np.arange(J) + shift).swapaxes(-1, -2)
        np.testing.assert_allclose(here, there, atol=1e-10)
        assert not np.allclose(here, q @ k.swapaxes(-1, -2))

    def test_is_a_rotation_not_an_addition(self):
        x = np.random.default_rng(5).normal(size=(I, D))
        assert not rotary(np.zeros((I, D)), np.arange(I)).any()
        np.testing.assert_allclose(np.linalg.norm(rotary(x, np.arange(I)), axis=1), np.linalg.norm(x, axis=1))
        np.testing.assert_allclose(rotary(2 * x, np.arange(I)), 2 * rotary(x, np.arange(I)))

    def test_turns_as_the_table_does(self):
        fixed = np.tile([1.0, 0.0], (I, D // 2))
        swapped = sinusoidal_positions(I, D).reshape(I, -1, 2)[:, :, ::-1].reshape(I, D)
        np.testing.assert_allclose(rotary(fixed, range(I)), swapped, atol=1e-14)

    def test_leaves_its_input_and_its_dtype_alone(self):
        x = np.ones((I, D), dtype=np.float32)
        assert rotary(x, np.arange(I)).dtype == np.float32
        np.testing.assert_array_equal(x, 1.0)

    @pytest.mark.errors  # the signature promises floating-point numbers
    def test_whole_numbers_become_float64(self):
        turned = rotary(np.array([[1, 0], [1, 0]]), [0, 1])
        assert turned.dtype == np.float64
        np.testing.assert_allclose(turned, [[1.0, 0.0], [math.cos(1), math.sin(1)]])


class TestAlibi:
    @pytest.mark.parametrize("heads", [1, 2, 4, 8, 16])
    def test_slopes_of_a_power_of_two(self, heads):
        expected = [2 ** (-8 * h / heads) for h in range(1, heads + 1)]
        np.testing.assert_allclose(alibi_slopes(heads), expected, rtol=1e-14)

    @pytest.mark.parametrize("heads,between", [(3, [2**-2]), (6, [2**-1, 2**-3]), (12, [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])])
    def test_slopes_in_between_are_filled_up(self, heads, between):
        power = heads - len(between)
        np.testing.assert_allclose(alibi_slopes(heads), [*alibi_slopes(power), *between], rtol=1e-14)
        assert len(set(alibi_slopes(heads).round(12))) == heads

    @pytest.mark.errors  # the signature promises an int
    def test_slopes_for_a_number_of_numpys(self):
        np.testing.assert_array_equal(alibi_slopes(np.int64(6)), alibi_slopes(6))

    def test_bias_is_minus_slope_times_distance(self):
        bias = alibi_bias(H + 1, I, J, start=2)
        for h, slope in enumerate(alibi_slopes(H + 1)):
            for i in range(I):
                for j in range(J):
                    assert math.isclose(bias[h, i, j], -slope * abs(i + 2 - j), abs_tol=1e-15)

    def test_fades_the_weights(self):
        rng = np.random.default_rng(6)
        q, k = rng.normal(size=(4, I, D)), rng.normal(size=(4, I, D))
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(D)
        weights = softmax(scores + alibi_bias(4, I, I))
        distance = np.abs(np.arange(I)[:, None] - np.arange(I))
        faded = softmax(scores) * np.exp(-alibi_slopes(4)[:, None, None] * distance)
        np.testing.assert_allclose(weights, faded / faded.sum(axis=-1, keepdims=True), atol=1e-14)

    def test_with_a_causal_mask_it_is_one_more_column(self):
        rng = np.random.default_rng(7)
        scores = rng.normal(size=(I, I))
        hidden = np.where(causal_mask(I), 0.0, -np.inf)
        by_column = scores + alibi_slopes(8)[2] * np.arange(I)
        np.testing.assert_allclose(softmax(scores + alibi_bias(8, I, I)[2] + hidden), softmax(by_column + hidden))


ONE = np.ones((3, 4))


@pytest.mark.errors
@pytest.mark.parametrize(
    "make,fragment",
    [
        (lambda: sinusoidal_positions(3, 5), "dim: expected an even number above 0, got 5; sines and cosines"),
        (lambda: sinusoidal_positions(3, 0), "dim: expected an even number above 0, got 0"),
        (lambda: sinusoidal_positions(-1, 4), "length: expected a whole number, 0 or more, got -1; pass the number of rows"),
        (lambda: sinusoidal_positions(3, 4, base=0.0), "base: expected a positive number, got 0.0"),
        (lambda: shift_matrix(3, 1), "dim: expected an even number above 0, got 3"),
        (lambda: learned_positions(ONE, [0, 3]), "positions: expected places from 0 to 2, got 3; train a longer"),
        (lambda: learned_positions(ONE, [-1]), "positions: expected places from 0 to 2, got -1"),
        (lambda: learned_positions(ONE, [0.5]), "positions: expected places from 0 to 2, got 0.5; train a longer"),
        (lambda: relative_index(3, 4, -1), "max_offset: expected a whole number, 0 or more, got -1; offsets beyond"),
        (
            lambda: relative_attention(ONE, ONE, ONE, np.ones((4, 4)), np.ones((4, 4))),
            "key_table: expected (2c + 1, 4) with one odd number of rows for both tables, got shape (4, 4)",
        ),
        (
            lambda: relative_attention(ONE, ONE, ONE, np.ones((5, 4)), np.ones((3, 4))),
            "value_table: expected (2c + 1, 4) with one odd number of rows for both tables, got shape (3, 4)",
        ),
        (lambda: relative_attention(ONE, ONE, ONE, np.ones((5, 3)), np.ones((5, 4))), "key_table: expected (2c + 1, 4)"),
        (lambda: rotary(ONE, np.arange(4)), "positions: expected one place for each of 3 rows, got shape (4,)"),
        (lambda: rotary(np.ones((3, 5)), np.arange(3)), "dim: expected an even number above 0, got 5"),
        (lambda: alibi_slopes(0), "num_heads: expected a whole number, 1 or more, got 0; each head has a slope"),
        (lambda: alibi_bias(2, -1, 3), "query_len: expected a whole number, 0 or more, got -1; pass the number of rows"),
        (lambda: alibi_bias(2, 1, -3), "key_len: expected a whole number, 0 or more, got -3"),
    ],
)
def test_errors_say_what_to_do(make, fragment):
    with pytest.raises(ValueError) as caught:
        make()
    assert fragment in str(caught.value)
