"""One seed, one result: two runs on a CPU end with the same weights, also in two processes that share nothing."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.ci import continuous
from xformer_lib.data import load_corpus
from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training import TrainConfig, loop
from xformer_lib.training.checkpoint import load_tensors

ROOT = Path(__file__).parents[2]
PAIRS = load_corpus("fragment", "train")[3:64]
CORPUS = {"train": PAIRS[:53], "val": PAIRS[53:]}


def settings(seed):
    model = TransformerConfig(
        vocab_size=293,
        d_model=14,
        num_heads=2,
        d_ff=23,
        num_encoder_layers=2,
        num_decoder_layers=1,
        dropout=0.2,
        attention_dropout=0.1,
        max_len=61,
    )
    return TrainConfig("fragment", model, max_steps=11, max_tokens=97, warmup_steps=3, peak_rate=3e-3, validate_every=5, seed=seed)


def run_here(folder, seed=1):
    loop.train(settings(seed), folder, corpus=CORPUS, device="cpu", progress=False)
    return result(folder)


def result(folder):
    """All tensors of the checkpoint and of the best model, the tokenizer's bytes, and the losses on the way."""
    tensors, state = load_tensors(folder / "checkpoint.safetensors")
    best, _ = load_tensors(folder / "model.safetensors")
    losses = [(line["step"], line["train_loss"], line["validation_loss"]) for line in state["history"]]
    return {**tensors, **{f"best.{name}": value for name, value in best.items()}}, (folder / "tokenizer.json").read_bytes(), losses


def assert_same(one, other):
    assert one[1:] == other[1:]
    assert one[0].keys() == other[0].keys()
    assert [name for name, value in one[0].items() if not torch.equal(value, other[0][name])] == []


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return run_here(tmp_path_factory.mktemp("first"))


def test_twice_in_one_process(first, tmp_path):
    """Whatever was drawn before: the run seeds its own generators."""
    torch.rand(17)
    np.random.rand(5)
    assert_same(run_here(tmp_path), first)


def test_another_seed_is_another_run(first, tmp_path):
    tensors, tokenizer, losses = run_here(tmp_path, seed=2)
    assert tokenizer == first[1] and losses != first[2]
    for name in ("model.embedding.weight", "model.encoder.layers.1.feed_forward.w_1.weight"):
        assert not torch.equal(tensors[name], first[0][name])


@continuous
def test_in_fresh_processes(first, tmp_path):
    """Python orders its sets of strings by a seed of its own, which differs from process to process."""
    program = "import sys, runpy; from pathlib import Path\nrunpy.run_path(sys.argv[1])['run_here'](Path(sys.argv[2]))"
    running = {}
    for hash_seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": str(ROOT),
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": str(torch.get_num_threads()),
        }
        command = [sys.executable, "-c", program, __file__, tmp_path / hash_seed]
        running[tmp_path / hash_seed] = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    for folder, process in running.items():
        said = process.communicate()[1]
        assert process.returncode == 0, said
        assert_same(result(folder), first)
