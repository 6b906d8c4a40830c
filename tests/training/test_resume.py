"""A run that goes on: from its last checkpoint or not at all. `survive/test_kills.py` compares what comes of it to the bit."""

import json
import shutil
import signal
from itertools import islice
from types import SimpleNamespace

import pytest
import torch

from tests.ci import posix_only
from tests.survive.runner import Runner, everything
from tests.training.test_folder import CONFIG, CORPUS
from xformer_lib.data import Tokenizer, batches
from xformer_lib.training import loop
from xformer_lib.training.checkpoint import load_tensors, save_tensors


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    posix_only()
    runner = Runner(tmp_path_factory.mktemp("program"))
    yield runner
    runner.server.stdin.close()
    runner.server.wait(60)


@pytest.fixture(scope="module")
def unbroken(runner, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    assert runner.live("train", folder) == 0, runner.errors.read_text()
    return folder


def refused(runner, folder):
    """The last line of a resume that ends with an error."""
    assert runner.live("resume", folder) == 1
    return runner.errors.read_text().strip().splitlines()[-1]


def test_the_run_passes_over_the_data_more_than_once_and_learns(unbroken):
    """Else equal weights after a kill would say little."""
    checkpoint, _ = everything(unbroken)[1]
    losses = [line["validation_loss"] for line in checkpoint["history"]]
    assert checkpoint["epoch"] >= 2 and checkpoint["batch"] > 0 and losses[-1] < losses[0] - 0.5


def test_resuming_a_finished_run_changes_nothing(runner, unbroken):
    before = (unbroken / "checkpoint.safetensors").read_bytes()
    assert runner.live("resume", unbroken) == 0
    assert (unbroken / "checkpoint.safetensors").read_bytes() == before


def test_killed_before_the_first_checkpoint(runner, tmp_path):
    """There is nothing to go on from, and the sentence says so."""
    assert runner.live("train", tmp_path, "step 3") == -signal.SIGKILL
    said = refused(runner, tmp_path)
    assert said.startswith("FileNotFoundError: checkpoint: no file ") and "train first" in said


@pytest.mark.parametrize(
    ("changed", "words"), [("heads", "num_heads=2, config.json says 11"), ("tokenizer", "another tokenizer"), ("state", "lacks epoch")]
)
def test_a_checkpoint_of_another_run_is_refused(runner, unbroken, tmp_path, changed, words):
    """Settings that change what weights mean, another tokenizer, and a state that lacks an entry."""
    folder = shutil.copytree(unbroken, tmp_path / "run")
    config = json.loads((folder / "config.json").read_text())
    if changed == "heads":
        config["model"]["num_heads"] = 11
        (folder / "config.json").write_text(json.dumps(config))
    elif changed == "tokenizer":
        Tokenizer.train([chr(97 + n) * 3 for n in range(26)] * 2, vocab_size=config["model"]["vocab_size"]).save(folder / "tokenizer.json")
    else:
        tensors, state = load_tensors(folder / "checkpoint.safetensors")
        save_tensors(folder / "checkpoint.safetensors", tensors, {key: value for key, value in state.items() if key != "epoch"})
    said = refused(runner, folder)
    assert said.startswith("ValueError: checkpoint: ") and "; restore " in said and words in said


def test_each_epoch_has_an_order_of_its_own():
    """Every pair once an epoch; the order changes from epoch to epoch, and can be entered in the middle."""
    data = [([4 + n], [5 + n] * (1 + n % 3)) for n in range(17)]
    config = SimpleNamespace(seed=3, max_tokens=7)

    def stream(epoch, batch, count):
        run = SimpleNamespace(config=config, train_data=data, epoch=epoch, batch=batch)
        return [batch.source[:, 0].tolist() for batch in islice(loop.batch_stream(run), count)]

    length = len(list(batches(data, max_tokens=7)))
    epochs = [stream(epoch, 0, length) for epoch in range(3)]
    for epoch in epochs:
        assert sorted(sum(epoch, [])) == [ids[0] for ids, _ in data]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert stream(1, 2, length) == epochs[1][2:] + epochs[2][:2]


def test_a_weight_that_is_not_a_number_stops_the_run(tmp_path, monkeypatch):
    """The step is not taken, and the last good checkpoint stays."""
    step, seen = loop.train_step, []

    def poisoned(run, batch):
        if run.step == 5:
            seen.append(run)
            with torch.no_grad():
                run.model.decoder.layers[0].feed_forward.w_1.weight[3, 5] = float("nan")
        return step(run, batch)

    monkeypatch.setattr(loop, "train_step", poisoned)
    with pytest.raises((RuntimeError, FloatingPointError), match="finite"):
        loop.train(CONFIG, tmp_path, corpus=CORPUS, device="cpu", progress=False)
    assert seen[0].step == 5
    assert sum(int(p.isnan().sum()) for p in seen[0].model.parameters()) == 1
    tensors, state = load_tensors(tmp_path / "checkpoint.safetensors")
    assert state["step"] == 3 and all(tensor.isfinite().all() for tensor in tensors.values() if tensor.is_floating_point())
