"""Answers to exercises of chapters 1 to 8 that the catalogue does not have: right ones in odd styles, and wrong ones."""

import fractions
import itertools
import math

import numpy as np
import pytest

from tests.exercises.held_out import HeldOut, as_tests

ANSWERS = HeldOut()
right, wrong, table = ANSWERS.right, ANSWERS.wrong, ANSWERS.table


def softmax(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raw / raw.sum(axis=axis, keepdims=True)


def attention_filled_with(fill, q, k, v, mask=None):
    scores = q @ k.T / q.shape[1] ** 0.5
    weights = softmax(scores if mask is None else np.where(mask, scores, fill))
    if mask is not None:
        weights[~mask.any(axis=1)] = 0
    return weights @ v, weights


def rotated(x, positions, base=10000.0):
    angles = np.outer(positions, float(base) ** (-np.arange(0, x.shape[1], 2) / x.shape[1]))
    turned = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=2).reshape(x.shape)


@wrong("2.2")
def lookup_lowered_by_the_largest_size(query, keys, values, temperature=1.0):
    scores = keys @ query
    raw = np.exp((scores - abs(scores).max()) / temperature)
    weights = raw / raw.sum()
    return weights @ values, weights


@wrong("2.5")
def regression_by_the_nearest_where_nothing_is_left(x, xs, ys, bandwidth):
    far = abs(x - xs)
    kernel = np.exp(-(far**2) / (2 * bandwidth**2))
    return (kernel * ys).sum() / kernel.sum() if kernel.sum() else ys[np.isclose(far, far.min())].mean()


@wrong("3.2")
def softmax_lowered_by_the_first_score(scores, axis=-1):
    raw = np.exp(scores - np.take(scores, [0], axis=axis))
    return raw / raw.sum(axis=axis, keepdims=True)


@right("3.2")
def softmax_of_fractions(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    weights = raw / raw.sum(axis=axis, keepdims=True)
    return np.vectorize(fractions.Fraction, otypes=[object])(weights).tolist()


@right("3.9")
def attention_by_torch_in_single_precision(q, k, v, mask=None):
    torch = pytest.importorskip("torch")
    q, k, v = (torch.tensor(one, dtype=torch.float32) for one in (q, k, v))
    scores = q @ k.T / q.shape[1] ** 0.5
    weights = (scores if mask is None else scores.masked_fill(~torch.tensor(mask), -torch.inf)).softmax(-1).nan_to_num()
    return weights @ v, weights


table(
    "3.9",
    wrong={
        "attention filled with thirty": lambda q, k, v, mask=None: attention_filled_with(-30.0, q, k, v, mask),
        "attention filled with a hundred": lambda q, k, v, mask=None: attention_filled_with(-100.0, q, k, v, mask),
    },
)


table(
    "3.6",
    right={
        "mended in single precision": lambda q, k, v, mask: attention_filled_with(
            np.float32(-1e30), *(one.astype(np.float32) for one in (q, k, v)), mask
        )
    },
    wrong={"mended with twenty five": lambda q, k, v, mask: attention_filled_with(-25.0, q, k, v, mask)},
)


table("3.7", wrong={"recent as numbers": lambda length, window: np.tri(length) - np.tri(length, k=-window - 1)})


@wrong("3.10", "every pair projected")
def scores_of_projections_shown_to_every_partner(q, k, w, w_v):
    from_queries, from_keys = q @ w[: q.shape[1]], k @ w[q.shape[1] :]
    shape = (len(q), len(k), len(w_v))
    from_queries, from_keys = np.broadcast_to(from_queries[:, None], shape), np.broadcast_to(from_keys, shape)
    return from_queries, from_keys, np.tanh(from_queries + from_keys) @ w_v


@right("3.10")
def scores_in_single_precision(q, k, w, w_v):
    q, k, w, w_v = (one.astype(np.float32) for one in (q, k, w, w_v))
    from_queries, from_keys = q.dot(w[: q.shape[1]]), k.dot(w[q.shape[1] :])
    return from_queries, from_keys, np.tanh(from_queries[:, None] + from_keys).dot(w_v)


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


@right("4.1")
def self_attention_that_writes_into_x(x, w_q, w_k, w_v, mask=None):
    q, k = x @ w_q, x @ w_k
    values = x @ w_v
    x[:] = 0.0
    scores = q @ k.T / np.sqrt(w_q.shape[1])
    if mask is not None:
        scores[~mask] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return weights @ values, weights


@right("4.1")
def self_attention_by_torch(x, w_q, w_k, w_v, mask=None):
    torch = pytest.importorskip("torch")
    x, w_q, w_k, w_v = map(torch.as_tensor, (x, w_q, w_k, w_v))
    bias = 0 if mask is None else torch.zeros(mask.shape, dtype=x.dtype).masked_fill(~torch.as_tensor(mask), -torch.inf)
    weights = torch.softmax((x @ w_q @ w_k.T @ x.T) * w_q.shape[1] ** -0.5 + bias, dim=1)
    return weights @ (x @ w_v), weights


@wrong("4.1")
def self_attention_with_the_mask_turned(x, w_q, w_k, w_v, mask=None):
    scores = x @ w_q @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    weights = softmax(scores if mask is None else np.where(mask.T, scores, -1e9))
    return weights @ x @ w_v, weights


def crossed(x, context, w_q, w_k, w_v, scale=None, axis=-1):
    q, k = x @ w_q, context @ w_k
    weights = softmax(q @ k.T / np.sqrt(scale or q.shape[1]), axis)
    return weights @ (context @ w_v), weights


@wrong("4.3")
def cross_attention_cut_to_the_shorter(x, context, w_q, w_k, w_v):
    output, weights = crossed(x, context, w_q, w_k, w_v)
    short = min(len(x), len(context))
    return output[:short], weights[:short]


table(
    "4.3",
    right={
        "cross attention of lists": lambda x, context, w_q, w_k, w_v: tuple(part.tolist() for part in crossed(x, context, w_q, w_k, w_v))
    },
)


table(
    "4.5",
    right={
        "layers as a float": lambda length, window: np.ceil((length - 1) / window),
        "layers by negative floor": lambda length, window: np.array(-((1 - length) // window)),
    },
    wrong={"layers rounded": lambda length, window: round((length - 1) / window)},
)


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


def summary_of(x, w_q, w_k, w_v):
    return softmax((x @ w_q) @ (x @ w_k).T / w_q.shape[1] ** 0.5) @ (x @ w_v)


@right("5.7")
def summary_with_keys_around_zero(x, w_q, w_k, w_v):
    keys = x @ w_k
    return (softmax(x @ w_q @ (keys - keys.mean(axis=1, keepdims=True)).T) @ (x @ w_v)).mean(axis=0)


@wrong("5.7", "queries without influence")
def summary_with_columns_that_add_up(x, w_q, w_k, w_v):
    return (softmax((x @ w_q) @ (x @ w_k).T, axis=0) @ (x @ w_v)).sum(axis=0)


@right("5.7")
def summary_by_torch_in_single_precision(*arrays):
    torch = pytest.importorskip("torch")
    x, w_q, w_k, w_v = (torch.tensor(one, dtype=torch.float32, requires_grad=True) for one in arrays)
    return torch.nn.functional.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v).sum(dim=0)


@wrong("5.7")
def summary_with_a_faint_order_in_single_precision(*arrays):
    rows = summary_of(*(one.astype(np.float32) for one in arrays))
    return rows.mean(axis=0) + np.float32(0.01) * rows[0]


table("5.7", wrong={"summary by the spread": lambda *arrays: summary_of(*arrays).std(axis=0)})


table(
    "5.9",
    wrong={"symmetric and a circle": lambda mask: bool((mask == mask.T).all() and (np.roll(mask, (1, 1), axis=(0, 1)) == mask).all())},
)


@wrong("5.14")
def outputs_within_a_hundredth(layer, x):
    met = []
    for order in itertools.permutations(range(len(x))):
        output = layer(x[list(order)])
        if not any(np.allclose(output, other, atol=0.01) for other in met):
            met.append(output)
    return len(met)


@wrong("6.2")
def heads_filled_with_a_hundred(x, context, w_q, w_k, w_v, w_o, mask=None):
    parts = [attention_filled_with(-100.0, x @ q, context @ k, context @ v, mask) for q, k, v in zip(w_q, w_k, w_v)]
    return np.hstack([head for head, _ in parts]) @ w_o, np.stack([weights for _, weights in parts])


def many_heads(x, context, w_q, w_k, w_v, w_o, mask, *, scale=None, mask_of=lambda mask, n: mask):
    heads, maps = [], []
    for n in range(len(w_q)):
        scores = (x @ w_q[n]) @ (context @ w_k[n]).T / math.sqrt(scale or w_q.shape[2])
        mine = None if mask is None else mask_of(mask, n)
        maps.append(softmax(scores if mine is None else np.where(mine, scores, -np.inf)))
        heads.append(maps[-1] @ context @ w_v[n])
    return np.hstack(heads) @ w_o, np.stack(maps)


@right("6.2")
def heads_one_by_one(x, context, w_q, w_k, w_v, w_o, mask=None):
    output, weights = many_heads(x, context, w_q, w_k, w_v, w_o, mask)
    return output.astype(np.longdouble), list(weights)


@wrong("6.2")
def heads_masked_in_the_first(x, context, w_q, w_k, w_v, w_o, mask=None):
    return many_heads(x, context, w_q, w_k, w_v, w_o, mask, mask_of=lambda mask, n: mask if n == 0 else None)


@right("6.3")
def wide_heads_by_split(x, w_q, w_k, w_v, w_o, num_heads):
    triples = zip(*(np.split(x @ wide, num_heads, axis=1) for wide in (w_q, w_k, w_v)))
    rows = np.split(w_o, num_heads)
    return sum(softmax(q @ k.T / q.shape[1] ** 0.5) @ v @ part for (q, k, v), part in zip(triples, rows)).tolist()


@right("7.5")
def rotary_by_matrices(x, positions, base=10000.0):
    rows = []
    for row, place in zip(x, positions):
        pieces = []
        for k in range(len(row) // 2):
            angle = place * base ** (-2 * k / len(row))
            pieces += (np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ row[2 * k : 2 * k + 2]).tolist()
        rows.append(pieces)
    return rows


table(
    "7.5",
    wrong={
        "rotary sorted": lambda x, positions, base=10000.0: rotated(x, np.sort(positions), base),
        "rotary with the base fixed": lambda x, positions, base=10000.0: rotated(x, positions),
    },
)


@wrong("7.6")
def mended_for_two_pairs_alone(x, positions, base=10000.0):
    slow = base ** (-2 / x.shape[1])
    angles = positions[:, None] * np.resize([1, 1, slow, slow], x.shape[1])
    partner = np.stack([-x[:, 1::2], x[:, 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + partner * np.sin(angles)


table("7.6", right={"mended by another way": lambda x, positions, base=10000.0: rotated(x, positions, base).astype(np.float64).tolist()})


@right("8.1")
def split_by_loops(x, num_heads):
    return [[[row[h * len(row) // num_heads : (h + 1) * len(row) // num_heads] for row in one] for h in range(num_heads)] for one in x]


@wrong("8.2")
def norm_without_its_eps(x, gain, shift, eps=1e-5):
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + shift


@right("8.2")
def norm_by_torch(x, gain, shift, eps=1e-5):
    torch = pytest.importorskip("torch")
    x, gain, shift = (torch.as_tensor(one, dtype=torch.float64) for one in (x, gain, shift))
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, shift, eps)


@right("8.5")
def bias_by_loops(q, key_table, key_len, start):
    c = len(key_table) // 2
    return [
        [
            [float(row @ key_table[c + min(c, max(-c, j - start - i))]) / len(row) ** 0.5 for j in range(key_len)]
            for i, row in enumerate(head)
        ]
        for head in q
    ]


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
