"""The scores: equal to sacreBLEU's, equal to a count by hand, signed, and strict about their arguments."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import sacrebleu

from xformer_lib.evaluation import (
    Score,
    WordError,
    bleu,
    bleu_by_length,
    chrf,
    common_places,
    exact_match,
    grammar_kind,
    paired_bootstrap,
    word_errors,
    worst,
)

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


# ---------------------------------------------------------------- two systems


def noisy(n, wrong, seed):
    """References of different lengths, and hypotheses in which some words are replaced."""
    rng = np.random.default_rng(seed)
    words = "le gros chat jaune dort ici dans un jardin vert et il aime bien son ami".split()
    references = [" ".join(rng.choice(words, size=rng.integers(4, 18))) for _ in range(n)]
    hypotheses = [[" ".join(word if rng.random() > part else "zut" for word in reference.split()) for reference in references]
                  for part in wrong]
    return references, *hypotheses


def test_the_bootstrap_is_that_of_a_count_by_hand():
    """Draws, p and scores again in plain Python, with BLEU of each resampled corpus as a whole."""
    references, first, second = noisy(53, (0.25, 0.25), 1)
    found = paired_bootstrap(first, second, references, samples=101)
    drawn = np.random.default_rng(12345).choice(53, size=(101, 53))
    gaps = np.array([bleu([second[n] for n in draw], [references[n] for n in draw]).value
                     - bleu([first[n] for n in draw], [references[n] for n in draw]).value for draw in drawn])
    real = bleu(second, references).value - bleu(first, references).value
    chance = abs(gaps) - abs(gaps).mean()
    assert math.isclose(found.p_value, ((chance > abs(real)).sum() + 1) / 102)
    assert (found.first, found.second) == (bleu(first, references).value, bleu(second, references).value)
    assert found.signature.startswith("nrefs:1|bs:101|seed:12345|") and 0.02 < found.p_value < 0.98


def test_a_clear_difference_and_none():
    references, first, second = noisy(101, (0.4, 0.05), 2)
    assert paired_bootstrap(first, second, references, samples=199).p_value == 1 / 200
    assert paired_bootstrap(second, first, references, samples=199).p_value == 1 / 200
    assert paired_bootstrap(first, list(first), references, samples=199).p_value == 1.0


@pytest.mark.errors
def test_a_comparison_wants_three_lists_of_one_length():
    with pytest.raises(ValueError, match="expected one for each of 2 hypotheses, got 3"):
        paired_bootstrap(["a"] * 3, ["a"] * 2, ["a"] * 3)
    with pytest.raises(ValueError, match=r"^samples: expected at least 1, got 0; 1000 is usual$"):
        paired_bootstrap(["a"], ["a"], ["a"], samples=0)


# ---------------------------------------------------------------- by length, by kind, the worst


def test_groups_by_length_hold_each_sentence_once():
    sources = [" ".join("x" * n) for n in (1, 2, 3, 3, 4, 7, 8, 11)]
    references, hypotheses = noisy(8, (0.2,), 3)
    groups = bleu_by_length(sources, hypotheses, references, limits=(3, 5, 7, 9, 10))
    assert [(g.shortest, g.longest, g.count) for g in groups] == [(1, 3, 4), (4, 5, 1), (6, 7, 1), (8, 9, 1), (11, 11, 1)]
    assert groups[0].score == bleu(hypotheses[:4], references[:4])
    assert groups[-1].score == bleu(hypotheses[-1:], references[-1:])
    assert sum(g.count for g in bleu_by_length(sources, hypotheses, references, limits=(99,))) == 8


def test_common_places_are_a_longest_common_subsequence():
    """Against every subsequence of the shorter row."""
    rng = np.random.default_rng(7)
    for _ in range(53):
        said, wanted = (list(rng.choice(list("abc"), size=size)) for size in (rng.integers(0, 7), rng.integers(0, 8)))
        places = common_places(said, wanted)
        assert [said[i] for i, _ in places] == [wanted[j] for _, j in places]
        assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(places))
        rows = [{row for size in range(len(side) + 1) for row in itertools.combinations(side, size)} for side in (said, wanted)]
        assert len(places) == max(map(len, rows[0] & rows[1]))


@pytest.mark.parametrize("said, wanted, expected", [
    ("Le chat dort", "Le chat dort", []),
    ("le chat dort", "Le chat dort", []),
    ("Le chien dort", "Le chat dort", [("wrong", "chien", "chat")]),
    ("Le chat dort ici", "Le chat dort", [("extra", "ici", "")]),
    ("Le chat", "Le chat dort", [("missing", "", "dort")]),
    ("Le jaune chat", "Le chat jaune", [("order", "jaune", "jaune")]),
    ("L'homme dort.", "Un homme dort", [("wrong", "l'", "un"), ("extra", ".", "")]),
    ("Le jaune chien dort", "Le chat jaune", [("extra", "chien", ""), ("extra", "dort", ""), ("missing", "", "chat")]),
    ("", "Le chat", [("missing", "", "le"), ("missing", "", "chat")]),
    ("chat le le", "le le chat chat", [("order", "chat", "chat"), ("missing", "", "chat")]),
])
def test_word_errors(said, wanted, expected):
    found = [(e.kind, e.said, e.wanted) for e in word_errors(said, wanted)]
    assert sorted(found) == sorted(expected)


def test_word_errors_turn_with_the_sides():
    """Hypothesis and reference swapped: as many wrong and moved words, extra and missing exchanged."""
    turned = {"wrong": "wrong", "order": "order", "extra": "missing", "missing": "extra"}
    references, hypotheses = noisy(31, (0.3,), 5)
    for hypothesis, reference in zip(hypotheses, reversed(references)):
        there, back = word_errors(hypothesis, reference), word_errors(reference, hypothesis)
        net = [sum({"extra": 1, "missing": -1}.get(e.kind, 0) for e in errors) for errors in (there, back)]
        assert net[0] == -net[1] == len(hypothesis.split()) - len(reference.split())
        assert {turned[e.kind] for e in there} <= set(turned)


@pytest.mark.parametrize("kind, said, wanted, expected", [
    ("wrong", "noir", "noire", "agreement"), ("wrong", "le", "la", "agreement"), ("wrong", "suis", "est", "agreement"),
    ("wrong", "chat", "chats", "agreement"), ("wrong", "ingénieur", "ingénieures", "agreement"), ("wrong", "son", "ses", "agreement"),
    ("wrong", "de", "d'", "elision"), ("wrong", "l'", "le", "elision"), ("wrong", "ne", "n'", "elision"), ("wrong", "je", "j'", "elision"),
    ("wrong", "à", "au", "contraction"), ("wrong", "du", "de", "contraction"), ("missing", "", "pas", "negation"),
    ("extra", "ne", "", "negation"), ("wrong", "mon", "un", "determiner"), ("missing", "", "les", "determiner"),
    ("wrong", "chat", "chien", "vocabulary"), ("missing", "", "chat", "vocabulary"), ("extra", "zut", "", "vocabulary"),
    ("wrong", "vois", "aime", "vocabulary"), ("order", "jaune", "jaune", "order"),
])
def test_grammar_kind(kind, said, wanted, expected):
    assert grammar_kind(WordError(kind, said, wanted)) == expected


def test_the_worst_come_first():
    references, hypotheses = noisy(13, (0.5,), 11)
    sources = [f"source {n}" for n in range(13)]
    rows = worst(sources, hypotheses, references, count=3)
    values = [sacrebleu.sentence_chrf(h, [r]).score for h, r in zip(hypotheses, references)]
    assert [value for value, *_ in rows] == sorted(values)[:3]
    for value, *sentences in rows:
        n = int(sentences[0].split()[1])
        assert value == values[n] and sentences[1:] == [hypotheses[n], references[n]]


@pytest.mark.errors
def test_analyses_refuse_lists_that_do_not_match():
    for analyse in (bleu_by_length, worst):
        with pytest.raises(ValueError, match="both lists must have the same, non-zero length"):
            analyse(["a", "b"], ["a", "b"], ["a"])
        with pytest.raises(ValueError, match="expected one for each of 1 hypotheses, got 2"):
            analyse(["a"], ["a", "b"], ["a", "b"])
