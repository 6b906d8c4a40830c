"""Lives of a tiny training run, each a process of its own, which dies where it is told to."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import torch

from xformer_lib.training.checkpoint import load_setup, load_tensors

ROOT = Path(__file__).parents[2]
STEPS, EVERY = 47, 4

# Imports once; then each line it reads, "what|folder|place", is a process that trains or resumes, and dies at the place.
PROGRAM = f"""
import builtins, errno, os, resource, signal, sys
import torch, torch._dynamo  # the optimiser imports the latter, once here instead of in each process
from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training import TrainConfig, loop

words = ["le", "chat", "dort", "ici", "gros", "jaune", "jardin", "je", "suis", "la"]
def pairs(count, salt):
    chosen = [[(n * n + salt * k) % 10 for k in range(2 + n % 5)] for n in range(count)]
    return [(" ".join(words[i] for i in row), " ".join(words[9 - i] for i in row[::-1])) for row in chosen]

CORPUS = {{"train": pairs(53, 3), "val": pairs(11, 7)}}
MODEL = TransformerConfig(vocab_size=283, d_model=22, num_heads=2, d_ff=29, num_encoder_layers=1,
                          num_decoder_layers=1, dropout=0.2, attention_dropout=0.1, max_len=31)
CONFIG = TrainConfig(corpus="own", model=MODEL, max_steps={STEPS}, max_tokens=61, warmup_steps=5, peak_rate=3e-3,
                     validate_every={EVERY}, accumulate=2, seed=3)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying(function, count, *, after=False):
    seen = []
    def wrapped(*args, **options):
        seen.append(1)
        if len(seen) == count and not after:
            die()
        result = function(*args, **options)
        if len(seen) == count:
            die()
        return result
    return wrapped

def no_room():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

def refusing(function, count):
    seen = []
    def wrapped(*args, **options):
        seen.append(1)
        return function(*args, **options) if len(seen) < count else no_room()
    return wrapped

class Torn:
    '''A file whose only write stops somewhere, with the process.'''
    def __init__(self, file, share):
        self.file, self.share = file, share
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.file.close()
    def write(self, data):
        self.file.write(data[:int(self.share * len(data))])
        self.file.flush()
        self.end()
    def end(self):
        die()

class Full(Torn):
    '''The same, where the disk is full and the process lives.'''
    def end(self):
        no_room()

def watch(place):
    kind, _, number = place.partition(" ")
    if kind == "step":
        loop.train_step = dying(loop.train_step, int(number))
    if kind == "after-step":
        loop.train_step = dying(loop.train_step, int(number), after=True)
    if kind == "validation":
        loop.validate = dying(loop.validate, int(number))
    if kind == "after-validation":
        loop.validate = dying(loop.validate, int(number), after=True)
    if kind == "fsync":
        os.fsync = dying(os.fsync, int(number))
    if kind == "move":
        os.replace = dying(os.replace, int(number))
    if kind == "moved":
        os.replace = dying(os.replace, int(number), after=True)
    if kind == "disk":  # every file that is larger meets a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(number), resource.RLIM_INFINITY))
    if kind in ("full-fsync", "full-move"):
        name = "fsync" if kind == "full-fsync" else "replace"
        setattr(os, name, refusing(getattr(os, name), int(number)))
    if kind == "full-write":
        count, share = number.split()
        seen, real = [], open
        def opened(path, mode="r", *rest, **options):
            file = real(path, mode, *rest, **options)
            seen.extend([1] * ("w" in mode))
            return Full(file, float(share)) if "w" in mode and len(seen) == int(count) else file
        builtins.open = opened
    if kind == "write":
        count, share = number.split()
        seen, real = [], open
        def opened(path, mode="r", *rest, **options):
            file = real(path, mode, *rest, **options)
            seen.extend([1] * ("w" in mode))
            return Torn(file, float(share)) if "w" in mode and len(seen) == int(count) else file
        builtins.open = opened

def work(what, folder, place):
    watch(place)
    if what == "resume":
        loop.resume(folder, corpus=CORPUS, device="cpu", progress=False)
    else:
        loop.train(CONFIG, folder, corpus=CORPUS, device="cpu", progress=False)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            work(*line.strip().split("|"))
        except BaseException as error:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            print(type(error).__name__ + ":", error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Runner:
    """Lives, one after the other, each a process of its own."""

    def __init__(self, folder):
        (folder / "run.py").write_text(PROGRAM)
        self.errors = folder / "errors.txt"
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
        with open(self.errors, "w") as errors:
            self.server = subprocess.Popen(
                [sys.executable, folder / "run.py"],
                env=environment,
                text=True,
                bufsize=1,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def live(self, what, folder, place="nowhere"):
        """Start, kill after so many seconds or let it die at its place; returns how it ended, and notes how long it took."""
        self.server.stdin.write(f"{what}|{folder}|{place}\n")
        process, start = int(self.server.stdout.readline()), time.monotonic()
        if place.startswith("clock"):
            time.sleep(float(place[6:]))
            with suppress(ProcessLookupError):  # it was faster
                os.kill(process, signal.SIGKILL)
        status, self.seconds = int(self.server.stdout.readline()), time.monotonic() - start
        return status


def everything(folder):
    """All that a run leaves: its checkpoint, its best model, its settings; seconds and the id aside, which no two runs share."""
    tensors, state = load_tensors(folder / "checkpoint.safetensors")
    best, at = load_tensors(folder / "model.safetensors")
    states = [{**without_seconds(part), "history": [without_seconds(line) for line in part["history"]]} for part in (state, at)]
    config, tokenizer = load_setup(folder)
    return tensors | {f"best.{name}": tensor for name, tensor in best.items()}, states, config, tokenizer.fingerprint


def without_seconds(record):
    return {name: value for name, value in record.items() if "seconds" not in name and name != "run"}


def assert_same(found, expected):
    assert found[1:] == expected[1:]
    assert set(found[0]) == set(expected[0])
    assert [name for name, tensor in expected[0].items() if not torch.equal(found[0][name], tensor)] == []
