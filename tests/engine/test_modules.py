"""The engine's modules: both paths of attention, and a model that computes as the plain one does, in less time."""

import dataclasses

import pytest
import torch
from torch import nn

from tests.ci import combinations
from tests.nn.test_attention import B, D, E, H, I, J, M, backward, mask_with_empty_rows, qkv
from tests.whole_models import CHOICES, CONFIG, SIX, WAYS, S, T, build, by_path, computed, ids, see_neither_the_future_nor_padding
from xformer_lib.engine import modules, products
from xformer_lib.engine.modules import (
    FastAttention,
    FastRotary,
    FastTransformer,
    accelerate,
    attend,
    explicit_attention,
    fused_attention,
    needed,
)
from xformer_lib.nn import GroupedQueryAttention, LanguageModel, MultiHeadAttention, Transformer
from xformer_lib.nn.masks import padding_mask
from xformer_lib.nn.multi_head import attention
from xformer_lib.nn.positions import AlibiPositions, RotaryPositions
from xformer_lib.nn.recurrent import GRUAttentionTranslator

# ---------------------------------------------------------------- both paths of attention


@pytest.mark.parametrize("masked", [True, False])
def test_both_paths_are_the_definition_forward_and_backward(masked):
    tensors, mask = qkv(), mask_with_empty_rows() if masked else None
    plain, weights = attention(*tensors, mask=mask)
    explicit, ours = explicit_attention(*tensors, mask=mask)
    fused = fused_attention(*tensors, mask=mask)
    torch.testing.assert_close(ours, weights, atol=1e-13, rtol=0)
    wanted = backward(plain, tensors)
    for output in (explicit, fused):
        torch.testing.assert_close(output, plain, atol=1e-13, rtol=0)
        for mine, exact in zip(backward(output, tensors), wanted, strict=True):
            torch.testing.assert_close(mine, exact, atol=1e-12, rtol=0)


@by_path
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_row_that_may_attend_to_nothing_is_zero_both_ways(path, dtype, scale):
    tensors, mask = qkv(dtype, scale), mask_with_empty_rows()
    output, weights = attend(*tensors, mask=mask, path=path, need_weights=path == "explicit")
    empty = ~mask.any(-1).expand(B, H, I)
    assert (output[empty] == 0).all()
    assert (weights is None) == (path == "fused") and (weights is None or (weights[empty] == 0).all())
    assert output.isfinite().all() and (output[~empty] != 0).any()
    gradients = backward(output, tensors)
    assert all(g.isfinite().all() for g in gradients)
    assert (gradients[0][empty] == 0).all() and (gradients[2] != 0).any()


@pytest.mark.parametrize("path", ["auto", "explicit", "fused"])
def test_who_asks_for_weights_gets_the_definitions(path):
    tensors = [x.detach() for x in qkv()]
    for ours, wanted in zip(attend(*tensors, path=path, need_weights=True), attention(*tensors), strict=True):
        torch.testing.assert_close(ours, wanted, atol=1e-13, rtol=0)
    assert attend(*tensors, path=path)[1] is None


def test_auto_takes_the_fused_path_for_one_query_alone_and_for_many_keys(monkeypatch):
    asked = []
    monkeypatch.setattr(modules, "fused_attention", lambda *x, **settings: (asked.append(1), fused_attention(*x, **settings))[1])
    for shape, keys, fused in (
        ((1, H, 1, D), J, 1),
        ((B, H, 1, D), J, 0),
        ((1, H, 2, D), J, 0),
        ((B, H, 2, D), 127, 0),
        ((B, H, 2, D), 128, 1),
    ):
        asked.clear()
        q, k = torch.randn(shape), torch.randn(shape[0], H, keys, D)
        output, _ = attend(q, k, k)
        assert len(asked) == fused
        torch.testing.assert_close(output, attend(q, k, k, path="explicit")[0], atol=1e-5, rtol=1e-5)


@by_path
def test_layers_of_the_engine_mask_as_plain_ones_do(path):
    """Three ranks of masks, a masked key that changes, weights asked for or not."""
    layer = MultiHeadAttention(M, H, d_head=D, d_value=E).double()
    fast, query, memory = accelerate(layer, path=path), torch.randn(B, I, M).double(), torch.randn(B, J, M).double()
    flat = torch.rand(I, J, generator=torch.Generator().manual_seed(3)) < 0.7
    flat[2], flat[:, 4] = False, False
    changed = memory.clone()
    changed[:, 4] += 100.0
    for mask in (None, flat, flat.expand(B, I, J), flat.expand(B, H, I, J)):
        for asked in (True, False):
            wanted = layer(query, memory, memory, mask=mask, need_weights=asked)
            found = fast(query, memory, memory, mask=mask, need_weights=asked)
            torch.testing.assert_close(found[0], wanted[0], atol=1e-13, rtol=0)
            assert (found[1] is None) == (not asked)
            if asked:
                torch.testing.assert_close(found[1], wanted[1], atol=1e-13, rtol=0)
        after = fast(query, changed, changed, mask=mask)[0]
        assert torch.equal(after, found[0]) == (mask is not None)


# ---------------------------------------------------------------- whole models

PADDED = ids(S).clone()
PADDED[1, 5:] = CONFIG.pad_id


def gradients(model, parameters, source):
    """Logits, and the gradient of an uneven sum of them for each parameter."""
    logits = model(source, ids(T, 1))
    weights = torch.arange(logits.numel(), dtype=logits.dtype).reshape(logits.shape).cos()
    return [logits, *torch.autograd.grad((logits * weights).sum(), parameters)]


@combinations(norm=("pre", "post"), positions=SIX, num_kv_heads=(None, 1), path=WAYS[1:])
def test_an_accelerated_model_is_the_plain_one(norm, positions, num_kv_heads, path):
    """The same parameters, objects and names; equal outputs, equal gradients of each; the plain model stays as it was."""
    model = build(norm=norm, positions=positions, num_kv_heads=num_kv_heads)
    before = {name: type(part) for name, part in model.named_modules()}
    values = {name: value.clone() for name, value in model.state_dict().items()}
    fast = accelerate(model, path=path)
    parameters = dict(model.named_parameters())
    assert type(fast) is FastTransformer and fast.config is model.config
    assert [name for name, _ in fast.named_parameters()] == list(parameters)
    assert all(parameter is parameters[name] for name, parameter in fast.named_parameters())
    assert list(fast.state_dict()) == list(values)
    layers = [part for part in fast.modules() if isinstance(part, MultiHeadAttention)]
    assert len(layers) == 8 and all(isinstance(part, FastAttention) and part.path == path for part in layers)
    for source in (ids(S), PADDED):
        for ours, wanted in zip(*(gradients(one, list(parameters.values()), source) for one in (fast, model)), strict=True):
            torch.testing.assert_close(ours, wanted, atol=1e-12, rtol=0)
    assert {name: type(part) for name, part in model.named_modules()} == before
    assert not any(hasattr(part, "path") for part in model.modules())
    assert all(torch.equal(value, values[name]) for name, value in model.state_dict().items())


@combinations(choice=CHOICES, path=("explicit", "fused"))
def test_neither_the_future_nor_padding_can_leak(choice, path):
    see_neither_the_future_nor_padding(accelerate(build(**choice), path=path))


def test_what_trains_in_one_is_trained_in_the_other():
    model = build()
    fast = accelerate(model)
    fast(PADDED, ids(T, 1)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    torch.testing.assert_close(fast(PADDED, ids(T, 1)), model(PADDED, ids(T, 1)), atol=1e-12, rtol=0)
    model.load_state_dict(build(norm="pre").state_dict())
    assert torch.equal(model.embedding.weight, fast.embedding.weight)
    model.float()
    assert {parameter.dtype for parameter in fast.parameters()} == {torch.float32}


def test_a_part_in_two_places_stays_one_and_a_method_is_that_of_the_new_tree():
    model = build()
    model.decoder.layers[1] = model.decoder.layers[0]
    model.spoken = model.encode
    fast = accelerate(model)
    assert fast.decoder.layers[1] is fast.decoder.layers[0] is not model.decoder.layers[0]
    assert fast.spoken.__self__ is fast


def test_each_has_a_training_flag_of_its_own():
    model = build(dropout=0.5).train()
    fast = accelerate(model)
    assert fast.training and fast.dropout.training
    fast.eval()
    assert model.training and model.encoder.layers[1].residuals[0].dropout.training
    assert not any(part.training for part in fast.modules())
    model.eval()
    fast.train()
    assert not any(part.training for part in model.modules()) and all(part.training for part in fast.modules())


@combinations(
    place=(
        "encoder.layers.1.self_attention decoder.layers.0.cross_attention.w_v decoder.layers.2.residuals.1.norm "
        "positions dropout embedding encoder decoder.layers.2 decoder.layers.1.feed_forward "
        "decoder.layers.1.self_attention.positions encoder.layers.0.self_attention.positions"
    ).split(),
    hung=["before", "after", "in the fast one"],
    kind=["forward", "pre"],
    num_kv_heads=[None, 1],
)
def test_hooks_act_in_both(place, hung, kind, num_kv_heads):
    """Wherever it is hung and whenever: what one model does under a hook, the other does."""
    model = build(positions="alibi", num_kv_heads=num_kv_heads)
    whole, calls = model(PADDED, ids(T, 1)), []

    def bend(x):
        return x + 0.5 * x.square() if torch.is_tensor(x) and x.is_floating_point() else x  # no norm undoes it

    def after(part, args, output):
        calls.append(part)
        return tuple(map(bend, output)) if isinstance(output, tuple) else bend(output)

    def ahead(part, args):
        calls.append(part)
        return tuple(arg + 1 if place == "embedding" else bend(arg) for arg in args)

    fast = accelerate(model) if hung != "before" else None
    part = (fast if hung == "in the fast one" else model).get_submodule(place)
    hook = part.register_forward_hook(after) if kind == "forward" else part.register_forward_pre_hook(ahead)
    fast = fast or accelerate(model)
    source, target = PADDED.clamp(max=20), ids(T, 1).clamp(max=20)  # so that a hook may add to the ids
    changed = model(source, target)
    assert len(calls) == (2 if place in ("positions", "dropout", "embedding") else 1)
    torch.testing.assert_close(fast(source, target), changed, atol=1e-12, rtol=0)
    assert len(calls) == (4 if place in ("positions", "dropout", "embedding") else 2)
    hook.remove()
    assert not torch.allclose(changed, model(source, target))
    torch.testing.assert_close(fast(PADDED, ids(T, 1)), whole, atol=1e-12, rtol=0)


class Louder(MultiHeadAttention):
    """A subclass that a reader may write: twice the values."""

    def attend(self, q, k, v, *, mask, dropout):
        return super().attend(q, k, 2 * v, mask=mask, dropout=dropout)


class Halved(AlibiPositions):
    """A scheme that takes the place of attention in its own way."""

    def forward(self, q, k, v, *, mask=None, dropout=0.0):
        output, weights = attention(0.5 * q, k, v, mask=mask, dropout=dropout)
        return output, weights


class Strange(nn.Module):
    """Not a scheme of ours at all."""

    def forward(self, q, k, v, *, mask=None, dropout=0.0):
        return attention(q.flip(-1), k, v, mask=mask, dropout=dropout)


class ScaledLinear(nn.Linear):
    def forward(self, x):
        return 3 * super().forward(x)


def exchange(model, place, part):
    parent, _, name = place.rpartition(".")
    setattr(model.get_submodule(parent), name, part)
    return model


EXCHANGED = {
    "a subclassed attention": lambda model: exchange(model, "decoder.layers.1.self_attention", Louder(44, 2)),
    "a subclassed linear": lambda model: exchange(model, "encoder.layers.0.feed_forward.w_2", ScaledLinear(29, 44)),
    "another scheme": lambda model: exchange(model, "decoder.layers.0.self_attention.positions", Halved()),
    "no scheme of ours": lambda model: exchange(model, "encoder.layers.1.self_attention.positions", Strange()),
    "a scheme in cross-attention": lambda model: exchange(model, "decoder.layers.2.cross_attention.positions", Strange()),
    "a scheme of ours in cross-attention": lambda model: exchange(model, "decoder.layers.2.cross_attention.positions", RotaryPositions(22)),
    "another norm": lambda model: exchange(model, "decoder.norm", nn.RMSNorm(44)),
    "another residual": lambda model: exchange(model, "decoder.layers.1.residuals.2.dropout", nn.Tanh()),
    "more layers": lambda model: exchange(model, "encoder.norm", nn.Sequential(nn.LayerNorm(44), nn.Linear(44, 44))),
}


@combinations(name=EXCHANGED, path=("explicit", "fused"), num_kv_heads=(None, 1))
def test_unknown_parts_stay_as_they_are_and_act(name, path, num_kv_heads):
    torch.manual_seed(2)
    whole = build(num_kv_heads=num_kv_heads)
    model = EXCHANGED[name](build(num_kv_heads=num_kv_heads)).double().eval()
    unknown = [
        (place, part)
        for place, part in model.named_modules()
        if isinstance(part, Louder | Halved | Strange | ScaledLinear | nn.RMSNorm | nn.Tanh)
    ]
    fast = accelerate(model, path=path)
    assert all(type(fast.get_submodule(place)) is type(part) for place, part in unknown)
    logits = model(PADDED, ids(T, 1))
    assert not torch.allclose(logits, whole(PADDED, ids(T, 1)))
    torch.testing.assert_close(fast(PADDED, ids(T, 1)), logits, atol=1e-12, rtol=0)


def test_a_subclassed_model_keeps_its_own_way():
    class Backwards(Transformer):
        def encode(self, source):
            return super().encode(source.flip(1))

    torch.manual_seed(0)
    model = Backwards(CONFIG).double().eval()
    fast = accelerate(model)
    assert type(fast) is Backwards and isinstance(fast.encoder.layers[0].self_attention, FastAttention)
    torch.testing.assert_close(fast(PADDED, ids(T, 1)), model(PADDED, ids(T, 1)), atol=1e-12, rtol=0)
    assert not torch.allclose(model(PADDED, ids(T, 1)), build()(PADDED, ids(T, 1)))


@pytest.mark.parametrize("made", [LanguageModel, GRUAttentionTranslator])
def test_models_of_other_kinds(made):
    torch.manual_seed(0)
    config = dataclasses.replace(CONFIG, num_encoder_layers=1, num_decoder_layers=1, positions="none")
    model = made(config).double().eval()
    fast, inputs = accelerate(model), (PADDED,) if made is LanguageModel else (PADDED, ids(T, 1))
    assert type(fast) is made and [type(part) for part in fast.modules()] != [type(part) for part in model.modules()]
    torch.testing.assert_close(fast(*inputs), model(*inputs), atol=1e-12, rtol=0)


def test_twice_is_once_and_a_path_may_be_named_later():
    model = build(num_kv_heads=1)
    fast = accelerate(model, path="fused")
    assert accelerate(fast) is fast
    again = accelerate(fast, path="explicit")
    assert {part.path for part in again.modules() if isinstance(part, FastAttention)} == {"explicit"}
    assert {part.path for part in fast.modules() if isinstance(part, FastAttention)} == {"fused"}
    assert isinstance(again.decoder.layers[0].self_attention, GroupedQueryAttention)
    torch.testing.assert_close(again(PADDED, ids(T, 1)), model(PADDED, ids(T, 1)), atol=1e-12, rtol=0)


def test_masks_that_hide_nothing_are_left_out():
    padded = torch.tensor([[5, 6, 7], [5, 6, 0]])
    assert needed(padding_mask(padded[:1], 0)) is None
    assert torch.equal(needed(padding_mask(padded, 0)), padding_mask(padded, 0))


@by_path
def test_the_output_does_not_know_whether_its_mask_was_left_out(monkeypatch, path):
    model, source, target = accelerate(build(), path=path), ids(S), ids(T, 1)
    without = model(source, target)
    monkeypatch.setattr(modules, "needed", lambda mask: mask)
    torch.testing.assert_close(model(source, target), without, atol=1e-13, rtol=0)


@combinations(positions=SIX, num_kv_heads=(None, 1), path=("auto", "explicit", "fused"))
def test_second_derivatives_are_those_of_the_plain_model(monkeypatch, positions, num_kv_heads, path):
    """A penalty on the gradient: the kernel has none of its own, nor has oneDNN's product."""
    monkeypatch.setattr(products, "PREFERS_ONEDNN", products.HAS_ONEDNN)
    monkeypatch.setattr(products, "WIDE", 1)
    monkeypatch.setattr(products, "MANY", 1)
    model, source, target = build(positions=positions, num_kv_heads=num_kv_heads).float(), PADDED, ids(T, 1)
    found = []
    for one in (model, accelerate(model, path=path)):
        learning = list(one.parameters())
        first = torch.autograd.grad(one(source, target).log_softmax(-1).square().mean(), learning, create_graph=True)
        found.append(torch.autograd.grad(sum(x.square().sum() for x in first), learning))
    for mine, wanted in zip(*found, strict=True):
        torch.testing.assert_close(mine, wanted, atol=1e-4 * float(max(x.abs().max() for x in found[0])), rtol=0)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_each_sentence(way):
    """vmap over a whole model, as those do who clip the gradient of each example."""
    model, target = computed(way, build()), ids(T, 1)
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters, source, target):
        logits = torch.func.functional_call(model, parameters, (source[None], target[None]))
        return logits.log_softmax(-1).square().mean()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(parameters, PADDED, target)
    for row in range(len(PADDED)):
        one = torch.func.grad(loss)(parameters, PADDED[row], target[row])
        for name, found in each.items():
            torch.testing.assert_close(found[row], one[name], atol=1e-12, rtol=0)


@pytest.mark.errors
@pytest.mark.parametrize("path, got", [("fast", "'fast'"), (None, "None")])
def test_a_path_that_there_is_not(path, got):
    with pytest.raises(ValueError, match=f'path: expected "auto", "explicit" or "fused", got {got}; "auto" takes the faster'):
        accelerate(build(), path=path)


@pytest.mark.parametrize("dtype, exact", [(torch.float64, 1e-13), (torch.float32, 2e-6), (torch.bfloat16, 0.04)])
@pytest.mark.parametrize("start", [0, 7])
def test_a_turn_by_complex_numbers_is_the_plain_turn(dtype, exact, start):
    """Outputs and gradients, of the columns of a wider matrix as the attention has them."""
    torch.manual_seed(0)
    wide = torch.randn(2, 5, 3, 6, dtype=dtype)
    found = []
    for kind in (RotaryPositions, FastRotary):
        x = wide.clone().requires_grad_()
        turned = kind(6).turn(x.transpose(1, 2), start)
        (turned * torch.arange(6, dtype=dtype)).sum().backward()
        found.append((turned.detach(), x.grad))
    for plain, fast in zip(*found, strict=True):
        assert fast.dtype == dtype and fast.shape == plain.shape
        torch.testing.assert_close(fast, plain, atol=exact, rtol=exact)
