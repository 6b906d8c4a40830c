"""Held-out answers to exercises of chapters 1, 3, 8, 10, 13, 14 and 15."""

import itertools

import numpy as np
import pytest

from tests.exercises.held_out import HeldOut, as_tests

ANSWERS = HeldOut()
right, wrong = ANSWERS.right, ANSWERS.wrong


# ---------------------------------------------------------------- 1.1


def arcs_of(heads):
    return [tuple(sorted((word, head))) for word, head in enumerate(heads) if head is not None]


@right("1.1")
def crossings_by_pairs(heads):
    return sum(a < c < b < d or c < a < d < b for (a, b), (c, d) in itertools.combinations(arcs_of(heads), 2))


@right("1.1")
def crossings_by_counting_ends(heads):
    arcs = arcs_of(heads)
    return sum(sum(a < end < b for end in other) == 1 and not {a, b} & set(other) for a, b in arcs for other in arcs if (a, b) < other)


@wrong("1.1")
def crossings_of_arcs_that_share_an_end(heads):
    return sum(a < c <= b < d or c < a <= d < b for (a, b), (c, d) in itertools.combinations(arcs_of(heads), 2))


@wrong("1.1")
def crossings_counted_twice(heads):
    return sum(a < c < b < d or c < a < d < b for (a, b), (c, d) in itertools.permutations(arcs_of(heads), 2))


@wrong("1.1")
def words_that_are_crossed(heads):
    arcs = arcs_of(heads)
    return sum(any(a < c < b < d or c < a < d < b for c, d in arcs) for a, b in arcs)


@wrong("1.1")
def crossings_of_neighbours_alone(heads):
    arcs = arcs_of(heads)
    return sum(a < c < b < d or c < a < d < b for (a, b), (c, d) in itertools.pairwise(arcs))


# ---------------------------------------------------------------- 3.9


@right("3.9")
def recent_by_triangles(length, window):
    return np.tri(length, dtype=bool) & ~np.tri(length, k=-window - 1, dtype=bool)


@right("3.9")
def recent_by_lists(length, window):
    return [[0 <= i - j <= window for j in range(length)] for i in range(length)]


@wrong("3.9")
def recent_as_numbers(length, window):
    return np.tri(length) - np.tri(length, k=-window - 1)


@wrong("3.9")
def recent_on_both_sides(length, window):
    return abs(np.subtract.outer(np.arange(length), np.arange(length))) <= window


@wrong("3.9")
def recent_around_the_corner(length, window):
    return np.subtract.outer(np.arange(length), np.arange(length)) % length <= window


# ---------------------------------------------------------------- 8.1, 8.3


@right("8.1")
def split_by_loops(x, num_heads):
    return [[[row[h * len(row) // num_heads : (h + 1) * len(row) // num_heads] for row in one] for h in range(num_heads)] for one in x]


@right("8.1")
def split_by_stack(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


@wrong("8.1")
def split_by_one_reshape(x, num_heads):
    return x.reshape(len(x), num_heads, x.shape[1], -1)


@wrong("8.1")
def split_in_steps(x, num_heads):
    return np.stack([x[..., h::num_heads] for h in range(num_heads)], axis=1)


@right("8.3")
def norm_by_torch(x, gain, shift, eps=1e-5):
    torch = pytest.importorskip("torch")
    x, gain, shift = (torch.as_tensor(one, dtype=torch.float64) for one in (x, gain, shift))
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, shift, eps)


@right("8.3")
def norm_by_moments(x, gain, shift, eps=1e-5):
    centred = x - np.einsum("bim->bi", x)[..., None] / x.shape[-1]
    return shift + gain * centred * (np.einsum("bim,bim->bi", centred, centred)[..., None] / x.shape[-1] + eps) ** -0.5


@wrong("8.3")
def norm_of_a_sample(x, gain, shift, eps=1e-5):
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True, ddof=1) + eps) + shift


@wrong("8.3")
def norm_with_eps_outside(x, gain, shift, eps=1e-5):
    return gain * (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + eps) + shift


@wrong("8.3")
def norm_shifted_before_the_gain(x, gain, shift, eps=1e-5):
    return gain * ((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + shift)


# ---------------------------------------------------------------- 8.5


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


@right("8.5")
def bias_through_all_offsets(q, key_table, key_len, start):
    c = len(key_table) // 2
    every = q @ key_table.T / np.sqrt(q.shape[2])
    places = np.clip(np.arange(key_len) - start - np.arange(q.shape[1])[:, None], -c, c) + c
    return np.take_along_axis(every, np.broadcast_to(places, (len(q), *places.shape)), axis=2)


@wrong("8.5")
def bias_from_place_zero(q, key_table, key_len, start):
    return bias_through_all_offsets(q, key_table, key_len, 0)


@wrong("8.5")
def bias_of_the_other_direction(q, key_table, key_len, start):
    return bias_through_all_offsets(q, key_table[::-1], key_len, start)


@wrong("8.5")
def bias_zero_beyond_the_table(q, key_table, key_len, start):
    c = len(key_table) // 2
    far = abs(np.arange(key_len) - start - np.arange(q.shape[1])[:, None]) > c
    return np.where(far, 0.0, bias_through_all_offsets(q, key_table, key_len, start))


# ---------------------------------------------------------------- 10.7


@right("10.7")
def batches_by_taking_away(widths, max_tokens):
    """Empties the list it was given, which the statement does not forbid."""
    sizes = []
    while widths:
        rows = 1
        while rows < len(widths) and (rows + 1) * max(widths[: rows + 1]) <= max_tokens:
            rows += 1
        del widths[:rows]
        sizes.append(rows)
    return sizes


@right("10.7")
def batches_by_a_running_width(widths, max_tokens):
    sizes, widest = [0], 0
    for width in widths:
        if sizes[-1] and (sizes[-1] + 1) * max(widest, width) > max_tokens:
            sizes.append(0)
            widest = 0
        sizes[-1] += 1
        widest = max(widest, width)
    return np.array(sizes)


@wrong("10.7")
def batches_by_the_newest_width(widths, max_tokens):
    sizes = [0]
    for width in widths:
        if sizes[-1] and (sizes[-1] + 1) * width > max_tokens:
            sizes.append(0)
        sizes[-1] += 1
    return sizes


@wrong("10.7")
def batches_of_one(widths, max_tokens):
    return [1] * len(widths)


@wrong("10.7")
def batches_by_the_widest_of_all(widths, max_tokens):
    rows = max_tokens // max(widths)
    whole, rest = divmod(len(widths), rows)
    return [rows] * whole + [rest] * bool(rest)


# ---------------------------------------------------------------- 13.4, 13.6


@right("13.4")
def merged_by_logaddexp(first, second):
    with np.errstate(all="ignore"):
        whole = np.logaddexp(first[0] + np.log(first[1]), second[0] + np.log(second[1]))
        peak = np.maximum(first[0], second[0])
        shares = [np.where(part[0] == -np.inf, 0.0, np.exp(part[0] - peak))[:, None] for part in (first, second)]
        total = np.where(peak == -np.inf, 0.0, np.exp(whole - peak))
    return peak, total, shares[0] * first[2] + shares[1] * second[2]


@wrong("13.4")
def merged_with_the_lower_peak(first, second):
    peak, total, mixed = merged_by_logaddexp(first, second)
    lower = np.where(np.isinf(np.minimum(first[0], second[0])), peak, np.minimum(first[0], second[0]))
    factor = np.where(np.isinf(peak), 0.0, np.exp(np.where(np.isinf(peak), 0.0, peak - lower)))
    return lower, total * factor, mixed * factor[:, None]


@wrong("13.4")
def merged_and_normalised_apart(first, second):
    peak, total, mixed = merged_by_logaddexp(first, second)
    return peak, np.maximum(total, 1.0), mixed


def quantized(x, rounding=np.rint, top=127):
    largest = abs(x).max(axis=1, keepdims=True)
    scale = np.where(largest == 0, 1.0, largest / top)
    return rounding(x / scale), scale


@right("13.6")
def quantized_row_by_row(x):
    pairs = [quantized(row[None]) for row in x]
    return np.vstack([whole for whole, _ in pairs]).astype(np.int8), np.vstack([scale for _, scale in pairs])


@right("13.6")
def quantized_by_torch(x):
    torch = pytest.importorskip("torch")
    scale = torch.as_tensor(x).abs().amax(dim=1, keepdim=True) / 127
    scale[scale == 0] = 1
    return (torch.as_tensor(x) / scale).round().to(torch.int8), scale


@wrong("13.6", "more than one byte")
def quantized_as_floats(x):
    return quantized(x)


@wrong("13.6", "more than one byte")
def quantized_as_longer_integers(x):
    whole, scale = quantized(x)
    return whole.astype(np.int32), scale


@wrong("13.6")
def quantized_by_cutting(x):
    whole, scale = quantized(x, np.trunc)
    return whole.astype(np.int8), scale


@wrong("13.6")
def quantized_to_128(x):
    whole, scale = quantized(x, top=128)
    return np.clip(whole, -128, 127).astype(np.int8), scale


@wrong("13.6")
def quantized_with_one_scale(x):
    scale = np.full((len(x), 1), abs(x).max() / 127)
    return np.rint(x / scale).astype(np.int8), scale


# ---------------------------------------------------------------- 13.7


@right("13.7")
def accepted_by_takewhile(guess, own, eos_id):
    agreeing = list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(guess, own)))
    words = own[: len(agreeing) + 1]
    return words[: words.index(eos_id) + 1] if eos_id in words else words


@right("13.7")
def accepted_into_an_array(guess, own, eos_id):
    place = 0
    while place < len(guess) and guess[place] == own[place] and own[place] != eos_id:
        place += 1
    return np.array(own)[: place + 1]


@wrong("13.7", "the model's own word is missing")
def accepted_prefix_alone(guess, own, eos_id):
    words = []
    for a, b in zip(guess, own):
        if a != b:
            return words
        words.append(a)
        if a == eos_id:
            return words
    return [*words, own[len(guess)]]


@wrong("13.7", "the guess alone")
def accepted_prefix_and_nothing_else(guess, own, eos_id):
    return [a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(guess, own))]


@wrong("13.7", "no word after a full guess")
def accepted_by_zip(guess, own, eos_id):
    words = []
    for a, b in zip(guess, own):
        words.append(b)
        if a != b or b == eos_id:
            break
    return words


@wrong("13.7", "behind the end")
def accepted_without_looking_for_the_end(guess, own, eos_id):
    right = 0
    while right < len(guess) and guess[right] == own[right]:
        right += 1
    return own[: right + 1]


@wrong("13.7", "wherever they agree")
def accepted_where_equal(guess, own, eos_id):
    return [b for a, b in zip(guess, own) if a == b]


# ---------------------------------------------------------------- 15.4, 15.5, 15.6


@right("15.4")
def prefix_by_maximum(length, prefix):
    return np.arange(length) <= np.maximum(np.arange(length), prefix - 1)[:, None]


@right("15.4")
def prefix_by_assignment(length, prefix):
    mask = np.tril(np.ones((length, length), dtype=bool))
    mask[:, :prefix] = True
    return mask.tolist()


@wrong("15.4")
def prefix_that_reads_itself_alone(length, prefix):
    mask = np.tri(length, dtype=bool)
    mask[:prefix, :prefix] = True
    mask[prefix:, :prefix] = False
    return mask


@wrong("15.4")
def prefix_one_longer(length, prefix):
    return prefix_by_maximum(length, prefix + 1)


@wrong("15.4")
def prefix_rows_that_read_all(length, prefix):
    mask = np.tri(length, dtype=bool)
    mask[:prefix] = True
    return mask


@right("15.5")
def patches_by_loops(images, size):
    return [
        [
            [one[y + i][x + j] for i in range(size) for j in range(size)]
            for y in range(0, len(one), size)
            for x in range(0, len(one[0]), size)
        ]
        for one in images.tolist()
    ]


@right("15.5")
def patches_by_windows(images, size):
    views = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(1, 2))[:, ::size, ::size]
    return views.reshape(len(images), -1, size * size)


@wrong("15.5")
def patches_by_one_reshape(images, size):
    return images.reshape(len(images), -1, size * size)


@wrong("15.5")
def patches_column_by_column(images, size):
    b, y, x = images.shape
    return images.reshape(b, y // size, size, x // size, size).transpose(0, 3, 1, 2, 4).reshape(b, -1, size * size)


@wrong("15.5")
def patches_with_turned_pixels(images, size):
    b, y, x = images.shape
    return images.reshape(b, y // size, size, x // size, size).transpose(0, 1, 3, 4, 2).reshape(b, -1, size * size)


@right("15.6")
def share_by_one_hot(weights, heard):
    return np.einsum("tj,tj->t", weights, np.arange(len(weights))[:, None] == heard)


@right("15.6")
def share_by_adding(weights, heard):
    share = [0.0] * len(weights)
    for j, word in enumerate(heard):
        if word >= 0:
            share[word] += weights[word, j]
    return share


@wrong("15.6")
def share_with_pauses_for_the_last_word(weights, heard):
    share = np.zeros(len(weights))
    np.add.at(share, heard, weights[heard, np.arange(len(heard))])
    return share


@wrong("15.6")
def share_of_what_is_heard_at_all(weights, heard):
    own = share_by_one_hot(weights, heard)
    return own / np.maximum(weights[:, heard >= 0].sum(axis=1), 1e-300)


@wrong("15.6")
def share_as_a_mean(weights, heard):
    frames = np.maximum((np.arange(len(weights))[:, None] == heard).sum(axis=1), 1)
    return share_by_one_hot(weights, heard) / frames


# ---------------------------------------------------------------- 14.7, 14.8


def softmax_of(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def all_heads(x, w_q, w_k, w_v):
    """(h n d), all heads at once."""
    q, k, v = (np.einsum("im,hmd->hid", x, w) for w in (w_q, w_k, w_v))
    return softmax_of(np.einsum("hid,hjd->hij", q, k) / w_q.shape[2] ** 0.5) @ v


@right("14.7")
def shares_by_einsum(x, w_q, w_k, w_v, w_o, devices):
    h, _, d = w_q.shape
    products = np.einsum("hid,hdm->him", all_heads(x, w_q, w_k, w_v), w_o.reshape(h, d, -1))
    return list(products.reshape(devices, h // devices, *products.shape[1:]).sum(axis=1))


@right("14.7")
def shares_by_zeroed_rows(x, w_q, w_k, w_v, w_o, devices):
    side_by_side = np.concatenate(list(all_heads(x, w_q, w_k, w_v)), axis=1)
    own = np.arange(len(w_o)) * devices // len(w_o)
    return tuple(side_by_side @ np.where((own == r)[:, None], w_o, 0) for r in range(devices))


@wrong("14.7")
def shares_of_columns(x, w_q, w_k, w_v, w_o, devices):
    side_by_side = np.concatenate(list(all_heads(x, w_q, w_k, w_v)), axis=1)
    return [np.where(np.arange(w_o.shape[1]) % devices == r, side_by_side @ w_o, 0) for r in range(devices)]


@wrong("14.7")
def shares_in_the_opposite_order(x, w_q, w_k, w_v, w_o, devices):
    return shares_by_einsum(x, w_q, w_k, w_v, w_o, devices)[::-1]


@wrong("14.7")
def shares_with_interleaved_heads(x, w_q, w_k, w_v, w_o, devices):
    h, _, d = w_q.shape
    return shares_by_einsum(x, w_q, w_k, w_v, w_o.reshape(d, h, -1).swapaxes(0, 1).reshape(h * d, -1), devices)


@right("14.8")
def finished_by_the_slowest(seconds, parts):
    slow = max(range(len(seconds)), key=seconds.__getitem__)
    return sum(seconds[:slow]) + parts * seconds[slow] + sum(seconds[slow + 1 :])


@right("14.8")
def finished_by_a_table(seconds, parts):
    ends = np.zeros((parts + 1, len(seconds) + 1))
    for part in range(1, parts + 1):
        for stage in range(1, len(seconds) + 1):
            ends[part, stage] = max(ends[part - 1, stage], ends[part, stage - 1]) + seconds[stage - 1]
    return ends[-1, -1]


@wrong("14.8")
def finished_at_the_slower_end(seconds, parts):
    return sum(seconds) + (parts - 1) * max(seconds[0], seconds[-1])


@wrong("14.8")
def finished_in_time_with_the_work(seconds, parts):
    return max(sum(seconds), parts * max(seconds))


@wrong("14.8")
def finished_with_equal_beats(seconds, parts):
    return (parts + len(seconds)) * max(seconds)


# ---------------------------------------------------------------- all of them


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
