"""The small tasks of chapter 15: their labels are true, their sentences grammatical, their splits disjoint."""

import re

import numpy as np
import pytest
import torch

from xformer_course.lessons.variants import (
    BANDS,
    NOUNS,
    NUM_SOUNDS,
    SOUNDS,
    fit,
    gender_sentences,
    record,
    recordings,
    small_language,
    split_nouns,
)

GENDERS = {noun: gender for gender, nouns in NOUNS.items() for noun in nouns.split()}


def rng(seed=0):
    return np.random.default_rng(seed)


def test_fit_finds_a_minimum_and_names_the_last_loss():
    x = torch.zeros(3, requires_grad=True)
    last = fit([{"params": [x], "lr": 0.3}], lambda: (x - torch.tensor([1.0, -2.0, 3.0])).square().sum(), steps=200)
    torch.testing.assert_close(x.detach(), torch.tensor([1.0, -2.0, 3.0]), atol=1e-2, rtol=0)
    assert 0 <= last < 1e-3


def test_fit_moves_each_group_at_its_own_rate():
    slow, fast, still = (torch.zeros((), requires_grad=True) for _ in range(3))
    fit([{"params": [slow], "lr": 1e-3}, {"params": [fast], "lr": 1e-1}], lambda: slow + fast + still, steps=20)
    slow, fast, still = (x.item() for x in (slow, fast, still))
    assert -0.02 < slow < 0 and fast < 50 * slow and still == 0


def test_nouns_are_split_without_rest_or_overlap():
    assert len(GENDERS) == sum(len(nouns.split()) for nouns in NOUNS.values())
    known, unseen = split_nouns(rng(), known=11)
    for gender, nouns in NOUNS.items():
        assert len(known[gender]) == 11 and sorted(known[gender] + unseen[gender]) == sorted(nouns.split())


@pytest.mark.parametrize("n", [7, 50])
def test_sentences_hold_one_noun_of_each_gender_and_the_label_is_the_subjects(n):
    known, _ = split_nouns(rng())
    sentences, labels = gender_sentences(known, n, rng(1))
    assert len(sentences) == len(labels) == n and labels.sum() == n // 2
    for sentence, label in zip(sentences, labels):
        nouns = [word for word in re.findall(r"\w+", sentence) if word in GENDERS]
        assert sorted(GENDERS[noun] for noun in nouns) == ["f", "m"]
        assert label == (GENDERS[nouns[0]] == "f") and sentence.startswith(f"The {nouns[0]} is")


def test_the_small_language_agrees():
    language = small_language()
    assert len(language) == len(set(language)) == 11 * 6 * 5 * 4 * 2 * 7 * 6
    plural = {"cats", "dogs", "birds", "horses", "hedgehogs", "mice", "cows", "boys", "girls", "kings", "children"}
    for sentence in language[::97]:
        words = sentence.split()
        subject_is_plural = words[1] in plural
        verb = next(word for word in words if re.fullmatch(r"do|does|(see|love|want|find)s?", word))
        assert (verb in ("do", "see", "love", "want", "find")) == subject_is_plural
        assert (words[0] == "these") <= subject_is_plural and (words[0] == "this") <= (not subject_is_plural)
    assert "the dogs near the house do not see my book" in set(language)
    assert "the dogs near the house does not see my book" not in set(language)


@pytest.mark.parametrize("slow", [1, 3])
def test_a_recording_says_what_it_holds(slow):
    words, rises = np.array([3, 1, 3, 7, 0]), np.array([1, 0, 0, 1, 1])
    frames, heard = record(words, rises, rng(5), slow=slow)
    assert frames.shape == (len(heard), BANDS + 1)
    assert [word for word in dict.fromkeys(heard.tolist()) if word >= 0] == list(range(5))
    for place, word in enumerate(words):
        own = frames[heard == place]
        assert 2 * slow <= len(own) <= 5 * slow
        wanted = np.append(SOUNDS[word], 2 * rises[place] - 1)
        assert np.abs(own.mean(axis=0) - wanted).max() < 4 * 0.5 / np.sqrt(len(own))
    assert sorted(heard[heard >= 0].tolist()) == heard[heard >= 0].tolist()


def test_recordings_are_padded_behind():
    words, series, real, rises, heard = recordings(13, rng(2), num_words=5)
    assert words.shape == rises.shape == (13, 5) and series.shape == (*real.shape, BANDS + 1)
    assert int(words.min()) >= 3 and int(words.max()) < NUM_SOUNDS + 3
    assert np.array_equal(real.numpy(), heard > -2)
    assert (real.int().diff(dim=1) <= 0).all() and real.all(dim=0)[0] and real.any(dim=0).all()
    assert not series[~real].any()
