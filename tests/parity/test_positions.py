"""The trainable model's table of positions against the NumPy definition."""

import numpy as np
import pytest
import torch

from xformer_lib.nn import positions as torch_positions
from xformer_lib.reference.positions import learned_positions, sinusoidal_positions


@pytest.mark.parametrize("length,dim,base", [(1, 2, 10000.0), (7, 6, 10000.0), (53, 64, 10000.0), (11, 10, 50.0)])
def test_sinusoidal_table(length, dim, base):
    table = torch_positions.sinusoidal_positions(length, dim, base=base)
    assert table.dtype == torch.float32
    np.testing.assert_allclose(table.numpy(), sinusoidal_positions(length, dim, base=base), rtol=0, atol=1e-7)


def test_sinusoidal_layer_adds_the_rows_from_its_start():
    x = np.random.default_rng(2).normal(size=(3, 5, 6))
    layer = torch_positions.SinusoidalPositions(6, max_len=13).double()
    expected = x + sinusoidal_positions(11, 6)[4:9]
    np.testing.assert_allclose(layer(torch.from_numpy(x), start=4).numpy(), expected, rtol=0, atol=1e-7)


def test_learned_layer_adds_rows_of_its_table():
    x = np.random.default_rng(3).normal(size=(3, 5, 6))
    layer = torch_positions.LearnedPositions(6, max_len=13).double()
    expected = x + learned_positions(layer.table.detach().numpy(), range(2, 7))
    np.testing.assert_allclose(layer(torch.from_numpy(x), start=2).detach().numpy(), expected, atol=1e-14)
