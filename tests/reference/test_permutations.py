"""Permutation matrices, and the checks that answer with a counterexample."""

import itertools

import numpy as np
import pytest

from xformer_lib.reference import check_equivariant, check_invariant, permutation_matrix

CYCLE = (1, 3, 0, 2)


def drawn(n, m=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), CYCLE, (4, 0, 3, 1, 2)])
def test_matrix_fetches_the_rows_of_the_order(order):
    p, x = permutation_matrix(order), drawn(len(order))
    np.testing.assert_array_equal(p @ x, x[list(order)])
    np.testing.assert_array_equal(x.T @ p.T, x.T[:, list(order)])
    np.testing.assert_array_equal(p.T @ p, np.eye(len(order)))
    assert p.dtype == np.float64


def test_matrix_of_an_array_and_of_nothing():
    np.testing.assert_array_equal(permutation_matrix(np.array(CYCLE)), permutation_matrix(CYCLE))
    assert permutation_matrix(()).shape == (0, 0)


INVARIANT = {"mean": lambda x: x.mean(axis=0), "sorted": lambda x: np.sort(x, axis=0), "number": lambda x: x.max()}
EQUIVARIANT = {"minus the mean": lambda x: x - x.mean(axis=0), "products": lambda x: x @ x.T @ x, "itself": lambda x: x}
NEITHER = {"running sum": lambda x: np.cumsum(x, axis=0), "turned": lambda x: x[::-1], "shifted": lambda x: np.roll(x, 1, axis=0)}


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 11])
def test_properties_are_recognised_at_every_length(n):
    x = drawn(n)
    assert all(check_invariant(fn, x) for fn in INVARIANT.values())
    assert all(check_equivariant(fn, x) for fn in EQUIVARIANT.values())
    if n > 2:  # two rows turned or shifted are respected by the only swap there is
        assert not any(check_equivariant(fn, x) for fn in NEITHER.values())
        assert not any(check_invariant(fn, x) for fn in [*NEITHER.values(), *EQUIVARIANT.values()])
        assert not check_equivariant(INVARIANT["sorted"], x)


@pytest.mark.parametrize("n", [3, 5, 9])
def test_the_counterexample_is_one(n):
    x = drawn(n)
    fn = NEITHER["running sum"]
    found = check_equivariant(fn, x)
    order = list(found.order)
    np.testing.assert_array_equal(found.got, fn(x[order]))
    np.testing.assert_array_equal(found.expected, fn(x)[order])
    assert not np.allclose(found.got, found.expected)
    assert sum(place != row for place, row in enumerate(order)) == 2


def test_the_counterexample_to_invariance_expects_the_old_result():
    x = drawn(4)
    found = check_invariant(lambda x: x[0], x)
    np.testing.assert_array_equal(found.expected, x[0])
    np.testing.assert_array_equal(found.got, x[list(found.order)][0])


def test_orders_that_move_few_rows_are_tried_first():
    seen = []

    def watched(x):
        seen.append(tuple(int(number) for number in x[:, 0]))
        return x

    check_equivariant(watched, np.arange(4.0)[:, None])
    tried = seen[1:]  # the first call has the rows as they are given
    moved = [sum(place != row for place, row in enumerate(order)) for order in tried]
    assert moved == sorted(moved) and sorted(tried) == sorted(itertools.permutations(range(4)))


def test_how_many_orders_were_tried_is_said():
    full = check_equivariant(EQUIVARIANT["itself"], drawn(5))
    assert (full.tried, full.possible) == (120, 120)
    sample = check_equivariant(EQUIVARIANT["itself"], drawn(7))
    assert (sample.tried, sample.possible) == (1 + 6 + 100, 5040)
    assert repr(sample) == "equivariant: 107 of 5040 orders tried, all agree"


def test_rounding_is_forgiven_and_a_thousandth_is_not():
    def in_turn(x):
        total = np.zeros(1)
        for row in x:
            total = total + row
        return total

    tenths = np.array([[0.1], [0.2], [0.3]])
    assert in_turn(tenths) != in_turn(tenths[::-1])
    assert check_invariant(in_turn, tenths)
    assert not check_equivariant(lambda x: x + 1e-3 * np.arange(len(x))[:, None], drawn(4))


def test_large_numbers_in_one_column_hide_nothing_in_another():
    x = drawn(4)
    x[:, 0] *= 1e10
    found = check_equivariant(NEITHER["running sum"], x)
    assert not found and np.abs(found.expected - found.got)[:, 1].max() > 0.1
    beside = lambda x: np.stack([1e10 + 0.0 * x[:, 0], np.cumsum(x[:, 1])], axis=1)  # noqa: E731
    assert not check_equivariant(beside, x)
    assert not check_invariant(lambda x: np.array([1e10, x[0, 1]]), x)


def test_a_random_layer_fails_at_the_order_that_moves_nothing():
    rng = np.random.default_rng(0)
    assert check_equivariant(lambda x: x * rng.integers(2, size=x.shape), drawn(4)).order == (0, 1, 2, 3)


def test_not_a_number_equals_nothing():
    assert not check_invariant(lambda x: np.array([np.nan]), drawn(3))


def test_the_input_is_left_alone():
    x = drawn(4)
    kept = x.copy()

    def careless(x):
        x *= 2.0
        return x

    assert check_equivariant(careless, x)
    np.testing.assert_array_equal(x, kept)


def test_whole_numbers_and_more_axes():
    assert check_equivariant(lambda x: (x > 0).any(axis=(1, 2)), drawn(4, 6).reshape(4, 3, 2))
    assert check_invariant(len, drawn(4))


def test_the_sample_comes_from_the_generator():
    def only_one_order_fails(x):
        return x if x[0, 0] != 6 or x[1, 0] != 3 else -x

    x = np.arange(7.0)[:, None]
    results = {bool(check_equivariant(only_one_order_fails, x, rng=np.random.default_rng(seed))) for seed in range(9)}
    assert results == {True, False}


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda: permutation_matrix([1, 2, 3]), "order: expected each of 0 to 2 once, got [1, 2, 3]; count rows from 0"),
        (lambda: permutation_matrix([0, 0]), "order: expected each of 0 to 1 once, got [0, 0]"),
        (lambda: check_invariant(np.sum, [[1.0]]), "x: expected an array with the tokens along its first axis, got list"),
        (lambda: check_invariant(np.sum, np.array(1.0)), "x: expected an array with the tokens along its first axis"),
        (lambda: check_equivariant(lambda x: (x, x), drawn(3)), "fn: expected it to return an array, got tuple"),
        (lambda: check_equivariant(lambda x: x.mean(axis=0), drawn(4)), "fn: expected an output with 4 rows"),
        (lambda: check_equivariant(lambda x: None, drawn(4)), "got NoneType; for a pair (output, weights) pass"),
    ],
)
def test_errors_say_what_to_do(call, fragment):
    with pytest.raises(ValueError) as caught:
        call()
    assert fragment in str(caught.value)


def test_an_infinity_equals_itself_and_nothing_else():
    x = drawn(4)
    assert check_invariant(lambda x: np.array([-np.inf, x.sum(), np.inf]), x)
    assert not check_invariant(lambda x: np.array([-np.inf, x[0, 0]]), x)
    assert not check_invariant(lambda x: np.array([np.inf if x[0, 0] > x[1, 0] else -np.inf]), x)
