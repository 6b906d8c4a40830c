"""Training by the engine and by the definition: the same weights; and settings from before there were two."""

import json
from dataclasses import replace

import pytest
import torch

from xformer_lib.data import load_corpus
from xformer_lib.decoding import greedy
from xformer_lib.engine.modules import FastTransformer
from xformer_lib.nn.recurrent import GRUTranslator
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import TrainConfig, loop, precision
from xformer_lib.training.checkpoint import load_model, load_setup

PAIRS = load_corpus("fragment", "train")[3:64]
CORPUS = {"train": PAIRS[:53], "val": PAIRS[53:]}
MODEL = TransformerConfig(
    vocab_size=293, d_model=14, num_heads=2, d_ff=23, num_encoder_layers=2, num_decoder_layers=1, dropout=0.0, max_len=61, max_offset=3
)
CONFIG = TrainConfig(
    "fragment", MODEL, max_steps=11, max_tokens=97, warmup_steps=3, peak_rate=3e-3, validate_every=5, seed=1, precision="float32"
)


def train(folder, config=CONFIG, **options):
    return loop.train(config, folder, corpus=CORPUS, device="cpu", progress=False, **options)


def double(config):
    return Transformer(config).double()


def furthest(one, other, *, but=()):
    """The largest difference between two models' weights, parameter by parameter."""
    pairs = zip(one.named_parameters(), other.named_parameters(), strict=True)
    return max((a - b).abs().max().item() for (name, a), (same, b) in pairs if name == same and not name.endswith(but))


CHOICES = [
    {},
    {"norm": "post"},
    {"positions": "relative"},
    {"positions": "rotary", "d_model": 12},
    {"positions": "alibi", "num_kv_heads": 1},
    {"positions": "learned"},
]


@pytest.mark.parametrize("build", [Transformer, double])
@pytest.mark.parametrize("changes", CHOICES, ids=str)
def test_both_engines_train_to_the_same_weights(tmp_path, changes, build):
    """In float32 without the key biases: softmax does not see them, so their gradient is rounding, which Adam takes at its word."""
    config = replace(CONFIG, model=replace(MODEL, **changes), accumulate=2)
    fast, plain = (train(tmp_path / engine, config, engine=engine, build=build) for engine in ("fast", "plain"))
    assert type(fast.engine_model) is FastTransformer and plain.engine_model is plain.model
    assert type(fast.model) is type(plain.model) is Transformer
    start = loop.build_run(config, tmp_path, fast.tokenizer, CORPUS, "cpu", build=build).model
    assert furthest(fast.model, plain.model, but=("w_k.bias",) if build is Transformer else ()) < 1e-5
    assert furthest(fast.model, start) > 1e-2
    for one, other in zip(fast.history, plain.history, strict=True):
        assert one["step"] == other["step"] and one["validation_loss"] == pytest.approx(other["validation_loss"], abs=1e-5)
    assert not any(part.training for run in (fast, plain) for one in (run.model, run.engine_model) for part in one.modules())


def test_a_wide_model_trains_by_the_engines_own_product(tmp_path, monkeypatch):
    """Another order of summing: the losses agree to five places, the weights as far as Adam's first steps let them."""
    from xformer_lib.engine import products

    calls, own = [], products.onednn
    monkeypatch.setattr(products, "PREFERS_ONEDNN", products.HAS_ONEDNN)
    monkeypatch.setattr(products, "onednn", lambda *args: (calls.append(1), own(*args))[1])
    config = replace(CONFIG, model=replace(MODEL, d_model=256, d_ff=257))
    fast = train(tmp_path / "fast", config)
    assert not products.HAS_ONEDNN or len(calls) > 100
    plain = train(tmp_path / "plain", config, engine="plain")
    assert furthest(fast.model, plain.model, but=("w_k.bias",)) < 3e-4
    for one, other in zip(fast.history, plain.history, strict=True):
        assert one["validation_loss"] == pytest.approx(other["validation_loss"], abs=1e-5)


def test_what_computes_holds_the_models_own_parameters(tmp_path):
    run = train(tmp_path)
    assert all(a is b for a, b in zip(run.model.parameters(), run.engine_model.parameters(), strict=True))
    source = torch.randint(3, run.config.model.vocab_size, (3, 7))
    assert greedy(run.model, source) == greedy(run.engine_model, source)


def test_dropout_acts_in_training_by_either_engine(tmp_path):
    """The model is asked for its own mode, from the first step on: one validation, after the last, would wake it too late."""
    config = replace(CONFIG, validate_every=11)
    for engine in ("fast", "plain"):
        losses = [
            train(tmp_path / f"{engine} {dropout}", replace(config, model=replace(MODEL, dropout=dropout)), engine=engine).history
            for dropout in (0.4, 0.0)
        ]
        assert len(losses[0]) == 1 and losses[0][0]["train_loss"] != losses[1][0]["train_loss"]


def test_a_run_goes_on_by_the_other_engine(tmp_path):
    """The engine is no setting: nothing of it is written down, and either takes up where the other stopped."""
    config = replace(CONFIG, schedule="inverse_sqrt")
    whole = train(tmp_path / "whole", config, engine="plain", build=double)
    for first, then in (("plain", "fast"), ("fast", "plain")):
        folder = tmp_path / first
        train(folder, replace(config, max_steps=5), engine=first, build=double)
        written = (folder / "config.json").read_text(encoding="utf-8")
        assert "engine" not in written and "plain" not in written
        (folder / "config.json").write_text(written.replace('"max_steps": 5', '"max_steps": 11'), encoding="utf-8")
        run = loop.resume(folder, corpus=CORPUS, device="cpu", progress=False, engine=then, build=double)
        assert run.step == 11 and (run.engine_model is run.model) == (then == "plain")
        assert furthest(run.model, whole.model) < 1e-5


def test_a_model_of_another_kind_trains_by_both(tmp_path):
    config = replace(CONFIG, model=replace(MODEL, num_encoder_layers=1, positions="none"))
    runs = [train(tmp_path / engine, config, engine=engine, build=GRUTranslator) for engine in ("fast", "plain")]
    assert furthest(runs[0].model, runs[1].model) < 1e-5


def test_an_engine_that_there_is_not_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match='engine: expected "fast", "compiled", "eager" or "plain", got \'quick\'; "plain" is'):
        train(tmp_path / "run", engine="quick")
    assert not list(tmp_path.rglob("*.json"))
    train(tmp_path / "run")
    with pytest.raises(ValueError, match="engine: expected .* got 'quick'"):
        loop.resume(tmp_path / "run", corpus=CORPUS, device="cpu", progress=False, engine="quick")


@pytest.mark.parametrize("path", ["auto", "explicit", "fused"])
def test_settings_of_the_first_edition_are_still_read(tmp_path, path):
    """Their config.json says by which path attention is computed. Such a run loads, goes on, and forgets it."""
    run = train(tmp_path)
    setup = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert "attention_path" not in setup["model"]
    setup["model"]["attention_path"] = path
    setup["max_steps"] = 13
    (tmp_path / "config.json").write_text(json.dumps(setup), encoding="utf-8")
    assert load_setup(tmp_path)[0] == replace(run.config, max_steps=13)
    assert load_model(tmp_path)[0].config == run.config.model
    assert loop.resume(tmp_path, corpus=CORPUS, device="cpu", progress=False).step == 13


def test_only_what_was_a_setting_once_is_dropped(tmp_path):
    train(tmp_path)
    setup = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    setup["model"]["attention_road"] = "auto"
    (tmp_path / "config.json").write_text(json.dumps(setup), encoding="utf-8")
    with pytest.raises(ValueError, match="run: .* cannot be read .*attention_road.*; restore it or train again"):
        load_setup(tmp_path)


@pytest.mark.parametrize(
    "amx, avx512, intel, quick",
    [
        (True, True, True, True),
        (False, True, True, False),
        (False, True, False, True),
        (False, False, False, False),
        (None, True, False, True),
        (None, None, False, False),
    ],
)
def test_bfloat16_is_taken_where_it_is_quicker(monkeypatch, amx, avx512, intel, quick):
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512, raising=False)
    for name, answer in {"_is_amx_tile_supported": amx, "_is_avx512_bf16_supported": avx512}.items():
        if answer is None:  # as in older versions
            monkeypatch.delattr(torch.cpu, name)
    monkeypatch.setattr(precision, "ON_INTEL", intel)
    assert precision.has_bfloat16("cpu") is quick and not precision.has_bfloat16("mps")
