"""Answers that no exercise was written with: right ones in odd styles must pass, wrong ones must not.

A wrong one with a name is met with the misconception of that name.
"""

import decimal
import fractions

import numpy as np
import pytest

from tests.exercises.held_out import HeldOut, as_tests, judged
from xformer_course.exercises import catalogue

ANSWERS = HeldOut()
right, wrong = ANSWERS.right, ANSWERS.wrong


# ---------------------------------------------------------------- values


def exact(value, kind):
    """The same answer with every number written exactly, or None where there is no number."""
    if isinstance(value, dict):
        return {key: exact(item, kind) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(exact(item, kind) for item in value)
    if isinstance(value, np.ndarray):
        return exact(value.tolist(), kind)
    if isinstance(value, (float, int, np.number)) and not isinstance(value, bool):
        return kind(str(float(value)))
    return value


@pytest.mark.parametrize("kind", [fractions.Fraction, decimal.Decimal])
@pytest.mark.parametrize("exercise", [one for one in catalogue() if one.kind == "predict"], ids=lambda one: one.id)
def test_a_prediction_may_be_an_exact_number(exercise, kind):
    result = judged(exercise.id, exact(exercise.reference, kind))
    assert result.status == "passed", result.message


@pytest.mark.parametrize(
    "answer",
    [
        fractions.Fraction(1, 3),
        fractions.Fraction(10**400),
        decimal.Decimal("NaN"),
        [fractions.Fraction(1, 4), decimal.Decimal("0.25"), 0.25, 0.24],
        decimal.Decimal("sNaN"),
    ],
)
def test_an_exact_number_may_be_wrong(answer):
    assert judged("3.1", answer).status in ("wrong", "crashed")


@right("3.2")
def softmax_of_fractions(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    weights = raw / raw.sum(axis=axis, keepdims=True)
    return np.vectorize(fractions.Fraction, otypes=[object])(weights).tolist()


# ---------------------------------------------------------------- 10.5


@pytest.mark.parametrize(
    "twins",
    [
        ("\u2000", "\u2002"),
        ["\u2003", "\u2001"],
        ("\u0340", "\u0300"),
        ("\u212b", "\u00c5"),
        ("\u037e", ";"),
        ("\u1fef", "`"),
        ("\uf900", "\u8c48"),
    ],
)
def test_every_pair_that_the_tokenizer_makes_equal_is_accepted(twins):
    result = judged("10.5", twins)
    assert result.status == "passed", result.message


def test_the_tokenizers_agree_on_every_single_character():
    """What the check calls equal is equal for the tokenizer of the library."""
    from xformer_lib.data import Tokenizer

    tokenizer = Tokenizer.train(["one two three"], vocab_size=270)
    assert tokenizer.encode("\u2000") == tokenizer.encode("\u2002") != tokenizer.encode(" ")


@pytest.mark.parametrize("pair", [("\u2002", "\u2003"), (" ", "\u2002"), ("\u00b5", "\u03bc"), ("A", "\u0391"), ("\ufb01", "f")])
def test_pairs_that_only_look_alike_are_refused(pair):
    assert judged("10.5", pair).status in ("wrong", "misconception")


# ---------------------------------------------------------------- the rest, one by one


def exponentials(scores, mask, top):
    import torch

    raw = torch.where(mask, torch.exp(torch.where(mask, scores - top, 0.0)), 0.0)
    total = raw.sum(dim=-1, keepdim=True)
    return raw / torch.where(total == 0, 1.0, total)


@wrong("9.6", "largest of all subtracted")
def softmax_below_a_closed_top(scores, mask):
    return exponentials(scores, mask, scores.amax(dim=-1, keepdim=True).detach())


@right("9.6")
def softmax_by_logsumexp(scores, mask):
    import torch

    lowered = torch.where(mask, scores, torch.finfo(scores.dtype).min).double()
    return torch.where(mask, (lowered - lowered.logsumexp(dim=-1, keepdim=True)).exp(), 0.0).to(scores.dtype)


@wrong("9.7", "counted instead of looked at")
def mask_by_lengths(target_in, pad_id):
    import torch

    place = torch.arange(target_in.shape[1])
    lengths = (target_in != pad_id).sum(dim=1)
    return (place[None, :, None] >= place) & (place < lengths[:, None])[:, None, :]


@wrong("9.7")
def mask_up_to_the_first_padding(target_in, pad_id):
    import torch

    length = target_in.shape[1]
    real = (target_in != pad_id).long().cumprod(dim=1).bool()
    return torch.ones(length, length, dtype=torch.bool).tril() & real[:, None, :]


@right("9.7")
def mask_by_places(target_in, pad_id):
    import torch

    i = torch.arange(target_in.shape[1])
    return torch.logical_and(i[:, None] >= i, target_in.ne(pad_id).unsqueeze(1)).numpy()


@wrong("10.4", "merged in place")
def merge_in_place(ids, pair, new_id):
    position = 0
    while position < len(ids) - 1:
        if (ids[position], ids[position + 1]) == tuple(pair):
            ids[position : position + 2] = [new_id]
        position += 1
    return ids


@wrong("10.4", "merged in place")
def merge_by_deleting(ids, pair, new_id):
    result = []
    while ids:
        first = ids.pop(0)
        if ids and (first, ids[0]) == tuple(pair):
            ids.pop(0)
            first = new_id
        result.append(first)
    return result


@right("10.4")
def merge_of_a_copy(ids, pair, new_id):
    return merge_in_place(list(ids), pair, new_id)


@wrong("8.2", "dropped at p itself")
def dropout_at_p(x, p, draws, training):
    return x * (draws > p) / (1 - p) if training else x


@right("8.2")
def dropout_by_where(x, p, draws, training):
    return np.where(draws < p, 0, x * (1 / (1 - p))) if training else x.copy()


@wrong("11.3", "a loss of 0 taken for padding")
def mean_of_what_is_not_zero(losses, real):
    kept = losses * real
    return kept.sum() / (kept != 0).sum()


@wrong("11.3", "a loss of 0 taken for padding")
def mean_of_what_is_above_zero(losses, real):
    kept = np.where(real, losses, 0.0)
    return kept[kept > 0].mean()


@right("11.3")
def mean_by_average(losses, real):
    return np.average(losses, weights=real)


@right("11.3")
def mean_in_single_precision(losses, real):
    torch = pytest.importorskip("torch")
    return torch.tensor(losses, dtype=torch.float32)[torch.tensor(real)].mean().item()


@right("11.3")
def mean_by_masked_array(losses, real):
    return float(np.ma.masked_array(losses, ~real).mean())


def additive(q, k, w, w_v, joined):
    return [[float(np.tanh(joined(query, key, w)) @ w_v) for key in k] for query in q]


@wrong("3.10", "every pair projected")
def scores_by_pairs(q, k, w, w_v):
    return additive(q, k, w, w_v, lambda query, key, w: np.concatenate([query, key]) @ w)


@wrong("3.10", "every pair projected")
def scores_by_halves_in_pairs(q, k, w, w_v):
    return additive(q, k, w, w_v, lambda query, key, w: query @ w[: len(query)] + key @ w[len(query) :])


@wrong("3.10", "every pair projected")
def scores_with_the_keys_projected_for_every_query(q, k, w, w_v):
    upper, lower = np.split(w, [q.shape[1]])
    return np.stack([np.tanh(query @ upper + k @ lower) @ w_v for query in q])


@wrong("3.10", "every pair projected")
def scores_from_one_array_of_pairs(q, k, w, w_v):
    pairs = np.concatenate([np.repeat(q, len(k), axis=0), np.tile(k, (len(q), 1))], axis=1)
    return (np.tanh(pairs.dot(w)) @ w_v).reshape(len(q), len(k))


@wrong("3.10", "every pair projected")
def scores_by_einsum_over_pairs(q, k, w, w_v):
    pairs = np.concatenate([np.repeat(q[:, None], len(k), axis=1), np.repeat(k[None], len(q), axis=0)], axis=-1)
    return np.einsum("a,ija->ij", w_v, np.tanh(np.einsum("ijd,da->ija", pairs, w)))


@wrong("3.10", "every pair projected")
def scores_of_pairs_by_the_method_dot(q, k, w, w_v):
    return additive(q, k, w, w_v, lambda query, key, w: np.array([*query, *key]).dot(w))


@wrong("3.10", "every pair projected")
def scores_of_pairs_by_numbers_times_rows(q, k, w, w_v):
    return additive(q, k, w, w_v, lambda query, key, w: sum(x * row for x, row in zip(np.concatenate([query, key]), w, strict=True)))


@wrong("3.10", "every pair projected")
def scores_of_pairs_by_an_ellipsis(q, k, w, w_v):
    pairs = np.concatenate([np.repeat(q[:, None], len(k), axis=1), np.repeat(k[None], len(q), axis=0)], axis=-1)
    return np.tanh(np.einsum("...d, da -> ...a", pairs, np.concatenate([w[:1], w[1:]]))) @ w_v


@wrong("3.10", "every pair projected")
def scores_of_pairs_by_numbered_axes(q, k, w, w_v):
    pairs = np.concatenate([np.repeat(q[:, None], len(k), axis=1), np.repeat(k[None], len(q), axis=0)], axis=-1)
    return np.tanh(np.einsum(pairs, [0, 1, 2], w.copy(), [2, 3])) @ w_v


@right("3.10")
def scores_in_loops_by_the_method_dot(q, k, w, w_v):
    from_queries, from_keys = q.dot(w[: q.shape[1]]), k.dot(w[q.shape[1] :])
    scores = np.zeros((len(q), len(k)))
    for i, j in np.ndindex(scores.shape):
        scores[i, j] = np.tanh(from_queries[i] + from_keys[j]).dot(w_v)
    return scores


@right("3.10")
def scores_of_repeated_projections(q, k, w, w_v):
    hidden = np.repeat(q.dot(w[: q.shape[1]]), len(k), axis=0)
    hidden += np.tile(k.dot(w[q.shape[1] :]), (len(q), 1))
    np.tanh(hidden, out=hidden)
    return hidden.dot(w_v).reshape(len(q), len(k))


@right("3.10")
def scores_by_numbers_times_rows(q, k, w, w_v):
    from_queries = [sum(x * row for x, row in zip(query, w[: len(query)], strict=True)) for query in q]
    from_keys = [sum(x * row for x, row in zip(key, w[-len(key) :], strict=True)) for key in k]
    return [[float(np.tanh(a + b) @ w_v) for b in from_keys] for a in from_queries]


@right("3.10")
def scores_column_by_column(q, k, w, w_v):
    upper, lower = w[: q.shape[1]], w[q.shape[1] :]
    columns = [np.tanh((q @ upper[:, a])[:, None] + k.dot(lower[:, a])) for a in range(len(w_v))]
    return np.stack(columns, axis=-1) @ w_v


@right("3.10")
def scores_in_single_precision(q, k, w, w_v):
    q, k, w, w_v = (one.astype(np.float32) for one in (q, k, w, w_v))
    return np.tanh(q.dot(w[: q.shape[1]])[:, None] + k.dot(w[q.shape[1] :])).dot(w_v)


@right("3.10")
def scores_row_by_row(q, k, w, w_v):
    from_queries, from_keys = [row @ w[: q.shape[1]] for row in q], [row @ w[q.shape[1] :] for row in k]
    return [[np.tanh(a + b) @ w_v for b in from_keys] for a in from_queries]


@right("3.10")
def scores_turned(q, k, w, w_v):
    cut = q.shape[1]
    a, b = w.T[:, :cut] @ q.T, w.T[:, cut:].dot(k.T)
    return np.tensordot(w_v, np.tanh(a[:, :, None] + b[:, None, :]), axes=1)


@right("3.10")
def scores_by_zeros_at_the_other_half(q, k, w, w_v):
    first = np.hstack([q, np.zeros((len(q), k.shape[1]))]) @ w
    second = np.inner(np.hstack([np.zeros((len(k), q.shape[1])), k]), w.T)
    return np.tanh(first[:, None] + second) @ w_v


@right("3.10")
def scores_by_the_method_dot(q, k, w, w_v):
    upper, lower = w[: q.shape[1]].T, w[q.shape[1] :].T
    return np.tanh(upper.dot(q.T)[:, :, None] + lower.dot(k.T)[:, None]).T.dot(w_v).T


@right("3.10")
def scores_by_products(q, k, w, w_v):
    upper, lower = w[: q.shape[1]], w[q.shape[1] :]
    a, b = (q[:, :, None] * upper).sum(axis=1), (k[:, :, None] * lower).sum(axis=1)
    return (np.tanh(a[:, None] + b) * w_v).sum(axis=-1)


@right("3.10")
def scores_by_torch(q, k, w, w_v):
    torch = pytest.importorskip("torch")
    q, k, w, w_v = (torch.as_tensor(np.array(one)) for one in (q, k, w, w_v))
    return torch.tanh((q @ w[: q.shape[1]])[:, None] + k @ w[q.shape[1] :]) @ w_v


def summary_of(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).T / w_q.shape[1] ** 0.5
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ (x @ w_v)


@right("5.6")
def summary_in_single_precision(*arrays):
    return summary_of(*(one.astype(np.float32) for one in arrays)).mean(axis=0)


@right("5.6")
def summary_by_torch_in_single_precision(*arrays):
    torch = pytest.importorskip("torch")
    x, w_q, w_k, w_v = (torch.tensor(one, dtype=torch.float32, requires_grad=True) for one in arrays)
    return torch.nn.functional.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v).sum(dim=0)


@wrong("5.6")
def summary_with_a_faint_order_in_single_precision(*arrays):
    rows = summary_of(*(one.astype(np.float32) for one in arrays))
    return rows.mean(axis=0) + np.float32(0.01) * rows[0]


@wrong("13.3", "a whole matrix first")
def band_of_the_matrix(q, k, window):
    whole = q @ k.T / np.sqrt(q.shape[1])
    j = np.arange(len(q))[:, None] + np.arange(-window, window + 1)
    inside = (j >= 0) & (j < len(q))
    return np.where(inside, np.take_along_axis(whole, np.where(inside, j, 0), axis=1), -np.inf)


@wrong("13.3", "a whole matrix first")
def band_by_a_mask(q, k, window):
    length = len(q)
    band = np.full((length, 2 * window + 1), -np.inf)
    gap = np.arange(length) - np.arange(length)[:, None]
    for i, j in np.argwhere(abs(gap) <= window):
        band[i, j - i + window] = q[i] @ k[j] / q.shape[1] ** 0.5
    return band


@wrong("13.3", "a whole matrix first")
def band_of_lists(q, k, window):
    whole = [(row @ k.T / len(row) ** 0.5).tolist() for row in q]
    return [[row[j] if 0 <= j < len(row) else -np.inf for j in range(i - window, i + window + 1)] for i, row in enumerate(whole)]


@wrong("13.3", "a whole matrix first")
def band_of_the_matrix_by_torch(q, k, window):
    torch = pytest.importorskip("torch")
    whole = (torch.from_numpy(q) @ torch.from_numpy(k).T / q.shape[1] ** 0.5).numpy()
    j = np.arange(len(q))[:, None] + np.arange(-window, window + 1)
    return np.where((j >= 0) & (j < len(q)), whole[np.arange(len(q))[:, None], j.clip(0, len(q) - 1)], -np.inf)


@wrong("13.3", "a whole matrix first")
def band_by_a_mask_of_torch(q, k, window):
    torch = pytest.importorskip("torch")
    near = torch.ones(len(q), len(q), dtype=torch.bool).triu(-window).tril(window)
    band = np.full((len(q), 2 * window + 1), -np.inf)
    for i, j in near.nonzero().tolist():
        band[i, j - i + window] = q[i] @ k[j] / q.shape[1] ** 0.5
    return band


@right("13.3")
def band_by_rows(q, k, window):
    lists = []
    for i, query in enumerate(q):
        lists.append(
            [float(query @ k[j]) / len(query) ** 0.5 if 0 <= j < len(k) else float("-inf") for j in range(i - window, i + window + 1)]
        )
    return lists


@right("13.3")
def band_by_columns(q, k, window):
    columns = []
    for shift in range(-window, window + 1):
        column = np.full(len(q), -np.inf)
        here = slice(max(0, -shift), max(0, len(q) - max(0, shift)))
        there = slice(max(0, shift), max(0, len(q) + min(0, shift)))
        column[here] = np.einsum("ld,ld->l", q[here], k[there])
        columns.append(column)
    return np.stack(columns, axis=1) / np.sqrt(q.shape[1])


@right("13.3")
def band_by_torch(q, k, window):
    torch = pytest.importorskip("torch")
    padded = torch.nn.functional.pad(torch.from_numpy(k), (0, 0, window, window))
    valid = torch.nn.functional.pad(torch.ones(len(k), dtype=torch.bool), (window, window)).unfold(0, 2 * window + 1, 1)
    scores = torch.einsum("ld,ldc->lc", torch.from_numpy(q), padded.unfold(0, 2 * window + 1, 1)) / q.shape[1] ** 0.5
    return scores.masked_fill(~valid, -torch.inf)


@wrong("15.8", "everything computed, one kept")
def mixture_of_all(x, router, experts):
    import torch

    gates = (x @ router).softmax(dim=-1)
    outputs = torch.stack([expert(x) for expert in experts], dim=1)
    best = gates.argmax(dim=-1)
    return gates.gather(1, best[:, None]) * outputs[torch.arange(len(x)), best]


@wrong("15.8", "everything computed, one kept")
def mixture_by_one_hot(x, router, experts):
    import torch

    gates = (x @ router).softmax(dim=-1)
    kept = gates * torch.nn.functional.one_hot(gates.argmax(dim=-1), len(experts))
    return sum(kept[:, number, None] * expert(x) for number, expert in enumerate(experts))


@wrong("15.8", "everything computed, one kept")
def mixture_of_all_for_each_token(x, router, experts):
    import torch

    rows = []
    for token in x:
        gates = torch.softmax(token @ router, dim=0)
        rows.append([gate * expert(token) for gate, expert in zip(gates, experts)][int(gates.argmax())])
    return torch.stack(rows)


@right("15.8")
def mixture_sorted(x, router, experts):
    import torch

    gate, chosen = (x @ router).softmax(dim=1).topk(1)
    order = chosen[:, 0].argsort()
    pieces = x[order].split(torch.bincount(chosen[:, 0], minlength=len(experts)).tolist())
    return gate * torch.cat([expert(piece) for expert, piece in zip(experts, pieces)])[order.argsort()]


@right("15.8")
def mixture_by_index_add(x, router, experts):
    import torch

    gates = torch.nn.functional.softmax(x @ router, dim=-1)
    out = x.new_zeros(x.shape)
    for number in range(len(experts)):
        (rows,) = torch.where(gates.argmax(dim=-1) == number)
        if len(rows):
            out.index_add_(0, rows, gates[rows, number].unsqueeze(1) * experts[number](x[rows].reshape(1, -1, x.shape[1]))[0])
    return out.tolist()


# ---------------------------------------------------------------- all of them


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
