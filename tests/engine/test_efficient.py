"""Attention that saves products or room gives what explicit attention gives, gradients included."""

import pytest
import torch

from tests.ci import combinations
from xformer_lib.engine.efficient import local_attention, tiled_attention
from xformer_lib.engine.modules import explicit_attention
from xformer_lib.nn.cost import measure_cost


def tensors(*shapes, scale=1.0):
    generator = torch.Generator().manual_seed(7)
    return [(scale * torch.randn(shape, dtype=torch.float64, generator=generator)).requires_grad_() for shape in shapes]


def results(attention, inputs):
    output = attention(*inputs)
    return [output.detach(), *torch.autograd.grad(output.square().sum(), inputs)]


def same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def near(length, window, causal=False):
    offset = torch.arange(length) - torch.arange(length)[:, None]
    return (offset.abs() <= window) & ((offset <= 0) | (not causal))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length,window", [(1, 0), (7, 0), (7, 3), (13, 5), (31, 2), (5, 11), (23, 22)])
def test_local_equals_explicit_under_the_mask(length, window, causal):
    inputs = tensors((2, 3, length, 5), (2, 3, length, 5), (2, 3, length, 7))
    same(
        results(lambda *x: local_attention(*x, window=window, causal=causal), inputs),
        results(lambda *x: explicit_attention(*x, mask=near(length, window, causal))[0], inputs),
    )


def test_local_hides_padding_and_gives_zeros_to_closed_rows():
    inputs = tensors((2, 3, 13, 5), (2, 3, 13, 5), (2, 3, 13, 7))
    key_mask = torch.arange(13) < torch.tensor([13, 4])[:, None]
    mask = near(13, 2) & key_mask[:, None, None, :]
    ours = results(lambda *x: local_attention(*x, window=2, key_mask=key_mask[:, None]), inputs)
    same(ours, results(lambda *x: explicit_attention(*x, mask=mask)[0], inputs))
    assert (ours[0][1, :, 6:] == 0).all() and (ours[0][1, :, :6] != 0).any()


def test_local_grows_with_the_length_alone():
    with torch.no_grad():
        costs = [measure_cost(local_attention, *tensors(*[(2, n, 5)] * 3), window=16) for n in (512, 1024, 2048)]
    assert [cost.products for cost in costs] == [2 * n * 48 * 2 * 5 for n in (512, 1024, 2048)]
    assert [cost.largest for cost in costs] == [2 * n * 48 for n in (512, 1024, 2048)]


MASKS = [None, (11, 13), (2, 1, 11, 13), (2, 3, 11, 13), (2, 1, 1, 13), (2, 1, 11, 1)]


@combinations(shape=MASKS, tile=(1, 5, 13, 100))
def test_tiles_equal_explicit(tile, shape):
    inputs = tensors((2, 3, 11, 5), (2, 3, 13, 5), (2, 3, 13, 7), scale=4.0)
    mask = None if shape is None else torch.rand(shape, generator=torch.Generator().manual_seed(3)) < 0.6
    same(
        results(lambda *x: tiled_attention(*x, tile=tile, mask=mask), inputs),
        results(lambda *x: explicit_attention(*x, mask=mask)[0], inputs),
    )


@pytest.mark.parametrize("tile", [2, 7])
def test_tiles_with_closed_rows_and_large_scores(tile):
    q, k, v = tensors((2, 11, 5), (2, 7, 5), (2, 7, 3))
    inputs = [(200 * q).detach().requires_grad_(), k, v]
    mask = torch.ones(2, 11, 7, dtype=torch.bool)
    mask[1, 4], mask[0, :, :2] = False, False  # one closed row, and a first tile that is closed for all
    ours = results(lambda *x: tiled_attention(*x, tile=tile, mask=mask), inputs)
    same(ours, results(lambda *x: explicit_attention(*x, mask=mask)[0], inputs))
    assert (ours[0][1, 4] == 0).all() and (ours[1][1, 4] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_far_keys_count_in_16_bits(dtype):
    """Sums of 16 bits stop growing when what is added is less than half of their last digit."""
    q, k = torch.zeros(1, 4, dtype=dtype), torch.zeros(1024, 4, dtype=dtype)
    v = (torch.arange(1024) >= 512).to(dtype)[:, None]
    found = tiled_attention(q, k, v, tile=1)
    assert found.dtype == dtype and float(found) == 0.5


def test_tiles_never_make_the_square():
    inputs = tensors(*[(2, 331, 5)] * 3)

    def both_ways():
        tiled_attention(*inputs, tile=16).sum().backward()

    assert measure_cost(both_ways).largest == 2 * 331 * 16
    assert measure_cost(lambda: explicit_attention(*inputs)[0].sum().backward()).largest == 2 * 331**2


@pytest.mark.parametrize("frozen", [None, 0, 1, 2])
def test_derivatives_of_the_gradients(frozen):
    inputs = [x.detach() if n == frozen else x for n, x in enumerate(tensors((2, 3, 5), (2, 7, 5), (2, 7, 4)))]
    mask = torch.ones(3, 7, dtype=torch.bool).tril(2)
    mask[1] = False  # a query that may attend to nothing
    found = []
    for attention in (lambda *x: tiled_attention(*x, tile=2, mask=mask), lambda *x: explicit_attention(*x, mask=mask)[0]):
        learning = [x for x in inputs if x.requires_grad]
        first = torch.autograd.grad(attention(*inputs).square().sum(), learning, create_graph=True)
        second = torch.autograd.grad(sum(x.square().sum() for x in first), learning, create_graph=True)
        found.append([*first, *second, *torch.autograd.grad(sum(x.square().sum() for x in second), learning)])
    same(*found)


def test_under_autocast_tiles_are_computed_in_full_precision():
    q, k, v = (x.detach().float().requires_grad_() for x in tensors((2, 11, 5), (2, 13, 5), (2, 13, 5), scale=3.0))
    (plain,) = torch.autograd.grad(tiled_attention(q, k, v, tile=4).square().sum(), q)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = tiled_attention(q, k, v, tile=4)
    (found,) = torch.autograd.grad(output.square().sum(), q)
    torch.testing.assert_close(found, plain)


@pytest.mark.errors
@pytest.mark.parametrize(
    "call,fragment",
    [
        (lambda q, k: local_attention(q, q, q, window=-1), "window: expected 0 or more positions, got -1; 0 lets"),
        (lambda q, k: local_attention(q, k, k, window=2), "q, k, v: expected one length for all, got 5, 7 and 7; a window"),
        (lambda q, k: tiled_attention(q, k, k, tile=0), "tile: expected at least 1 key, got 0; 128 is usual"),
    ],
)
def test_errors_say_what_to_do(call, fragment):
    with pytest.raises(ValueError) as caught:
        call(torch.randn(5, 3), torch.randn(7, 3))
    assert fragment in str(caught.value)
