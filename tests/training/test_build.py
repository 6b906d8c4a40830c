"""`build` puts another model under the same loop, the same checkpoints and the same files."""

import pytest
import torch
from torch import nn

from xformer_lib.nn.transformer import TokenEmbedding, Transformer, TransformerConfig
from xformer_lib.training import TrainConfig, loop
from xformer_lib.training.checkpoint import load_model, load_tensors

WORDS = ["le", "chat", "dort", "ici", "gros", "jaune", "jardin"]
PAIRS = [
    (" ".join(WORDS[(n * k + 3) % 7] for k in range(2 + n % 4)), " ".join(WORDS[(n * k + 5) % 7] for k in range(2 + n % 3)))
    for n in range(31)
]
CORPUS = {"train": PAIRS[:23], "val": PAIRS[23:]}
CONFIG = TrainConfig(
    "own",
    TransformerConfig(
        vocab_size=271, d_model=10, num_heads=2, d_ff=13, num_encoder_layers=1, num_decoder_layers=1, dropout=0.2, max_len=19
    ),
    max_steps=13,
    max_tokens=47,
    warmup_steps=3,
    peak_rate=1e-2,
    validate_every=5,
    seed=2,
)


class LastWord(nn.Module):
    """The mean of the source and the word before: enough of a model for the loop. One weight is never used."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.unused = nn.Parameter(torch.ones(3))

    def encode(self, source):
        return self.embedding(source).mean(dim=1, keepdim=True)

    def states(self, target_in, memory, source):
        return self.dropout(self.embedding(target_in) + memory).tanh()


def begin(folder, config=CONFIG, build=LastWord):
    return loop.train(config, folder, corpus=CORPUS, device="cpu", progress=False, build=build)


def same(a, b):
    a, b = a.state_dict(), b.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_the_loop_trains_what_build_returns(tmp_path):
    asked = []

    def build(config):
        asked.append(config)
        return LastWord(config)

    run = begin(tmp_path, build=build)
    assert type(run.model) is LastWord and not run.model.training
    assert asked == [run.config.model] and asked[0].vocab_size == run.tokenizer.vocab_size
    assert run.history[-1]["validation_loss"] < run.history[0]["validation_loss"] - 0.1
    assert torch.equal(run.model.unused, torch.ones(3))
    assert repr(run) == f"Run(step 13 of 13, 22 pairs, validated with 8, LastWord on cpu, folder={str(tmp_path)!r})"


def test_build_draws_its_weights_from_the_seed(tmp_path):
    runs = [loop.build_run(CONFIG, tmp_path, begin(tmp_path / str(n)).tokenizer, CORPUS, "cpu", build=LastWord) for n in range(2)]
    assert same(runs[0].model, runs[1].model)


def test_resume_goes_on_with_the_same_model(tmp_path, monkeypatch):
    """Also with a weight for which Adam never had a gradient."""
    whole = begin(tmp_path / "whole")
    step = loop.train_step

    def interrupted(run, batch):
        if run.step == 8:
            raise KeyboardInterrupt
        return step(run, batch)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "train_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            begin(tmp_path / "cut")
    tensors, state = load_tensors(tmp_path / "cut/checkpoint.safetensors")
    assert state["step"] == 5
    assert "optimizer.step.embedding.weight" in tensors and "optimizer.step.unused" not in tensors
    resumed = loop.resume(tmp_path / "cut", corpus=CORPUS, device="cpu", progress=False, build=LastWord)
    assert resumed.step == 13 and type(resumed.model) is LastWord and same(resumed.model, whole.model)


def test_load_model_builds_the_same_model(tmp_path):
    begin(tmp_path)
    model, tokenizer = load_model(tmp_path, build=LastWord)
    weights, _ = load_tensors(tmp_path / "model.safetensors")
    assert type(model) is LastWord and not model.training and tokenizer.vocab_size == model.config.vocab_size
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


def test_without_build_it_is_the_transformer(tmp_path):
    run = loop.train(CONFIG, tmp_path, corpus=CORPUS, device="cpu", progress=False)
    assert type(run.model) is Transformer and type(load_model(tmp_path)[0]) is Transformer
    again = begin(tmp_path / "named", build=Transformer)
    assert same(run.model, again.model)


def test_a_run_read_with_another_build_is_one_line(tmp_path):
    begin(tmp_path)
    for read in (lambda: load_model(tmp_path), lambda: loop.resume(tmp_path, corpus=CORPUS, device="cpu", progress=False)):
        with pytest.raises(ValueError, match=r"^checkpoint: .* do not fit the model .*; .*give the build it was") as error:
            read()
        assert "\n" not in str(error.value)


class Tied(Transformer):
    """Its output matrix is the embedding under another name, as in many a model."""

    def __init__(self, config):
        super().__init__(config)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.output.weight = self.embedding.weight


def test_a_model_with_tied_weights_is_saved_goes_on_and_is_loaded(tmp_path):
    run = begin(tmp_path / "run", build=Tied)
    model, _ = load_model(tmp_path / "run", build=Tied)
    assert model.output.weight is model.embedding.weight and len(run.history) == 3
    again = loop.resume(tmp_path / "run", corpus=CORPUS, device="cpu", progress=False, build=Tied)
    assert again.step == 13 and again.model.output.weight is again.model.embedding.weight and same(again.model, run.model)
