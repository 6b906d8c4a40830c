"""Beam search against greedy decoding, brute force, a slow search in plain Python, itself by the definition and alone."""

import dataclasses
import itertools
import math

import pytest
import torch
from torch import nn

from tests.ci import combinations
from tests.test_decoding import CONFIG, LENGTHS, MAX_LEN, answering, build, by_engine, sources
from xformer_lib.decoding import Hypothesis, beam_search, greedy
from xformer_lib.nn.transformer import TokenEmbedding, Transformer, TransformerConfig

TINY = TransformerConfig(
    vocab_size=7, d_model=10, num_heads=2, d_ff=11, num_encoder_layers=1, num_decoder_layers=1, dropout=0.0, positions="learned", max_len=13
)


def tiny(seed=1):
    """A random model of five words (two ids are never said) that ends now and then."""
    torch.manual_seed(seed)
    model = Transformer(TINY).double()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter *= 2
    return model.eval()


def tiny_sources(seed=1):
    ids = torch.randint(3, 7, (3, 5), generator=torch.Generator().manual_seed(seed))
    for row, length in zip(ids, (5, 2, 3)):
        row[length - 1], row[length:] = TINY.eos_id, TINY.pad_id
    return ids


def log_prob_of(model, row, ids):
    """log p of a sentence with its <eos>, from one pass of the whole model; <pad> and <bos> are never said."""
    source = row[row != model.config.pad_id][None]
    with torch.no_grad():
        logits = model(source, torch.tensor([[model.config.bos_id, *ids]]))[0]
    logits[:, [model.config.pad_id, model.config.bos_id]] = -torch.inf
    wanted = torch.tensor([*ids, model.config.eos_id])
    return float(logits.log_softmax(dim=-1)[torch.arange(len(wanted)), wanted].sum())


def slow_beam(model, row, k, alpha, limit, *, stop_early):
    """The definition, one sentence, in lists: no cache, no batch; with ``stop_early=False`` it runs to the limit."""
    kept, finished = [([], 0.0)], []
    source = row[row != model.config.pad_id][None]
    for length in range(1, limit + 1):
        longer = []
        for ids, total in kept:
            with torch.no_grad():
                logits = model(source, torch.tensor([[model.config.bos_id, *ids]]))[0, -1]
            logits[[model.config.pad_id, model.config.bos_id]] = -torch.inf
            longer += [([*ids, word], total + p) for word, p in enumerate(logits.log_softmax(-1).tolist()) if p > -math.inf]
        best = sorted(longer, key=lambda pair: -pair[1])[:k]
        finished += [(ids[:-1], total, total / length**alpha) for ids, total in best if ids[-1] == model.config.eos_id]
        kept = [pair for pair in best if pair[0][-1] != model.config.eos_id]
        if not kept or (stop_early and len(finished) >= k):
            break
    finished = finished or [(ids, total, total / limit**alpha) for ids, total in kept]
    return [ids for ids, _, _ in sorted(finished, key=lambda triple: -triple[2])[:k]]


def ids_of(results):
    return [[hypothesis.ids for hypothesis in sentence] for sentence in results]


@by_engine
@pytest.mark.parametrize("seed", (1, 3, 5))
def test_one_beam_is_greedy_token_for_token(seed, engine):
    model = build(seed)
    results = beam_search(model, sources(), beam_size=1, engine=engine)
    assert [sentence[0].ids for sentence in results] == greedy(model, sources())
    assert {len(sentence) for sentence in results} == {1}


@pytest.mark.parametrize("seed, norm, positions", [*itertools.product((1, 3), ("pre", "post"), ("learned", "sinusoidal"))])
def test_the_cache_changes_no_token_of_any_hypothesis(seed, norm, positions):
    model = build(seed, config=dataclasses.replace(CONFIG, norm=norm, positions=positions))
    cached = beam_search(model, sources(), beam_size=5)
    assert ids_of(cached) == ids_of(beam_search(model, sources(), beam_size=5, engine="plain"))


@by_engine
def test_a_sentence_alone_is_the_same_as_in_a_batch(engine):
    model, source = build(3), sources()
    alone = [beam_search(model, row[None, :length], beam_size=5, engine=engine)[0] for row, length in zip(source, LENGTHS)]
    assert ids_of(beam_search(model, source, beam_size=5, engine=engine)) == ids_of(alone)


@combinations(seed=(1, 2), alpha=(0.0, 0.7, 1.0))
def test_a_beam_that_drops_nothing_finds_what_brute_force_finds(seed, alpha):
    """Five sayable ids, one of them <eos>: 4 + 16 + 64 sentences of up to three words, and the empty one."""
    model, source = tiny(seed), tiny_sources(seed)
    words = [n for n in range(TINY.vocab_size) if n not in (TINY.pad_id, TINY.bos_id, TINY.eos_id)]
    every = [list(ids) for length in range(4) for ids in itertools.product(words, repeat=length)]
    assert len(every) == 85
    results = beam_search(model, source, beam_size=7**4, length_penalty=alpha, max_len=4)
    for row, found in zip(source, results):
        score = {tuple(ids): log_prob_of(model, row, ids) / (len(ids) + 1) ** alpha for ids in every}
        assert [tuple(h.ids) for h in found] == sorted(score, key=score.get, reverse=True)
        for hypothesis in found:
            assert math.isclose(hypothesis.score, score[tuple(hypothesis.ids)], rel_tol=1e-9)
            assert math.isclose(hypothesis.log_prob, log_prob_of(model, row, hypothesis.ids), rel_tol=1e-9)


@combinations(seed=range(1, 14), alpha=(0.0, 1.0, 2.0))
def test_stopping_early_changes_nothing(seed, alpha):
    """The slow search runs to the limit whatever has finished; the library stops by its rule."""
    model, source = tiny(seed), tiny_sources(seed)
    results = beam_search(model, source, beam_size=3, length_penalty=alpha, max_len=11)
    for row, found in zip(source, results):
        assert [h.ids for h in found] == slow_beam(model, row, 3, alpha, 11, stop_early=False)


def test_the_rule_stops_before_the_limit_and_later_than_the_first_finished(monkeypatch):
    """It saves steps, and stopping as soon as k have finished would be another search."""
    steps = answering(monkeypatch)
    counts = []
    for seed in range(1, 14):
        steps.clear()
        beam_search(tiny(seed), tiny_sources(seed), beam_size=3, length_penalty=0.0, max_len=11)
        counts.append(len(steps))
    assert min(counts) < 11
    first_k = [slow_beam(tiny(seed), row, 3, 2.0, 11, stop_early=True)[0] for seed in range(1, 14) for row in tiny_sources(seed)]
    exact = [slow_beam(tiny(seed), row, 3, 2.0, 11, stop_early=False)[0] for seed in range(1, 14) for row in tiny_sources(seed)]
    assert first_k != exact


AFTER = {  # what has been said (ids from 3) → next word: probability; anything else ends
    (): {3: 0.6, 4: 0.4},
    (3,): {5: 0.4, 2: 0.32, 6: 0.28},
    (4,): {5: 0.9, 2: 0.1},
    (3, 5): {2: 0.65, 7: 0.35},
    (4, 5): {7: 0.6, 2: 0.4},
    (4, 5, 7): {2: 0.9, 8: 0.1},
}


def made_up(tokens):
    """The logits of the table above, whatever the model says."""
    rows = torch.full((len(tokens), CONFIG.vocab_size), -torch.inf)
    for row, ids in zip(rows, tokens[:, 1:].tolist()):
        for word, p in AFTER.get(tuple(ids), {2: 1.0}).items():
            row[word] = math.log(p)
    return rows


@pytest.fixture
def table(monkeypatch):
    answering(monkeypatch, made_up)
    return build(), sources()[:1]


def test_two_beams_mend_a_greedy_mistake(table):
    assert greedy(*table, engine="plain") == [[3, 5]]
    best = beam_search(*table, beam_size=2, engine="plain")[0][0]
    assert best.ids == [4, 5, 7] and math.isclose(math.exp(best.log_prob), 0.4 * 0.9 * 0.6 * 0.9, rel_tol=1e-5)


def test_the_length_penalty_moves_short_sentences_down(table):
    """All eight sentences: [3] is the second likeliest and has the seventh best mean."""
    order = {alpha: ids_of(beam_search(*table, beam_size=31, length_penalty=alpha, engine="plain"))[0] for alpha in (0, 1)}
    assert len(order[0]) == 8 and sorted(order[0]) == sorted(order[1])
    assert (order[0].index([3]), order[1].index([3])) == (1, 6)
    assert order[0][0] == order[1][0] == [4, 5, 7]


def test_scores_count_the_end(table):
    for hypothesis in beam_search(*table, beam_size=31, length_penalty=1.0, engine="plain")[0]:
        assert isinstance(hypothesis, Hypothesis) and CONFIG.eos_id not in hypothesis.ids
        assert math.isclose(hypothesis.score, hypothesis.log_prob / (len(hypothesis.ids) + 1))


def test_a_finished_hypothesis_does_not_go_on(table):
    """Each sentence ends once; no hypothesis is another one with more words behind its end."""
    found = ids_of(beam_search(*table, beam_size=5, engine="plain"))[0]
    assert len({tuple(ids) for ids in found}) == len(found) and max(map(len, found)) == 3


def test_no_duplicates_at_the_first_step():
    for sentence in beam_search(build(3), sources(), beam_size=7):
        assert len({tuple(h.ids) for h in sentence}) == len(sentence) > 1
        assert [h.score for h in sentence] == sorted((h.score for h in sentence), reverse=True)


def test_cut_hypotheses_are_returned_when_none_has_ended(monkeypatch):
    """A model that never ends: the beam's rows at the limit, best first, scored by their own length."""

    def endless(tokens):
        logits = torch.zeros(len(tokens), CONFIG.vocab_size, dtype=torch.double)
        logits[:, :3] = -torch.inf
        logits[:, 7] = 1.0
        return logits

    answering(monkeypatch, endless)
    for sentence in beam_search(build(), sources()[:2], beam_size=3, max_len=5, length_penalty=1.0, engine="plain"):
        assert len(sentence) == 3 and sentence[0].ids == [7] * 5
        assert all(len(h.ids) == 5 and math.isclose(h.score, h.log_prob / 5) for h in sentence)


def test_a_beam_wider_than_the_vocabulary():
    model, source = tiny(), tiny_sources()
    found = beam_search(model, source, beam_size=17, max_len=3)
    assert ids_of(found) == [slow_beam(model, row, 17, 1.0, 3, stop_early=False) for row in source]
    assert max(map(len, found)) > TINY.vocab_size
    for sentence in found:
        assert not {TINY.pad_id, TINY.bos_id, TINY.eos_id} & {i for h in sentence for i in h.ids}


def test_no_sentence_is_refused():
    with pytest.raises(ValueError, match=r"^source: expected one sentence or more, .*, got \(0, "):
        beam_search(build(), sources()[:0], beam_size=3)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"beam_size": 0}, r"^beam_size: expected at least 1, got 0; 1 is greedy decoding$"),
        ({"beam_size": -2}, "got -2"),
        ({"beam_size": 2.0}, "^beam_size: expected at least 1, got 2.0"),
        ({"max_len": 3.5}, f"^max_len: expected from 1 to {MAX_LEN - 1} tokens, got 3.5; "),
        ({"length_penalty": -0.5}, r"^length_penalty: expected 0 to 10, got -0.5; 0 compares"),
        ({"length_penalty": math.nan}, "length_penalty: expected 0 to 10, got nan"),
        ({"length_penalty": 1000}, "length_penalty: expected 0 to 10, got 1000"),
        ({"length_penalty": "1"}, "length_penalty: expected 0 to 10, got '1'"),
        ({"beam_size": "4"}, "^beam_size: expected at least 1, got '4'"),
        ({"max_len": 0}, f"^max_len: expected from 1 to {MAX_LEN - 1} tokens, got 0; "),
    ],
)
def test_searches_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        beam_search(build(), sources(), **arguments)


class Echo(nn.Module):
    """A model whose memory is the ids themselves."""

    def __init__(self):
        super().__init__()
        self.config, self.embedding = TransformerConfig(vocab_size=23, max_len=11), TokenEmbedding(23, 8)

    def encode(self, source):
        return source

    def decode(self, target_in, memory, source):
        return self.embedding.logits(self.embedding(target_in))


def test_a_memory_of_whole_numbers():
    model, source = Echo(), torch.tensor([[5, 6, 2]])
    assert beam_search(model, source, beam_size=1, max_len=5)[0][0].ids == greedy(model, source, max_len=5)[0]


def test_log_p_of_a_model_in_16_bits_is_added_up_in_32():
    torch.manual_seed(4)
    model, source = Echo().bfloat16(), torch.tensor([[5, 6, 2]])
    for found in beam_search(model, source, beam_size=3, max_len=9)[0]:
        said = found.ids if len(found.ids) == 9 else [*found.ids, 2]
        logits = model.decode(torch.tensor([[1, *said[:-1]]]), source, source)[0].float()
        logits[:, :2] = -torch.inf
        assert found.log_prob == pytest.approx(float(logits.detach().log_softmax(-1)[torch.arange(len(said)), said].sum()), rel=1e-5)
