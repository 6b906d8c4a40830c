"""The shipped model in int8, by name and on the command line."""

import pytest

from xformer_lib import load_pretrained
from xformer_lib.cli import main
from xformer_lib.engine.quantized import Int8Linear

TEXTS = ["I am an engineer.", "Hello world!", "Where did you buy this book?"]


@pytest.fixture(scope="module")
def translator():
    return load_pretrained("en-fr", weights="int8")


def test_it_is_loaded_by_name(translator):
    assert any(isinstance(layer, Int8Linear) for layer in translator.model.modules())
    assert not any(isinstance(layer, Int8Linear) for layer in load_pretrained("en-fr").model.modules())


def test_it_says_much_the_same(translator):
    assert sum(a == b for a, b in zip(translator.translate(TEXTS), load_pretrained("en-fr").translate(TEXTS), strict=True)) >= 2
    assert len(translator.translate(TEXTS, beam_size=3)) == 3


def test_it_draws_its_attention(translator):
    maps = translator.attention(TEXTS[0])
    assert maps is not None


def test_the_command_takes_it(translator, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["translate", "--int8", *TEXTS]) == 0
    assert capsys.readouterr().out.splitlines() == translator.translate(TEXTS)


def test_another_device_is_refused(capsys):
    assert main(["translate", "--int8", "--device", "cuda", "Hello"]) == 2
    assert "--int8: expected --device cpu beside it, got cuda" in capsys.readouterr().err


def test_other_weights_are_refused():
    with pytest.raises(ValueError, match='weights: expected "float32" or "int8", got \'int4\'; "float32" is the default'):
        load_pretrained("en-fr", weights="int4")
