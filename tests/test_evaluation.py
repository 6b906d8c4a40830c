"""The scores: equal to sacreBLEU's, equal to a count by hand, signed, and strict about their arguments."""

import dataclasses
import math

import pytest
import sacrebleu

from xformer_lib.evaluation import Score, bleu, chrf, exact_match

CASES = [
    (["Le gros chat jaune dort ici."], ["Le gros chat jaune dort ici."]),
    (["Le gros chat jaune dort ici."], ["Le chat jaune dort ici."]),
    (["Je suis une ingénieur", "Le petit chat", "Bonjour le monde"], ["Je suis ingénieur", "Le chat", "Bonjour le monde"]),
    (["l'homme n'est pas là", "oui", "Elle dort dans le jardin bleu"],
     ["L'homme n'est pas là", "non", "Elle dort dans un jardin bleu et vert"]),
    (["rien de bon"], ["Deux chiens courent vite"]),
]
SIGNATURES = {"bleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:",
          "chrf": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:"}


@pytest.mark.parametrize("hypotheses, references", CASES)
def test_scores_equal_sacrebleu(hypotheses, references):
    assert bleu(hypotheses, references).value == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert chrf(hypotheses, references).value == sacrebleu.corpus_chrf(hypotheses, [references]).score


def test_bleu_of_a_count_by_hand():
    """Seven words against six: precisions 6/7, 4/6, 3/5, 2/4 and no brevity penalty."""
    score = bleu(["le gros chat jaune dort très ici"], ["le gros chat jaune dort ici"])
    assert math.isclose(score.value, 100 * (6 / 7 * 4 / 6 * 3 / 5 * 2 / 4) ** 0.25)


def test_bleu_of_a_short_hypothesis_is_lowered():
    """All n-grams right, five words for eight: only the brevity penalty counts."""
    score = bleu(["le gros chat jaune dort"], ["le gros chat jaune dort dans son jardin"])
    assert math.isclose(score.value, 100 * math.exp(1 - 8 / 5))


def test_bleu_is_of_the_corpus_not_a_mean_of_sentences():
    hypotheses, references = CASES[2]
    mean = sum(sacrebleu.sentence_bleu(h, [r]).score for h, r in zip(hypotheses, references)) / 3
    assert abs(bleu(hypotheses, references).value - mean) > 1


def test_chrf_of_a_count_by_hand():
    """Order 1 and 2 alone exist: "ab" against "ac" has 1/2 and 0/1, so F is the mean of both."""
    score = chrf(["ab"], ["ac"])
    assert math.isclose(score.value, 100 * (1 / 2 + 0) / 2)


@pytest.mark.parametrize("metric", (bleu, chrf))
def test_bounds_and_signature(metric):
    same = references = CASES[3][1]
    score = metric(same, references)
    assert isinstance(score, Score) and math.isclose(score.value, 100)
    assert metric(["zzz xx"], ["Le chat dort"]).value == 0
    assert score.signature == SIGNATURES[metric.__name__] + sacrebleu.__version__
    with pytest.raises(dataclasses.FrozenInstanceError):
        score.value = 99.9


def test_case_and_accents_count():
    for metric in (bleu, chrf):
        full = metric(["Le vélo est à Élise ici"], ["Le vélo est à Élise ici"]).value
        assert metric(["le vélo est à Élise ici"], ["Le vélo est à Élise ici"]).value < full
        assert metric(["Le velo est à Élise ici"], ["Le vélo est à Élise ici"]).value < full


@pytest.mark.parametrize("hypotheses, references, expected", [
    (["a", "b", "c"], ["a", "x", "c"], 200 / 3),
    (["a"], ["a "], 0.0),
    (["A"], ["a"], 0.0),
    (["Je suis ingénieur"], ["Je suis ingénieur"], 100.0),
    (["a", "b"], ["b", "a"], 0.0),
])
def test_exact_match(hypotheses, references, expected):
    assert math.isclose(exact_match(hypotheses, references), expected)


@pytest.mark.errors
@pytest.mark.parametrize("metric", (bleu, chrf, exact_match))
@pytest.mark.parametrize("hypotheses, references", ((["a"], []), (["a", "b"], ["a"]), (["a"], ["a", "b", "c"]), ([], [])))
def test_lists_that_do_not_match(metric, hypotheses, references):
    message = (f"^references: expected one for each of {len(hypotheses)} hypotheses, got {len(references)}; "
               "both lists must have the same, non-zero length$")
    with pytest.raises(ValueError, match=message):
        metric(hypotheses, references)


@pytest.mark.errors
@pytest.mark.parametrize("metric", (bleu, chrf, exact_match))
def test_one_string_is_not_a_list(metric):
    with pytest.raises(TypeError, match=r"^hypotheses, references: expected lists of sentences, got one string; write \[text\]$"):
        metric("chat", "chat")
    with pytest.raises(TypeError, match="expected lists of sentences"):
        metric(["c", "h", "a", "t"], "chat")
