"""The architecture figure shows the sizes that it is given."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from xformer_course import plots

CONFIG = SimpleNamespace(vocab_size=29, d_model=13, num_encoder_layers=2, num_decoder_layers=3)


@pytest.fixture
def words():
    ax = plots.architecture(CONFIG, src_len=7, tgt_len=5)
    yield [text.get_text() for text in ax.texts]
    plt.close("all")


def test_shapes_follow_the_lengths_and_the_width(words):
    assert words.count("(7, 13)") == 3 and words.count("(5, 13)") == 5
    assert "memory Z\n(7, 13)" in words and "logits (5, 29)" in words
    assert "source ids (7,)" in words and "target_in ids (5,)" in words


def test_layers_are_counted(words):
    assert "2 encoder layers" in words and "3 decoder layers" in words


def test_draws_where_it_is_told():
    _, ax = plt.subplots()
    assert plots.architecture(CONFIG, src_len=2, tgt_len=3, ax=ax) is ax
    plt.close("all")
