"""Held-out answers to the two exercises of page 12c."""

import numpy as np

from tests.exercises.held_out import HeldOut, as_tests
from xformer_course.exercises.chapter_12.worth import LOOK, SETTLED, T_95

ANSWERS = HeldOut()
right, wrong = ANSWERS.right, ANSWERS.wrong


# ---------------------------------------------------------------- one look


def scores_of(states, notes, w, u, v):
    return np.einsum("bsm,m->bs", np.tanh(np.einsum("nm,bm->bn", w, states)[:, None, :] + np.einsum("nm,bsm->bsn", u, notes)), v)


@right(LOOK.id)
def look_sentence_by_sentence(states, notes, real, w, u, v):
    contexts, weights = np.zeros(states.shape), np.zeros(real.shape)
    for row in range(len(states)):
        words = notes[row][real[row]]
        scores = np.tanh(w @ states[row] + words @ u.T) @ v
        powers = np.exp(scores - scores.max())
        weights[row, real[row]] = powers / powers.sum()
        contexts[row] = weights[row] @ notes[row]
    return contexts, weights


@right(LOOK.id)
def look_by_a_large_negative_number(states, notes, real, w, u, v):
    scores = scores_of(states, notes, w, u, v) + np.where(real, 0.0, -1e9)
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return np.einsum("bs,bsm->bm", weights, notes), weights


@wrong(LOOK.id, "padding read")
def look_without_a_mask(states, notes, real, w, u, v):
    scores = scores_of(states, notes, w, u, v)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return np.einsum("bs,bsm->bm", weights, notes), weights


@wrong(LOOK.id, "a score of 0")
def look_with_scores_times_the_mask(states, notes, real, w, u, v):
    scores = scores_of(states, notes, w, u, v) * real
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return np.einsum("bs,bsm->bm", weights, notes), weights


@wrong(LOOK.id, "overflow")
def look_without_the_maximum(states, notes, real, w, u, v):
    with np.errstate(all="ignore"):
        powers = np.exp(scores_of(states, notes, w, u, v)) * real
        weights = powers / powers.sum(1, keepdims=True)
        return np.einsum("bs,bsm->bm", weights, notes), weights


@wrong(LOOK.id)
def look_that_gives_the_weights_first(states, notes, real, w, u, v):
    return look_sentence_by_sentence(states, notes, real, w, u, v)[::-1]


@wrong(LOOK.id)
def look_with_a_mean_over_the_words(states, notes, real, w, u, v):
    contexts, weights = look_sentence_by_sentence(states, notes, real, w, u, v)
    return contexts / real.sum(axis=1, keepdims=True), weights


# ---------------------------------------------------------------- settled by seeds


@right(SETTLED.id)
def settled_by_arrays(ours, theirs):
    seeds = sorted(set(ours) & set(theirs))
    gaps = np.array([ours[seed] for seed in seeds]) - np.array([theirs[seed] for seed in seeds])
    half = T_95[len(gaps)] * np.sqrt(gaps.var(ddof=1) / len(gaps))
    ends = gaps.mean() + np.array([-half, half])
    return (*ends, {1: "more", -1: "less", 0: "open"}[int(np.sign(ends).sum()) // 2])


@wrong(SETTLED.id, "divisor n")
def settled_with_the_default_of_numpy(ours, theirs):
    gaps = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    half = T_95[len(gaps)] * np.std(gaps) / np.sqrt(len(gaps))
    low, high = np.mean(gaps) - half, np.mean(gaps) + half
    return low, high, "more" if low > 0 else "less" if high < 0 else "open"


@wrong(SETTLED.id, "paired as listed")
def settled_by_zip(ours, theirs):
    gaps = [one - other for one, other in zip(ours.values(), theirs.values(), strict=False)]
    half = T_95[len(gaps)] * np.std(gaps, ddof=1) / np.sqrt(len(gaps))
    low, high = np.mean(gaps) - half, np.mean(gaps) + half
    return low, high, "more" if low > 0 else "less" if high < 0 else "open"


@wrong(SETTLED.id)
def settled_that_fails_on_a_lone_seed(ours, theirs):
    return settled_by_arrays(ours, {seed: theirs[seed] for seed in ours})


@wrong(SETTLED.id, "the mean decides")
def settled_by_the_sign(ours, theirs):
    low, high, _ = settled_by_arrays(ours, theirs)
    return low, high, "more" if low + high > 0 else "less"


@wrong(SETTLED.id)
def settled_with_the_verdict_turned(ours, theirs):
    low, high, verdict = settled_by_arrays(ours, theirs)
    return low, high, {"more": "less", "less": "more", "open": "open"}[verdict]


# ---------------------------------------------------------------- all of them


test_a_right_answer_passes_in_any_style, test_a_wrong_answer_never_passes = as_tests(ANSWERS)
