"""Nothing held out is trained on: no sentence, in either language, and no piece of the vocabulary."""

import pytest

from xformer_lib.data import corpora, load_corpus
from xformer_lib.data.corpora import CORPUS_ERRORS
from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training import TrainConfig, loop, run

NAMES = ("fragment", "multi30k", "tatoeba")


def plain(text):
    """A sentence without case, spaces and punctuation, written without the library's pattern."""
    return "".join(character for character in text.casefold() if character.isalnum() or character == "_")


def shared(part, other):
    """The pairs of ``other`` of which a side, English or French, occurs on the same side in ``part``."""
    known = [{plain(pair[side]) for pair in part} for side in (0, 1)]
    return [pair for pair in other if plain(pair[0]) in known[0] or plain(pair[1]) in known[1]]


def parts_of(name, load=load_corpus):
    try:
        return [load(name, split) for split in ("train", "val", "test")]
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason).partition(" (")[0])


@pytest.mark.parametrize("name", NAMES)
def test_no_held_out_sentence_was_trained_on(name):
    train, val, test = parts_of(name)
    assert min(len(train), len(val), len(test)) >= 500
    assert shared(train, val + test) == []
    assert shared(val, test) == []


def test_what_multi30k_shares_as_published():
    """Four captions of its validation part, and none of its test part; our training part leaves those pairs out."""
    train, val, test = parts_of("multi30k", lambda _, split: corpora._multi30k_published(split))
    assert len(shared(train, val)) == 4 and shared(train, test) == []
    dropped = shared(val, train)
    assert len(dropped) == 4
    assert [pair for pair in train if pair not in dropped] == load_corpus("multi30k", "train")
    assert [val, test] == [load_corpus("multi30k", split) for split in ("val", "test")]


MODEL = TransformerConfig(vocab_size=283, d_model=10, num_heads=2, d_ff=13, num_encoder_layers=1, num_decoder_layers=1, max_len=61)
CONFIG = TrainConfig("fragment", MODEL, max_steps=1, max_tokens=83, warmup_steps=1, validate_every=1)


@pytest.fixture
def vocabulary(tmp_path, monkeypatch):
    """Train for a step on a corpus of a few pairs; the tokenizer's file, and the parts that were opened for it."""

    def train(name, **changed):
        opened, parts = [], {"train": pairs[:53], "val": pairs[53:60], "test": pairs[60:67], **changed}

        def load(corpus, split):
            opened.append((corpus, split))
            return parts[split]

        monkeypatch.setattr(run, "load_corpus", load)
        loop.train(CONFIG, tmp_path / name, device="cpu", progress=False)
        return (tmp_path / name / "tokenizer.json").read_bytes(), set(opened)

    pairs = load_corpus("fragment", "train")[:67]
    return train


def test_the_vocabulary_comes_from_training_text_alone(vocabulary):
    other = load_corpus("fragment", "val")
    before, opened = vocabulary("before")
    assert opened == {("fragment", "train"), ("fragment", "val")}, "training never opens the test part"
    after, _ = vocabulary("after", val=other[:7] * 41, test=other[7:14] * 41)
    assert after == before
    changed, _ = vocabulary("changed", train=load_corpus("fragment", "train")[:46] + other[:7])
    assert changed != before
