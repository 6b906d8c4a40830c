"""Answers that no exercise was written with: right ones in odd styles must pass, wrong ones must not.

A wrong one with a name is met with the misconception of that name.
"""

import decimal
import fractions
from collections import Counter

import numpy as np
import pytest

from tests.exercises.held_out import HeldOut, as_tests, judged
from tests.extent import extent
from xformer_course.exercises import catalogue
from xformer_course.exercises.registry import find

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


@wrong("3.10", "every pair projected")
def scores_of_projections_shown_to_every_partner(q, k, w, w_v):
    from_queries, from_keys = q @ w[: q.shape[1]], k @ w[q.shape[1] :]
    shape = (len(q), len(k), len(w_v))
    from_queries, from_keys = np.broadcast_to(from_queries[:, None], shape), np.broadcast_to(from_keys, shape)
    return from_queries, from_keys, np.tanh(from_queries + from_keys) @ w_v


@wrong("3.10", "projections through tanh")
def scores_of_two_hidden_layers(q, k, w, w_v):
    upper, lower = np.split(w, [q.shape[1]])
    from_queries, from_keys = np.tanh(q.dot(upper)), np.tanh(k.dot(lower))
    return from_queries, from_keys, np.add.outer(from_queries @ w_v, from_keys @ w_v)


@right("3.10")
def scores_in_loops_by_the_method_dot(q, k, w, w_v):
    from_queries, from_keys = q.dot(w[: q.shape[1]]), k.dot(w[q.shape[1] :])
    scores = np.zeros((len(q), len(k)))
    for i, j in np.ndindex(scores.shape):
        scores[i, j] = np.tanh(from_queries[i] + from_keys[j]).dot(w_v)
    return from_queries, from_keys, scores


@right("3.10")
def scores_by_zeros_at_the_other_half(q, k, w, w_v):
    first = np.hstack([q, np.zeros((len(q), k.shape[1]))]) @ w
    second = np.inner(np.hstack([np.zeros((len(k), q.shape[1])), k]), w.T)
    return [first, second, np.tanh(first[:, None] + second) @ w_v]


@right("3.10")
def scores_in_single_precision(q, k, w, w_v):
    q, k, w, w_v = (one.astype(np.float32) for one in (q, k, w, w_v))
    from_queries, from_keys = q.dot(w[: q.shape[1]]), k.dot(w[q.shape[1] :])
    return from_queries, from_keys, np.tanh(from_queries[:, None] + from_keys).dot(w_v)


@right("3.10")
def scores_by_torch(q, k, w, w_v):
    torch = pytest.importorskip("torch")
    q, k, w, w_v = (torch.as_tensor(one) for one in (q, k, w, w_v))
    from_queries, from_keys = q @ w[: q.shape[1]], k @ w[q.shape[1] :]
    return from_queries, from_keys, torch.tanh(from_queries[:, None] + from_keys) @ w_v


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


# ---------------------------------------------------------------- predictions


def renamed(*answers):
    return dict(zip(find("10.3").reference, answers, strict=True))


@pytest.mark.parametrize(
    ("id", "answer"),
    [
        ("13.8", {"words a pass": 1.94, "without end": 2.0, "four ahead": 0.97, "one ahead": 1.2}),
        ("10.3", renamed(1, 0, 1, 0)),
        ("10.3", renamed(np.int64(1), False, np.True_, 0.0)),
        ("11.8", {name: np.int64(needed) for name, needed in find("11.8").reference.items()}),
        ("11.1", {"plain": 3.91, "smoothed": 3.912}),
    ],
)
def test_a_right_prediction_passes_in_any_style(id, answer):
    result = judged(id, answer)
    assert result.status == "passed", result.message


@pytest.mark.parametrize("value", [3.9, 3.92, np.log(49)])
def test_a_loss_is_asked_for_to_two_decimals(value):
    assert judged("11.1", {"plain": value, "smoothed": value}).status == "wrong"


@pytest.mark.parametrize("id", ["10.3", "11.8"])
def test_true_in_quotes_is_no_answer_and_the_message_says_so(id):
    result = judged(id, {name: str(value) for name, value in find(id).reference.items()})
    assert (result.status, result.misconception) == ("wrong", "")
    assert "rite True or False, without quotes, in place of 'True'" in result.message
    assert judged(id, {name: 2 * value for name, value in find(id).reference.items()}).status == "wrong"


MODELS, KEPT, NORMS = (find(id).reference for id in ("15.7", "15.2", "15.9"))


@pytest.mark.parametrize(
    ("id", "answer", "name"),
    [
        ("7.1", {0: 1.0, 1: 10.0, 2: 1000.0, 3: 1000.0}, ""),  # each of them belongs to the next pair
        ("7.1", {0: 1000.0, 1: 10.0, 2: 100.0, 3: 1000.0}, ""),  # the right four numbers
        ("7.1", {0: 1.0, 1: 10.0, 2: 100.0, 3: 10000.0}, "ends at the base"),
        ("10.1", {"Elle": 1, "ne": 2, "les": 4, "voit": 3, "pas": 2}, ""),  # numbers that begin at 1
        ("10.1", {"Elle": 0, "ne": 2, "les": 4, "voit": 3, "pas": 4}, ""),  # counted along, and yet the pronoun is right
        ("10.1", {"Elle": 0, "ne": 1, "les": 2, "voit": 3, "pas": 2}, "word by word"),
        ("10.3", renamed(False, False, True, False), "links not looked at"),  # a name never changes
        (
            "14.4",
            {"steps": 2.0, "tokens": 2.0, "steps, batch 4 times critical": 1.25, "tokens, batch 4 times critical": 1.0},
            "tokens do not change",  # a quarter of the steps
        ),
        ("15.2", dict.fromkeys(KEPT, KEPT["without"]), ""),  # under each other's name
        ("15.7", {**MODELS, "BERT": "past", "Whisper decoder": "all"}, ""),  # each answer is the opposite
        ("15.9", {**NORMS, "LayerNorm": NORMS["RMSNorm"]}, ""),  # under each other's name
    ],
)
def test_what_is_said_of_a_whole_answer_is_true_of_all_of_it(id, answer, name):
    result = judged(id, answer)
    assert result.status in ("wrong", "misconception") and result.misconception == name, result.message


def test_a_unit_that_another_normal_form_replaces_is_no_capital():
    assert judged("10.5", ("\u00b5", "\u03bc")).misconception == "another normal form"
    assert judged("10.5", ("\ufb01", "fi")).misconception == "another normal form"
    assert judged("10.5", ("C", "c")).misconception == "case folded"


# ---------------------------------------------------------------- no diagnosis where none is true


FALSELY_TOLD = []


def told_nothing_false(id):
    """Marks a wrong answer that shares a symptom with a misconception and not its cause: it is told the first case that fails."""
    return lambda answer: FALSELY_TOLD.append(pytest.param(id, answer, id=f"{id}-{answer.__name__}")) or answer


@told_nothing_false("9.4")
def shifted_with_padding_0(sentences, pad_id, bos_id, eos_id):
    return find("9.4").reference(sentences, 0, bos_id, eos_id)


@told_nothing_false("9.7")
def mask_of_ids_above_0(target_in, pad_id):
    return np.tri(target_in.shape[1], dtype=bool) & (target_in.numpy() != 0)[:, None]


def best_extensions(totals, log_probs):
    extended = totals[:, None] + log_probs
    best = np.argsort(-extended, axis=None)[: len(totals)]
    return extended.ravel()[best], *np.divmod(best, log_probs.shape[1])


@told_nothing_false("12.3")
def extensions_turned_round(totals, log_probs):
    return tuple(part[::-1] for part in best_extensions(totals, log_probs))


@told_nothing_false("12.3")
def extensions_with_the_newest_log_p(totals, log_probs):
    sums, parents, words = best_extensions(totals, log_probs)
    return sums - totals[parents], parents, words


@told_nothing_false("15.1")
def last_vector_of_each_row(x, mask):
    return x[:, -1]


@pytest.mark.parametrize(("id", "answer"), FALSELY_TOLD)
def test_an_answer_with_another_mistake_is_not_taken_for_a_misconception(id, answer):
    for seed in (0, 1):
        result = judged(id, answer, seed)
        assert (result.status, result.misconception) == ("wrong", ""), result.message


# ---------------------------------------------------------------- work in place, where no statement forbids it


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


@right("9.12")
def slowed_in_place(places, dim, factor, how):
    base = 10000.0 if how == "interpolate" else 10000.0 * factor ** (dim / (dim - 2))
    if how == "interpolate" and places.dtype == float:
        places /= factor
    elif how == "interpolate":
        places = places / factor
    return places[:, None] / base ** (2 * np.arange(dim // 2) / dim)


@right("11.2")
def smoothed_row_by_row(targets, vocab_size, epsilon):
    wanted = np.full((len(targets), vocab_size), epsilon / vocab_size)
    wanted[np.arange(len(targets)), targets] += 1 - epsilon
    targets.fill(0)
    return wanted


@right("11.3")
def mean_with_padding_set_to_0(losses, real):
    losses[~real] = 0.0
    return losses.sum() / real.sum()


@right("12.7")
def nucleus_in_place(probabilities, p):
    likeliest_first = np.argsort(-probabilities)
    before = np.cumsum(probabilities[likeliest_first]) - probabilities[likeliest_first]
    probabilities[likeliest_first[before >= p]] = 0.0
    probabilities /= probabilities.sum()
    return probabilities


@right("12.11")
def judged_in_place(losses, cost, draws):
    chosen = losses[:, 0].argsort()[: draws.shape[1]]
    alone, together = losses[chosen, 1].sum(), cost(chosen)
    draws.sort(axis=1)
    return alone, together, np.mean([cost(draw) <= together for draw in draws])


@right("12.12")
def look_with_padding_set_to_0(states, notes, real, w, u, v):
    notes[~real] = 0.0
    scores = np.tanh((states @ w.T)[:, None] + notes @ u.T) @ v
    scores[~real] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("bs,bsm->bm", weights, notes), weights


@right("12.13")
def settled_by_popping(ours, theirs):
    gaps = np.array([score - theirs.pop(seed) for seed, score in ours.items() if seed in theirs])
    ours.clear()
    half = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}[len(gaps)] * gaps.std(ddof=1) / len(gaps) ** 0.5
    low, high = gaps.mean() - half, gaps.mean() + half
    return low, high, "more" if low > 0 else "less" if high < 0 else "open"


# ---------------------------------------------------------------- 9.10


def blank_cell(*sizes):
    return next(iter(find("9.10").alternatives.values()))(*sizes)


@right("9.10")
def model_with_a_frozen_table_of_places(vocab_size, d_model, num_heads, d_ff, num_layers):
    import torch

    model = blank_cell(vocab_size, d_model, num_heads, d_ff, num_layers)
    angles = torch.arange(10.0)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    model.places = torch.nn.Parameter(table, requires_grad=False)
    model.embed = lambda ids: model.table(ids) * d_model**0.5 + model.places[: ids.shape[1]]
    return model


@wrong("9.10")
def model_that_normalises_the_memory_again(*sizes):
    model = blank_cell(*sizes)
    for layer in model.decoder:
        whole, norm = layer.forward, layer.norms[0]
        layer.forward = lambda x, mask, memory, read, whole=whole, norm=norm: whole(x, mask, norm(memory), read)
    return model


@pytest.mark.parametrize("spoil", ["a matrix too many", "layers out of sight", "no model"])
def test_a_complaint_about_the_model_ends_in_one_full_stop(spoil):
    torch = pytest.importorskip("torch")

    def build(*sizes):
        model = blank_cell(*sizes)
        if spoil == "a matrix too many":
            model.more = torch.nn.Linear(5, 3)
        elif spoil == "layers out of sight":
            layers = list(model.encoder)
            del model.encoder
            model.__dict__["encoder"] = layers
        return list(model.parameters()) if spoil == "no model" else model

    result = judged("9.10", build)
    assert result.status == "wrong" and ".." not in result.message.replace("...", ""), result.message


# ---------------------------------------------------------------- cases that were missing


@wrong("8.3")
def norm_without_its_eps(x, gain, shift, eps=1e-5):
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + shift


@wrong("9.6")
def softmax_that_stays_in_float32(scores, mask):
    import torch

    kept = scores.float() if scores.dtype != torch.float64 else scores
    return torch.where(mask, torch.where(mask, kept, torch.finfo(kept.dtype).min).softmax(dim=-1), 0.0)


def groups_in_passes(passes):
    def groups(pairs):
        names = list(range(len(pairs)))
        for _ in range(passes):
            for a, one in enumerate(pairs):
                for b, other in enumerate(pairs):
                    if one[0] == other[0] or one[1] == other[1]:
                        names[a] = names[b] = min(names[a], names[b])
        return names

    return groups


@wrong("10.2")
def groups_in_one_pass(pairs):
    return groups_in_passes(1)(pairs)


@wrong("10.2")
def groups_in_two_passes(pairs):
    return groups_in_passes(2)(pairs)


@wrong("10.2")
def groups_in_five_passes(pairs):
    return groups_in_passes(5)(pairs)


@wrong("10.4")
def merge_in_a_string(ids, pair, new_id):
    return [int(word) for word in " ".join(map(str, ids)).replace(f"{pair[0]} {pair[1]}", str(new_id)).split()]


@wrong("12.1")
def said_with_the_usual_begin(next_logits, bos_id, eos_id, limit):
    return find("12.1").reference(next_logits, 1, eos_id, limit)


@wrong("12.1")
def said_with_the_usual_end(next_logits, bos_id, eos_id, limit):
    return find("12.1").reference(next_logits, bos_id, 2, limit)


@wrong("12.5")
def matches_with_a_negative_total(hypothesis, reference, n):
    return find("12.5").reference(hypothesis, reference, n)[0], len(hypothesis) - n + 1


@wrong("12.5")
def matches_in_any_order(hypothesis, reference, n):
    said, wanted = (Counter(tuple(sorted(words[i : i + n])) for i in range(len(words) - n + 1)) for words in (hypothesis, reference))
    return (said & wanted).total(), said.total()


def test_a_quotient_of_means_is_never_decided_by_a_tie_of_chance():
    def by_means(first, second, draws):
        a, b = first[draws].mean(axis=1), second[draws].mean(axis=1)
        return float(np.mean(b[:, 0] / b[:, 1] > a[:, 0] / a[:, 1]))

    for seed in extent(range(100), range(30)):
        result = judged("12.6", by_means, seed)
        assert result.status == "passed", f"seed {seed}: {result.message}"


@wrong("12.7")
def nucleus_above_p(probabilities, p):
    likeliest_first = np.argsort(-probabilities)
    before = np.cumsum(probabilities[likeliest_first]) - probabilities[likeliest_first]
    kept = np.zeros_like(probabilities)
    kept[likeliest_first[before <= p]] = probabilities[likeliest_first[before <= p]]
    return kept / kept.sum()


@wrong("15.12")
def likely_above_p(logits, k, p):
    import torch

    values, places = logits.sort(dim=-1, descending=True)
    values[:, k:] = -torch.inf
    chances = values.softmax(dim=-1)
    values[chances.cumsum(dim=-1) - chances > p] = -torch.inf
    return torch.empty_like(logits).scatter(-1, places, values)


@right("15.12")
def likely_by_log_probabilities(logits, k, p):
    import torch

    out = torch.full_like(logits, -torch.inf)
    for row, best in enumerate(logits.topk(k, dim=-1).indices.tolist()):
        chances = logits[row, best].log_softmax(dim=-1).exp().tolist()
        count = next((n for n in range(1, k) if sum(chances[:n]) >= p), k)
        out[row, best[:count]] = logits[row, best[:count]]
    return out


def look_below(highest):
    def look(states, notes, real, w, u, v):
        scores = np.tanh((states @ w.T)[:, None] + notes @ u.T) @ v
        powers = np.where(real, np.exp(np.minimum(scores - highest(scores, real), 700.0)), 0.0)
        with np.errstate(all="ignore"):
            weights = powers / powers.sum(axis=1, keepdims=True)
        return np.einsum("bs,bsm->bm", weights, notes), weights

    return look


@wrong("12.12")
def look_below_the_highest_of_the_batch(*inputs):
    return look_below(lambda scores, real: scores[real].max())(*inputs)


@wrong("12.12")
def look_below_the_highest_of_padding_too(*inputs):
    return look_below(lambda scores, real: scores.max(axis=1, keepdims=True))(*inputs)


@wrong("13.7")
def accepted_to_the_end_of_the_guess(guess, own, eos_id):
    words = find("13.7").reference(guess, own, eos_id)
    return [*own[: len(words) - 1], eos_id] if words and guess[len(words) - 1 : len(words)] == [eos_id] else words


@wrong("15.3")
def loss_with_padding_0(logits, ids, pad_id):
    return find("15.3").reference(logits, ids, 0)


# ---------------------------------------------------------------- all of them


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
