"""int8: rounding, exact products, layers, and a whole model."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from xformer_lib.decoding import beam_search, greedy
from xformer_lib.engine import quantized
from xformer_lib.engine.quantized import Int8Embedding, Int8Linear, int_product, quantize_int8, quantize_rows
from xformer_lib.nn import Transformer, TransformerConfig
from xformer_lib.nn.cost import measure_cost
from xformer_lib.nn.transformer import TokenEmbedding


def test_rows_by_hand():
    whole, scale = quantize_rows(torch.tensor([[1.27, -0.5, 0.004], [0.0, -2.54, 0.3], [0.0, 0.0, 0.0]]))
    assert whole.dtype == torch.int8 and whole.tolist() == [[127, -50, 0], [0, -127, 15], [0, 0, 0]]
    torch.testing.assert_close(scale, torch.tensor([[0.01], [0.02], [1e-12]]))


def test_no_number_moves_by_more_than_half_a_scale():
    x = torch.randn(2, 5, 331) * torch.tensor([1e-3, 1.0, 7.0, 1e4, 1e8])[:, None]
    whole, scale = quantize_rows(x)
    assert scale.shape == (2, 5, 1) and (whole.abs().amax(dim=-1) == 127).all()
    assert ((whole * scale - x).abs() <= scale * 0.5001).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_rounded_as_float32_is(dtype):
    """Neither does 127.5 turn into -128, nor does a sum pass the end of float16."""
    torch.manual_seed(1)
    x = torch.randn(331, 29).to(dtype)
    whole, scale = quantize_rows(x)
    assert (whole.abs().amax(dim=-1) == 127).all() and ((whole * scale - x).abs() <= scale * 0.5001).all()
    linear = nn.Linear(257, 7).to(dtype)
    wide, x = Int8Linear(linear.weight.float(), linear.bias.float()), 100 * torch.randn(5, 257).to(dtype)
    found = Int8Linear(linear.weight, linear.bias)(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), wide(x.float()), rtol=0.02, atol=0.02 * float(wide(x.float()).detach().abs().max()))
    table = Int8Embedding(torch.randn(11, 6, dtype=dtype))
    assert table(torch.tensor([3])).dtype == table.logits(torch.randn(2, 6, dtype=dtype)).dtype == dtype


def test_no_rows_give_no_rows():
    assert Int8Linear(torch.randn(7, 5))(torch.randn(0, 3, 5)).shape == (0, 3, 7)


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("n,k,o", [(1, 3, 5), (7, 1031, 11), (2, 4096, 3)])
def test_products_are_exact(n, k, o, kernel, monkeypatch):
    if not kernel:
        monkeypatch.setattr(quantized, "int8_is_exact", lambda: False)
    a, b = (torch.randint(-127, 128, shape, dtype=torch.int8) for shape in ((n, k), (o, k)))
    assert torch.equal(int_product(a, b.t()).long(), a.long() @ b.long().t())
    full = torch.full((n, k), -127, dtype=torch.int8)
    assert (int_product(full, full.t()) == 127 * 127 * k).all()


@pytest.mark.parametrize("isa", ["SSE41", "AVX2", "AVX512_CORE"])
def test_products_are_exact_on_older_processors(isa):
    code = (
        "import torch; from xformer_lib.engine.quantized import int_product; torch.manual_seed(0);"
        "a, b = (torch.randint(-127, 128, shape, dtype=torch.int8) for shape in ((3, 1031), (1031, 5)));"
        "assert torch.equal(int_product(a, b).double(), a.double() @ b.double())"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "ONEDNN_MAX_CPU_ISA": isa})


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(13,), (5, 13), (2, 3, 13)])
def test_a_layer_is_near_its_model_and_equal_to_its_rounded_form(shape, bias):
    linear, x = nn.Linear(13, 7, bias=bias), torch.randn(shape)
    layer = Int8Linear(linear.weight, linear.bias)
    (w, s_w), (r, s_r) = quantize_rows(linear.weight.detach()), quantize_rows(x.reshape(-1, 13))
    rounded = nn.functional.linear(r * s_r, w * s_w, layer.bias).view(*shape[:-1], 7)
    torch.testing.assert_close(layer(x), rounded, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(layer(x), linear(x).detach(), rtol=0, atol=0.05)
    assert not list(layer.parameters())


def test_an_embedding_reads_rows_and_makes_logits():
    exact = TokenEmbedding(17, 13)
    layer, ids, x = Int8Embedding(exact.weight), torch.randint(0, 17, (2, 3)), torch.randn(2, 5, 13)
    torch.testing.assert_close(layer(ids), exact(ids).detach(), rtol=0, atol=0.02)
    torch.testing.assert_close(layer.logits(x), exact.logits(x).detach(), rtol=0, atol=0.08)
    assert layer.weight.shape == (17, 13) and layer.weight.dtype == torch.int8


CONFIGS = [{}, {"num_kv_heads": 1}, {"norm": "post"}, {"positions": "relative"}, {"positions": "learned"}]


@pytest.fixture(params=CONFIGS, ids=str)
def model(request):
    torch.manual_seed(5)
    sizes = {"vocab_size": 43, "d_model": 20, "num_heads": 2, "d_ff": 37, "max_len": 31}
    return Transformer(TransformerConfig(**sizes, **request.param)).eval()


@torch.no_grad()
def test_a_model_is_near_and_its_matrices_are_bytes(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    small = quantize_int8(model)
    source, target = torch.randint(3, 43, (2, 5)), torch.randint(3, 43, (2, 7))
    exact, ours = model(source, target), small(source, target)
    assert 0 < (ours - exact).abs().mean() < 0.03 * exact.std()
    assert not [layer for layer in small.modules() if isinstance(layer, nn.Linear | TokenEmbedding)]
    wide = [name for name, x in small.state_dict().items() if x.ndim == 2 and x.dtype != torch.int8]
    assert all("positions." in name for name in wide), wide
    narrow = [name for name, x in small.state_dict().items() if x.dtype == torch.int8]
    # in each of three encoder layers 4 projections and 2 of the net, in each of three decoder layers 8 and 2; the embedding
    assert len(narrow) == 3 * 6 + 3 * 10 + 1
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), "the model itself stays"
    assert measure_cost(small, source, target).products == measure_cost(model, source, target).products


def test_it_decodes_with_and_without_the_cache(model):
    small, source = quantize_int8(model), torch.randint(3, 43, (3, 5))
    assert len(greedy(small, source)) == 3
    assert [one[0].ids for one in beam_search(small, source, beam_size=2)] == [
        one[0].ids for one in beam_search(small, source, beam_size=2, engine="plain")
    ]


def test_it_is_for_inference(model):
    small = quantize_int8(model.train())
    assert not small.training and model.training


@pytest.mark.errors
@pytest.mark.parametrize(
    "model,found", [(nn.Linear(3, 5, device="meta"), "got meta; move it"), (nn.ReLU(), "got no weights in floating point; move it")]
)
def test_errors_say_what_to_do(model, found):
    with pytest.raises(ValueError, match="model: expected floating-point weights on the CPU, " + found):
        quantize_int8(model)


class Louder(nn.Linear):
    def forward(self, x):
        return super().forward(x) + 100


def test_what_has_a_way_of_its_own_keeps_it(model):
    """A subclass, and a layer with a hook, stay as they are; a layer in two places stays one."""
    net, other = model.encoder.layers[0].feed_forward, model.decoder.layers[0].self_attention
    kept = net.w_1, net.w_2, other.w_k
    net.w_1, other.w_k = Louder(net.w_1.in_features, net.w_1.out_features), other.w_q
    hook = net.w_2.register_forward_hook(lambda layer, args, output: 0 * output)
    small = quantize_int8(model)
    there, here = small.encoder.layers[0].feed_forward, small.decoder.layers[0].self_attention
    assert type(there.w_1) is Louder and type(there.w_2) is nn.Linear and there.w_2._forward_hooks
    assert type(here.w_q) is Int8Linear and here.w_k is here.w_q
    hook.remove()
    net.w_1, net.w_2, other.w_k = kept
