"""One model in several threads: each hears what it would hear alone, and finds the model as it was."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier

import numpy as np
import pytest
import torch

from tests.ci import in_ci
from tests.whole_models import S, T, build, ids
from xformer_lib.data import Tokenizer
from xformer_lib.data.fragment import sample_pairs
from xformer_lib.decoding import Translator, beam_search, greedy
from xformer_lib.inspection import ablate_heads, attention_heads, edit_attention, record_attention
from xformer_lib.speculation import ModelDraft, speculative

THREADS, CALLS = 4, in_ci(30, 12)
SENTENCES = ["Where is the station?", "I like cats.", "She reads a book in the garden.", "No."]
LAYER = "decoder.layers.1.cross_attention"


@cache
def translator():
    examples = sample_pairs(300, rng=np.random.default_rng(7))
    tokenizer = Tokenizer.train([text for e in examples for text in (e.source, e.target)], vocab_size=331)
    return Translator(build(vocab_size=tokenizer.vocab_size, max_len=251), tokenizer)


def talker(**changes):
    """It says other words for other sentences."""
    model = build(**changes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 2 if parameter.ndim == 2 else 1
    return model


plain = cache(talker)


@cache
def in_training():
    """Its decoder trains, its encoder does not."""
    model = talker(dropout=0.5)
    model.decoder.train()
    return model


def logits(n):
    return plain()(ids(S, n), ids(T, n))


def silent(n):
    with ablate_heads(plain(), attention_heads(plain())[n:]):
        return logits(n)


def edited(n):
    with edit_attention(plain(), {LAYER: lambda weights: weights.roll(n, dims=-1)}):
        return logits(n)


def recorded(n):
    with record_attention(plain()) as maps:
        logits(n)
    return maps[LAYER]


def edited_and_recorded(n):
    with edit_attention(plain(), {LAYER: lambda weights: weights.roll(n, dims=-1)}), record_attention(plain()) as maps:
        return logits(n), maps[LAYER]


def silent_words(n):
    with ablate_heads(plain(), attention_heads(plain())[n : n + 3]):
        return greedy(plain(), ids(S, n), max_len=4)


def guessed(n):
    source = ids(S, n)[:1]
    return speculative(in_training(), source, ModelDraft(in_training(), source), max_len=4).ids


WORK = {
    "Translator.attention": lambda n: translator().attention(SENTENCES[n]).cross,
    "attention and words": lambda n: (translator().attention(SENTENCES[n]).read, translator().translate(SENTENCES[n])),
    "ablate_heads": silent,
    "edit_attention": edited,
    "record_attention": recorded,
    "both": edited_and_recorded,
    "ablated, and decoded": silent_words,
    "ablated by one, called by others": lambda n: (silent if n == 0 else logits)(n),
    "edited by one, recorded by others": lambda n: (edited if n == 0 else recorded)(n),
    "greedy, a part trains": lambda n: greedy(in_training(), ids(S, n), max_len=4),
    "greedy, plain, a part trains": lambda n: greedy(in_training(), ids(S, n), max_len=4, engine="plain"),
    "beam search, a part trains": lambda n: [best[0].ids for best in beam_search(in_training(), ids(S, n), beam_size=2, max_len=4)],
    "speculation, a part trains": guessed,
}


def same(one, other):
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other) if hasattr(one, "shape") else one == other


@pytest.mark.parametrize("name", WORK)
def test_each_thread_hears_what_it_would_hear_alone(name):
    models = translator().model, plain(), in_training()

    def seen():
        return [(part.training, len(part._forward_hooks), len(part._forward_pre_hooks)) for model in models for part in model.modules()]

    before, start = seen(), Barrier(THREADS)
    with torch.no_grad():
        alone = [WORK[name](n) for n in range(THREADS)]

    def work(n):
        start.wait()
        with torch.no_grad():
            return [same(WORK[name](n), alone[n]) for _ in range(CALLS)]

    with ThreadPoolExecutor(THREADS) as pool:
        heard = list(pool.map(work, range(THREADS)))
    assert heard == [[True] * CALLS] * THREADS
    assert seen() == before
    assert not same(alone[1], alone[2])
