"""Guessing ahead: whatever a draft says, the words are those of greedy decoding, and the counts are right."""

import dataclasses
import itertools
import random

import pytest
import torch

from tests.test_decoding import CONFIG, LENGTHS, MAX_LEN, V, build, sources
from tests.whole_models import SIX
from xformer_lib.decoding import greedy
from xformer_lib.engine import accelerate, quantize_int8
from xformer_lib.engine.decode import CachedSteps, PlainSteps
from xformer_lib.nn.recurrent import GRUTranslator
from xformer_lib.speculation import ModelDraft, gained, speculative, start_guessing

EOS = CONFIG.eos_id


def alone(row):
    """One sentence of the batch, without its padding."""
    return row[: int((row != CONFIG.pad_id).sum())][None]


SOURCES = [alone(row) for seed in (1, 2) for row in sources(seed=seed)]


def random_draft(seed):
    """Any words, <pad>, <bos> and <eos> among them, and now and then fewer than wanted, or none."""
    rng = random.Random(seed)
    return lambda words, count: [rng.randrange(V) for _ in range(rng.randint(0, count))]


def half_right(answer, seed):
    """The true word more often than not."""
    rng = random.Random(seed)
    line = [*answer, EOS]

    def draft(words, count):
        true = line[len(words) - 1 : len(words) - 1 + count]
        return [word if rng.random() < 0.7 else 5 for word in true] + [7] * (count - len(true))

    return draft


@pytest.mark.parametrize("ahead", [1, 2, 5, 40])
def test_the_words_are_those_of_greedy_whatever_the_draft_says(ahead):
    model, other = build(), build(seed=2)
    for n, source in enumerate(SOURCES):
        answer = greedy(model, source)[0]
        for draft in (
            ModelDraft(model, source),
            ModelDraft(other, source),
            random_draft(n),
            half_right(answer, n),
            lambda words, count: [],
        ):
            assert speculative(model, source, draft, ahead=ahead).ids == answer


def test_the_answers_tell_sentences_apart_and_some_end():
    """Else the tests above would prove little."""
    answers = [greedy(build(), source)[0] for source in SOURCES]
    lengths = [2 * source.shape[1] + 10 for source in SOURCES]
    ended = sum(len(ids) < min(length, MAX_LEN - 1) for ids, length in zip(answers, lengths, strict=True))
    assert len({tuple(ids) for ids in answers}) > len(SOURCES) // 2 and ended >= 3
    assert any(len(ids) == min(length, MAX_LEN - 1) for ids, length in zip(answers, lengths, strict=True))


@pytest.mark.parametrize("max_len", [1, 2, 7, MAX_LEN - 1])
def test_it_stops_where_greedy_stops(max_len):
    model = build()
    for n, source in enumerate(SOURCES[: len(LENGTHS)]):
        for draft in (ModelDraft(model, source), random_draft(n)):
            assert speculative(model, source, draft, ahead=4, max_len=max_len).ids == greedy(model, source, max_len=max_len)[0]


@pytest.mark.parametrize("positions", SIX)
def test_with_every_position_scheme(positions):
    model = build(config=dataclasses.replace(CONFIG, positions=positions, d_model=24))
    for n, source in enumerate(SOURCES[:4]):
        answer = greedy(model, source)[0]
        assert speculative(model, source, half_right(answer, n)).ids == answer


def test_models_of_other_kinds_are_computed_by_the_definition():
    torch.manual_seed(1)
    recurrent = GRUTranslator(dataclasses.replace(CONFIG, num_encoder_layers=1, num_decoder_layers=1)).double()
    watched = build()
    watched.decoder.register_forward_hook(lambda *_: None)
    for model in (recurrent, watched):
        assert type(start_guessing(model, SOURCES[0])) is PlainSteps
        for n, source in enumerate(SOURCES[: len(LENGTHS)]):
            answer = greedy(model, source, engine="plain")[0]
            assert speculative(model, source, half_right(answer, n)).ids == answer
            assert speculative(model, source, ModelDraft(model, source)).ids == answer
    assert type(start_guessing(build(), SOURCES[0])) is CachedSteps


def test_a_rounded_and_an_accelerated_model_may_draft():
    model = build().float()
    for source in SOURCES[:5]:
        for small in (quantize_int8(model), accelerate(model)):
            assert speculative(model, source, ModelDraft(small, source)).ids == greedy(model, source)[0]


def test_counts_of_a_draft_that_knows_and_of_one_that_does_not():
    model, source = build(), SOURCES[2]
    answer = greedy(model, source, max_len=12)[0]
    assert len(answer) == 12
    knowing = speculative(model, source, ModelDraft(model, source), ahead=3, max_len=12)
    assert (knowing.passes, knowing.offered, knowing.accepted) == (3, 9, 9)  # 3 + 1 words a pass
    wrong = speculative(model, source, lambda words, count: [CONFIG.pad_id] * count, ahead=3, max_len=12)
    assert (wrong.passes, wrong.accepted) == (12, 0) and wrong.offered == 9 * 3 + 2 + 1 + 0


def test_a_draft_that_says_more_than_was_asked_is_cut():
    model, source = build(), SOURCES[0]
    run = speculative(model, source, lambda words, count: [5] * (count + 50), ahead=2)
    assert run.ids == greedy(model, source)[0] and run.offered <= 2 * run.passes


def test_a_model_drafts_what_it_says_wherever_it_is_asked():
    """What it kept of other beginnings never shows."""
    model, source = build(), SOURCES[0]
    draft = ModelDraft(model, source)
    for words in ([1], [1, 5, 6, 7], [1, 5, 9], [1, 5, 6, 7, 8, 9], [1, 5, 6, 7, 8, 9], [1]):
        assert draft(words, 4) == ModelDraft(model, source)(words, 4)
    answer = greedy(model, source)[0]
    assert draft([1], 5) == [*answer, EOS][:5] and draft([1], 0) == []
    line = [1, *[5] * (MAX_LEN - 2)]
    assert 1 <= len(draft(line, 9)) <= 2, "no word behind the last place"


def test_modes_and_gradients_return():
    model = build().train()
    model.encoder.eval()
    before = [part.training for part in model.modules()]
    speculative(model, SOURCES[0], ModelDraft(model, SOURCES[0]))
    assert [part.training for part in model.modules()] == before and torch.is_grad_enabled()


@pytest.mark.parametrize("length, right", list(itertools.product(range(4), range(4))))
def test_gained(length, right):
    own = [11, 12, 13, 14][: length + 1]
    guess = [word if n < right else 99 for n, word in enumerate(own[:length])]
    assert gained(guess, own, EOS) == own[: min(length, right) + 1]
    for place in range(len(own)):
        ends = [*own[:place], EOS, *own[place + 1 :]]
        agreeing = [word if n < right else 99 for n, word in enumerate(ends[:length])]
        assert gained(agreeing, ends, EOS) == ends[: min(length, right, place) + 1]


def test_errors():
    model, two = build(), sources()[:2]
    for call in (lambda: speculative(model, two, random_draft(0)), lambda: ModelDraft(model, two)):
        with pytest.raises(ValueError, match=r"source: expected the ids of one sentence, \(1, s\), got \(2, 13\)"):
            call()
    with pytest.raises(ValueError, match="ahead: expected at least 1 word, got 0"):
        speculative(model, SOURCES[0], random_draft(0), ahead=0)
    with pytest.raises(ValueError, match="^draft: expected ids from 0 to"):
        speculative(model, SOURCES[0], lambda words, count: [V] * count)
