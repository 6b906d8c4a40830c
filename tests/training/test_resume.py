"""A run that is killed and resumed ends with the very weights of a run that was left alone."""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.ci import posix_only
from xformer_lib.data import Tokenizer, batches
from xformer_lib.training import loop
from xformer_lib.training.checkpoint import load_tensors, save_tensors

ROOT = Path(__file__).parents[2]
STEPS, EVERY = 37, 7

# A program of its own. It imports once, then each line it reads, "what|folder|place", is a process: `train`, `resume`
# or a seed, where to, and the step or the move of a file at which to stand still. Nothing is trained before a fork.
PROGRAM = f"""
import os, sys, time
import torch, torch._dynamo  # the optimiser imports the latter, once here instead of in each process
from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training import TrainConfig, loop

words = ["le", "chat", "dort", "ici", "gros", "jaune", "jardin", "je", "suis", "la"]
def pairs(count, salt):
    chosen = [[(n * n + salt * k) % 10 for k in range(2 + n % 5)] for n in range(count)]
    return [(" ".join(words[i] for i in row), " ".join(words[9 - i] for i in row[::-1])) for row in chosen]

CORPUS = {{"train": pairs(53, 3), "val": pairs(11, 7)}}
MODEL = TransformerConfig(vocab_size=283, d_model=22, num_heads=2, d_ff=29, num_encoder_layers=1,
                          num_decoder_layers=2, dropout=0.2, attention_dropout=0.1, max_len=31)

def settings(seed):
    return TrainConfig(corpus="own", model=MODEL, max_steps={STEPS}, max_tokens=61, warmup_steps=5, peak_rate=3e-3,
                       validate_every={EVERY}, seed=seed)

def stand_still(folder):
    open(os.path.join(folder, "here"), "w").close()
    time.sleep(600)  # until the signal comes

def watch(folder, place):
    if place.startswith("step "):
        step = loop.train_step
        def train_step(run, batch):
            result = step(run, batch)
            return stand_still(folder) if run.step == int(place[5:]) else result
        loop.train_step = train_step
    if place.startswith("save "):  # bytes written, file not yet in its place
        replace, seen = os.replace, []
        def move(part, path):
            if os.path.basename(path).startswith("checkpoint"):
                seen.append(path)
            return stand_still(folder) if len(seen) == int(place[5:]) else replace(part, path)
        os.replace = move

def work(what, folder, place):
    watch(folder, place)
    if what == "resume":
        loop.resume(folder, corpus=CORPUS, device="cpu", progress=False)
    else:
        loop.train(settings(1 if what == "train" else int(what)), folder, corpus=CORPUS, device="cpu", progress=False)

if __name__ == "__main__":
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                work(*line.strip().split("|"))
            except BaseException as error:
                print(type(error).__name__ + ":", error, file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}


class Runner:
    """Starts runs as processes of their own, and kills them where a test asks for it."""

    def __init__(self, folder):
        self.program, self.errors = folder / "tiny_run.py", folder / "errors.txt"
        self.program.write_text(PROGRAM)
        with open(self.errors, "w") as errors:
            self.server = subprocess.Popen(
                [sys.executable, self.program],
                env=ENVIRONMENT,
                text=True,
                bufsize=1,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def start(self, what, folder, place="nowhere"):
        folder.mkdir(exist_ok=True)
        self.server.stdin.write(f"{what}|{folder}|{place}\n")
        return int(self.server.stdout.readline())

    def run(self, what, folder, *, status=0):
        """To the end; returns what it said on standard error."""
        self.start(what, folder)
        found, said = int(self.server.stdout.readline()), self.errors.read_text()
        assert found == status, said
        return said

    def run_and_kill(self, what, folder, place):
        """Wait until the process stands at the place, and send the signal that nothing can catch."""
        here = folder / "here"
        here.unlink(missing_ok=True)
        process, latest = self.start(what, folder, place), time.monotonic() + 60
        while not here.exists() and time.monotonic() < latest:
            time.sleep(0.02)
        os.kill(process, signal.SIGKILL)
        assert here.exists(), self.errors.read_text()
        assert int(self.server.stdout.readline()) == -signal.SIGKILL


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    posix_only()
    runner = Runner(tmp_path_factory.mktemp("program"))
    yield runner
    runner.server.stdin.close()
    runner.server.wait(60)


def read(folder):
    """Tensors and state of a run's checkpoint; seconds and the id are left out, since no two runs share them."""
    tensors, state = load_tensors(folder / "checkpoint.safetensors")
    history = [without_seconds(line) for line in state["history"]]
    return tensors, {**without_seconds(state), "history": history}


def without_seconds(record):
    return {name: value for name, value in record.items() if "seconds" not in name and name != "run"}


def same(a, b):
    return set(a) == set(b) and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def unbroken(runner, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    runner.run("train", folder)
    return folder


def test_the_run_is_worth_testing(unbroken):
    """It passes over the data more than once, ends between two validations, learns, and uses dropout."""
    _, state = read(unbroken)
    assert state["step"] == STEPS and STEPS % EVERY and state["epoch"] >= 2 and state["batch"] > 0
    assert [line["step"] for line in state["history"]] == [7, 14, 21, 28, 35, 37]
    assert state["history"][-1]["validation_loss"] < state["history"][0]["validation_loss"] - 0.5
    model = json.loads((unbroken / "config.json").read_text())["model"]
    assert model["dropout"] > 0 and model["attention_dropout"] > 0


@pytest.mark.parametrize("place, resumes_at", [("step 17", 14), ("step 36", 35), ("save 2", 7)])
def test_killed_and_resumed_equals_unbroken(runner, unbroken, tmp_path, place, resumes_at):
    """Killed between two checkpoints, just before the end, and while a checkpoint was being written."""
    runner.run_and_kill("train", tmp_path, place)
    assert read(tmp_path)[1]["step"] == resumes_at
    runner.run("resume", tmp_path)
    tensors, state = read(tmp_path)
    expected, expected_state = read(unbroken)
    assert same(tensors, expected)
    assert state == expected_state


def test_killed_twice(runner, unbroken, tmp_path):
    runner.run_and_kill("train", tmp_path, "step 10")
    runner.run_and_kill("resume", tmp_path, "step 30")
    assert read(tmp_path)[1]["step"] == 28
    runner.run("resume", tmp_path)
    assert same(read(tmp_path)[0], read(unbroken)[0])


def test_resuming_a_finished_run_changes_nothing(runner, unbroken):
    before = (unbroken / "checkpoint.safetensors").read_bytes()
    runner.run("resume", unbroken)
    assert (unbroken / "checkpoint.safetensors").read_bytes() == before


def test_one_seed_one_result_another_seed_another(runner, unbroken, tmp_path):
    runner.run("train", tmp_path / "again")
    runner.run("2", tmp_path / "other")
    tensors, other = read(unbroken)[0], read(tmp_path / "other")[0]
    assert same(tensors, read(tmp_path / "again")[0])
    assert not torch.equal(tensors["model.embedding.weight"], other["model.embedding.weight"])
    assert not torch.equal(
        tensors["model.decoder.layers.1.feed_forward.w_1.weight"], other["model.decoder.layers.1.feed_forward.w_1.weight"]
    )


def test_killed_before_the_first_checkpoint(runner, tmp_path):
    """There is nothing to go on from, and the sentence says so."""
    runner.run_and_kill("train", tmp_path, "step 3")
    said = runner.run("resume", tmp_path, status=1).strip().splitlines()[-1]
    assert said.startswith("FileNotFoundError: checkpoint: no file ") and "train first" in said


def test_a_checkpoint_of_another_run_is_refused(runner, unbroken, tmp_path):
    """Settings that change what weights mean, another tokenizer, and a state that lacks an entry."""
    for name, change in (("heads", {"model": {"num_heads": 11}}), ("tokenizer", {}), ("state", {})):
        folder = tmp_path / name
        shutil.copytree(unbroken, folder)
        config = json.loads((folder / "config.json").read_text())
        config["model"] |= change.get("model", {})
        (folder / "config.json").write_text(json.dumps(config))
        if name == "tokenizer":
            words = [chr(97 + n) * 3 for n in range(26)]
            Tokenizer.train(words * 2, vocab_size=config["model"]["vocab_size"]).save(folder / "tokenizer.json")
        if name == "state":
            tensors, state = load_tensors(folder / "checkpoint.safetensors")
            save_tensors(folder / "checkpoint.safetensors", tensors, {k: v for k, v in state.items() if k != "epoch"})
        said = runner.run("resume", folder, status=1).strip().splitlines()[-1]
        assert said.startswith("ValueError: checkpoint: ") and "; restore " in said
        assert {"heads": "num_heads=2, config.json says 11", "tokenizer": "another tokenizer", "state": "lacks epoch"}[name] in said


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


def test_a_weight_that_is_not_a_number_stops_the_run(runner, tmp_path, monkeypatch):
    """The step is not taken, and the last good checkpoint stays."""
    tiny = runpy.run_path(str(runner.program))
    step, seen = loop.train_step, []

    def poisoned(run, batch):
        if run.step == 9:
            seen.append(run)
            with torch.no_grad():
                run.model.decoder.layers[1].feed_forward.w_1.weight[3, 5] = float("nan")
        return step(run, batch)

    monkeypatch.setattr(loop, "train_step", poisoned)
    with pytest.raises((RuntimeError, FloatingPointError), match="finite"):
        loop.train(tiny["settings"](1), tmp_path, corpus=tiny["CORPUS"], device="cpu", progress=False)
    assert seen[0].step == 9
    assert sum(int(p.isnan().sum()) for p in seen[0].model.parameters()) == 1
    tensors, state = read(tmp_path)
    assert state["step"] == 7 and all(tensor.isfinite().all() for tensor in tensors.values() if tensor.is_floating_point())
