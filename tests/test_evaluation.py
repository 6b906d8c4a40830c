"""The scores: equal to sacreBLEU's, equal to a count by hand, signed, and strict about their arguments."""

import dataclasses
import math

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from xformer_lib.evaluation import (
    Score,
    bleu,
    bleu_by_length,
    bleu_counts,
    bleu_of_counts,
    chrf,
    exact_match,
    paired_bootstrap,
    resampled_bleu,
    two_sided_p,
    word_errors,
    worst,
)

CASES = [
    (["Le gros chat jaune dort ici."], ["Le gros chat jaune dort ici."]),
    (["Le gros chat jaune dort ici."], ["Le chat jaune dort ici."]),
    (["Je suis une ingénieur", "Le petit chat", "Bonjour le monde"], ["Je suis ingénieur", "Le chat", "Bonjour le monde"]),
    (
        ["l'homme n'est pas là", "oui", "Elle dort dans le jardin bleu"],
        ["L'homme n'est pas là", "non", "Elle dort dans un jardin bleu et vert"],
    ),
    (["rien de bon"], ["Deux chiens courent vite"]),
]
SIGNATURES = {
    "bleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:",
    "chrf": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:",
}


@pytest.mark.parametrize("hypotheses, references", CASES)
def test_scores_equal_sacrebleu(hypotheses, references):
    assert bleu(hypotheses, references).value == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert chrf(hypotheses, references).value == sacrebleu.corpus_chrf(hypotheses, [references]).score


@pytest.mark.parametrize("metric", (bleu, chrf))
def test_bounds_and_signature(metric):
    same = references = CASES[3][1]
    score = metric(same, references)
    assert isinstance(score, Score) and math.isclose(score.value, 100)
    assert metric(["zzz xx"], ["Le chat dort"]).value == 0
    assert score.signature == SIGNATURES[metric.__name__] + sacrebleu.__version__
    with pytest.raises(dataclasses.FrozenInstanceError):
        score.value = 99.9


@pytest.mark.parametrize(
    "hypotheses, references, expected",
    [
        (["a", "b", "c"], ["a", "x", "c"], 200 / 3),
        (["a"], ["a "], 0.0),
        (["A"], ["a"], 0.0),
        (["Je suis ingénieur"], ["Je suis ingénieur"], 100.0),
        (["a", "b"], ["b", "a"], 0.0),
    ],
)
def test_exact_match(hypotheses, references, expected):
    assert math.isclose(exact_match(hypotheses, references), expected)


@pytest.mark.parametrize("metric", (bleu, chrf, exact_match))
@pytest.mark.parametrize("hypotheses, references", ((["a", "b"], ["a"]), ([], [])))
def test_lists_that_do_not_match(metric, hypotheses, references):
    message = (
        f"^references: expected one for each of {len(hypotheses)} hypotheses, got {len(references)}; "
        "both lists must have the same, non-zero length$"
    )
    with pytest.raises(ValueError, match=message):
        metric(hypotheses, references)


SAID, WANTED = ["le chat dort ici .", "non"], ["le chat dort là .", "non"]
COLUMN = type("Column", (), {"__iter__": lambda self: iter(WANTED)})  # of a table: it can be read, and has no truth value


@pytest.mark.parametrize(
    "given", (tuple(WANTED), np.array(WANTED), np.array(WANTED, dtype=object), COLUMN()), ids=lambda x: type(x).__name__
)
def test_sentences_come_in_any_order_that_can_be_read(given):
    for metric in (bleu, chrf, exact_match, bleu_counts, lambda *both: paired_bootstrap(SAID, *both, samples=9)):
        assert np.array_equal(metric(SAID, given), metric(SAID, WANTED))
        assert np.array_equal(metric(given, SAID), metric(WANTED, SAID))
    assert worst(given, given, given) == worst(WANTED, WANTED, WANTED)
    assert bleu_by_length(given, SAID, given) == bleu_by_length(WANTED, SAID, WANTED)


@pytest.mark.parametrize("metric", (bleu, chrf, exact_match, bleu_counts, lambda *both: worst(["a", "b"], *both)))
@pytest.mark.parametrize("other", ([[one] for one in WANTED], ["non", None], np.array([WANTED])))
def test_references_in_another_shape_are_refused(metric, other):
    """sacreBLEU's own lists of lists, for example, of which each would be one reference more."""
    with pytest.raises(TypeError, match=r"^references: expected a flat list, \[text, …\].*got .* in it; give each sentence one reference"):
        metric(WANTED, other)
    for unordered in (set(WANTED), dict(zip(WANTED, WANTED)), 3):
        with pytest.raises(TypeError, match=r"^references: expected a list of sentences, got (set|dict|3); give them in order"):
            metric(WANTED, unordered)


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
    hypotheses = [
        [" ".join(word if rng.random() > part else "zut" for word in reference.split()) for reference in references] for part in wrong
    ]
    return references, *hypotheses


@pytest.mark.parametrize("hypotheses, references", [*CASES, (["Je suis"], ["Je suis"]), (["a b c d", ""], ["a b x y z", "u"])])
def test_bleu_of_counts_is_bleu(hypotheses, references):
    """Whole corpora and single sentences, smoothed or too short for a 4-gram, or without a word."""
    counts = bleu_counts(hypotheses, references)
    assert counts.shape == (len(hypotheses), 10)
    assert math.isclose(bleu_of_counts(counts), bleu(hypotheses, references).value)
    for row, hypothesis, reference in zip(counts, hypotheses, references):
        assert math.isclose(bleu_of_counts(row[None]), bleu([hypothesis], [reference]).value)


ENDS = ["Je suis là.\n", "Oui -\n", "un\ndeux trois quatre", " \tdes bords ", "&quot;a&amp;b&quot; c", "<skipped>Non.\r\n", "a\u2028b"]


@pytest.mark.parametrize("ends", ENDS)
def test_lines_are_counted_as_sacrebleu_counts_them(ends):
    """With their ends and signs of HTML, by every way that counts: it strips what Tokenizer13a alone would keep."""
    wanted, said = [ends, "le chat dort ici .", "ends"], ["Je suis là.", "le chat dort ici.\n", ends]
    score = bleu(said, wanted).value
    assert math.isclose(bleu_of_counts(bleu_counts(said, wanted)), score)
    assert math.isclose(bleu_of_counts(bleu_counts(wanted, said)), bleu(wanted, said).value)
    same = paired_bootstrap(said, said, wanted, samples=9)
    assert math.isclose(same.first, score) and (same.low, same.high) == (0, 0)
    (group,) = bleu_by_length(["one"] * 3, said, wanted)
    assert math.isclose(group.score.value, score)


def gaps_by_hand(first, second, references, samples):
    """BLEU of each resampled corpus as a whole, in plain Python."""
    drawn = np.random.default_rng(12345).choice(len(references), size=(samples, len(references)))
    return np.array(
        [
            bleu([second[n] for n in draw], [references[n] for n in draw]).value
            - bleu([first[n] for n in draw], [references[n] for n in draw]).value
            for draw in drawn
        ]
    )


def test_the_bootstrap_is_that_of_a_count_by_hand():
    references, first, second = noisy(53, (0.27, 0.23), 1)
    found = paired_bootstrap(first, second, references, samples=101)
    gaps = gaps_by_hand(first, second, references, 101)
    crossed = min((gaps <= 0).sum(), (gaps >= 0).sum())
    assert 0 < crossed < 50 and math.isclose(found.p_value, 2 * (crossed + 1) / 102)
    np.testing.assert_allclose([found.low, found.high], np.percentile(gaps, [2.5, 97.5]))
    assert (found.first, found.second) == (bleu(first, references).value, bleu(second, references).value)
    assert found.signature.startswith("nrefs:1|bs:101|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_the_draws_are_those_of_sacrebleu():
    """Its p comes out of our gaps by its own rule, so nothing but the rule differs; and its signature is ours."""
    references, first, second = noisy(53, (0.27, 0.23), 1)
    signatures, scores = PairedTest([("first", first), ("second", second)], {"BLEU": BLEU()}, [references], test_type="bs", n_samples=101)()
    counts = [bleu_counts(system, references) for system in (first, second)]
    a, b = resampled_bleu(*counts, samples=101)
    real = bleu_of_counts(counts[1]) - bleu_of_counts(counts[0])
    assert math.isclose(scores["BLEU"][1].p_value, p_of_sacrebleu(b - a, real))
    assert str(signatures["BLEU"]) == paired_bootstrap(first, second, references, samples=101).signature


def p_of_sacrebleu(gaps, real):
    """Absolute gaps less their mean, and how many of them exceed the real one."""
    chance = abs(gaps) - abs(gaps).mean()
    return ((chance > abs(real)).sum() + 1) / (len(gaps) + 1)


def equal_systems(rng, n):
    """Counts (n, 10) of two systems that are equally good: sentences differ in length and difficulty, chance is their own."""
    lengths, ease = rng.integers(4, 23, size=n), rng.beta(4, 3, size=n)
    for _ in range(2):
        columns = [lengths, lengths]
        for order in (1, 2, 3, 4):
            totals = lengths - order + 1
            columns += [rng.binomial(totals, ease**order), totals]
        yield np.stack(columns, axis=1)


def test_equal_systems_are_called_different_in_five_of_a_hundred_trials():
    """The p-value is what it says, in 400 trials; sacreBLEU's rule cries wolf about twice as often. Seldom is a sign unanimous."""
    rng, ours, theirs = np.random.default_rng(7), [], []
    for _ in range(400):
        first, second = equal_systems(rng, 61)
        a, b = resampled_bleu(first, second, samples=199)
        ours.append(two_sided_p(b - a))
        theirs.append(p_of_sacrebleu(b - a, bleu_of_counts(second) - bleu_of_counts(first)))
    false_alarms, of_sacrebleu = np.mean(np.array(ours) < 0.05), np.mean(np.array(theirs) < 0.05)
    assert 0.025 < false_alarms < 0.08
    assert of_sacrebleu > 1.5 * false_alarms
    assert 0.4 < np.mean(np.array(ours) < 0.5) < 0.6  # and at other levels, too


@pytest.mark.parametrize(
    "gaps, expected",
    [
        ([1.0, 2.0, 3.0, 4.0], 2 / 5),  # one sign: none crossed
        ([-1.0, -2.0, -3.0, -4.0], 2 / 5),  # the other one
        ([-1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 4 / 8),  # both signs
        ([0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 4 / 8),  # a tie speaks against a difference
        ([-1.0, 1.0], 1.0),
        ([0.0, 0.0, 0.0], 1.0),
    ],
)
def test_p_doubles_the_rarer_side(gaps, expected):
    assert math.isclose(two_sided_p(np.array(gaps)), expected)
    assert math.isclose(two_sided_p(-np.array(gaps)), expected)


def test_a_clear_difference_and_none():
    references, first, second = noisy(101, (0.4, 0.05), 2)
    there, back = (paired_bootstrap(*pair, references, samples=199) for pair in ((first, second), (second, first)))
    assert there.p_value == back.p_value == 2 / 200
    assert 0 < there.low < there.second - there.first < there.high
    assert math.isclose(back.high, -there.low) and math.isclose(back.low, -there.high)
    same = paired_bootstrap(first, list(first), references, samples=199)
    assert (same.p_value, same.low, same.high) == (1.0, 0.0, 0.0)


def test_a_comparison_wants_three_lists_of_one_length():
    with pytest.raises(ValueError, match="expected one for each of 2 hypotheses, got 3"):
        paired_bootstrap(["a"] * 3, ["a"] * 2, ["a"] * 3)
    with pytest.raises(ValueError, match=r"^samples: expected at least 1, got 0; 1000 is usual$"):
        paired_bootstrap(["a"], ["a"], ["a"], samples=0)
    with pytest.raises(ValueError, match=r"^counts: expected the same sentences for every system, got \[2, 3\]; score them together$"):
        resampled_bleu(np.ones((2, 10), dtype=int), np.ones((3, 10), dtype=int))
    with pytest.raises(ValueError, match="^count: expected a whole number, 0 or more, got -1"):
        worst(["a"], ["a"], ["a"], count=-1)


# ---------------------------------------------------------------- by length, by kind, the worst


def test_groups_by_length_hold_each_sentence_once():
    sources = [" ".join("x" * n) for n in (1, 2, 3, 3, 4, 7, 8, 11)]
    references, hypotheses = noisy(8, (0.2,), 3)
    groups = bleu_by_length(sources, hypotheses, references, limits=(3, 5, 7, 9, 10))
    assert [(g.shortest, g.longest, g.count) for g in groups] == [(1, 3, 4), (4, 5, 1), (6, 7, 1), (8, 9, 1), (11, 11, 1)]
    assert groups[0].score == bleu(hypotheses[:4], references[:4])
    assert groups[-1].score == bleu(hypotheses[-1:], references[-1:])
    assert sum(g.count for g in bleu_by_length(sources, hypotheses, references, limits=(99,))) == 8
    assert bleu_by_length(sources, hypotheses, references, limits=(7, 3, 10, 9, 5)) == groups
    draws = resampled_bleu(bleu_counts(hypotheses[:4], references[:4]))[0]
    assert [groups[0].low, groups[0].high] == [*np.percentile(draws, [2.5, 97.5])]


@pytest.mark.parametrize(
    "said, wanted, expected",
    [
        ("Le chat dort", "Le chat dort", []),
        ("le chat dort", "Le chat dort", []),
        ("Le chien dort", "Le chat dort", [("wrong", "chien", "chat")]),
        ("Le chat dort ici", "Le chat dort", [("extra", "ici", "")]),
        ("Le chat", "Le chat dort", [("missing", "", "dort")]),
        ("Le jaune chat", "Le chat jaune", [("missing", "", "chat"), ("extra", "chat", "")]),
        ("L'homme dort.", "Un homme dort", [("wrong", "l'", "un"), ("extra", ".", "")]),
        ("pas de oiseaux gris", "pas d'oiseaux verts", [("wrong", "de", "d'"), ("wrong", "gris", "verts")]),
        ("Le gros chien brun dort", "Le chat dort", [("wrong", "gros chien brun", "chat")]),
        ("", "Le chat", [("missing", "", "le chat")]),
    ],
)
def test_word_errors(said, wanted, expected):
    found = [(e.kind, e.said, e.wanted) for e in word_errors(said, wanted)]
    assert sorted(found) == sorted(expected)


def test_long_sentences_are_compared_word_by_word():
    """difflib takes words that come often for noise unless it is told not to."""
    words = ["le", "chat"] * 150
    assert [e.kind for e in word_errors(" ".join(words), " ".join([*words, "dort"]))] == ["missing"]


def test_the_worst_come_first():
    references, hypotheses = noisy(13, (0.5,), 11)
    sources = [f"source {n}" for n in range(13)]
    rows = worst(sources, hypotheses, references, count=3)
    values = [sacrebleu.sentence_chrf(h, [r]).score for h, r in zip(hypotheses, references)]
    assert [value for value, *_ in rows] == sorted(values)[:3]
    for value, *sentences in rows:
        n = int(sentences[0].split()[1])
        assert value == values[n] and sentences[1:] == [hypotheses[n], references[n]]


def test_analyses_refuse_lists_that_do_not_match():
    for analyse in (bleu_by_length, worst):
        with pytest.raises(ValueError, match="both lists must have the same, non-zero length"):
            analyse(["a", "b"], ["a", "b"], ["a"])
        with pytest.raises(ValueError, match="expected one for each of 1 hypotheses, got 2"):
            analyse(["a"], ["a", "b"], ["a", "b"])
