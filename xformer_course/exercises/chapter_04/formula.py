"""The formula of chapter 03, with what a learner may get wrong as options."""

import math

import numpy as np

from xformer_lib.reference import softmax


def attend(q, k, v, mask=None, *, divisor=None, axis=-1):
    scores = q @ k.T / (math.sqrt(q.shape[-1]) if divisor is None else divisor)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores, axis)
    return weights @ v, weights
