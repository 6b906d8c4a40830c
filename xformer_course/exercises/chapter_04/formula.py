"""The formula of chapter 03, with what a learner may get wrong as options."""

import math

import numpy as np


def softmax(scores, axis=-1):
    peak = scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isneginf(peak), 0.0, peak))
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1.0, total)


def attend(q, k, v, mask=None, *, divisor=None, axis=-1):
    scores = q @ k.T / (math.sqrt(q.shape[-1]) if divisor is None else divisor)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores, axis)
    return weights @ v, weights
