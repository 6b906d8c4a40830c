"""The recurrent translators: equal to slow loops, no leaks, cache, gradients, errors."""

import dataclasses

import pytest
import torch

from xformer_lib.decoding import greedy
from xformer_lib.nn.recurrent import GRUAttentionTranslator, GRUTranslator
from xformer_lib.nn.transformer import TransformerConfig

B, S, T, V, M = 3, 7, 5, 31, 22
CONFIG = TransformerConfig(vocab_size=V, d_model=M, num_heads=1, num_encoder_layers=1, num_decoder_layers=1, dropout=0.0, max_len=23)
BOTH = pytest.mark.parametrize("kind", [GRUTranslator, GRUAttentionTranslator])


def build(kind, **changes):
    torch.manual_seed(0)
    return kind(dataclasses.replace(CONFIG, **changes)).double().eval()


def ids(length, seed=0):
    return torch.randint(3, V, (B, length), generator=torch.Generator().manual_seed(seed))


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-12, rtol=0)


def gru_step(x, h, cell, suffix):
    """h_t by the formula, from the weights of an nn.GRU; reset, update and candidate gates in PyTorch's order."""
    w_i, w_h, b_i, b_h = (getattr(cell, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    (r_x, z_x, n_x), (r_h, z_h, n_h) = (w_i @ x + b_i).chunk(3), (w_h @ h + b_h).chunk(3)
    r, z = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h)
    return (1 - z) * torch.tanh(n_x + r * n_h) + z * h


def slow_logits(model, source, target_in):
    """One sentence, word by word, from the papers' formulas."""
    half = M // 2
    x = model.embedding(source[None])[0]
    there, back = [torch.zeros(half).double()], [torch.zeros(half).double()]
    for j in range(len(source)):
        there.append(gru_step(x[j], there[-1], model.encoder, ""))
        back.append(gru_step(x[len(source) - 1 - j], back[-1], model.encoder, "_reverse"))
    notes = [torch.cat(pair) for pair in zip(there[1:], back[:0:-1], strict=True)]
    state, logits = torch.tanh(model.first(notes[0][half:])), []
    for y in model.embedding(target_in[None])[0]:
        context = torch.cat([there[-1], back[-1]])
        if isinstance(model, GRUAttentionTranslator):
            a = model.attention
            scores = [a.v.weight[0] @ torch.tanh(a.w.weight @ state + a.u(note)) for note in notes]
            context = sum(weight * note for weight, note in zip(torch.stack(scores).softmax(0), notes, strict=True))
        state = gru_step(torch.cat([y, context]), state, model.decoder, "")
        pairs = model.output(torch.cat([state, y, context]))
        logits.append(model.embedding.weight @ torch.maximum(pairs[0::2], pairs[1::2]))
    return torch.stack(logits)


@BOTH
def test_equals_the_formulas_word_by_word(kind):
    model, source, target = build(kind), ids(S), ids(T, 1)
    logits = model(source, target)
    assert logits.shape == (B, T, V)
    for n in range(B):
        close(logits[n], slow_logits(model, source[n], target[n]))


@BOTH
def test_gradients_reach_every_parameter(kind):
    model = build(kind, dropout=0.3).train()
    model(ids(S), ids(T, 1)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@BOTH
def test_padding_cannot_leak(kind):
    """A sentence gives the same logits alone and in a batch that pads it, on both sides."""
    model, source, target = build(kind), ids(S), ids(T, 1)
    source[0, 4:], source[2, 1:] = CONFIG.pad_id, CONFIG.pad_id
    target[0, 3:] = CONFIG.pad_id
    batch = model(source, target)
    close(batch[:1, :3], model(source[:1, :4], target[:1, :3]))
    close(batch[2:], model(source[2:, :1], target[2:]))
    with torch.no_grad():
        model.embedding.weight[CONFIG.pad_id] += 5.0  # what padding looks like is nobody's business
    changed = model(source, target)
    places = torch.ones(B, T, dtype=torch.bool)
    places[0, 3:] = False
    words = torch.arange(V) != CONFIG.pad_id  # its logit is made with the same row, and does change
    close(changed[places][:, words], batch[places][:, words])


@BOTH
def test_a_cache_changes_nothing(kind):
    model, source, target = build(kind), ids(S), ids(T, 1)
    source[1, 3:] = CONFIG.pad_id
    memory, cache = model.encode(source), model.new_cache()
    whole = model.states(target, memory, source)
    parts = [model.states(part, memory, source, cache=cache) for part in target.split(2, dim=1)]
    close(torch.cat(parts, dim=1), whole)
    assert cache.length == T


@BOTH
def test_kept_rows_may_repeat_and_change_places(kind):
    model, source, target = build(kind), ids(S), ids(T, 1)
    memory, cache = model.encode(source), model.new_cache()
    model.states(target[:, :3], memory, source, cache=cache)
    rows = torch.tensor([2, 0, 2, 1, 0])
    cache.keep(rows)
    after = model.states(target[rows, 3:], memory[rows], source[rows], cache=cache)
    close(after, model.states(target, memory, source)[rows, 3:])


@BOTH
@pytest.mark.parametrize("engine, other", [("fast", "plain"), ("plain", "fast")])
def test_greedy_in_a_batch_is_greedy_alone(kind, engine, other):
    model, source = build(kind), ids(S)
    source[0, 2:], source[1, 5:] = CONFIG.pad_id, CONFIG.pad_id
    batch = greedy(model, source, engine=engine)
    alone = [greedy(model, source[n : n + 1, :length], engine=other)[0] for n, length in enumerate((2, 5, S))]
    assert batch == alone


@BOTH
def test_runs_in_bfloat16(kind):
    model = build(kind).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = model(ids(S), ids(T, 1)).float()
    assert (low - model(ids(S), ids(T, 1))).abs().max() < 0.2


@pytest.mark.errors
@BOTH
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 23, "positions": "none"}, "^d_model: expected an even number, got 23; "),
        ({"num_encoder_layers": 2}, "expected 1 and 1, got 2 and 1; "),
        ({"num_decoder_layers": 3}, "expected 1 and 1, got 1 and 3; "),
    ],
)
def test_sizes_that_it_does_not_have(kind, changes, message):
    with pytest.raises(ValueError, match=message):
        build(kind, **changes)


@pytest.mark.errors
@BOTH
@pytest.mark.parametrize("row", [[0, 5, 6], [5, 0, 6], [0, 0, 0]])
def test_padding_in_front_is_refused(kind, row):
    with pytest.raises(ValueError, match="^source: expected rows that begin with a token .*; pad on the right"):
        build(kind).encode(torch.tensor([[4, 5, 6], row]))


@pytest.mark.errors
@BOTH
def test_too_long_or_foreign_ids_are_refused(kind):
    model, source = build(kind), ids(S)
    with pytest.raises(ValueError, match="^target_in: expected at most max_len=23"):
        model(source, torch.full((B, 24), 4))
    with pytest.raises(ValueError, match="^source: expected ids from 0 to 30, got 31"):
        greedy(model, torch.full((B, S), 31))
