"""A copy, a pickled one and one in another process say what the first says; a wrapper leaves no trace in a file."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.parallel import DataParallel
from torch.optim.swa_utils import AveragedModel

from tests.ci import combinations, continuous
from tests.whole_models import B, S, T, ids
from tests.whole_models import build as build_model
from xformer_lib.data import Tokenizer
from xformer_lib.data.fragment import sample_pairs
from xformer_lib.decoding import Hypothesis, Translator, greedy
from xformer_lib.engine import accelerate, quantize_int8
from xformer_lib.engine.cache import KeyValueCache
from xformer_lib.engine.decode import start_decoding
from xformer_lib.inspection import attention_maps
from xformer_lib.nn import LanguageModel, TransformerConfig
from xformer_lib.nn.recurrent import GRUTranslator
from xformer_lib.nn.transformer import Transformer
from xformer_lib.training import TrainConfig
from xformer_lib.training.checkpoint import load_checkpoint, load_model, save_checkpoint, save_model, save_setup

HOSTILE = "Le <eos> chat <pad><bos>"
WAYS = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy, "copy": copy.copy}


@cache
def tokenizer():
    examples = sample_pairs(300, rng=np.random.default_rng(7))
    return Tokenizer.train([text for e in examples for text in (e.source, e.target)], vocab_size=331)


def settings(**changes):
    sizes = dict(d_model=22, num_heads=2, d_ff=29, num_encoder_layers=1, num_decoder_layers=2, max_len=251, dropout=0.1)
    return TransformerConfig(tokenizer().vocab_size, **(sizes | changes))


def model(**changes):
    torch.manual_seed(3)
    return Transformer(settings(**changes)).eval()


def fed():
    """A cache that has kept something, and whose next words go into its spare room."""
    cache = KeyValueCache(grows=True)
    cache.update(*torch.arange(2 * 3 * 2 * 5 * 4.0).view(2, 3, 2, 5, 4))
    return cache


def next_in(cache):
    return [x.clone() for x in cache.update(*torch.ones(2, 3, 2, 1, 4))]


def two_words(steps):
    first = torch.full((B, 1), 1)
    return [steps.next_logits(tokens) for tokens in (first, torch.cat([first, ids(1, 5)], dim=1))]


def decoded(network):
    return greedy(network, ids(S)), network(ids(S), ids(T, 1))


# what is copied, and what the copy must say as well as the first
EQUALS = {
    "Tokenizer": (tokenizer, lambda t: (t.encode(HOSTILE), t.encode_batch([HOSTILE]), t.fingerprint)),
    "Translator": (lambda: Translator(model(), tokenizer()), lambda t: (t.translate(HOSTILE), t.attention(HOSTILE).cross)),
    "Translator, plain": (lambda: Translator(model(), tokenizer(), engine="plain"), lambda t: t.translate(HOSTILE)),
    "Transformer": (lambda: build_model(positions="relative"), decoded),
    "accelerated": (lambda: accelerate(build_model(positions="alibi")), decoded),
    "int8": (lambda: accelerate(quantize_int8(build_model().float())), decoded),
    "GRUTranslator": (lambda: GRUTranslator(settings(num_decoder_layers=1)).eval(), lambda m: m(ids(S), ids(T, 1))),
    "LanguageModel": (lambda: LanguageModel(settings()).eval(), lambda m: m(ids(S))),
    "TransformerConfig": (settings, lambda x: (x, hash(x))),
    "TrainConfig": (lambda: TrainConfig(corpus="fragment", model=settings(), max_steps=1000), lambda x: (x, x.model)),
    "Hypothesis": (lambda: Hypothesis([5, 7], -1.0, -0.5), lambda x: x),
    "AttentionMaps": (lambda: attention_maps(model(), tokenizer(), "The cat", "Le chat"), lambda x: (x.read, x.cross)),
}
# a shallow copy of these shares what grows
DEEP = {"KeyValueCache": (fed, next_in), "steps": (lambda: start_decoding(build_model(), ids(S)), two_words)}


def same(one, other):
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other) if isinstance(one, np.ndarray | torch.Tensor) else one == other


@combinations(name=EQUALS, way=WAYS)
def test_a_copy_says_the_same(name, way):
    make, says = EQUALS[name]
    first = make()
    with torch.no_grad():
        assert same(says(WAYS[way](first)), says(first))


@pytest.mark.parametrize(("name", "way"), [("KeyValueCache", "pickle"), ("KeyValueCache", "deepcopy"), ("steps", "deepcopy")])
def test_a_copy_goes_on_by_itself(name, way):
    make, says = DEEP[name]
    with torch.no_grad():
        first = make()
        other = WAYS[way](first)
        said = says(first)
        assert same(says(other), said)


@continuous
def test_words_of_another_process():
    """As a translator is sent to workers that were spawned."""
    translator = Translator(model(), tokenizer())
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(translator.translate, HOSTILE).result() == translator.translate(HOSTILE)


def with_compiled_parts(network):
    network.encoder = torch.compile(network.encoder)
    network.decoder.layers[1].feed_forward = torch.compile(network.decoder.layers[1].feed_forward)
    return network


WRAPPED = {
    "compiled": torch.compile,
    "parallel": DataParallel,
    "averaged": AveragedModel,
    "parallel around compiled": lambda network: DataParallel(torch.compile(network)),
    "compiled around parallel": lambda network: torch.compile(DataParallel(network)),
    "compiled parts": with_compiled_parts,
    "parallel around compiled parts": lambda network: DataParallel(with_compiled_parts(network)),
    "a name of one's own": lambda network: network,
}


class Named(nn.Module):
    """Its part is called as a wrapper calls what it wraps, and is none."""

    def __init__(self, config):
        super().__init__()
        self.config, self.module = config, Transformer(config)


@pytest.mark.parametrize("name", WRAPPED)
def test_a_wrapped_model_is_saved_by_its_own_names(name, tmp_path):
    config = TrainConfig(corpus="fragment", model=settings(), max_steps=1000)
    build = Named if name == "a name of one's own" else Transformer
    torch.manual_seed(3)
    plain = build(config.model).eval()
    before = {key: value.clone() for key, value in plain.state_dict().items()}
    wrapped = WRAPPED[name](plain)
    classes = [type(part) for part in wrapped.modules()]
    save_setup(tmp_path, config, tokenizer())
    save_model(tmp_path, wrapped, {})
    loaded, _ = load_model(tmp_path, build=build)
    assert loaded.state_dict().keys() == before.keys()
    assert all(torch.equal(value, before[key]) for key, value in loaded.state_dict().items())
    assert [type(part) for part in wrapped.modules()] == classes

    again, _ = load_model(tmp_path, build=lambda config: WRAPPED[name](build(config)))  # and read into one
    assert all(torch.equal(x, y) for x, y in zip(again.parameters(), before.values()))

    optimizer = torch.optim.Adam(wrapped.parameters())
    sum(x.sum() for x in wrapped.parameters()).backward()
    optimizer.step()
    save_checkpoint(tmp_path, wrapped, optimizer, {"step": 7})
    for other in (build(config.model), WRAPPED[name](build(config.model))):
        assert load_checkpoint(tmp_path, other, torch.optim.Adam(other.parameters()), device="cpu") == {"step": 7}
        assert all(torch.equal(x, y) for x, y in zip(other.parameters(), wrapped.parameters()))
