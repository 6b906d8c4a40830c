"""Held-out answers to the exercises on today's models: 15.10, 15.11 and 15.12."""

import math

import numpy as np

from tests.exercises.held_out import HeldOut, as_tests

ANSWERS = HeldOut()
right, wrong = ANSWERS.right, ANSWERS.wrong


# ---------------------------------------------------------------- 15.10


@right("15.10")
def sinks_by_triangles(length, window, sinks):
    past = np.tri(length, dtype=bool)
    near = past & ~np.tri(length, k=-window, dtype=bool)
    near[:, :sinks] = past[:, :sinks]
    return near


@right("15.10")
def sinks_in_torch(length, window, sinks):
    import torch

    past = torch.ones(length, length, dtype=torch.bool).tril()
    first = torch.zeros_like(past)
    first[:, :sinks] = True
    return (past & past.triu(1 - window)) | (past & first)


@wrong("15.10", "one place too many")
def sinks_with_tril_off_by_one(length, window, sinks):
    past = np.tri(length, dtype=bool)
    near = past & ~np.tri(length, k=-window - 1, dtype=bool)
    near[:, :sinks] = past[:, :sinks]
    return near


@wrong("15.10", "sinks in the future")
def sinks_opened_for_all(length, window, sinks):
    mask = np.tri(length, dtype=bool) & ~np.tri(length, k=-window, dtype=bool)
    mask[:, :sinks] = True
    return mask


@wrong("15.10", "sinks as queries")
def sinks_as_rows(length, window, sinks):
    past = np.tri(length, dtype=bool)
    mask = past & ~np.tri(length, k=-window, dtype=bool)
    mask[:sinks] = past[:sinks]
    return mask


@wrong("15.10", "both sides")
def sinks_and_a_band(length, window, sinks):
    i = np.arange(length)
    mask = np.abs(np.subtract.outer(i, i)) < window
    mask[:, :sinks] = True
    return mask


# ---------------------------------------------------------------- 15.11


@right("15.11")
def merged_by_outer_products(weight, a, b, alpha):
    return weight + alpha / a.shape[0] * sum(np.outer(column, row) for column, row in zip(b.T, a))


@wrong("15.11", "divided by the width")
def merged_by_the_wrong_axis(weight, a, b, alpha):
    rank = a.shape[-1]
    return weight + (alpha / rank) * np.matmul(b, a)


@wrong("15.11", "no scale")
def merged_without_alpha(weight, a, b, alpha):
    return weight + np.dot(b, a)


@wrong("15.11", "alpha without r")
def merged_with_alpha(weight, a, b, alpha):
    return weight + alpha * b @ a


@wrong("15.11")
def merged_the_other_way_round(weight, a, b, alpha):
    return weight + alpha / len(a) * (a @ b)


@wrong("15.11", "changed in place")
def merged_in_the_frozen_one(weight, a, b, alpha):
    np.add(weight, alpha / len(a) * (b @ a), out=weight)
    return weight


# ---------------------------------------------------------------- 15.12


@right("15.12")
def likely_by_threshold(logits, k, p):
    import torch

    lowest = logits.topk(min(k, logits.shape[-1])).values[:, -1:]
    cut = logits.masked_fill(logits < lowest, -math.inf)
    chances = cut.softmax(dim=-1)
    rivals = (chances[:, None, :] * (chances[:, None, :] > chances[:, :, None])).sum(dim=-1)
    return torch.where(rivals < p, cut, torch.full_like(cut, -math.inf))


@wrong("15.12", "probabilities of before")
def likely_by_one_softmax(logits, k, p):
    import torch

    chances, places = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    keep = (chances.cumsum(dim=-1) - chances < p) & (torch.arange(logits.shape[-1]) < k)
    return logits.masked_fill(~torch.zeros_like(keep).scatter(-1, places, keep), -math.inf)


@wrong("15.12", "stopped too early")
def likely_below_p(logits, k, p):
    import torch

    lowest = logits.topk(k).values[:, -1:]
    cut = logits.masked_fill(logits < lowest, -math.inf)
    chances, places = cut.softmax(dim=-1).sort(dim=-1, descending=True)
    drop = chances.cumsum(dim=-1) > p
    return cut.masked_fill(torch.zeros_like(drop).scatter(-1, places, drop), -math.inf)


@wrong("15.12", "k forgotten")
def likely_by_p_alone(logits, k, p):
    import torch

    chances, places = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    drop = chances.cumsum(dim=-1) - chances >= p
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, places, drop), -math.inf)


@wrong("15.12", "p forgotten")
def likely_by_k_alone(logits, k, p):
    return logits.masked_fill(logits < logits.topk(k).values[:, -1:], -math.inf)


# ---------------------------------------------------------------- all of them


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
