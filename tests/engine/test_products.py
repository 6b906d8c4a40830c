"""oneDNN's product and its gradients are those of PyTorch's own; it is taken only where it belongs."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from xformer_lib.engine import products
from xformer_lib.engine.modules import accelerate
from xformer_lib.engine.products import FastLinear, product
from xformer_lib.nn.transformer import Transformer, TransformerConfig

N, T, IN, OUT = 3, 5, 29, 17
needs_onednn = pytest.mark.skipif(not products.HAS_ONEDNN, reason="this PyTorch has no oneDNN")


@pytest.fixture
def calls(monkeypatch):
    """How often oneDNN was asked; here for small matrices, too."""
    counted, own = [], products.onednn
    monkeypatch.setattr(products, "PREFERS_ONEDNN", True)
    monkeypatch.setattr(products, "WIDE", 1)
    monkeypatch.setattr(products, "MANY", 2)
    monkeypatch.setattr(products, "onednn", lambda *args: (counted.append(1), own(*args))[1])
    return counted


def parts(shape=(N, T, IN), dtype=torch.float32, bias=True):
    torch.manual_seed(1)
    made = torch.randn(shape), torch.randn(OUT, IN), torch.randn(OUT) if bias else None
    return [None if part is None else part.to(dtype).requires_grad_() for part in made]


@needs_onednn
@pytest.mark.parametrize("shape", [(T, IN), (N, T, IN), (2, N, T, IN), (1, 2, IN)])
@pytest.mark.parametrize("bias", [True, False])
def test_output_and_gradients_are_those_of_float64(calls, shape, bias):
    ours = parts(shape, bias=bias)
    exact = [None if part is None else part.detach().double().requires_grad_() for part in ours]
    weights = torch.randn(*shape[:-1], OUT)
    results = []
    for x, w, b in (ours, exact):
        output = product(x, w, b)
        (output * weights.to(output.dtype)).sum().backward()
        results.append([output.detach(), *(part.grad for part in (x, w, b) if part is not None)])
    assert len(calls) == 2  # the weight gradient is the other library's
    for mine, wanted in zip(*results, strict=True):
        assert mine.shape == wanted.shape and mine.dtype == torch.float32
        torch.testing.assert_close(mine.double(), wanted, atol=5e-5, rtol=1e-5)


@needs_onednn
@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_what_needs_no_gradient_gets_none(calls, frozen):
    tensors = parts()
    tensors[frozen] = tensors[frozen].detach()
    product(*tensors).sum().backward()
    assert [tensor.grad is None for tensor in tensors] == [n == frozen for n in range(3)]


@needs_onednn
def test_it_is_as_exact_as_the_product_it_replaces():
    """Rounding of float32, not of a shorter format, whatever its order of summation."""
    torch.manual_seed(0)
    x, w = torch.randn(64, 256), torch.randn(512, 256)
    exact = x.double() @ w.double().T
    error = [(y.double() - exact).abs().mean().item() for y in (products.onednn(x, w), F.linear(x, w))]
    assert error[0] < 4 * error[1] < 1e-4


@pytest.mark.parametrize(
    "shape, dtype",
    [((1, IN), torch.float32), ((IN,), torch.float32), ((0, IN), torch.float32), ((T, IN), torch.float64), ((T, IN), torch.bfloat16)],
)
def test_single_rows_and_other_formats_go_the_usual_way(calls, shape, dtype):
    tensors = parts(shape, dtype)
    assert torch.equal(product(*tensors), F.linear(*tensors)) and not calls


@needs_onednn
@pytest.mark.parametrize("shape, asked", [((15, IN), 0), ((16, IN), 1), ((3, 5, IN), 0), ((2, 8, IN), 1)])
def test_few_rows_go_the_usual_way(calls, monkeypatch, shape, asked):
    monkeypatch.setattr(products, "MANY", 16)
    product(torch.randn(shape), torch.randn(OUT, IN))
    assert len(calls) == asked


def test_autocast_decides_for_itself(calls):
    x, w, b = parts()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert product(x, w, b).dtype == torch.bfloat16
    assert not calls


@needs_onednn
@pytest.mark.parametrize("precision, asked", [("highest", 1), ("high", 0), ("medium", 0)])
def test_who_asked_for_less_precision_gets_it_from_pytorch(calls, precision, asked):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        product(*(part.detach() for part in parts()))
    finally:
        torch.set_float32_matmul_precision(before)
    assert len(calls) == asked


@needs_onednn
@pytest.mark.parametrize("bias", [True, False])
def test_derivatives_of_the_gradients_are_those_of_float64(calls, bias):
    ours = [part for part in parts(bias=bias) if part is not None]
    found = []
    for given in (ours, [part.detach().double().requires_grad_() for part in ours]):
        first = torch.autograd.grad(product(*given).tanh().square().sum(), given, create_graph=True)
        second = torch.autograd.grad(sum(one.square().mean() for one in first), given, create_graph=True)
        third = torch.autograd.grad(sum(one.square().mean() for one in second), given)
        found.append([*first, *second, *third])
    for mine, wanted in zip(*found, strict=True):
        torch.testing.assert_close(mine.double(), wanted, atol=2e-4 * float(wanted.detach().abs().max()), rtol=0)


@needs_onednn
def test_gradients_for_many_outputs_at_once(calls):
    x, w, b = parts()
    rows = torch.eye(OUT)[:, None, None].expand(OUT, N, T, OUT)
    (each,) = torch.autograd.grad(product(x, w, b), x, rows, is_grads_batched=True)
    torch.testing.assert_close(each, w.detach()[:, None, None].expand(OUT, N, T, IN))


@needs_onednn
def test_its_operations_are_counted(calls):
    x, w, b = parts()
    with FlopCounterMode(display=False) as counter:
        product(x, w, b).sum().backward()
    assert counter.get_total_flops() == 3 * 2 * N * T * IN * OUT


def test_linear_has_the_parameters_of_pytorchs():
    torch.manual_seed(4)
    ours = FastLinear(IN, OUT)
    torch.manual_seed(4)
    theirs = torch.nn.Linear(IN, OUT)
    assert isinstance(ours, torch.nn.Linear) and list(ours.state_dict()) == list(theirs.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))


@needs_onednn
def test_the_whole_model_learns_as_with_pytorchs_product(calls, monkeypatch):
    torch.manual_seed(0)
    model = accelerate(
        Transformer(
            TransformerConfig(
                vocab_size=31, d_model=44, num_heads=2, d_ff=29, num_encoder_layers=2, num_decoder_layers=3, dropout=0.0, max_len=23
            )
        )
    )
    source, target = torch.randint(3, 31, (N, 7)), torch.randint(3, 31, (N, T))

    def gradients():
        model.zero_grad()
        model(source, target).log_softmax(-1).square().mean().backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    ours = gradients()
    assert len(calls) > 80
    monkeypatch.setattr(products, "HAS_ONEDNN", False)
    for mine, wanted in zip(ours, gradients(), strict=True):
        torch.testing.assert_close(mine, wanted, atol=1e-6, rtol=1e-4)


class Weights(TorchDispatchMode):
    """The matrices that oneDNN is given."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func._schema.name == "mkldnn::_linear_pointwise":
            self.seen.append(args[1])
        return func(*args, **(kwargs or {}))


@needs_onednn
@pytest.mark.parametrize("part, count", [("rows", 0), ("columns", 0), ("of x", 2)])
def test_onednn_gets_no_part_of_a_wider_matrix(monkeypatch, part, count):
    """With AVX2 alone it multiplies such a one by a loop that is slower by far."""
    monkeypatch.setattr(products, "PREFERS_ONEDNN", True)
    block = torch.randn(263, 811)
    w = {"rows": block[:, :271], "columns": block[:, 300:571].t(), "of x": torch.randn(263, 271)}[part].requires_grad_()
    x = torch.randn(37, 997)[:, : w.shape[1]].requires_grad_()
    with Weights() as given:
        y = products.product(x, w)
        y.square().sum().backward()
    assert len(given.seen) == count and all(one.is_contiguous() or one.t().is_contiguous() for one in given.seen)
    torch.testing.assert_close(y, F.linear(x, w), atol=1e-3, rtol=1e-4)
