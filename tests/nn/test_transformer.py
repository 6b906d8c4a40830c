"""The whole model as the chapter has it: shapes, leaks by perturbation, configuration, errors."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.whole_models import CONFIG, B, S, T, V, build, by_choice, ids, see_neither_the_future_nor_padding
from xformer_lib.nn import LanguageModel, TokenEncoder
from xformer_lib.nn.masks import causal_mask, padding_mask, target_mask
from xformer_lib.nn.transformer import Decoder, Encoder, Transformer


def parameters_of(choice):
    """Every name that a checkpoint of such a model holds, written down apart from the model."""

    def linear(*names):
        return {f"{name}.{kind}" for name in names for kind in ("weight", "bias")}

    names = {"embedding.weight"} | ({"positions.table"} if choice["positions"] == "learned" else set())
    for stack, layers, attentions in (("encoder", 2, ["self"]), ("decoder", 3, ["self", "cross"])):
        for layer in (f"{stack}.layers.{n}" for n in range(layers)):
            names |= linear(*(f"{layer}.{kind}_attention.{w}" for kind in attentions for w in ("w_q", "w_k", "w_v", "w_o")))
            names |= linear(f"{layer}.feed_forward.w_1", f"{layer}.feed_forward.w_2")
            names |= linear(*(f"{layer}.residuals.{n}.norm" for n in range(len(attentions) + 1)))
            if choice["positions"] == "relative":
                names |= {f"{layer}.self_attention.positions.{table}" for table in ("key_table", "value_table")}
        names |= linear(f"{stack}.norm") if choice["norm"] == "pre" else set()
    return names


@by_choice
def test_shapes_and_gradients_reach_every_parameter(choice):
    model = build(**choice).train()
    logits = model(ids(S), ids(T, 1))
    assert logits.shape == (B, T, V)
    logits.square().sum().backward()
    asleep = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0}
    assert {name for name in asleep if not name.endswith("w_k.bias")} == set()  # softmax does not see a key bias
    assert {name for name, _ in model.named_parameters()} == parameters_of(choice)


@by_choice
def test_neither_the_future_nor_padding_can_leak(choice):
    see_neither_the_future_nor_padding(build(**choice))


def test_the_leak_is_noticed(monkeypatch):
    """The control: with the masks open, the check of the future fails, and so does that of padding."""
    from xformer_lib.nn import transformer

    model = build()
    monkeypatch.setattr(transformer, "target_mask", lambda ids, pad_id: padding_mask(ids, pad_id))
    with pytest.raises(AssertionError, match="the future"):
        see_neither_the_future_nor_padding(model)
    monkeypatch.undo()
    monkeypatch.setattr(transformer, "padding_mask", lambda ids, pad_id: torch.ones_like(ids[:, None], dtype=torch.bool))
    with pytest.raises(AssertionError, match="padding"):
        see_neither_the_future_nor_padding(model)
    monkeypatch.undo()
    model.encode = lambda source: model.encoder(model.embed(source))  # the encoder's mask alone
    with pytest.raises(AssertionError, match="padding"):
        see_neither_the_future_nor_padding(model)


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
    assert target_mask(torch.tensor([[1, 5, 0]]), 0).tolist() == [[[True, False, False], [True, True, False], [True, True, False]]]


@pytest.mark.errors
@pytest.mark.parametrize(
    "change, message",
    [
        ({"vocab_size": 0}, "vocab_size: expected a whole number, 1 or more, got 0; see TransformerConfig"),
        ({"d_model": "32"}, "d_model: expected a whole number, 1 or more, got '32'"),
        ({"num_heads": True}, "num_heads: expected a whole number, 1 or more, got True"),
        ({"num_encoder_layers": torch.tensor(2)}, r"num_encoder_layers: expected a whole number, 1 or more, got Tensor of shape \(\)"),
        ({"dropout": 1.0}, "dropout: expected 0 ≤ dropout < 1, got 1.0; 0.1 is usual"),
        ({"attention_dropout": "0.1"}, "attention_dropout: expected 0 ≤ attention_dropout < 1, got '0.1'"),
        ({"positions": "rotating"}, "positions: expected one of sinusoidal, learned, relative, rotary, alibi, none, got 'rotating'"),
        ({"norm": "sandwich"}, 'norm: expected "pre" or "post", got \'sandwich\''),
        ({"num_heads": 3}, r"d_model must be divisible by num_heads: got d_model=44, num_heads=3 \(remainder 2\)"),
        ({"num_kv_heads": "one"}, "num_kv_heads: expected a divisor of num_heads=2, got 'one'; try one of 1, 2"),
        ({"d_model": 45, "num_heads": 5}, "d_model: expected an even number with sinusoidal positions, got 45; try 44 or 46"),
        ({"num_heads": 4, "positions": "rotary"}, "positions: rotary turns pairs of dimensions, got heads of width 11"),
        ({"pad_id": 1}, r"pad_id, bos_id, eos_id: expected three different ids below vocab_size=31, got \(1, 1, 2\); 0, 1, 2 are usual"),
        ({"pad_id": None}, r"pad_id, bos_id, eos_id: expected three different ids below vocab_size=31, got \(None, 1, 2\)"),
    ],
)
def test_configurations_that_no_model_can_have(change, message):
    """They are refused when the settings are made, before anything is built from them."""
    with pytest.raises(ValueError, match=message) as caught:
        dataclasses.replace(CONFIG, **change)
    assert "\n" not in str(caught.value)


@pytest.mark.errors
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "relative", "rotary", "alibi", "none"])
def test_the_advice_about_heads_works_when_it_is_followed(positions):
    tried = 0
    for d_model in range(1, 30):
        for num_heads in range(1, 33):
            sizes = {"d_model": d_model, "num_heads": num_heads, "positions": positions}
            try:
                dataclasses.replace(CONFIG, **sizes)
            except ValueError as error:
                advice = re.findall(r"(d_model|num_heads)=(\d+)", str(error).split("; ")[-1])
                if "even number with" in str(error):
                    advice = [("d_model", n) for n in re.findall(r"\d+", str(error).split("; ")[-1])]
                assert advice, error
                for name, number in advice:
                    advised = {**sizes, name: int(number)}
                    try:
                        dataclasses.replace(CONFIG, **advised)
                    except ValueError as second:  # an even width may still have to be shared among the heads
                        assert "even number with" in str(error) and re.search("divisible|turns pairs", str(second))
                    tried += 1
    assert tried > 100


@pytest.mark.errors  # more than the signature promises
def test_numbers_of_numpys_are_numbers():
    model = build(d_model=np.int64(44), vocab_size=np.int32(V), dropout=np.float32(0.25), num_kv_heads=np.int8(1))
    assert model(ids(S), ids(T, 1)).shape == (B, T, V)


def test_other_special_ids_mean_what_zero_one_and_two_mean():
    """A model alone takes any three ids: what is padded with its own changes nothing, what is padded with 0 does."""
    model, source, target = build(pad_id=7, bos_id=30, eos_id=5), ids(S), ids(T, 1)
    source[source == 7], target[target == 7] = 8, 8
    whole = model(source, target)
    longer = torch.cat([source, torch.full((B, 2), 7)], dim=1)
    torch.testing.assert_close(model(longer, target), whole, atol=1e-12, rtol=0)
    assert not torch.allclose(model(longer.masked_fill(longer == 7, 0), target), whole)


@pytest.mark.errors
@pytest.mark.parametrize("made", [Transformer, Encoder, Decoder, LanguageModel, TokenEncoder])
def test_a_model_is_built_from_a_configuration(made):
    for config, got in ((101, "101"), (None, "None"), ({"vocab_size": 31}, "dict")):
        with pytest.raises(ValueError, match=f"config: expected a TransformerConfig, got {got}; write TransformerConfig"):
            made(config)


@pytest.mark.errors
@pytest.mark.parametrize(
    "source, target, message",
    [
        (torch.full((B, 24), 3), ids(T), "source: expected at most max_len=23 tokens, got 24; split"),
        (ids(S), torch.full((B, 29), 3), "target_in: expected at most max_len=23 tokens, got 29"),
        (ids(S)[0], ids(T), r"source: expected integer ids \(batch, length\), got torch.int64 \(7,\); .* ids\[None\]"),
        (ids(S)[None], ids(T), r"source: expected integer ids \(batch, length\), got torch.int64 \(1, 3, 7\)"),
        (ids(S).float(), ids(T), r"source: expected integer ids .*, got torch.float32 \(3, 7\); write source.long\(\)"),
        (ids(S) > 5, ids(T), r"source: expected integer ids .*, got torch.bool \(3, 7\); write source.long\(\)"),
        (ids(S).to(torch.uint8), ids(T), r"source: .*, got torch.uint8 \(3, 7\); write source.long\(\)"),
        (ids(S).numpy(), ids(T), r"source: expected a torch.Tensor, got ndarray of shape \(3, 7\); write torch.from_numpy\(source\)"),
        (ids(S), ids(T).tolist(), r"target_in: expected a torch.Tensor, got list; write torch.tensor\(target_in\)"),
        (ids(S) + 31, ids(T), "source: expected ids from 0 to 30, got [0-9]+; was the text encoded by this model's tokenizer"),
        (ids(S), ids(T) - 31, "target_in: expected ids from 0 to 30, got -[0-9]+; was"),
        (None, ids(T), "source: expected a torch.Tensor, got None; encode the text with a tokenizer"),
        ("a dog", ids(T), "source: expected a torch.Tensor, got 'a dog'; encode the text with a tokenizer"),
        (object(), ids(T), "source: expected a torch.Tensor, got object; encode the text"),
    ],
)
def test_ids_that_do_not_fit(source, target, message):
    with pytest.raises(ValueError, match=message) as caught:
        build()(source, target)
    assert "\n" not in str(caught.value)


def test_a_program_that_is_planned_has_no_numbers_to_look_at():
    model = build()
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert model(torch.full((B, S), 99), torch.full((B, T), 99)).shape == (B, T, CONFIG.vocab_size)
    with torch.device("meta"):
        assert build()(torch.full((B, S), 99), torch.full((B, T), 99)).shape == (B, T, CONFIG.vocab_size)


def test_gradients_of_each_sentence():
    """vmap over a whole model, as those do who clip the gradient of each example."""
    model, source, target = build(), ids(S), ids(T, 1)
    source[1, 4:] = CONFIG.pad_id
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters, source, target):
        logits = torch.func.functional_call(model, parameters, (source[None], target[None]))
        return logits.log_softmax(-1).square().mean()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(parameters, source, target)
    for row in range(B):
        one = torch.func.grad(loss)(parameters, source[row], target[row])
        for name, found in each.items():
            torch.testing.assert_close(found[row], one[name], atol=1e-12, rtol=0)
