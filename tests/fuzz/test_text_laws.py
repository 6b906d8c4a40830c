"""Laws of everything that touches text: tokenizer, fragment, batches, scores. Drawn by hypothesis, over any Unicode."""

import math
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xformer_lib.data.batching import batches
from xformer_lib.data.corpora import normalise
from xformer_lib.data.fragment import fragment_split, sample_example, sample_pairs, split_words
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.evaluation import bleu, bleu_counts, bleu_of_counts, chrf, exact_match, paired_bootstrap

TEXTS = [text for example in fragment_split("val") for text in (example.source, example.target)]
TOKENIZER = Tokenizer.train(TEXTS, vocab_size=401)
ODD = [
    "",
    " ",
    "\u00a0\u202f\u2009",
    "e\u0301",
    "\u0301",
    "<eos>",
    "<pad>",
    "\x00",
    "\u200b",
    "\ufeff",
    "\r\n",
    "\u2028",
    "\x85",
    "\U0001f469\u200d\U0001f680",
    "\u1100\u1161",
    "\u212b",
    "L'",
    "''",
    "\ufffd",
    "\U0010ffff",
    "Le chat",
    "don't",
    "&quot;",
    "...",
]
ANY = st.text(max_size=40) | st.lists(st.sampled_from(ODD), max_size=9).map("".join)
LONG = st.builds(lambda piece, times: piece * times, st.sampled_from([*ODD, "a", "ab ", "9", "!", "é"]), st.integers(0, 3000))


# ---------------------------------------------------------------- tokenizer


@settings(max_examples=400)
@given(ANY | LONG)
def test_a_text_comes_back_in_form_nfc_and_nothing_else_changes(text):
    """The one change is Unicode's form NFC; done twice it is the same as done once, and equal texts get equal ids."""
    composed = unicodedata.normalize("NFC", text)
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == composed
    assert TOKENIZER.encode(composed) == TOKENIZER.encode(unicodedata.normalize("NFD", text)) == ids
    assert TOKENIZER.decode(TOKENIZER.encode(composed)) == composed
    assert not {0, 1, 2, 3} & set(ids) and len(TOKENIZER.pieces(ids)) == len(ids)


@given(st.text(st.characters(), max_size=9), st.integers(0xD800, 0xDFFF), st.text(max_size=9))
def test_half_a_character_is_refused_wherever_it_stands(before, half, after):
    for call in (TOKENIZER.encode, lambda text: TOKENIZER.encode_batch(["Le chat", text])):
        with pytest.raises(ValueError, match="got half of a surrogate pair"):
            call(before + chr(half) + after)


@settings(max_examples=300)
@given(st.lists(st.integers(0, TOKENIZER.vocab_size - 1), max_size=40))
def test_any_ids_are_some_text(ids):
    """Also ids that cut a character in two, which shows as U+FFFD; special ids add nothing."""
    text = TOKENIZER.decode(ids)
    text.encode("utf-8")
    assert text == TOKENIZER.decode([number for number in ids if number > 3])
    assert len(TOKENIZER.pieces(ids)) == len(ids)


@settings(max_examples=40)
@given(st.lists(ANY, max_size=17), st.integers(260, 300))
def test_any_texts_train_a_tokenizer_that_survives_its_file(tmp_path_factory, texts, vocab_size):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    trained = Tokenizer.train(texts, vocab_size=vocab_size)
    trained.save(path)
    loaded = Tokenizer.load(path)
    assert trained.vocab_size == loaded.vocab_size <= vocab_size and trained.fingerprint == loaded.fingerprint
    assert loaded.encode_batch(texts + TEXTS[:5]) == trained.encode_batch(texts + TEXTS[:5])
    assert [loaded.decode(ids) for ids in loaded.encode_batch(texts)] == [unicodedata.normalize("NFC", text) for text in texts]
    again = path.with_name("again.json")
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()


@given(ANY)
def test_what_is_normalised_needs_no_composing(text):
    once = normalise(text)
    assert normalise(once) == once and TOKENIZER.decode(TOKENIZER.encode(once)) == once


# ---------------------------------------------------------------- fragment


@given(st.integers(0, 2**63 - 1))
def test_every_sentence_of_the_fragment_is_well_formed(seed):
    """Links stay inside both sentences, each pair is linked once, and the text is normalised and comes back."""
    found = sample_example(np.random.default_rng(seed))
    assert found == sample_example(np.random.default_rng(seed))
    words = [split_words(text) for text in (found.source, found.target)]
    assert 0 < len(words[0]) <= 10 and len(set(found.alignment)) == len(found.alignment)
    assert all(0 <= i < len(words[0]) and 0 <= j < len(words[1]) for i, j in found.alignment)
    assert {j for _, j in found.alignment} <= set(range(len(words[1]))) and list(found.alignment) == sorted(found.alignment)
    for text in (found.source, found.target):
        assert normalise(text) == text == TOKENIZER.decode(TOKENIZER.encode(text)) and text[0].isupper()
        assert "".join(split_words(text)) == text.replace(" ", "")


@settings(max_examples=20)
@given(st.integers(0, 60), st.integers(0, 9))
def test_a_sample_has_the_size_asked_for_and_no_twins(count, seed):
    pairs = sample_pairs(count, rng=np.random.default_rng(seed))
    assert len({pair.source for pair in pairs}) == len(pairs) == count
    assert sample_pairs(count // 2, rng=np.random.default_rng(seed)) == pairs[: count // 2]


# ---------------------------------------------------------------- batches

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=53)  # lengths alone
ONES = st.integers(0, 53).map(lambda count: [(1, 1)] * count)


@settings(max_examples=200)
@given(PAIRS | ONES, st.integers(13, 67), st.integers(0, 2**32))
@example([(1, 1)] * 29, 13, 0)
@example([(0, 0)] * 7, 13, 0)
def test_each_epoch_has_every_pair_once_within_the_budget(lengths, max_tokens, seed):
    """Every pair carries its own number, so that twins of equal length are told apart; the shift is that of one row."""
    pairs = [([100 + n] + [5] * source, [100 + n] + [6] * target) for n, (source, target) in enumerate(lengths)]
    max_tokens += 1
    rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(2):
        made = list(batches(pairs, max_tokens=max_tokens, rng=rng))
        same = list(batches(pairs, max_tokens=max_tokens, rng=again))
        assert len(made) == len(same) and all(np.array_equal(a, b) for x, y in zip(made, same) for a, b in zip(x, y))
        seen = Counter(number for batch in made for number in batch.source[:, 0].tolist())
        assert seen == Counter(range(100, 100 + len(pairs)))
        for batch in made:
            assert all(0 < matrix.size <= max_tokens for matrix in batch)
            for source, target_in, target_out in zip(*batch):
                wanted = pairs[source[0] - 100]
                assert [n for n in source.tolist() if n > 2] == wanted[0] and (source == 2).sum() == 1
                assert target_in[target_in > 0].tolist() == [1, *wanted[1]]
                assert target_out[target_out > 0].tolist() == [*wanted[1], 2]


# ---------------------------------------------------------------- scores

LINES = st.lists(st.tuples(ANY, ANY | st.none()), min_size=1, max_size=7).map(
    lambda rows: ([said for said, _ in rows], [said if wanted is None else wanted for said, wanted in rows])
)


@settings(max_examples=150)
@given(LINES)
@example(([""], [""]))
@example((["\n"], ["Le chat"]))
@example((["\ud800"], ["\udfff x"]))
def test_scores_of_odd_text_stay_scores(lines):
    """From 0 to 100 for any text, line breaks and half characters included; the counts behind BLEU give BLEU."""
    said, wanted = lines
    for metric in (bleu, chrf):
        assert 0 <= metric(said, wanted).value <= 100 + 1e-9
    assert math.isclose(bleu_of_counts(bleu_counts(said, wanted)), bleu(said, wanted).value, abs_tol=1e-9)
    assert exact_match(said, wanted) == 100 * sum(a == b for a, b in zip(*lines)) / len(said)
    if any(text.strip() for text in wanted):
        assert math.isclose(chrf(wanted, wanted).value, 100)


@settings(max_examples=20)
@given(LINES, st.integers(1, 59))
def test_a_system_is_never_found_better_than_itself(lines, samples):
    said, wanted = lines
    found = paired_bootstrap(said, said, wanted, samples=samples)
    assert (found.low, found.high, found.p_value) == (0, 0, 1)
