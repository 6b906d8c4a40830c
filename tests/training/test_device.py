"""Where to compute: the device asked for, if it is here."""

import pytest

from xformer_lib.training.precision import pick_device


def test_the_processor_is_always_here():
    assert pick_device("cpu") == "cpu" and pick_device() in ("cuda", "mps", "cpu")


@pytest.mark.parametrize("name", ("tpu", "cuda:0", "mps"))
def test_a_device_that_is_not_here_is_one_line(monkeypatch, name):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    with pytest.raises(ValueError, match=f"^device: expected cpu, cuda or mps, .* got '{name}'; leave it out for cpu$"):
        pick_device(name)
