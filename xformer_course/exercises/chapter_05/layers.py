"""Small layers on the rows of a matrix, for the checks of chapter 05, and attention to compare with."""

import itertools

import numpy as np


def all_orders(n):
    """All orders of n rows, as arrays that can index rows."""
    return [np.array(order, dtype=int) for order in itertools.permutations(range(n))]


def close(one, other):
    """Equal up to rounding."""
    one, other = np.asarray(one), np.asarray(other)
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-9, atol=1e-9))


def attend(x, w_q, w_k, w_v, mask=None):
    """Self-attention of the rows of x; a query that may attend to nothing gets zeros."""
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(np.shape(w_q)[1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    raw = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = raw.sum(axis=-1, keepdims=True)
    return raw / np.where(total == 0.0, 1.0, total) @ (x @ w_v)


class Layer:
    """A function of a matrix, one row a token; its class name is what a learner reads about it."""

    def __repr__(self):
        return type(self).__name__


class TwiceEachRow(Layer):
    def __call__(self, x):
        return 2.0 * x


class DenseForEachRow(Layer):
    """A weight matrix on each row, the same for all rows; entry (a, b) is a + 2b + 1, so that columns differ."""

    def __call__(self, x):
        m = x.shape[1]
        return x @ (np.arange(m)[:, None] + 2.0 * np.arange(m)[None, :] + 1.0)


class ColumnMeanRemoved(Layer):
    def __call__(self, x):
        return x - x.mean(axis=0)


class MeanInEveryRow(Layer):
    def __call__(self, x):
        return np.repeat(x.mean(axis=0, keepdims=True), len(x), axis=0)


class SumRowByRow(Layer):
    """The sum of all rows added to each, added up from the first row to the last: the last bits depend on the order."""

    def __call__(self, x):
        total = np.zeros(x.shape[1])
        for row in x:
            total = total + row
        return x + total


class ColumnsSorted(Layer):
    def __call__(self, x):
        return np.sort(x, axis=0)


class RunningSum(Layer):
    def __call__(self, x):
        return np.cumsum(x, axis=0)


class RowsReversed(Layer):
    def __call__(self, x):
        return x[::-1].copy()  # torch reads no array with negative strides


class RowBeforeAdded(Layer):
    """Adds to each row the one before it; the first row gets the last."""

    def __call__(self, x):
        return x + np.roll(x, 1, axis=0)


class FirstRowDoubled(Layer):
    def __call__(self, x):
        return np.concatenate([2.0 * x[:1], x[1:]])


class LastRowDoubled(Layer):
    def __call__(self, x):
        return np.concatenate([x[:-1], 2.0 * x[-1:]])


class FaintPositions(Layer):
    """Adds a thousandth of its place to each row."""

    def __call__(self, x):
        return x + 0.001 * np.arange(len(x))[:, None]


class MeanOfRows(Layer):
    def __call__(self, x):
        return x.mean(axis=0)


class SumOfRowsInTurn(Layer):
    def __call__(self, x):
        total = np.zeros(x.shape[1])
        for row in x:
            total = total + row
        return total


class LastRow(Layer):
    def __call__(self, x):
        return x[-1]


class FirstMinusLast(Layer):
    def __call__(self, x):
        return x[0] - x[-1]


class NeighbourProducts(Layer):
    """The sum of the products of neighbouring rows: a sentence and its mirror image agree."""

    def __call__(self, x):
        return (x[1:] * x[:-1]).sum(axis=0)
