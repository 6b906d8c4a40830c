"""Several real processes on one machine (gloo, 127.0.0.1) train the model that one process trains."""

import json
import os
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.ci import posix_only
from xformer_lib.data import make_batch
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import distributed, loop
from xformer_lib.training.checkpoint import load_tensors
from xformer_lib.training.step import to_tensors

ROOT = Path(__file__).parents[2]

# A program of its own: it imports once, then each line it reads is a job for N processes, forked with the variables that
# torchrun sets. Gradients and losses of the first steps go to a file for each process.
PROGRAM = """
import json, os, sys
import torch, torch._dynamo
from dataclasses import replace
from safetensors.torch import save_file
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import TrainConfig, distributed, loop

words = ["le", "chat", "dort", "ici", "gros", "jaune", "jardin", "je", "suis", "la"]
def pairs(count, salt):
    chosen = [[(n * n + salt * k) % 10 for k in range(2 + n % 5)] for n in range(count)]
    return [(" ".join(words[i] for i in row), " ".join(words[9 - i] for i in row[::-1])) for row in chosen]

CORPUS = {"train": pairs(53, 3), "val": pairs(11, 7)}
MODEL = TransformerConfig(vocab_size=283, d_model=22, num_heads=2, d_ff=29, num_encoder_layers=1,
                          num_decoder_layers=2, dropout=0.0, max_len=31)
CONFIG = TrainConfig(corpus="own", model=MODEL, max_steps=23, max_tokens=53, warmup_steps=5, peak_rate=3e-3,
                     clip=1e6, validate_every=7, seed=3)  # a clipped gradient would hide its length

def watch(folder, rank, job):
    step = loop.train_step
    losses = []

    def train_step(run, batch):
        at = job.get("at", {}).get(str(rank))
        if at and run.step + 1 == at["step"]:
            exec(at["do"])
        before = run.optimizer.step
        def note():
            if run.step < 5:
                save_file({name: weight.grad.clone() for name, weight in run.model.named_parameters()},
                          f"{folder}/gradient-{run.step}-{rank}.safetensors")
            before()
        run.optimizer.step = note
        loss, tokens = step(run, batch)
        run.optimizer.step = before
        losses.append([run.step, loss, tokens])
        json.dump(losses, open(f"{folder}/losses-{rank}.json", "w"))
        return loss, tokens

    loop.train_step = train_step

def work(job):
    rank, folder = int(os.environ["RANK"]), job["folder"]
    watch(folder, rank, job)
    double = lambda config: (Transformer(config).double() if job["double"] else Transformer(config))
    config = replace(CONFIG, **job.get("config", {}), model=replace(MODEL, **job.get("model", {})))
    with distributed.process_group("cpu") as (processes, device):
        how = dict(corpus=CORPUS, device=device, progress=False, build=double, processes=processes)
        run = loop.resume(folder, **how) if job["what"] == "resume" else loop.train(config, folder, **how)
        save_file({name: value for name, value in run.model.state_dict().items()}, f"{folder}/weights-{rank}.safetensors")

def child(job, rank, port):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(job["processes"]), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0")
    try:
        work(job)
    except SystemExit as error:
        os._exit(error.code)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(9)
    os._exit(0)

if __name__ == "__main__":
    for line in sys.stdin:
        job = json.loads(line)
        children = []
        # Fork first: a child forked beside the store's thread may inherit a lock that nobody will open.
        wires = [os.pipe() for _ in range(job["processes"])]
        for rank, (listen, _) in enumerate(wires):
            number = os.fork()
            if number == 0:
                child(job, rank, int(os.read(listen, 9)))
            children.append(number)
        store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # as torchrun has it
        for listen, tell in wires:
            os.write(tell, str(store.port).encode())
            os.close(listen)
            os.close(tell)
        print(json.dumps(children), flush=True)
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in children]), flush=True)
        del store  # and its thread, before the next fork
"""
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "GLOO_SOCKET_IFNAME": LOOPBACK}


class Runner:
    """Starts runs of several processes."""

    def __init__(self, folder):
        self.program, self.errors = folder / "shared_run.py", folder / "errors.txt"
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

    def start(self, what, folder, processes, *, double=True, **job):
        folder.mkdir(exist_ok=True)
        self.said = len(self.errors.read_text())
        self.server.stdin.write(json.dumps({"what": what, "folder": str(folder), "processes": processes, "double": double, **job}) + "\n")
        return json.loads(self.server.stdout.readline())

    def end(self):
        """Exit statuses, and what was said on standard error."""
        return json.loads(self.server.stdout.readline()), self.errors.read_text()[self.said :]

    def run(self, what, folder, processes, **job):
        self.start(what, folder, processes, **job)
        codes, said = self.end()
        assert codes == [0] * processes, said
        return folder


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    posix_only()
    runner = Runner(tmp_path_factory.mktemp("program"))
    yield runner
    runner.server.stdin.close()
    runner.server.wait(60)


@pytest.fixture(scope="module")
def alone(runner, tmp_path_factory):
    return runner.run("train", tmp_path_factory.mktemp("alone"), 1)


def read(folder):
    tensors, state = load_tensors(folder / "checkpoint.safetensors")
    return {name: value for name, value in tensors.items() if name != "rng.cpu"}, state


def losses(folder, rank=0):
    return json.loads((folder / f"losses-{rank}.json").read_text())


def assert_close(one, other, tolerance, *, scale=None):
    """Within the tolerance of the largest number of a tensor, or of ``scale``. (1e-9 more: the loss does not depend on
    the bias of a key, so its gradient is rounding alone.)"""
    assert one.keys() == other.keys()
    for name, value in one.items():
        largest = scale or value.abs().max().item()
        assert (value - other[name]).abs().max().item() <= tolerance * largest + 1e-9, name


def load(path):
    from safetensors.torch import load_file

    return load_file(path)


def test_the_last_sum_is_not_freed_by_a_thread(monkeypatch):
    """In torch 2.5 one of gloo's would wait for Python's lock, held by the process that closes the group and waits for it: for ever."""
    seen = []
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda tensor: seen.append(weakref.ref(tensor)))
    group = distributed.ProcessGroup.__new__(distributed.ProcessGroup)
    group.device = "cpu"
    assert group.total(3, 0.5) == [3, 0.5] and seen[0]() is not None


@pytest.mark.parametrize("processes, config", [(2, {}), (3, {}), (2, {"accumulate": 3}), (1, {"accumulate": 2})])
def test_many_processes_take_the_steps_of_one(runner, alone, tmp_path, processes, config):
    """Losses, gradients, weights, Adam's means and the history, in float64; batches of 8 to 26 rows over 2 or 3."""
    folder = runner.run("train", tmp_path, processes, config=config)
    for rank in range(processes):
        for (step, one, tokens), (its_step, other, its_tokens) in zip(losses(alone), losses(folder, rank), strict=True):
            assert (step, tokens) == (its_step, its_tokens) and abs(one - other) <= 1e-9 * one
        for step in range(5):
            assert_close(load(alone / f"gradient-{step}-0.safetensors"), load(folder / f"gradient-{step}-{rank}.safetensors"), 1e-9)
        assert_close(load(alone / "weights-0.safetensors"), load(folder / f"weights-{rank}.safetensors"), 1e-6)
    (tensors, state), (expected, expected_state) = read(folder), read(alone)
    assert_close(expected, tensors, 1e-6)
    for name in ("step", "epoch", "batch", "tokens", "loss_tokens", "made_for"):
        assert state[name] == expected_state[name]
    for line, its_line in zip(expected_state["history"], state["history"], strict=True):
        for name in ("step", "tokens", "rate"):
            assert line[name] == its_line[name]
        for name in ("train_loss", "validation_loss"):
            assert abs(line[name] - its_line[name]) < 1e-8


def test_in_single_precision_to_a_millionth(runner, tmp_path):
    """What a real run computes in: the gradient and the loss of the first step, and the validation at the end."""
    one, two = (runner.run("train", tmp_path / str(n), n, double=False, config={"max_steps": 7, "warmup_steps": 2}) for n in (1, 2))
    assert abs(losses(one)[0][1] - losses(two)[0][1]) < 1e-6 * losses(one)[0][1]
    gradients = [load(folder / "gradient-0-0.safetensors") for folder in (one, two)]
    assert_close(*gradients, 1e-6, scale=max(value.abs().max().item() for value in gradients[0].values()))
    ends = [read(folder)[1]["history"][-1]["validation_loss"] for folder in (one, two)]
    assert abs(ends[0] - ends[1]) < 1e-4


def test_rows_that_do_not_divide_evenly():
    """7 rows over 2, 3 and 11 processes: every row once; who has none computes one without target tokens."""
    batch = make_batch([([5 + n, 7], [11 + n] * (1 + n)) for n in range(7)])
    for world in (1, 2, 3, 11):
        parts = [distributed.Shares(rank, world).rows(batch) for rank in range(world)]
        real = [part for part in parts if (part.target_out != 0).any()]
        rows = sorted(row.tolist() for part in real for row in part.source)
        assert rows == sorted(batch.source.tolist())
        assert [len(part.source) for part in parts] == [max(1, len(range(rank, 7, world))) for rank in range(world)]
        assert sum(int((part.target_out != 0).sum()) for part in parts) == int((batch.target_out != 0).sum())


def test_a_row_without_targets_adds_nothing():
    torch.manual_seed(5)
    model = Transformer(
        TransformerConfig(41, d_model=14, num_heads=2, d_ff=13, num_encoder_layers=1, num_decoder_layers=1, dropout=0.0, max_len=19)
    ).double()
    part = distributed.Shares(3, 5).rows(make_batch([([5, 7], [11]), ([5], [12, 13])]))
    loss, tokens = distributed.LossOf(model)(*to_tensors(part, "cpu"), label_smoothing=0.1)
    loss.backward()
    assert loss == 0 and tokens == 0
    assert all(weight.grad is not None and not weight.grad.any() for weight in model.parameters())


def test_resumed_with_another_number_of_processes(runner, alone, tmp_path):
    """Two processes, then one, then three."""
    stop = "signal.raise_signal(signal.SIGTERM)"
    for processes, what, step in ((2, "train", 6), (1, "resume", 13)):
        at = {str(processes - 1): {"step": step, "do": f"import signal; {stop}"}}
        runner.start(what, tmp_path, processes, at=at)
        codes, said = runner.end()
        assert said.count("\n") == 1 and f"Stopped: stopped after step {step} of 23" in said
        assert sorted(codes) == [9] + [130] * (processes - 1) and read(tmp_path)[1]["step"] == step
    runner.run("resume", tmp_path, 3)
    assert_close(read(alone)[0], read(tmp_path)[0], 1e-6)


def test_with_dropout_a_resumed_group_ends_at_the_same_bits(runner, tmp_path):
    """Each process draws from seed, step and rank, so nothing of it has to be stored."""
    model = {"dropout": 0.2, "attention_dropout": 0.1}
    whole = runner.run("train", tmp_path / "whole", 2, model=model)
    cut = tmp_path / "cut"
    runner.start("train", cut, 2, model=model, at={"0": {"step": 10, "do": "import signal; signal.raise_signal(signal.SIGTERM)"}})
    runner.end()
    assert read(cut)[1]["step"] == 10
    runner.run("resume", cut, 2)
    one, other = read(whole)[0], read(cut)[0]
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_each_process_draws_its_own(monkeypatch):
    seen = []
    for rank, step, seed in ((0, 4, 3), (1, 4, 3), (0, 5, 3), (0, 4, 7)):
        group = distributed.ProcessGroup.__new__(distributed.ProcessGroup)
        group.rank = rank
        group.begin_step(seed, step)
        seen.append(tuple(torch.rand(3).tolist()))
    assert len(set(seen)) == 4


@pytest.mark.parametrize("rank", (0, 1))
def test_an_error_on_one_process_ends_all_with_one_sentence(runner, tmp_path, rank):
    runner.start("train", tmp_path, 2, at={str(rank): {"step": 9, "do": "raise ValueError('corpus: a line is broken')"}})
    codes, said = runner.end()
    assert said == "ValueError: corpus: a line is broken\n"
    assert codes[rank] == 9 and codes[1 - rank] == 1
    assert read(tmp_path)[1]["step"] == 7


def test_after_a_restart_an_error_is_said_again(monkeypatch):
    """`torchrun --max-restarts` keeps its store while it starts the processes anew."""
    store, said = torch.distributed.HashStore(), []
    for restarts in "011":
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", restarts)
        said.append(distributed.speaks_first(store))
    assert said == [True, True, False]


def test_a_loss_that_overflows_on_one_process(runner, tmp_path):
    """All see the same sum; one of them says so, and nothing is written."""
    poison = "run.model.embedding.weight.data[5, 3] = float('nan')"
    runner.start("train", tmp_path, 2, at={"1": {"step": 9, "do": poison}})
    codes, said = runner.end()
    assert said.startswith("FloatingPointError: loss: expected a finite number, got nan in step 9 ") and said.count("\n") == 1
    assert sorted(codes) == [1, 9] and read(tmp_path)[1]["step"] == 7


def test_a_process_that_is_killed(runner, tmp_path):
    numbers = runner.start("train", tmp_path, 2, at={"1": {"step": 9, "do": "import time; time.sleep(60)"}})
    latest = time.monotonic() + 90
    while time.monotonic() < latest:
        path = tmp_path / "losses-0.json"
        if path.exists() and path.read_text().count("[") >= 9:
            break
        time.sleep(0.05)
    os.kill(numbers[1], signal.SIGKILL)
    codes, said = runner.end()
    assert codes == [9, -signal.SIGKILL] and read(tmp_path)[1]["step"] == 7
    assert said == "ConnectionError: processes: one of 2 was lost; start them again with --resume and the run's folder\n"


def test_without_torchrun_there_is_no_group(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with distributed.process_group("cpu") as (processes, device):
        assert type(processes) is loop.SingleProcess and device == "cpu"
        assert not torch.distributed.is_initialized()


def test_a_device_that_several_processes_cannot_share(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: True)
    with pytest.raises(ValueError, match="^device: expected cpu or cuda for several processes, got mps; "):
        distributed.own_device("mps")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"^device: expected a GPU for each process, got 2 here and a process 3 \(from 0\)"):
        distributed.own_device(None)


def test_the_command_under_torchrun(tmp_path):
    """The documented command: one log, one checkpoint, one line at the end; then one process goes on."""
    folder = tmp_path / "run"
    small = (
        "max_steps=4 warmup_steps=2 validate_every=4 max_tokens=307 d_model=12 num_heads=2 d_ff=11 "
        "num_encoder_layers=1 num_decoder_layers=1 vocab_size=277 dropout=0"
    ).split()
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [
            *torchrun,
            "-m",
            "xformer_lib.cli",
            "train",
            "--preset",
            "fragment",
            "--device",
            "cpu",
            "--quiet",
            "--out",
            str(folder),
            "--set",
            *small,
        ],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1 and ": 4 steps, " in done.stdout
    files = "checkpoint.safetensors config.json model.safetensors provenance.json tokenizer.json"
    assert sorted(path.name for path in folder.iterdir()) == files.split()
    record = json.loads((folder / "provenance.json").read_text())
    assert record["processes"] == 2
    assert record["command"].startswith("torchrun --nproc-per-node 2 -m xformer_lib.cli train --preset fragment ")
    assert np.isfinite(read(folder)[1]["history"][0]["validation_loss"])
