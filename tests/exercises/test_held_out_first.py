"""Held-out answers to exercises of chapters 1 to 7 that a reviewer found accepted, refused or misread."""

import itertools

import numpy as np
import pytest

from tests.exercises.held_out import HeldOut, as_tests, judged, must_not_pass, must_pass
from xformer_course.exercises.registry import find

ANSWERS = HeldOut()
right, wrong = ANSWERS.right, ANSWERS.wrong


def softmax(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raw / raw.sum(axis=axis, keepdims=True)


def with_step(id, step, function):
    """A proof whose other steps are right."""
    return {**find(id).reference, step: function}


def must_be_told(id, answer, words):
    """The message holds these words, whatever the cases."""
    for seed in (0, 1):
        result = judged(id, answer, seed)
        assert not result.passed and words in result.message, f"seed {seed}: {result.message}"


# ---------------------------------------------------------------- 2.2


@wrong("2.2")
def lookup_lowered_by_the_largest_size(query, keys, values, temperature=1.0):
    scores = keys @ query
    raw = np.exp((scores - abs(scores).max()) / temperature)
    weights = raw / raw.sum()
    return weights @ values, weights


# ---------------------------------------------------------------- 2.5


@wrong("2.5")
def regression_by_the_nearest_where_nothing_is_left(x, xs, ys, bandwidth):
    far = abs(x - xs)
    kernel = np.exp(-(far**2) / (2 * bandwidth**2))
    return (kernel * ys).sum() / kernel.sum() if kernel.sum() else ys[np.isclose(far, far.min())].mean()


# ---------------------------------------------------------------- 3.2


@wrong("3.2")
def softmax_lowered_by_the_first_score(scores, axis=-1):
    raw = np.exp(scores - np.take(scores, [0], axis=axis))
    return raw / raw.sum(axis=axis, keepdims=True)


# ---------------------------------------------------------------- 3.4


def spreads(draw, measure=np.std):
    rng = np.random.default_rng(7)
    return {d: measure((draw(rng, (5000, d)) * draw(rng, (5000, d))).sum(axis=1)) for d in (4, 16, 64, 256)}


def test_small_entries_are_not_told_of_means():
    must_not_pass("3.4", spreads(lambda rng, shape: rng.random(shape) - 0.5), "one factor at every width")


def test_a_mean_of_sizes_is_asked_for_its_measure():
    sizes = spreads(lambda rng, shape: rng.normal(size=shape), measure=lambda scores: abs(scores).mean())
    must_not_pass("3.4", sizes, "one factor at every width")
    must_be_told("3.4", sizes, "standard deviation")


def test_means_are_still_told_of_means():
    must_not_pass("3.4", spreads(lambda rng, shape: rng.normal(size=shape), measure=np.mean), "mean instead")


# ---------------------------------------------------------------- 3.7


@wrong("3.7")
def attention_with_the_maximum_of_all(q, k, v, mask=None):
    scores = q @ k.T / np.sqrt(q.shape[1])
    raw = np.exp(scores - scores.max(axis=1, keepdims=True)) * (1 if mask is None else mask)
    total = raw.sum(axis=1, keepdims=True)
    weights = raw / np.where(total == 0, 1, total)
    return weights @ v, weights


def attention_filled_with(fill, q, k, v, mask=None):
    scores = q @ k.T / q.shape[1] ** 0.5
    weights = softmax(scores if mask is None else np.where(mask, scores, fill))
    if mask is not None:
        weights[~mask.any(axis=1)] = 0
    return weights @ v, weights


@wrong("3.7")
def attention_filled_with_thirty(q, k, v, mask=None):
    return attention_filled_with(-30.0, q, k, v, mask)


@wrong("3.7")
def attention_filled_with_a_hundred(q, k, v, mask=None):
    return attention_filled_with(-100.0, q, k, v, mask)


@right("3.7")
def attention_filled_with_a_billion(q, k, v, mask=None):
    return attention_filled_with(-1e9, q, k, v, mask)


@right("3.7")
def attention_by_torch_in_single_precision(q, k, v, mask=None):
    torch = pytest.importorskip("torch")
    q, k, v = (torch.tensor(one, dtype=torch.float32) for one in (q, k, v))
    scores = q @ k.T / q.shape[1] ** 0.5
    weights = (scores if mask is None else scores.masked_fill(~torch.tensor(mask), -torch.inf)).softmax(-1).nan_to_num()
    return weights @ v, weights


# ---------------------------------------------------------------- 3.8


@wrong("3.8")
def mended_with_twenty_five(q, k, v, mask):
    return attention_filled_with(-25.0, q, k, v, mask)


@wrong("3.8")
def mended_with_a_hundred(q, k, v, mask):
    return attention_filled_with(-100.0, q, k, v, mask)


@right("3.8")
def mended_in_single_precision(q, k, v, mask):
    return attention_filled_with(np.float32(-1e30), *(one.astype(np.float32) for one in (q, k, v)), mask)


# ---------------------------------------------------------------- 3.10


def test_a_cut_at_the_width_of_the_keys_is_told_of_its_place():
    def scores(q, k, w, w_v):
        from_queries, from_keys = q @ w[: k.shape[1]], k @ w[k.shape[1] :]
        return from_queries, from_keys, np.tanh(from_queries[:, None] + from_keys) @ w_v

    must_be_told("3.10", scores, "d_q rows")


# ---------------------------------------------------------------- 4.1


@right("4.1")
def self_attention_with_a_matrix_divided_in_place(x, w_q, w_k, w_v, mask=None):
    w_q /= np.sqrt(w_q.shape[1])
    scores = x @ w_q @ (x @ w_k).T
    weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    return weights @ x @ w_v, weights


@right("4.1")
def self_attention_with_the_mask_inverted_in_place(x, w_q, w_k, w_v, mask=None):
    scores = x @ w_q @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    if mask is not None:
        mask[...] = ~mask
        scores[mask] = -np.inf
    weights = softmax(scores)
    return weights @ x @ w_v, weights


@wrong("4.1")
def self_attention_with_its_own_mask(x, w_q, w_k, w_v, mask=None):
    scores = x @ w_q @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    weights = softmax(scores if mask is None else np.where(np.tri(len(x), dtype=bool), scores, -np.inf))
    return weights @ x @ w_v, weights


@wrong("4.1")
def self_attention_filled_with_a_hundred(x, w_q, w_k, w_v, mask=None):
    return attention_filled_with(-100.0, x @ w_q, x @ w_k, x @ w_v, mask)


@right("4.1")
def self_attention_in_single_precision(x, w_q, w_k, w_v, mask=None):
    x, w_q, w_k, w_v = (one.astype(np.float32) for one in (x, w_q, w_k, w_v))
    return attention_filled_with(-np.inf, x @ w_q, x @ w_k, x @ w_v, mask)


# ---------------------------------------------------------------- 4.5


@pytest.mark.parametrize("crossing", [lambda m, d, e: m + m // (d + e) + 1, lambda m, d, e: m * (2 + e) // (1 + e) + 1])
def test_a_crossing_that_holds_for_queries_of_width_1_alone(crossing):
    must_not_pass("4.5", with_step("4.5", "crossing", crossing), None)


# ---------------------------------------------------------------- 5.2


@right("5.2")
def order_that_fails_by_torch(layer, x):
    torch = pytest.importorskip("torch")
    for order in itertools.permutations(range(len(x))):
        before, after = torch.as_tensor(layer(x[list(order)])), torch.as_tensor(layer(x)[list(order)])
        if not torch.allclose(before, after):
            return order
    return None


@wrong("5.2", "one equal entry is enough")
def order_for_which_nothing_agrees(layer, x):
    for order in itertools.permutations(range(len(x))):
        if not np.isclose(layer(x[list(order)]), layer(x)[list(order)]).any():
            return order
    return None


# ---------------------------------------------------------------- 5.5, 5.10, 5.12, 5.14


@pytest.mark.parametrize("undo", [lambda p: p[::-1, ::-1], lambda p: np.linalg.matrix_power(p, len(p) - 1), lambda p: p @ p])
def test_what_undoes_a_turn_alone_does_not_undo_an_order(undo):
    must_not_pass("5.5", with_step("5.5", "undo", undo), None)
    must_not_pass("5.5", with_step("5.5", "scores", lambda s, p: p @ s @ undo(p)), None)
    must_not_pass("5.12", with_step("5.12", "weights", lambda a, p: p @ a @ undo(p)), None)
    must_not_pass("5.14", with_step("5.14", "repair", lambda e, p: undo(p).T @ e), None)


def test_a_softmax_of_logarithms_gives_the_weights():
    must_pass("5.12", with_step("5.12", "weights", lambda a, p: softmax(p @ np.log(a) @ p.T)))


# ---------------------------------------------------------------- 5.4


def test_a_pair_left_in_the_stub_is_named():
    answer = {"keys and values": 6, "keys alone": 2, "values alone": 2, "queries alone": (..., ...)}
    must_be_told("5.4", answer, "'queries alone' still holds the dots")


# ---------------------------------------------------------------- 5.6


def summary_of(x, w_q, w_k, w_v):
    return softmax((x @ w_q) @ (x @ w_k).T / w_q.shape[1] ** 0.5) @ (x @ w_v)


@right("5.6")
def summary_of_rows_brought_to_one_scale(x, *matrices):
    even = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    return summary_of(even, *matrices).mean(axis=0)


@right("5.6")
def summary_with_keys_around_zero(x, w_q, w_k, w_v):
    keys = x @ w_k
    return (softmax(x @ w_q @ (keys - keys.mean(axis=1, keepdims=True)).T) @ (x @ w_v)).mean(axis=0)


@wrong("5.6")
def summary_by_the_spread(*arrays):
    return summary_of(*arrays).std(axis=0)


@wrong("5.6", "queries without influence")
def summary_with_keys_for_queries(x, w_q, w_k, w_v):
    return summary_of(x, w_k, w_k, w_v).mean(axis=0)


@wrong("5.6", "queries without influence")
def summary_with_columns_that_add_up(x, w_q, w_k, w_v):
    return (softmax((x @ w_q) @ (x @ w_k).T, axis=0) @ (x @ w_v)).sum(axis=0)


# ---------------------------------------------------------------- 5.8


@wrong("5.8")
def symmetric_and_a_circle(mask):
    return bool((mask == mask.T).all() and (np.roll(mask, (1, 1), axis=(0, 1)) == mask).all())


# ---------------------------------------------------------------- 5.11


@wrong("5.11")
def outputs_within_a_hundredth(layer, x):
    met = []
    for order in itertools.permutations(range(len(x))):
        output = layer(x[list(order)])
        if not any(np.allclose(output, other, atol=0.01) for other in met):
            met.append(output)
    return len(met)


# ---------------------------------------------------------------- 6.2


@wrong("6.2")
def heads_filled_with_a_hundred(x, context, w_q, w_k, w_v, w_o, mask=None):
    parts = [attention_filled_with(-100.0, x @ q, context @ k, context @ v, mask) for q, k, v in zip(w_q, w_k, w_v)]
    return np.hstack([head for head, _ in parts]) @ w_o, np.stack([weights for _, weights in parts])


# ---------------------------------------------------------------- 6.4


def contribution(heads, w_o, n):
    return heads[n] @ np.split(w_o, len(heads))[n]


def rows_closed_up(full, heads, w_o, n):
    rest = np.delete(heads, n, axis=0)
    return sum(contribution(rest, w_o[: rest.shape[0] * rest.shape[2]], place) for place in range(len(rest)))


@pytest.mark.parametrize(
    "without",
    [
        rows_closed_up,
        lambda full, heads, w_o, n: full - contribution(heads, w_o, len(heads) - 1),
        lambda full, heads, w_o, n: full - contribution(heads, w_o, n if n == len(heads) - 1 else 0),
    ],
)
def test_any_head_may_be_silenced(without):
    must_not_pass("6.4", with_step("6.4", "without", without), None)


# ---------------------------------------------------------------- 6.5


def cancelled_layer(seed, values=1.0, rows=1.0, dtype=float):
    """Head 1 writes along one direction, and its rows of W_O listen across it; the sizes of W_V and W_O may be chosen."""
    rng = np.random.default_rng(seed)
    along, across = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    layer = {
        "w_q": rng.normal(size=(2, 4, 2)) * 20,
        "w_k": rng.normal(size=(2, 4, 2)),
        "w_v": rng.normal(size=(2, 4, 2)) * values,
        "w_o": rng.normal(size=(4, 4)) * rows,
    }
    layer["w_v"][0] = rng.normal(size=(4, 1)) @ (turn @ along).T * values
    layer["w_o"][:2] = turn @ across @ rng.normal(size=(1, 4)) * rows
    return {name: part.astype(dtype) for name, part in layer.items()}


@pytest.mark.parametrize("seed", range(5))
def test_a_cancelled_head_may_be_of_any_size_and_precision(seed):
    must_pass("6.5", cancelled_layer(seed))
    must_pass("6.5", cancelled_layer(seed, dtype=np.float32))
    must_pass("6.5", cancelled_layer(seed, values=0.02, rows=0.02))
    must_pass("6.5", cancelled_layer(seed, values=1e-6, rows=0.1, dtype=np.float32))
    must_pass("6.5", cancelled_layer(seed, values=1e6))


@pytest.mark.parametrize(("values", "rows"), [(1.0, 1.0), (1e-6, 1e-6), (1e6, 1.0)])
def test_a_head_of_any_size_is_heard_where_nothing_cancels(values, rows):
    layer = cancelled_layer(3, values, rows)
    layer["w_o"][:2] += 0.002 * rows * np.random.default_rng(8).normal(size=(2, 4))
    must_not_pass("6.5", layer, "head 1 still heard")


# ---------------------------------------------------------------- predictions with some entries right


@pytest.mark.parametrize(
    ("id", "entries", "name"),
    [
        ("2.3", {"B": "yes", "C": "no"}, "C thought out of reach"),
        ("2.3", {"A": "No"}, "A thought out of reach"),
        ("3.6", {"weights": (7, 5)}, "weights turned round"),
        ("3.6", {"scores": [7, 5]}, "keys by queries"),
        ("6.1", {"rows of W_O": 4096}, "eight full widths joined"),
        ("6.1", {"shape of W_Q": [64, 64]}, "a matrix for a slice"),
        ("6.1", {"shape of W_Q": (512, 512)}, "every head is full width"),
        ("6.1", {"columns read": 64, "shape of W_Q": (64, 64)}, "heads get slices"),
        ("7.1", {3: 10000}, "ends at the base"),
    ],
)
def test_a_prediction_is_told_of_the_entries_that_are_wrong(id, entries, name):
    must_not_pass(id, {**find(id).reference, **entries}, name)


# ---------------------------------------------------------------- all of them


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
