"""What a package lists is explained, also where PyTorch does the opposite."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest

import xformer_lib

ROOMS = [path.parent.name for path in Path(xformer_lib.__path__[0]).glob("[a-z]*/__init__.py")]
ROOMS += [path.stem for path in Path(xformer_lib.__path__[0]).glob("[a-z]*.py")]
PUBLIC = [(room, name) for room in sorted(ROOMS) for name in getattr(import_module(f"xformer_lib.{room}"), "__all__", [])]


def takes_a_mask(one):
    functions = [value for value in [one, *getattr(one, "__dict__", {}).values()] if inspect.isfunction(value)]
    return any("mask" in word for function in functions for word in inspect.signature(function).parameters)


PLACES = [*PUBLIC, ("nn.multi_head", "masked_softmax"), ("nn.recurrent", "AdditiveAttention"), ("engine.modules", "attend")]
MASKED = {f"{room}.{name}": one for room, name in PLACES if takes_a_mask(one := getattr(import_module(f"xformer_lib.{room}"), name))}


@pytest.mark.parametrize("name", MASKED)
def test_help_says_loudly_what_true_means_in_a_mask(name):
    said = inspect.getdoc(MASKED[name])
    assert "MASK: True = may attend, the opposite of torch.nn.MultiheadAttention." in said.splitlines(), said


def test_what_takes_a_mask_was_found():
    assert {"nn.attention", "nn.MultiHeadAttention", "nn.Decoder", "reference.cross_attention", "engine.local_attention"} <= MASKED.keys()


def test_the_public_face_stays_small():
    assert len(PUBLIC) <= 125, "is a user to call it? If not, it stays in its module: #| exporti, or out of __all__"
