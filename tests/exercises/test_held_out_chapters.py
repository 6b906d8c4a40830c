"""Three right answers in odd styles and three wrong ones to exercises of chapters 4, 6, 7, 9, 11, 12 and 14.

None of them was at hand when the exercise was written.
"""

import functools
import heapq
import itertools
import math
from collections import Counter

import numpy as np
import pytest

from tests.exercises.held_out import HeldOut, as_tests, must_not_pass, must_pass

ANSWERS = HeldOut()
right, wrong = ANSWERS.right, ANSWERS.wrong


def softmax(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raw / raw.sum(axis=axis, keepdims=True)


# ---------------------------------------------------------------- 4.1


@right("4.1")
def self_attention_by_einsum(x, w_q, w_k, w_v, mask=None):
    scores = np.einsum("im,md,jn,nd->ij", x, w_q, x, w_k, optimize=True) / math.sqrt(w_q.shape[1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e300))
    return [np.einsum("ij,jm,me->ie", weights, x, w_v), weights]


@right("4.1")
def self_attention_by_rows(x, w_q, w_k, w_v, mask=None):
    outputs, weights = [], []
    for i, word in enumerate(x):
        allowed = range(len(x)) if mask is None else np.flatnonzero(mask[i])
        raw = {j: math.exp((word @ w_q) @ (x[j] @ w_k) / w_k.shape[1] ** 0.5) for j in allowed}
        row = [raw.get(j, 0.0) / sum(raw.values()) for j in range(len(x))]
        weights.append(row)
        outputs.append(sum(weight * (other @ w_v) for weight, other in zip(row, x)))
    return outputs, weights


@right("4.1")
def self_attention_by_torch(x, w_q, w_k, w_v, mask=None):
    torch = pytest.importorskip("torch")
    x, w_q, w_k, w_v = map(torch.as_tensor, (x, w_q, w_k, w_v))
    bias = 0 if mask is None else torch.zeros(mask.shape, dtype=x.dtype).masked_fill(~torch.as_tensor(mask), -torch.inf)
    weights = torch.softmax((x @ w_q @ w_k.T @ x.T) * w_q.shape[1] ** -0.5 + bias, dim=1)
    return weights @ (x @ w_v), weights


@wrong("4.1")
def self_attention_with_scores_times_mask(x, w_q, w_k, w_v, mask=None):
    scores = x @ w_q @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    weights = softmax(scores if mask is None else scores * mask)
    return weights @ x @ w_v, weights


@wrong("4.1")
def self_attention_with_the_mask_turned(x, w_q, w_k, w_v, mask=None):
    scores = x @ w_q @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    weights = softmax(scores if mask is None else np.where(mask.T, scores, -1e9))
    return weights @ x @ w_v, weights


@wrong("4.1")
def self_attention_scaled_by_the_values(x, w_q, w_k, w_v, mask=None):
    scores = x @ w_q @ (x @ w_k).T / np.sqrt(w_v.shape[1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    return weights @ x @ w_v, weights


# ---------------------------------------------------------------- 4.3


def crossed(x, context, w_q, w_k, w_v, scale=None, axis=-1):
    q, k = x @ w_q, context @ w_k
    weights = softmax(q @ k.T / np.sqrt(scale or q.shape[1]), axis)
    return weights @ (context @ w_v), weights


@right("4.3")
def cross_attention_of_lists(x, context, w_q, w_k, w_v):
    return tuple(part.tolist() for part in crossed(x, context, w_q, w_k, w_v))


@right("4.3")
def cross_attention_values_last(x, context, w_q, w_k, w_v):
    _, weights = crossed(x, context, w_q, w_k, w_v)
    return (weights @ context) @ w_v, weights


@right("4.3")
def cross_attention_by_ufuncs(x, context, w_q, w_k, w_v):
    scores = np.multiply.outer(x @ w_q, np.ones(len(context))).transpose(0, 2, 1) * (context @ w_k)
    weights = softmax(scores.sum(axis=2) / w_k.shape[1] ** 0.5)
    return np.tensordot(weights, context @ w_v, axes=(1, 0)), weights


@wrong("4.3")
def cross_attention_scaled_by_the_context(x, context, w_q, w_k, w_v):
    return crossed(x, context, w_q, w_k, w_v, scale=context.shape[1])


@wrong("4.3")
def cross_attention_scaled_by_the_length(x, context, w_q, w_k, w_v):
    return crossed(x, context, w_q, w_k, w_v, scale=len(context))


@wrong("4.3")
def cross_attention_cut_to_the_shorter(x, context, w_q, w_k, w_v):
    output, weights = crossed(x, context, w_q, w_k, w_v)
    short = min(len(x), len(context))
    return output[:short], weights[:short]


# ---------------------------------------------------------------- 4.4


@right("4.4")
def layers_by_walking(length, window):
    layers, reached = 0, 1
    while reached < length:
        reached, layers = reached + window, layers + 1
    return layers


@right("4.4")
def layers_as_a_float(length, window):
    return np.ceil((length - 1) / window)


@right("4.4")
def layers_by_negative_floor(length, window):
    return np.array(-((1 - length) // window))


@wrong("4.4")
def layers_rounded(length, window):
    return round((length - 1) / window)


@wrong("4.4")
def layers_by_length(length, window):
    return -(-length // window) if length > 1 else 0


@wrong("4.4")
def layers_one_more(length, window):
    return (length - 1) // window + 1


# ---------------------------------------------------------------- 6.2


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


@right("6.2")
def heads_added_up(x, context, w_q, w_k, w_v, w_o, mask=None):
    _, weights = many_heads(x, context, w_q, w_k, w_v, w_o, mask)
    parts = w_o.reshape(len(w_q), -1, w_o.shape[1])
    return np.einsum("hij,jc,hce,hem->im", weights, context, w_v, parts, optimize=True), weights


@right("6.2")
def heads_by_torch(x, context, w_q, w_k, w_v, w_o, mask=None):
    torch = pytest.importorskip("torch")
    x, context, w_q, w_k, w_v, w_o = map(torch.as_tensor, (x, context, w_q, w_k, w_v, w_o))
    scores = (x @ w_q) @ (context @ w_k).mT / w_q.shape[-1] ** 0.5
    weights = (scores if mask is None else scores.masked_fill(~torch.as_tensor(mask), -torch.inf)).softmax(-1)
    return (weights @ (context @ w_v)).permute(1, 0, 2).flatten(1) @ w_o, weights


@wrong("6.2")
def heads_masked_in_the_first(x, context, w_q, w_k, w_v, w_o, mask=None):
    return many_heads(x, context, w_q, w_k, w_v, w_o, mask, mask_of=lambda mask, n: mask if n == 0 else None)


@wrong("6.2")
def heads_scaled_by_the_values(x, context, w_q, w_k, w_v, w_o, mask=None):
    return many_heads(x, context, w_q, w_k, w_v, w_o, mask, scale=w_v.shape[2])


@wrong("6.2")
def heads_scaled_by_the_model(x, context, w_q, w_k, w_v, w_o, mask=None):
    return many_heads(x, context, w_q, w_k, w_v, w_o, mask, scale=x.shape[1])


@wrong("6.2")
def heads_with_their_axis_in_the_middle(x, context, w_q, w_k, w_v, w_o, mask=None):
    output, weights = many_heads(x, context, w_q, w_k, w_v, w_o, mask)
    return output, weights.transpose(1, 0, 2)


# ---------------------------------------------------------------- 6.3


def cut_by_columns(x, w_q, w_k, w_v, w_o, num_heads, columns):
    parts = []
    for n in range(num_heads):
        q, k, v = (x @ wide[:, columns(n, wide.shape[1] // num_heads, num_heads)] for wide in (w_q, w_k, w_v))
        parts.append(softmax(q @ k.T / np.sqrt(q.shape[1])) @ v)
    return np.concatenate(parts, axis=1) @ w_o


@right("6.3")
def wide_heads_by_slices(x, w_q, w_k, w_v, w_o, num_heads):
    return cut_by_columns(x, w_q, w_k, w_v, w_o, num_heads, lambda n, width, h: slice(n * width, n * width + width))


@right("6.3")
def wide_heads_by_split(x, w_q, w_k, w_v, w_o, num_heads):
    triples = zip(*(np.split(x @ wide, num_heads, axis=1) for wide in (w_q, w_k, w_v)))
    rows = np.split(w_o, num_heads)
    return sum(softmax(q @ k.T / q.shape[1] ** 0.5) @ v @ part for (q, k, v), part in zip(triples, rows)).tolist()


@right("6.3")
def wide_heads_by_rearranged_matrices(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = (x @ wide.reshape(x.shape[1], num_heads, -1).swapaxes(0, 1) for wide in (w_q, w_k, w_v))
    heads = softmax(np.einsum("hid,hjd->hij", q, k) / np.sqrt(k.shape[2])) @ v
    return np.einsum("hie,hem->im", heads, w_o.reshape(num_heads, -1, w_o.shape[1]))


@wrong("6.3")
def wide_heads_backwards(x, w_q, w_k, w_v, w_o, num_heads):
    return cut_by_columns(x, w_q, w_k, w_v, w_o, num_heads, lambda n, width, h: slice((h - 1 - n) * width, (h - n) * width))


@wrong("6.3")
def wide_heads_in_steps(x, w_q, w_k, w_v, w_o, num_heads):
    return cut_by_columns(x, w_q, w_k, w_v, w_o, num_heads, lambda n, width, h: slice(n, None, h))


@wrong("6.3")
def wide_heads_by_axis_one(x, w_q, w_k, w_v, w_o, num_heads):
    def cut(wide):
        return wide.reshape(len(x), num_heads, -1)

    q, k, v = cut(x @ w_q), cut(x @ w_k), cut(x @ w_v)
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (weights @ v).reshape(len(x), -1) @ w_o


# ---------------------------------------------------------------- 6.5


def quiet_layer(scale):
    """Head 1 writes the same into both of its numbers, and W_O takes their difference, as loudly as it is told."""
    rng = np.random.default_rng(11)
    layer = {
        "w_q": rng.normal(size=(2, 4, 2)) * 5,
        "w_k": rng.normal(size=(2, 4, 2)),
        "w_v": rng.normal(size=(2, 4, 2)),
        "w_o": rng.normal(size=(4, 4)),
    }
    layer["w_v"][0, :, 1] = layer["w_v"][0, :, 0]
    layer["w_o"][:2] = scale * np.array([[1.0, -2.0, 3.0, 0.5], [-1.0, 2.0, -3.0, -0.5]])
    return layer


def test_a_head_that_is_cancelled_is_not_heard():
    must_pass("6.5", quiet_layer(1.0))
    must_pass("6.5", {name: part.tolist() for name, part in quiet_layer(1.0).items()})


def test_a_head_that_is_whispered_to_is_not_unheard():
    """Rows of W_O that are almost zeros are zeros by hand, and the output does change."""
    layer = quiet_layer(1.0)
    layer["w_o"][:2] = 1e-12 * np.random.default_rng(5).normal(size=(2, 4))
    must_not_pass("6.5", layer, "zero rows in W_O")
    must_not_pass("6.5", {**layer, "w_v": layer["w_v"] * 1e6}, "zero rows in W_O")


# ---------------------------------------------------------------- 7.2


@right("7.2")
def table_by_complex_numbers(length, dim, base=10000.0):
    turns = np.exp(1j * np.outer(np.arange(length), base ** (-np.arange(0, dim, 2) / dim)))
    return np.stack([turns.imag, turns.real], axis=-1).reshape(length, dim)


@right("7.2")
def table_by_loops(length, dim, base=10000.0):
    return [[(math.cos if c % 2 else math.sin)(i / base ** ((c - c % 2) / dim)) for c in range(dim)] for i in range(length)]


@right("7.2")
def table_by_shifted_sines(length, dim, base=10000.0):
    column = np.arange(dim)
    return np.sin(np.arange(length)[:, None] * np.exp(-np.log(base) * (column // 2 * 2) / dim) + column % 2 * np.pi / 2)


@wrong("7.2")
def table_of_signs(length, dim, base=10000.0):
    table = np.array(table_by_loops(length, dim, base)).reshape(length, dim)
    return np.where(np.arange(dim) % 2, table, -table)


@wrong("7.2")
def table_with_degrees(length, dim, base=10000.0):
    return np.array(
        [[(math.cos if c % 2 else math.sin)(math.radians(i / base ** ((c - c % 2) / dim))) for c in range(dim)] for i in range(length)]
    )


@wrong("7.2")
def table_turned(length, dim, base=10000.0):
    return np.array(table_by_loops(length, dim, base)).T


# ---------------------------------------------------------------- 7.4


def rotated(x, positions, base=10000.0):
    angles = np.outer(positions, float(base) ** (-np.arange(0, x.shape[1], 2) / x.shape[1]))
    turned = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=2).reshape(x.shape)


@right("7.4")
def rotary_by_complex_numbers(x, positions, base=10000.0):
    return rotated(x, positions, base)


@right("7.4")
def rotary_by_matrices(x, positions, base=10000.0):
    rows = []
    for row, place in zip(x, positions):
        pieces = []
        for k in range(len(row) // 2):
            angle = place * base ** (-2 * k / len(row))
            pieces += (np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ row[2 * k : 2 * k + 2]).tolist()
        rows.append(pieces)
    return rows


@right("7.4")
def rotary_of_a_copy(x, positions, base=10000.0):
    x = x.copy()
    angles = positions[:, None] * base ** (-np.arange(0, x.shape[1], 2) / x.shape[1])
    even, odd = x[:, ::2].copy(), x[:, 1::2].copy()
    x[:, ::2] *= np.cos(angles)
    x[:, ::2] -= odd * np.sin(angles)
    x[:, 1::2] *= np.cos(angles)
    x[:, 1::2] += even * np.sin(angles)
    return x


@wrong("7.4")
def rotary_from_the_first(x, positions, base=10000.0):
    return rotated(x, positions - positions[0], base)


@wrong("7.4")
def rotary_sorted(x, positions, base=10000.0):
    return rotated(x, np.sort(positions), base)


@wrong("7.4")
def rotary_with_the_base_fixed(x, positions, base=10000.0):
    return rotated(x, positions)


@wrong("7.4")
def rotary_without_sign(x, positions, base=10000.0):
    return rotated(x, np.abs(positions), base) * np.array([1.0, -1.0] * (x.shape[1] // 2))


# ---------------------------------------------------------------- 7.5


@right("7.5")
def mended_by_repeat(x, positions, base=10000.0):
    angles = positions[:, None] * np.repeat(base ** (-np.arange(0, x.shape[1], 2) / x.shape[1]), 2)
    partner = np.stack([-x[:, 1::2], x[:, 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + partner * np.sin(angles)


@right("7.5")
def mended_by_another_way(x, positions, base=10000.0):
    return rotated(x, positions, base).astype(np.float64).tolist()


@right("7.5")
def mended_by_kron(x, positions, base=10000.0):
    angles = np.kron(positions[:, None] * base ** (-np.arange(0, x.shape[1], 2) / x.shape[1]), [1, 1])
    swap = np.kron(np.eye(x.shape[1] // 2), [[0, 1], [-1, 0]])
    return x * np.cos(angles) + x @ swap * np.sin(angles)


@wrong("7.5")
def mended_with_tiled_angles_in_reverse(x, positions, base=10000.0):
    angles = positions[:, None] * np.repeat(base ** (-np.arange(0, x.shape[1], 2) / x.shape[1]), 2)[::-1]
    partner = np.stack([-x[:, 1::2], x[:, 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + partner * np.sin(angles)


@wrong("7.5")
def mended_for_two_pairs_alone(x, positions, base=10000.0):
    slow = base ** (-2 / x.shape[1])
    angles = positions[:, None] * np.resize([1, 1, slow, slow], x.shape[1])
    partner = np.stack([-x[:, 1::2], x[:, 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + partner * np.sin(angles)


@wrong("7.5")
def mended_by_roll(x, positions, base=10000.0):
    angles = positions[:, None] * np.repeat(base ** (-np.arange(0, x.shape[1], 2) / x.shape[1]), 2)
    return x * np.cos(angles) + np.roll(x, 1, axis=1) * np.sin(angles) * np.resize([-1, 1], x.shape[1])


# ---------------------------------------------------------------- 9.2


@right("9.2")
def embedded_by_one_hot(ids, weight, positions):
    torch = pytest.importorskip("torch")
    hot = torch.nn.functional.one_hot(ids, len(weight)).to(weight.dtype)
    return torch.add(positions[torch.arange(ids.size(1))], hot @ weight, alpha=math.sqrt(weight.size(1)))


@right("9.2")
def embedded_in_numpy(ids, weight, positions):
    ids, weight, positions = (np.asarray(one) for one in (ids, weight, positions))
    return weight[ids] * weight.shape[1] ** 0.5 + positions[: ids.shape[1]]


@right("9.2")
def embedded_row_by_row(ids, weight, positions):
    return [[(weight[i] * weight.shape[1] ** 0.5 + row).tolist() for i, row in zip(line.tolist(), positions)] for line in ids]


@wrong("9.2")
def embedded_with_the_last_positions(ids, weight, positions):
    return weight[ids] * weight.shape[1] ** 0.5 + positions[-ids.shape[1] :]


@wrong("9.2")
def embedded_with_one_position_a_sentence(ids, weight, positions):
    return weight[ids] * weight.shape[1] ** 0.5 + positions[: len(ids)][:, None]


@wrong("9.2")
def embedded_and_scaled_by_the_length(ids, weight, positions):
    return weight[ids] * ids.shape[1] ** 0.5 + positions[: ids.shape[1]]


# ---------------------------------------------------------------- 9.3


@right("9.3")
def stack_by_reduce(x, sublayers, norms, order):
    if order == "post":
        return functools.reduce(lambda x, pair: pair[1](x + pair[0](x)), zip(sublayers, norms), x)
    return norms[-1](functools.reduce(lambda x, pair: x + pair[0](pair[1](x)), zip(sublayers, norms), x))


@right("9.3")
def stack_by_recursion(x, sublayers, norms, order):
    if not sublayers:
        return norms[0](x) if order == "pre" else x
    seen = norms[0](x) if order == "pre" else x
    x = x + sublayers[0](seen)
    return stack_by_recursion(x if order == "pre" else norms[0](x), sublayers[1:], norms[1:], order)


@right("9.3")
def stack_with_a_running_sum(x, sublayers, norms, order):
    norms = iter(norms)
    for sublayer in sublayers:
        norm = next(norms)
        x = norm(x + sublayer(x)) if order == "post" else sublayer(norm(x)) + x
    return (x if order == "post" else next(norms)(x)).tolist()


@wrong("9.3")
def stack_with_the_norms_one_late(x, sublayers, norms, order):
    for n, sublayer in enumerate(sublayers):
        x = norms[n](x + sublayer(x)) if order == "post" else x + sublayer(norms[n + 1](x))
    return x if order == "post" else norms[0](x)


@wrong("9.3")
def stack_backwards(x, sublayers, norms, order):
    return stack_by_reduce(x, sublayers[::-1], norms, order)


@wrong("9.3")
def stack_that_adds_the_input(x, sublayers, norms, order):
    start = x
    for sublayer, norm in zip(sublayers, norms):
        x = norm(start + sublayer(x)) if order == "post" else start + sublayer(norm(x))
    return x if order == "post" else norms[-1](x)


@wrong("9.3")
def stack_normalised_at_the_end_of_both(x, sublayers, norms, order):
    x = stack_by_reduce(x, sublayers, norms, order)
    return norms[-1](x) if order == "post" else x


# ---------------------------------------------------------------- 9.4


@right("9.4")
def shifted_by_zip_longest(sentences, pad_id, bos_id, eos_id):
    def filled(rows):  # zip_longest turns rows into columns
        return np.array(list(itertools.zip_longest(*rows, fillvalue=pad_id))).T

    return filled([[bos_id, *one] for one in sentences]), filled([[*one, eos_id] for one in sentences])


@right("9.4")
def shifted_as_lists(sentences, pad_id, bos_id, eos_id):
    longest = max(map(len, sentences))
    ends = [[*one, eos_id] + [pad_id] * (longest - len(one)) for one in sentences]
    return [[bos_id, *one] + [pad_id] * (longest - len(one)) for one in sentences], ends


@right("9.4")
def shifted_in_torch(sentences, pad_id, bos_id, eos_id):
    torch = pytest.importorskip("torch")
    pad = functools.partial(torch.nn.utils.rnn.pad_sequence, batch_first=True, padding_value=pad_id)
    return [
        pad([torch.tensor(one) for one in rows]) for rows in ([[bos_id, *one] for one in sentences], [[*one, eos_id] for one in sentences])
    ]


@wrong("9.4")
def shifted_with_zeros(sentences, pad_id, bos_id, eos_id):
    return tuple(np.where(part == pad_id, 0, part) for part in shifted_by_zip_longest(sentences, pad_id, bos_id, eos_id))


@wrong("9.4", "floats")
def shifted_as_floats(sentences, pad_id, bos_id, eos_id):
    return tuple(part.astype(float) for part in shifted_by_zip_longest(sentences, pad_id, bos_id, eos_id))


@wrong("9.4")
def shifted_and_cut_to_the_longest_sentence(sentences, pad_id, bos_id, eos_id):
    longest = max(map(len, sentences))
    return tuple(part[:, :longest] for part in shifted_by_zip_longest(sentences, pad_id, bos_id, eos_id))


@wrong("9.4", "0 taken for padding")
def shifted_with_the_padding_searched(sentences, pad_id, bos_id, eos_id):
    """Takes every id that equals the number of the padding for padding, and 0 stands in sentences, too."""
    target_in, target_out = shifted_by_zip_longest(sentences, 0, bos_id, eos_id)
    return np.where(target_in == 0, pad_id, target_in), np.where(target_out == 0, pad_id, target_out)


# ---------------------------------------------------------------- 11.2


@right("11.2")
def smoothed_by_adding(targets, vocab_size, epsilon):
    wanted = np.full((len(targets), vocab_size), epsilon / vocab_size)
    np.add.at(wanted, (np.arange(len(targets)), targets), 1 - epsilon)
    return wanted


@right("11.2")
def smoothed_by_comparing(targets, vocab_size, epsilon):
    return np.where(np.arange(vocab_size) == targets[:, None], 1 - epsilon + epsilon / vocab_size, epsilon / vocab_size)


@right("11.2")
def smoothed_by_a_mixture(targets, vocab_size, epsilon):
    return np.average(
        [np.identity(vocab_size)[targets], np.full((len(targets), vocab_size), 1 / vocab_size)], axis=0, weights=[1 - epsilon, epsilon]
    ).tolist()


@wrong("11.2")
def smoothed_and_normalised(targets, vocab_size, epsilon):
    wanted = np.eye(vocab_size)[targets] + epsilon / vocab_size
    return wanted / wanted.sum(axis=1, keepdims=True)


@wrong("11.2")
def smoothed_over_the_targets(targets, vocab_size, epsilon):
    return (1 - epsilon) * np.eye(vocab_size)[targets] + epsilon / len(targets)


@wrong("11.2")
def smoothed_with_targets_from_one(targets, vocab_size, epsilon):
    return smoothed_by_comparing(targets - 1, vocab_size, epsilon)


# ---------------------------------------------------------------- 11.5


@right("11.5")
def rate_by_the_lower_line(step, peak, warmup, total):
    return peak * min(step / warmup, (total - step) / (total - warmup))


@right("11.5")
def rate_by_interp(step, peak, warmup, total):
    return np.interp(step, [0, warmup, total], [0, peak, 0])


@right("11.5")
def rate_as_an_array(step, peak, warmup, total):
    return np.array([peak * step / warmup, peak * (total - step) / (total - warmup)])[int(step > warmup)]


@wrong("11.5")
def rate_from_zero(step, peak, warmup, total):
    return rate_by_the_lower_line(step - 1, peak, warmup, total)


@wrong("11.5")
def rate_by_cosine(step, peak, warmup, total):
    if step <= warmup:
        return peak * step / warmup
    return peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2


@wrong("11.5")
def rate_in_whole_numbers(step, peak, warmup, total):
    return peak * step / warmup if step <= warmup else peak - (step - warmup) * (peak / (total - warmup + 1))


# ---------------------------------------------------------------- 11.6


def norm_of(gradients):
    return math.sqrt(sum(float((np.asarray(one) ** 2).sum()) for one in gradients))


@right("11.6")
def clipped_by_minimum(gradients, largest):
    norm = np.linalg.norm([np.linalg.norm(one) for one in gradients])
    return [one * min(1.0, largest / max(norm, 1e-300)) for one in gradients]


@right("11.6")
def clipped_as_a_tuple(gradients, largest):
    flat = np.concatenate([np.ravel(one) for one in gradients])
    norm = np.sqrt(flat @ flat)
    return tuple(one.copy() if norm <= largest else largest * one / norm for one in gradients)


@right("11.6")
def clipped_by_hypot(gradients, largest):
    norm = math.hypot(*itertools.chain.from_iterable(np.ravel(one) for one in gradients))
    return gradients if norm <= largest else [np.divide(one, norm / largest) for one in gradients]


@right("11.6")
def clipped_in_place(gradients, largest):
    norm = norm_of(gradients)
    for one in gradients:
        if norm > largest:
            one *= largest / norm
    return gradients


@right("11.6")
def clipped_in_single_precision(gradients, largest):
    gradients = [np.asarray(one, dtype=np.float32) for one in gradients]
    norm = np.sqrt(sum((one**2).sum() for one in gradients))
    return [one * np.float32(min(1.0, largest / max(norm, 1e-30))) for one in gradients]


@right("11.6")
def clipped_by_torch_in_half_precision(gradients, largest):
    torch = pytest.importorskip("torch")
    factor = min(1.0, largest / max(norm_of(gradients), 1e-30))
    return [(torch.tensor(one) * factor).bfloat16().requires_grad_() for one in gradients]


@wrong("11.6")
def clipped_by_the_largest_array(gradients, largest):
    norm = max(np.linalg.norm(one) for one in gradients)
    return [one * min(1.0, largest / max(norm, 1e-300)) for one in gradients]


@wrong("11.6")
def clipped_with_a_little_more(gradients, largest):
    return [one * min(1.0, largest / (norm_of(gradients) + 1e-6)) for one in gradients]


@wrong("11.6")
def clipped_with_a_factor_of_nothing(gradients, largest):
    factor = largest / norm_of(gradients)  # fails on a norm of 0
    return [one * min(1.0, factor) for one in gradients]


@wrong("11.6")
def clipped_by_the_mean_square(gradients, largest):
    norm = norm_of(gradients) / math.sqrt(sum(np.size(one) for one in gradients))
    return [one * min(1.0, largest / max(norm, 1e-300)) for one in gradients]


# ---------------------------------------------------------------- 11.7


@right("11.7")
def accumulated_by_average(parts):
    return np.average([gradient for gradient, _ in parts], axis=0, weights=[tokens for _, tokens in parts])


@right("11.7")
def accumulated_step_by_step(parts):
    mean, seen = 0.0, 0
    for gradient, tokens in parts:
        seen += tokens
        mean = mean + (gradient - mean) * (tokens / seen)
    return mean


@right("11.7")
def accumulated_by_einsum(parts):
    gradients, tokens = zip(*parts)
    return np.einsum("p,p...->...", np.array(tokens) / sum(tokens), np.stack(gradients)).tolist()


@right("11.7")
def accumulated_in_place(parts):
    total = parts[0][0]
    total *= parts[0][1]
    for gradient, tokens in parts[1:]:
        total += gradient * tokens
    return total / sum(tokens for _, tokens in parts)


@wrong("11.7")
def accumulated_by_the_largest_part(parts):
    return sum(gradient * tokens for gradient, tokens in parts) / max(tokens for _, tokens in parts)


@wrong("11.7")
def accumulated_by_roots(parts):
    roots = [math.sqrt(tokens) for _, tokens in parts]
    return sum(gradient * root for (gradient, _), root in zip(parts, roots)) / sum(roots)


# ---------------------------------------------------------------- 12.1


@right("12.1")
def said_by_recursion(next_logits, bos_id, eos_id, limit):
    def more(ids):
        if len(ids) > limit:
            return ids
        word = int(np.argmax(next_logits(list(ids))))
        return ids if word == eos_id else more((*ids, word))

    return more((bos_id,))[1:]


@right("12.1")
def said_as_an_array(next_logits, bos_id, eos_id, limit):
    ids = np.array([bos_id])
    while len(ids) <= limit and (word := np.argsort(-np.asarray(next_logits(ids)), kind="stable")[0]) != eos_id:
        ids = np.append(ids, word)
    return ids[1:]


@right("12.1")
def said_by_max(next_logits, bos_id, eos_id, limit):
    ids = [bos_id]
    for _ in range(limit):
        logits = list(next_logits(tuple(ids)))
        word = logits.index(max(logits))
        if word == eos_id:
            break
        ids.append(word)
    return ids[1:]


@wrong("12.1", "words behind the end")
def said_without_eos_forever(next_logits, bos_id, eos_id, limit):
    ids = [bos_id]
    for _ in range(limit):
        ids.append(int(np.argmax(next_logits(ids))))
    return [word for word in ids[1:] if word != eos_id]


@wrong("12.1")
def said_from_the_last_three(next_logits, bos_id, eos_id, limit):
    return said_by_max(lambda ids: next_logits(ids[-3:]), bos_id, eos_id, limit)


@wrong("12.1")
def said_with_the_second_likeliest(next_logits, bos_id, eos_id, limit):
    ids = [bos_id]
    while len(ids) <= limit:
        first, second = np.argsort(-np.asarray(next_logits(ids)))[:2]
        if first == eos_id:
            break
        ids.append(int(second))
    return ids[1:]


# ---------------------------------------------------------------- 12.3


def beam_by_order(sums, best):
    parents, words = np.unravel_index(best, sums.shape)
    return sums.ravel()[best], parents, words


@right("12.3")
def beam_by_heap(totals, log_probs):
    every = ((totals[i] + log_probs[i, j], i, j) for i, j in np.ndindex(log_probs.shape))
    return tuple(zip(*heapq.nlargest(len(totals), every)))


@right("12.3")
def beam_by_partition(totals, log_probs):
    sums = np.add(totals[:, None], log_probs)
    some = np.argpartition(sums.ravel(), -len(totals))[-len(totals) :]
    return beam_by_order(sums, some[np.argsort(sums.ravel()[some])[::-1]])


@right("12.3")
def beam_by_torch(totals, log_probs):
    torch = pytest.importorskip("torch")
    sums, best = (torch.as_tensor(totals)[:, None] + torch.as_tensor(log_probs)).flatten().topk(len(totals))
    return sums, best // log_probs.shape[1], best % log_probs.shape[1]


@right("12.3")
def beam_by_torch_in_half_precision(totals, log_probs):
    sums, parents, words = beam_by_torch(totals, log_probs)
    return sums.bfloat16().requires_grad_(), parents, words


@wrong("12.3")
def beam_in_no_order(totals, log_probs):
    sums = totals[:, None] + log_probs
    return beam_by_order(sums, np.sort(np.argpartition(-sums.ravel(), len(totals) - 1)[: len(totals)]))


@wrong("12.3", "through probabilities")
def beam_through_probabilities(totals, log_probs):
    with np.errstate(all="ignore"):
        sums = np.log(np.exp(totals)[:, None] * np.exp(log_probs))
    return beam_by_order(sums, np.argsort(-sums.ravel(), kind="stable")[: len(totals)])


@wrong("12.3")
def beam_with_all_words_of_the_best(totals, log_probs):
    best = int(np.argmax(totals))
    words = np.argsort(-log_probs[best])[: len(totals)]
    return totals[best] + log_probs[best, words], np.full(len(totals), best), words


# ---------------------------------------------------------------- 12.5


@right("12.5")
def matches_by_counters(hypothesis, reference, n):
    mine, theirs = (Counter(zip(*(words[i:] for i in range(n)))) for words in (hypothesis, reference))
    return sum((mine & theirs).values()), sum(mine.values())


@right("12.5")
def matches_by_removing(hypothesis, reference, n):
    left = [reference[i : i + n] for i in range(len(reference) - n + 1)]
    hits = 0
    for i in range(len(hypothesis) - n + 1):
        if hypothesis[i : i + n] in left:
            left.remove(hypothesis[i : i + n])
            hits += 1
    return [hits, max(0, len(hypothesis) - n + 1)]


@right("12.5")
def matches_as_an_array(hypothesis, reference, n):
    return np.array(matches_by_counters(hypothesis, reference, n))


@wrong("12.5", "words run together")
def matches_of_strings(hypothesis, reference, n):
    mine, theirs = (Counter("".join(words[i : i + n]) for i in range(len(words) - n + 1)) for words in (hypothesis, reference))
    return sum((mine & theirs).values()), sum(mine.values())


@wrong("12.5")
def matches_in_a_text(hypothesis, reference, n):
    text, grams = " ".join(reference), [" ".join(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)]
    return sum(min(grams.count(gram), text.count(gram)) for gram in set(grams)), len(grams)


@wrong("12.5")
def matches_in_small_letters(hypothesis, reference, n):
    return matches_by_counters([word.lower() for word in hypothesis], [word.lower() for word in reference], n)


@wrong("12.5")
def matches_at_the_same_place(hypothesis, reference, n):
    grams = [[words[i : i + n] for i in range(len(words) - n + 1)] for words in (hypothesis, reference)]
    return sum(one == other for one, other in zip(*grams)), len(grams[0])


# ---------------------------------------------------------------- 12.6


def score_of(system, draw):
    hits, total = system[list(draw)].sum(axis=0)
    return hits / total


@right("12.6")
def win_rate_by_loop(first, second, draws):
    return float(np.mean([score_of(second, draw) > score_of(first, draw) for draw in draws]))


@right("12.6")
def win_rate_by_counts(first, second, draws):
    counts = np.apply_along_axis(np.bincount, 1, draws, minlength=len(first))
    one, other = counts @ first, counts @ second
    return (other[:, 0] * one[:, 1] > one[:, 0] * other[:, 1]).sum() / len(draws)


@right("12.6")
def win_rate_by_arrays(first, second, draws):
    one, other = first[draws].sum(axis=1), second[draws].sum(axis=1)
    return np.count_nonzero(other[:, 0] / other[:, 1] > one[:, 0] / one[:, 1]) / draws.shape[0]


@wrong("12.6")
def win_rate_without_repetition(first, second, draws):
    return np.mean([score_of(second, set(draw.tolist())) > score_of(first, set(draw.tolist())) for draw in draws])


@wrong("12.6")
def win_rate_with_half_for_ties(first, second, draws):
    gaps = [score_of(second, draw) - score_of(first, draw) for draw in draws]
    return np.mean([1.0 if gap > 0 else 0.5 if gap == 0 else 0.0 for gap in gaps])


@wrong("12.6")
def win_rate_in_percent(first, second, draws):
    return 100 * win_rate_by_loop(first, second, draws)


# ---------------------------------------------------------------- 12.9


@right("12.9")
def costs_by_stacking(lead, memory, other, pairs):
    falls = []
    for n, k in pairs:
        falls.append(lead(memory) - lead(np.vstack([memory[:n], other[k : k + 1], memory[n + 1 :]])))
    return falls


@right("12.9")
def costs_by_putting_back(lead, memory, other, pairs):
    memory, falls = memory.astype(float), []
    before = lead(memory)
    for n, k in pairs:
        old = memory[n].copy()
        memory[n] = other[k]
        falls.append(before - lead(memory))
        memory[n] = old
    return np.asarray(falls)


@wrong("12.9", "exchanges kept")
def costs_of_a_growing_exchange(lead, memory, other, pairs):
    mixed = np.array(memory)
    falls = []
    for n, k in pairs:
        mixed[n] = other[k]
        falls.append(lead(memory) - lead(mixed))
    return falls


@wrong("12.9", "rises for falls")
def costs_with_the_sign_of_a_change(lead, memory, other, pairs):
    changes = []
    for n, k in pairs:
        mixed = np.array(memory)
        mixed[n] = other[k]
        changes.append(lead(mixed) - lead(memory))
    return changes


@wrong("12.9")
def costs_of_all_at_once(lead, memory, other, pairs):
    mixed = np.array(memory)
    for n, k in pairs:
        mixed[n] = other[k]
    return [lead(memory) - lead(mixed)] * len(pairs)


@wrong("12.9", "rows of zeros")
def costs_of_forgetting(lead, memory, other, pairs):
    return [lead(memory) - lead(memory * (np.arange(len(memory)) != n)[:, None]) for n, _ in pairs]


# ---------------------------------------------------------------- 12.11


@right("12.11")
def judged_by_argpartition(losses, cost, draws):
    k = len(draws[0])
    chosen = np.argpartition(losses[:, 0], k - 1)[:k]
    together = cost(chosen)
    return losses[:, 1][chosen].sum(), together, sum(cost(list(draw)) <= together for draw in draws) / len(draws)


@wrong("12.11", "chosen where it is measured")
def judged_by_the_second_half(losses, cost, draws):
    chosen = np.argsort(losses[:, 1])[: draws.shape[1]]
    together = cost(chosen)
    return losses[chosen, 1].sum(), together, np.mean([cost(draw) <= together for draw in draws])


@wrong("12.11", "the dearest chosen")
def judged_from_the_wrong_end(losses, cost, draws):
    chosen = np.argsort(-losses[:, 0])[: draws.shape[1]]
    together = cost(chosen)
    return losses[chosen, 1].sum(), together, np.mean([cost(draw) <= together for draw in draws])


@wrong("12.11", "ties left out")
def judged_strictly(losses, cost, draws):
    chosen = np.argsort(losses[:, 0])[: draws.shape[1]]
    together = cost(chosen)
    return losses[chosen, 1].sum(), together, np.mean([cost(draw) < together for draw in draws])


@wrong("12.11", "measured where it was chosen")
def judged_by_the_choosing_half(losses, cost, draws):
    chosen = np.argsort(losses[:, 0])[: draws.shape[1]]
    together = cost(chosen)
    return losses[chosen, 0].sum(), together, np.mean([cost(draw) <= together for draw in draws])


@wrong("12.11", "the dearer draws counted")
def judged_by_the_share_of_wins(losses, cost, draws):
    chosen = np.argsort(losses[:, 0])[: draws.shape[1]]
    together = cost(chosen)
    return losses[chosen, 1].sum(), together, np.mean([cost(draw) > together for draw in draws])


# ---------------------------------------------------------------- 14.1


@right("14.1")
def gradient_by_fsum(sums, tokens):
    return math.fsum(sums) / sum(tokens) if np.ndim(sums[0]) == 0 else np.sum(sums, axis=0) / sum(tokens)


@right("14.1")
def gradient_by_reduce(sums, tokens):
    return functools.reduce(np.add, sums) / functools.reduce(int.__add__, map(int, tokens))


@right("14.1")
def gradient_by_weights(sums, tokens):
    return sum(total * (1 / np.sum(tokens)) for total in sums)


@wrong("14.1")
def gradient_of_the_first(sums, tokens):
    return sums[0] / sum(tokens)


@wrong("14.1")
def gradient_by_mean_tokens(sums, tokens):
    return sum(sums) / np.mean(tokens)


@wrong("14.1")
def gradient_of_busy_processes_counted_twice(sums, tokens):
    return sum(sums) / (sum(tokens) + sum(count == 0 for count in tokens))


# ---------------------------------------------------------------- 14.2


def scattered(vectors, which):
    summed = np.array_split(np.sum(vectors, axis=0), len(vectors))
    return [summed[which(p) % len(vectors)] for p in range(len(vectors))]


@right("14.2")
def scattered_by_sums(vectors):
    return scattered(vectors, lambda p: p + 1)


@right("14.2")
def scattered_by_moves(vectors):
    count = len(vectors)
    held = [[piece.tolist() for piece in np.array_split(vector, count)] for vector in vectors]
    for k in range(count - 1):
        sent = [list(held[p][(p - k) % count]) for p in range(count)]
        for p in range(count):
            target = held[(p + 1) % count]
            target[(p - k) % count] = [a + b for a, b in zip(target[(p - k) % count], sent[p])]
    return [np.array(held[p][(p + 1) % count]) for p in range(count)]


@right("14.2")
def scattered_as_a_tuple(vectors):
    cut = np.array_split(np.arange(len(vectors[0])), len(vectors))
    return tuple(sum(vector[cut[(p + 1) % len(vectors)]] for vector in vectors) for p in range(len(vectors)))


@right("14.2")
def scattered_in_place(vectors):
    count = len(vectors)
    held = [np.array_split(vector, count) for vector in vectors]
    for k in range(count - 1):
        for p, piece in enumerate([held[p][(p - k) % count].copy() for p in range(count)]):
            held[(p + 1) % count][(p - k) % count] += piece
    return [held[p][(p + 1) % count] for p in range(count)]


@right("14.2")
def scattered_in_single_precision(vectors):
    return scattered([vector.astype(np.float32) for vector in vectors], lambda p: p + 1)


@right("14.2")
def scattered_by_torch(vectors):
    torch = pytest.importorskip("torch")
    return [torch.tensor(part, dtype=torch.float32, requires_grad=True) for part in scattered(vectors, lambda p: p + 1)]


@wrong("14.2")
def scattered_without_copies(vectors):
    """Each process adds at once, so that the next one sends what it has just been given."""
    count = len(vectors)
    held = [np.array_split(vector.copy(), count) for vector in vectors]
    for k in range(count):
        for p in range(count):
            held[(p + 1) % count][(p - k) % count] += held[p][(p - k) % count]
    return [held[p][(p + 1) % count] for p in range(count)]


@wrong("14.2")
def scattered_one_further(vectors):
    return scattered(vectors, lambda p: p + 2)


@wrong("14.2")
def scattered_joined(vectors):
    return np.concatenate(scattered(vectors, lambda p: p + 1))


# ---------------------------------------------------------------- 14.3, 14.6


@right("14.3")
def ring_by_moves(parameters, processes, bytes_per_second):
    return sum(4 * parameters / processes / bytes_per_second for _ in range(2 * (processes - 1)))


@right("14.3")
def ring_by_shares(parameters, processes, bytes_per_second):
    return np.float64(8 * parameters - 8 * parameters / processes) / bytes_per_second


@right("14.3")
def ring_by_an_array(parameters, processes, bytes_per_second):
    return np.multiply(2 * parameters * 4, (processes - 1) / (processes * bytes_per_second))


@wrong("14.3")
def ring_without_the_last_share(parameters, processes, bytes_per_second):
    return 8 * parameters / bytes_per_second


@wrong("14.3")
def ring_in_turn(parameters, processes, bytes_per_second):
    return 8 * parameters * (processes - 1) / bytes_per_second


@wrong("14.3")
def ring_in_half_precision(parameters, processes, bytes_per_second):
    return 4 * parameters * (processes - 1) / processes / bytes_per_second


@right("14.6")
def hours_by_days(parameters, tokens, devices, peak, utilisation):
    return 6 * parameters * tokens / (devices * peak * utilisation) / 86400 * 24


@right("14.6")
def hours_by_logarithms(parameters, tokens, devices, peak, utilisation):
    logs = np.log([6, parameters, tokens, devices, peak, utilisation, 3600])
    return np.exp(logs @ [1, 1, 1, -1, -1, -1, -1])


@right("14.6")
def hours_of_both_ways(parameters, tokens, devices, peak, utilisation):
    forward, back = 2 * parameters * tokens, 4 * parameters * tokens
    return sum(way / (peak * utilisation * devices * 3600.0) for way in (forward, back))


@wrong("14.6")
def hours_of_three_passes(parameters, tokens, devices, peak, utilisation):
    return 8 * parameters * tokens / (devices * peak * utilisation * 3600)


@wrong("14.6")
def hours_backward_only(parameters, tokens, devices, peak, utilisation):
    return 4 * parameters * tokens / (devices * peak * utilisation * 3600)


@wrong("14.6")
def hours_rounded_up(parameters, tokens, devices, peak, utilisation):
    return math.ceil(6 * parameters * tokens / (devices * peak * utilisation * 3600))


# ---------------------------------------------------------------- all of them


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
