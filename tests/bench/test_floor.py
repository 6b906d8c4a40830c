"""The floor multiplies what it says it multiplies, whichever kernel does it."""

import pytest
import torch

from benchmarks.contenders import SETTINGS, Sizes, floor


@pytest.mark.parametrize("precision", floor.PRECISIONS)
def test_every_kernel_gives_the_product(precision):
    a, b = torch.randn(11, 7), torch.randn(7, 13)
    if precision == "bfloat16":
        a, b = a.bfloat16(), b.bfloat16()
    for way, multiply in floor.ways(precision).items():
        torch.testing.assert_close(
            multiply(a, b).double(),
            a.double() @ b.double(),
            atol=1e-1 if precision == "bfloat16" else 1e-4,
            rtol=0,
            msg=lambda text, way=way: f"{way}: {text}",
        )


def test_the_floor_is_measured_for_every_shape(monkeypatch):
    monkeypatch.setattr(floor, "SHAPES", ((29, 31, 37), (41, 43, 47)))
    one = floor.Floor(Sizes(), 1)
    one.build(SETTINGS["float32"])
    speeds = one.products("float32")
    assert {name.split(" ")[0] for name in speeds} == {"29×31×37", "41×43×47"}
    assert all(len(pair) == 2 and min(pair) > 0 for pair in speeds.values())
