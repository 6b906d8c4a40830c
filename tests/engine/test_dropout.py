"""The engine's dropout draws eight elements at a time, and drops what it says."""

import math

import pytest
import torch

from xformer_lib.engine.modules import FastDropout


@pytest.mark.parametrize("p", [1e-6, 1e-4, 0.003, 0.02, 0.06, 0.94, 0.98, 0.999, 0.999999])
def test_dropout_is_right_near_its_ends(p):
    """The share dropped over 30 million draws, within five standard errors; what stays is scaled so that the mean does."""
    torch.manual_seed(1)
    layer, x, draws = FastDropout(p), torch.ones(1000, 1009), 30
    made = [layer(x) for _ in range(draws)]
    zeros = sum(int((y == 0).sum()) for y in made)
    number = draws * x.numel()
    assert abs(zeros / number - p) < 5 * math.sqrt(p * (1 - p) / number)
    kept = torch.cat([y[y != 0].unique() for y in made])
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)), rtol=1e-5, atol=0)


@pytest.mark.parametrize("p", [0.07, 0.1, 0.3, 0.5, 0.9])
def test_dropout_between_its_ends_is_within_a_512th(p):
    torch.manual_seed(2)
    share = float((FastDropout(p)(torch.ones(3001, 1009)) == 0).double().mean())
    assert abs(share - p) < 1 / 512 + 5 * math.sqrt(p * (1 - p) / 3001 / 1009)


def test_dropout_gradient_passes_where_the_value_passed():
    x = torch.ones(7, 13, requires_grad=True)
    y = FastDropout(0.5)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient, y.detach())


def test_dropout_rests_in_evaluation_and_at_zero():
    x = torch.randn(7, 13)
    assert FastDropout(0.5).eval()(x) is x and FastDropout(0.0)(x) is x


def test_dropout_repeats_with_the_seed():
    x, layer = torch.ones(7, 13), FastDropout(0.5)
    torch.manual_seed(5)
    first = layer(x)
    assert not torch.equal(layer(x), first)
    torch.manual_seed(5)
    assert torch.equal(layer(x), first)
