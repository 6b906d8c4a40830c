"""Answers to exercises of chapters 9 to 15 that the catalogue does not have: right ones in odd styles, and wrong ones."""

import functools
import itertools
import math
from collections import Counter

import numpy as np
import pytest

from tests.exercises.held_out import HeldOut, as_tests
from xformer_course.exercises.chapter_12.worth import T_95
from xformer_course.exercises.registry import find

ANSWERS = HeldOut()
right, wrong, table = ANSWERS.right, ANSWERS.wrong, ANSWERS.table


@right("9.2")
def embedded_row_by_row(ids, weight, positions):
    return [[(weight[i] * weight.shape[1] ** 0.5 + row).tolist() for i, row in zip(line.tolist(), positions)] for line in ids]


table(
    "9.2",
    wrong={
        "embedded with the last positions": lambda ids, weight, positions: weight[ids] * weight.shape[1] ** 0.5 + positions[-ids.shape[1] :]
    },
)


@right("9.3")
def stack_with_a_running_sum(x, sublayers, norms, order):
    norms = iter(norms)
    for sublayer in sublayers:
        norm = next(norms)
        x = norm(x + sublayer(x)) if order == "post" else sublayer(norm(x)) + x
    return (x if order == "post" else next(norms)(x)).tolist()


@right("9.4")
def shifted_in_torch(sentences, pad_id, bos_id, eos_id):
    torch = pytest.importorskip("torch")
    pad = functools.partial(torch.nn.utils.rnn.pad_sequence, batch_first=True, padding_value=pad_id)
    return [
        pad([torch.tensor(one) for one in rows]) for rows in ([[bos_id, *one] for one in sentences], [[*one, eos_id] for one in sentences])
    ]


def exponentials(scores, mask, top):
    import torch

    raw = torch.where(mask, torch.exp(torch.where(mask, scores - top, 0.0)), 0.0)
    total = raw.sum(dim=-1, keepdim=True)
    return raw / torch.where(total == 0, 1.0, total)


@right("9.10")
def softmax_by_logsumexp(scores, mask):
    import torch

    lowered = torch.where(mask, scores, torch.finfo(scores.dtype).min).double()
    return torch.where(mask, (lowered - lowered.logsumexp(dim=-1, keepdim=True)).exp(), 0.0).to(scores.dtype)


@wrong("9.10")
def softmax_that_stays_in_float32(scores, mask):
    import torch

    kept = scores.float() if scores.dtype != torch.float64 else scores
    return torch.where(mask, torch.where(mask, kept, torch.finfo(kept.dtype).min).softmax(dim=-1), 0.0)


table(
    "9.10", told={"largest of all subtracted": lambda scores, mask: exponentials(scores, mask, scores.amax(dim=-1, keepdim=True).detach())}
)


@wrong("9.6")
def mask_up_to_the_first_padding(target_in, pad_id):
    import torch

    length = target_in.shape[1]
    real = (target_in != pad_id).long().cumprod(dim=1).bool()
    return torch.ones(length, length, dtype=torch.bool).tril() & real[:, None, :]


@right("9.6")
def mask_by_places(target_in, pad_id):
    import torch

    i = torch.arange(target_in.shape[1])
    return torch.logical_and(i[:, None] >= i, target_in.ne(pad_id).unsqueeze(1)).numpy()


def blank_cell(*sizes):
    return next(iter(find("9.9").alternatives.values()))(*sizes)


@right("9.9")
def model_with_a_frozen_table_of_places(vocab_size, d_model, num_heads, d_ff, num_layers):
    import torch

    model = blank_cell(vocab_size, d_model, num_heads, d_ff, num_layers)
    angles = torch.arange(10.0)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    model.kept = torch.nn.Parameter(table, requires_grad=False)
    model.embed = lambda ids, _: model.embedding(ids) * d_model**0.5 + model.kept[: ids.shape[1]]
    return model


@wrong("9.9")
def model_that_normalises_the_memory_again(*sizes):
    model = blank_cell(*sizes)
    for layer in model.decoder.layers:
        whole, norm = layer.forward, layer.norms["self"]
        layer.forward = lambda x, mask, memory, read, whole=whole, norm=norm: whole(x, mask, norm(memory), read)
    return model


@right("9.12")
def slowed_in_place(places, dim, factor, how):
    base = 10000.0 if how == "interpolate" else 10000.0 * factor ** (dim / (dim - 2))
    if how == "interpolate" and places.dtype == float:
        places /= factor
    elif how == "interpolate":
        places = places / factor
    return places[:, None] / base ** (2 * np.arange(dim // 2) / dim)


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


table(
    "10.4",
    wrong={
        "groups in one pass": lambda pairs: groups_in_passes(1)(pairs),
        "groups in five passes": lambda pairs: groups_in_passes(5)(pairs),
    },
)


@wrong("10.1", "merged in place")
def merge_by_deleting(ids, pair, new_id):
    result = []
    while ids:
        first = ids.pop(0)
        if ids and (first, ids[0]) == tuple(pair):
            ids.pop(0)
            first = new_id
        result.append(first)
    return result


@wrong("10.1")
def merge_in_a_string(ids, pair, new_id):
    return [int(word) for word in " ".join(map(str, ids)).replace(f"{pair[0]} {pair[1]}", str(new_id)).split()]


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


@right("11.5")
def rate_as_an_array(step, peak, warmup, total):
    return np.array([peak * step / warmup, peak * (total - step) / (total - warmup)])[int(step > warmup)]


@wrong("11.5")
def rate_by_cosine(step, peak, warmup, total):
    if step <= warmup:
        return peak * step / warmup
    return peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2


@wrong("11.5")
def rate_in_whole_numbers(step, peak, warmup, total):
    return peak * step / warmup if step <= warmup else peak - (step - warmup) * (peak / (total - warmup + 1))


@right("11.6")
def clipped_as_a_tuple(gradients, largest):
    flat = np.concatenate([np.ravel(one) for one in gradients])
    norm = np.sqrt(flat @ flat)
    return tuple(one.copy() if norm <= largest else largest * one / norm for one in gradients)


def norm_of(gradients):
    return math.sqrt(sum(float((np.asarray(one) ** 2).sum()) for one in gradients))


@right("11.6")
def clipped_in_place(gradients, largest):
    norm = norm_of(gradients)
    for one in gradients:
        if norm > largest:
            one *= largest / norm
    return gradients


@right("11.6")
def clipped_by_torch_in_half_precision(gradients, largest):
    torch = pytest.importorskip("torch")
    factor = min(1.0, largest / max(norm_of(gradients), 1e-30))
    return [(torch.tensor(one) * factor).bfloat16().requires_grad_() for one in gradients]


@wrong("11.6")
def clipped_with_a_factor_of_nothing(gradients, largest):
    factor = largest / norm_of(gradients)  # fails on a norm of 0
    return [one * min(1.0, factor) for one in gradients]


@right("11.7")
def accumulated_in_place(parts):
    total = parts[0][0]
    total *= parts[0][1]
    for gradient, tokens in parts[1:]:
        total += gradient * tokens
    return total / sum(tokens for _, tokens in parts)


table(
    "12.1",
    wrong={"said with the usual begin": lambda next_logits, bos_id, eos_id, limit: find("12.1").reference(next_logits, 1, eos_id, limit)},
)


def beam_by_torch(totals, log_probs):
    torch = pytest.importorskip("torch")
    sums, best = (torch.as_tensor(totals)[:, None] + torch.as_tensor(log_probs)).flatten().topk(len(totals))
    return sums, best // log_probs.shape[1], best % log_probs.shape[1]


@right("12.2")
def beam_by_torch_in_half_precision(totals, log_probs):
    sums, parents, words = beam_by_torch(totals, log_probs)
    return sums.bfloat16().requires_grad_(), parents, words


@wrong("12.11")
def matches_in_any_order(hypothesis, reference, n):
    said, wanted = (Counter(tuple(sorted(words[i : i + n])) for i in range(len(words) - n + 1)) for words in (hypothesis, reference))
    return (said & wanted).total(), said.total()


@right("12.11")
def matches_by_removing(hypothesis, reference, n):
    left = [reference[i : i + n] for i in range(len(reference) - n + 1)]
    hits = 0
    for i in range(len(hypothesis) - n + 1):
        if hypothesis[i : i + n] in left:
            left.remove(hypothesis[i : i + n])
            hits += 1
    return [hits, max(0, len(hypothesis) - n + 1)]


def matches_by_counters(hypothesis, reference, n):
    mine, theirs = (Counter(zip(*(words[i:] for i in range(n)))) for words in (hypothesis, reference))
    return sum((mine & theirs).values()), sum(mine.values())


@wrong("12.11")
def matches_in_a_text(hypothesis, reference, n):
    text, grams = " ".join(reference), [" ".join(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)]
    return sum(min(grams.count(gram), text.count(gram)) for gram in set(grams)), len(grams)


table(
    "12.11",
    right={"matches as an array": lambda hypothesis, reference, n: np.array(matches_by_counters(hypothesis, reference, n))},
    wrong={
        "matches with a negative total": lambda hypothesis, reference, n: (
            find("12.11").reference(hypothesis, reference, n)[0],
            len(hypothesis) - n + 1,
        )
    },
)


def score_of(system, draw):
    hits, total = system[list(draw)].sum(axis=0)
    return hits / total


@right("12.12")
def win_rate_by_loop(first, second, draws):
    return float(np.mean([score_of(second, draw) > score_of(first, draw) for draw in draws]))


@wrong("12.12")
def win_rate_with_half_for_ties(first, second, draws):
    gaps = [score_of(second, draw) - score_of(first, draw) for draw in draws]
    return np.mean([1.0 if gap > 0 else 0.5 if gap == 0 else 0.0 for gap in gaps])


@right("12.4")
def nucleus_in_place(probabilities, p):
    likeliest_first = np.argsort(-probabilities)
    before = np.cumsum(probabilities[likeliest_first]) - probabilities[likeliest_first]
    probabilities[likeliest_first[before >= p]] = 0.0
    probabilities /= probabilities.sum()
    return probabilities


@wrong("12.4")
def nucleus_above_p(probabilities, p):
    likeliest_first = np.argsort(-probabilities)
    before = np.cumsum(probabilities[likeliest_first]) - probabilities[likeliest_first]
    kept = np.zeros_like(probabilities)
    kept[likeliest_first[before <= p]] = probabilities[likeliest_first[before <= p]]
    return kept / kept.sum()


@wrong("12.6", "exchanges kept")
def costs_of_a_growing_exchange(lead, memory, other, pairs):
    mixed = np.array(memory)
    falls = []
    for n, k in pairs:
        mixed[n] = other[k]
        falls.append(lead(memory) - lead(mixed))
    return falls


@wrong("12.6", "rises for falls")
def costs_with_the_sign_of_a_change(lead, memory, other, pairs):
    changes = []
    for n, k in pairs:
        mixed = np.array(memory)
        mixed[n] = other[k]
        changes.append(lead(mixed) - lead(memory))
    return changes


@wrong("12.6", "rows of zeros")
def costs_of_forgetting(lead, memory, other, pairs):
    return [lead(memory) - lead(memory * (np.arange(len(memory)) != n)[:, None]) for n, _ in pairs]


@right("12.8")
def judged_in_place(losses, cost, draws):
    chosen = losses[:, 0].argsort()[: draws.shape[1]]
    alone, together = losses[chosen, 1].sum(), cost(chosen)
    draws.sort(axis=1)
    return alone, together, np.mean([cost(draw) <= together for draw in draws])


@right("12.9")
def look_with_padding_set_to_0(states, notes, real, w, u, v):
    notes[~real] = 0.0
    scores = np.tanh((states @ w.T)[:, None] + notes @ u.T) @ v
    scores[~real] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("bs,bsm->bm", weights, notes), weights


def look_below(highest):
    def look(states, notes, real, w, u, v):
        scores = np.tanh((states @ w.T)[:, None] + notes @ u.T) @ v
        powers = np.where(real, np.exp(np.minimum(scores - highest(scores, real), 700.0)), 0.0)
        with np.errstate(all="ignore"):
            weights = powers / powers.sum(axis=1, keepdims=True)
        return np.einsum("bs,bsm->bm", weights, notes), weights

    return look


table(
    "12.9",
    wrong={
        "look below the highest of the batch": lambda *inputs: look_below(lambda scores, real: scores[real].max())(*inputs),
        "look below the highest of padding too": lambda *inputs: look_below(lambda scores, real: scores.max(axis=1, keepdims=True))(
            *inputs
        ),
    },
)


@right("12.10")
def settled_by_popping(ours, theirs):
    gaps = np.array([score - theirs.pop(seed) for seed, score in ours.items() if seed in theirs])
    ours.clear()
    half = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}[len(gaps)] * gaps.std(ddof=1) / len(gaps) ** 0.5
    low, high = gaps.mean() - half, gaps.mean() + half
    return low, high, "more" if low > 0 else "less" if high < 0 else "open"


def settled_by_arrays(ours, theirs):
    seeds = sorted(set(ours) & set(theirs))
    gaps = np.array([ours[seed] for seed in seeds]) - np.array([theirs[seed] for seed in seeds])
    half = T_95[len(gaps)] * np.sqrt(gaps.var(ddof=1) / len(gaps))
    ends = gaps.mean() + np.array([-half, half])
    return (*ends, {1: "more", -1: "less", 0: "open"}[int(np.sign(ends).sum()) // 2])


@wrong("12.10", "divisor n")
def settled_with_the_default_of_numpy(ours, theirs):
    gaps = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    half = T_95[len(gaps)] * np.std(gaps) / np.sqrt(len(gaps))
    low, high = np.mean(gaps) - half, np.mean(gaps) + half
    return low, high, "more" if low > 0 else "less" if high < 0 else "open"


@wrong("12.10", "paired as listed")
def settled_by_zip(ours, theirs):
    gaps = [one - other for one, other in zip(ours.values(), theirs.values(), strict=False)]
    half = T_95[len(gaps)] * np.std(gaps, ddof=1) / np.sqrt(len(gaps))
    low, high = np.mean(gaps) - half, np.mean(gaps) + half
    return low, high, "more" if low > 0 else "less" if high < 0 else "open"


@wrong("12.10", "the mean decides")
def settled_by_the_sign(ours, theirs):
    low, high, _ = settled_by_arrays(ours, theirs)
    return low, high, "more" if low + high > 0 else "less"


table(
    "12.10",
    wrong={"settled that fails on a lone seed": lambda ours, theirs: settled_by_arrays(ours, {seed: theirs[seed] for seed in ours})},
)


@wrong("13.8", "a whole matrix first")
def band_of_the_matrix(q, k, window):
    whole = q @ k.T / np.sqrt(q.shape[1])
    j = np.arange(len(q))[:, None] + np.arange(-window, window + 1)
    inside = (j >= 0) & (j < len(q))
    return np.where(inside, np.take_along_axis(whole, np.where(inside, j, 0), axis=1), -np.inf)


@wrong("13.8", "a whole matrix first")
def band_of_lists(q, k, window):
    whole = [(row @ k.T / len(row) ** 0.5).tolist() for row in q]
    return [[row[j] if 0 <= j < len(row) else -np.inf for j in range(i - window, i + window + 1)] for i, row in enumerate(whole)]


@wrong("13.8", "a whole matrix first")
def band_of_the_matrix_by_torch(q, k, window):
    torch = pytest.importorskip("torch")
    whole = (torch.from_numpy(q) @ torch.from_numpy(k).T / q.shape[1] ** 0.5).numpy()
    j = np.arange(len(q))[:, None] + np.arange(-window, window + 1)
    return np.where((j >= 0) & (j < len(q)), whole[np.arange(len(q))[:, None], j.clip(0, len(q) - 1)], -np.inf)


@right("13.8")
def band_by_rows(q, k, window):
    lists = []
    for i, query in enumerate(q):
        lists.append(
            [float(query @ k[j]) / len(query) ** 0.5 if 0 <= j < len(k) else float("-inf") for j in range(i - window, i + window + 1)]
        )
    return lists


@right("13.8")
def band_by_torch(q, k, window):
    torch = pytest.importorskip("torch")
    padded = torch.nn.functional.pad(torch.from_numpy(k), (0, 0, window, window))
    valid = torch.nn.functional.pad(torch.ones(len(k), dtype=torch.bool), (window, window)).unfold(0, 2 * window + 1, 1)
    scores = torch.einsum("ld,ldc->lc", torch.from_numpy(q), padded.unfold(0, 2 * window + 1, 1)) / q.shape[1] ** 0.5
    return scores.masked_fill(~valid, -torch.inf)


def merged_by_logaddexp(first, second):
    with np.errstate(all="ignore"):
        whole = np.logaddexp(first[0] + np.log(first[1]), second[0] + np.log(second[1]))
        peak = np.maximum(first[0], second[0])
        shares = [np.where(part[0] == -np.inf, 0.0, np.exp(part[0] - peak))[:, None] for part in (first, second)]
        total = np.where(peak == -np.inf, 0.0, np.exp(whole - peak))
    return peak, total, shares[0] * first[2] + shares[1] * second[2]


@wrong("13.9")
def merged_and_normalised_apart(first, second):
    peak, total, mixed = merged_by_logaddexp(first, second)
    return peak, np.maximum(total, 1.0), mixed


@right("13.3")
def quantized_by_torch(x):
    torch = pytest.importorskip("torch")
    scale = torch.as_tensor(x).abs().amax(dim=1, keepdim=True) / 127
    scale[scale == 0] = 1
    return (torch.as_tensor(x) / scale).round().to(torch.int8), scale


def quantized(x, rounding=np.rint, top=127):
    largest = abs(x).max(axis=1, keepdims=True)
    scale = np.where(largest == 0, 1.0, largest / top)
    return rounding(x / scale), scale


@wrong("13.3", "more than one byte")
def quantized_as_longer_integers(x):
    whole, scale = quantized(x)
    return whole.astype(np.int32), scale


@wrong("13.4")
def accepted_to_the_end_of_the_guess(guess, own, eos_id):
    words = find("13.4").reference(guess, own, eos_id)
    return [*own[: len(words) - 1], eos_id] if words and guess[len(words) - 1 : len(words)] == [eos_id] else words


@right("13.4")
def accepted_into_an_array(guess, own, eos_id):
    place = 0
    while place < len(guess) and guess[place] == own[place] and own[place] != eos_id:
        place += 1
    return np.array(own)[: place + 1]


table(
    "13.4",
    told={
        "the guess alone": lambda guess, own, eos_id: [a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(guess, own))]
    },
)


table(
    "14.1",
    wrong={
        "gradient of busy processes counted twice": lambda sums, tokens: sum(sums) / (sum(tokens) + sum(count == 0 for count in tokens))
    },
)


@right("14.2")
def scattered_in_place(vectors):
    count = len(vectors)
    held = [np.array_split(vector, count) for vector in vectors]
    for k in range(count - 1):
        for p, piece in enumerate([held[p][(p - k) % count].copy() for p in range(count)]):
            held[(p + 1) % count][(p - k) % count] += piece
    return [held[p][(p + 1) % count] for p in range(count)]


def scattered(vectors, which):
    summed = np.array_split(np.sum(vectors, axis=0), len(vectors))
    return [summed[which(p) % len(vectors)] for p in range(len(vectors))]


@wrong("14.2")
def scattered_without_copies(vectors):
    """Each process adds at once, so that the next one sends what it has just been given."""
    count = len(vectors)
    held = [np.array_split(vector.copy(), count) for vector in vectors]
    for k in range(count):
        for p in range(count):
            held[(p + 1) % count][(p - k) % count] += held[p][(p - k) % count]
    return [held[p][(p + 1) % count] for p in range(count)]


table(
    "14.2",
    right={"scattered in single precision": lambda vectors: scattered([vector.astype(np.float32) for vector in vectors], lambda p: p + 1)},
)


@right("14.3")
def ring_by_shares(parameters, processes, bytes_per_second):
    return np.float64(8 * parameters - 8 * parameters / processes) / bytes_per_second


@right("14.7")
def hours_by_logarithms(parameters, tokens, devices, peak, utilisation):
    logs = np.log([6, parameters, tokens, devices, peak, utilisation, 3600])
    return np.exp(logs @ [1, 1, 1, -1, -1, -1, -1])


def softmax_of(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def all_heads(x, w_q, w_k, w_v):
    """(h n d), all heads at once."""
    q, k, v = (np.einsum("im,hmd->hid", x, w) for w in (w_q, w_k, w_v))
    return softmax_of(np.einsum("hid,hjd->hij", q, k) / w_q.shape[2] ** 0.5) @ v


@right("14.4")
def shares_by_zeroed_rows(x, w_q, w_k, w_v, w_o, devices):
    side_by_side = np.concatenate(list(all_heads(x, w_q, w_k, w_v)), axis=1)
    own = np.arange(len(w_o)) * devices // len(w_o)
    return tuple(side_by_side @ np.where((own == r)[:, None], w_o, 0) for r in range(devices))


@right("14.5")
def finished_by_a_table(seconds, parts):
    ends = np.zeros((parts + 1, len(seconds) + 1))
    for part in range(1, parts + 1):
        for stage in range(1, len(seconds) + 1):
            ends[part, stage] = max(ends[part - 1, stage], ends[part, stage - 1]) + seconds[stage - 1]
    return ends[-1, -1]


table("15.8", wrong={"loss with padding 0": lambda logits, ids, pad_id: find("15.8").reference(logits, ids, 0)})


@right("15.11")
def patches_by_loops(images, size):
    return [
        [
            [one[y + i][x + j] for i in range(size) for j in range(size)]
            for y in range(0, len(one), size)
            for x in range(0, len(one[0]), size)
        ]
        for one in images.tolist()
    ]


@right("15.12")
def share_by_adding(weights, heard):
    share = [0.0] * len(weights)
    for j, word in enumerate(heard):
        if word >= 0:
            share[word] += weights[word, j]
    return share


@wrong("15.12")
def share_with_pauses_for_the_last_word(weights, heard):
    share = np.zeros(len(weights))
    np.add.at(share, heard, weights[heard, np.arange(len(heard))])
    return share


@wrong("15.4", "everything computed, one kept")
def mixture_of_all(x, router, experts):
    import torch

    gates = (x @ router).softmax(dim=-1)
    outputs = torch.stack([expert(x) for expert in experts], dim=1)
    best = gates.argmax(dim=-1)
    return gates.gather(1, best[:, None]) * outputs[torch.arange(len(x)), best]


@right("15.4")
def mixture_sorted(x, router, experts):
    import torch

    gate, chosen = (x @ router).softmax(dim=1).topk(1)
    order = chosen[:, 0].argsort()
    pieces = x[order].split(torch.bincount(chosen[:, 0], minlength=len(experts)).tolist())
    return gate * torch.cat([expert(piece) for expert, piece in zip(experts, pieces)])[order.argsort()]


@wrong("15.9")
def likely_above_p(logits, k, p):
    import torch

    values, places = logits.sort(dim=-1, descending=True)
    values[:, k:] = -torch.inf
    chances = values.softmax(dim=-1)
    values[chances.cumsum(dim=-1) - chances > p] = -torch.inf
    return torch.empty_like(logits).scatter(-1, places, values)


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
