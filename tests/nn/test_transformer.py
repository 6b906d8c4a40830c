"""The whole model: shapes, leaks by perturbation, cache, configuration, errors."""

import dataclasses

import pytest
import torch

from xformer_lib.nn.transformer import (
    Transformer,
    TransformerConfig,
    causal_mask,
    padding_mask,
    source_mask,
    target_mask,
)

B, S, T, V = 3, 7, 5, 31
CONFIG = TransformerConfig(vocab_size=V, d_model=44, num_heads=2, d_ff=29, num_encoder_layers=2,
                           num_decoder_layers=3, dropout=0.0, max_len=23, max_offset=3)


def build(**changes):
    torch.manual_seed(0)
    return Transformer(dataclasses.replace(CONFIG, **changes)).double().eval()


def ids(length, seed=0):
    return torch.randint(3, V, (B, length), generator=torch.Generator().manual_seed(seed))


CHOICES = [{"norm": norm, "positions": positions, "attention_path": path}
           for norm in ("pre", "post") for positions in ("sinusoidal", "learned", "relative", "rotary", "alibi", "none")
           for path in ("explicit", "fused")]


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: "-".join(c.values()))
def test_shapes_and_gradients_reach_every_parameter(choice):
    model = build(**choice).train()
    logits = model(ids(S), ids(T, 1))
    assert logits.shape == (B, T, V)
    logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for n, p in model.named_parameters()
               if not n.endswith("w_k.bias"))  # softmax does not see a key bias


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: "-".join(c.values()))
def test_the_future_cannot_leak(choice):
    model, source, target = build(**choice), ids(S), ids(T, 1)
    before = model(source, target)
    for t in range(1, T):
        changed = target.clone()
        changed[:, t:] = ids(T, 2)[:, t:]
        after = model(source, changed)
        torch.testing.assert_close(after[:, :t], before[:, :t], atol=1e-12, rtol=0)
        assert not torch.allclose(after[:, t:], before[:, t:])


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: "-".join(c.values()))
def test_padding_cannot_leak(choice):
    """A sentence gives the same logits alone and in a batch that pads it, on both sides."""
    model, source, target = build(**choice), ids(S), ids(T, 1)
    source[0, 4:] = CONFIG.pad_id
    target[0, 3:] = CONFIG.pad_id
    batch = model(source, target)
    alone = model(source[:1, :4], target[:1, :3])
    torch.testing.assert_close(batch[:1, :3], alone, atol=1e-12, rtol=0)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: "-".join(c.values()))
def test_cached_steps_equal_the_whole(choice):
    model, source, target = build(**choice), ids(S), ids(T, 1)
    source[1, 5:] = CONFIG.pad_id
    whole = model(source, target)
    memory, cache = model.encode(source), model.new_cache()
    steps = [model.decode(target[:, :2], memory, source, cache=cache)]
    steps += [model.decode(target[:, t:t + 1], memory, source, cache=cache) for t in range(2, T)]
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, atol=1e-12, rtol=0)


def test_rows_that_leave_a_cache_take_their_mask_along():
    """The mask of the memory is made at the first step; with other rows in another order the next step equals the whole."""
    model, source, target = build(), ids(S), ids(T, 1)
    source[0, 2:], source[2, 5:] = CONFIG.pad_id, CONFIG.pad_id
    whole, memory, cache, rows = model(source, target), model.encode(source), model.new_cache(), torch.tensor([2, 0])
    model.decode(target[:, :2], memory, source, cache=cache)
    cache.keep(rows)
    assert torch.equal(cache.memory_mask, padding_mask(source[rows], CONFIG.pad_id))
    step = model.decode(target[rows, 2:3], memory[rows], source[rows], cache=cache)
    torch.testing.assert_close(step, whole[rows, 2:3], atol=1e-12, rtol=0)


def test_a_new_cache_is_empty_and_the_callers_own():
    model, source = build(), ids(S)
    cache, other = model.new_cache(), model.new_cache()
    assert cache.length == 0 and len(cache.layers) == CONFIG.num_decoder_layers
    model.decode(ids(T, 1), model.encode(source), source, cache=cache)
    assert (cache.length, other.length) == (T, 0) and other.layers[0].target.k is None


def test_without_positions_the_encoder_is_equivariant():
    model, source = build(positions="none"), ids(S)
    order = torch.randperm(S, generator=torch.Generator().manual_seed(4))
    torch.testing.assert_close(model.encode(source[:, order]), model.encode(source)[:, order], atol=1e-12, rtol=0)
    ordered = build(positions="sinusoidal")
    assert not torch.allclose(ordered.encode(source[:, order]), ordered.encode(source)[:, order])


def test_one_matrix_serves_source_target_and_output():
    model = build()
    shapes = [tuple(p.shape) for p in model.parameters()]
    assert shapes.count((V, 44)) == 1


def test_masks():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(2, 1).tolist() == [[True, True, False], [True, True, True]]
    assert target_mask(torch.tensor([[1, 5, 0]]), 0).tolist() == [
        [[True, False, False], [True, True, False], [True, True, False]]]


def test_masks_that_hide_nothing_are_left_out():
    padded = torch.tensor([[5, 6, 7], [5, 6, 0]])
    assert source_mask(padded[:1], 0) is None
    assert torch.equal(source_mask(padded, 0), padding_mask(padded, 0))
    assert target_mask(padded[:, :1], 0, start=2) is None  # the newest token reads all
    assert target_mask(padded[:, :1], 0).shape == (2, 1, 1) and target_mask(padded[:, :2], 0, start=2).shape == (2, 4)


@pytest.mark.parametrize("path", ["explicit", "fused"])
def test_the_output_does_not_know_whether_its_mask_was_left_out(monkeypatch, path):
    from xformer_lib.nn import transformer

    model, source, target = build(attention_path=path), ids(S), ids(T, 1)
    without = model(source, target)
    monkeypatch.setattr(transformer, "source_mask", padding_mask)
    torch.testing.assert_close(model(source, target), without, atol=1e-13, rtol=0)


@pytest.mark.errors
@pytest.mark.parametrize("change, message", [
    ({"vocab_size": 0}, "vocab_size: expected a positive number, got 0"),
    ({"dropout": 1.0}, "dropout: expected 0 ≤ dropout < 1, got 1.0"),
    ({"positions": "rotating"}, "positions: expected one of sinusoidal, learned, relative, rotary, alibi, none, got 'rotating'"),
    ({"pad_id": 1}, "pad_id, bos_id, eos_id: expected three different ids below vocab_size=31, got"),
    ({"num_heads": 3}, r"d_model must be divisible by num_heads: got d_model=44, num_heads=3 \(remainder 2\)"),
    ({"num_heads": 47}, r"got d_model=44, num_heads=47 \(remainder 44\); try d_model=47 or num_heads=44"),
    ({"norm": "sandwich"}, 'norm: expected "pre" or "post"'),
])
def test_configurations_that_no_model_can_have(change, message):
    with pytest.raises(ValueError, match=message):
        Transformer(dataclasses.replace(CONFIG, **change))


@pytest.mark.errors
@pytest.mark.parametrize("source, target, message", [
    (torch.full((B, S), V), ids(T), "source: expected ids from 0 to 30, got 31; was the text encoded"),
    (ids(S), torch.full((B, T), -1), "target_in: expected ids from 0 to 30, got -1"),
    (torch.full((B, 24), 3), ids(T), "source: expected at most max_len=23 tokens, got 24; split"),
    (ids(S), torch.full((B, 29), 3), "target_in: expected at most max_len=23 tokens, got 29"),
    (ids(S)[0], ids(T), r"source: expected integer ids \(batch, length\), got torch.int64 \(7,\)"),
    (ids(S).float(), ids(T), "source: expected integer ids"),
])
def test_ids_that_do_not_fit(source, target, message):
    with pytest.raises(ValueError, match=message):
        build()(source, target)
