"""Strange command lines, drawn from a grammar of options and nasty values: each ends in words and a known exit status.

What takes long is made small, not left out: the corpora have a few sentences, the settings of a training are those of a toy model.
"""

import io
import json
import os
import random
import sys
from pathlib import Path

import nbformat
import pytest

from tests.ci import in_ci, posix
from xformer_lib.cli import main

pytestmark = posix
LINES = in_ci(500, 150)
SEED = int(os.environ.get("XFORMER_SEED", 13))  # by night another one
PAIRS = [("The cat sleeps", "Le chat dort"), ("My boy is here", "Mon garçon est ici"), ("A cat", "Un chat")] * 7
TOY = (
    "max_steps=1 warmup_steps=1 validate_every=1 d_model=12 num_heads=2 d_ff=11 num_encoder_layers=1 "
    "num_decoder_layers=1 max_tokens=301 vocab_size=277 max_len=31"
).split()
NUMBERS = ["0", "-1", "1", "3", "3.5", "nan", "inf", "x", "", "1000000000", "9" * 5000]
TEXTS = ["Hello", "", "\n", "a\nb", "\udcff", "\0", "你好", "Привет 😀", "cat " * 400, "-", "--", "\x1b[31mred"]
PLACES = [
    "folder",
    "file.txt",
    "nowhere",
    "no/place",
    "",
    ".",
    "..",
    "/dev/null",
    "/",
    "file.txt/below",
    "a" * 300,
    "\0",
    "run",
    "torn",
    "plain.ipynb",
]
DEVICES = ["cpu", "cpu:x", "cuda:99", "mps", "tpu", ""]
NAMES = ["fragment", "multi30k", "tatoeba", "wmt14", "", "../fragment"]
SETTINGS = [
    *["d_model=0", "d_model=7", "d_model=1000000000", "d_model=x", "num_heads=5", "num_kv_heads=None", "num_kv_heads=1", "vocab_size=9"],
    *"dropout=1 dropout=nan positions=sideways positions=rotary positions=alibi schedule=never peak_rate=inf clip=nan".split(),
    *["max_steps=0", "max_steps=1.5", "warmup_steps=99", "accumulate=1000000000", "seed=7", "label_smoothing=1", "corpus=", "model=3"],
    *["=", "", "d_model", "pad_id=1", "bos_id=999999", "num_decoder_layers=0", "max_len=x", "nonsense=1", "__class__=int"],
]
FLAGS = {
    "train": {"--preset": NAMES, "--resume": PLACES, "--out": PLACES, "--device": DEVICES, "--threads": NUMBERS, "--set": SETTINGS},
    "evaluate": {
        "--corpus": NAMES,
        "--split": ["train", "val", "test", "dev", ""],
        "--json": PLACES,
        "--device": DEVICES,
        "--beam-size": NUMBERS,
        "--length-penalty": NUMBERS,
    },
    "translate": {
        "--model": PLACES,
        "--input": PLACES,
        "--output": PLACES,
        "--device": DEVICES,
        "--beam-size": NUMBERS,
        "--length-penalty": NUMBERS,
    },
    "grade": {
        "--json": PLACES,
        "--csv": PLACES,
        "--timeout": NUMBERS,
        "--cell-timeout": NUMBERS,
        "--memory": NUMBERS,
        "--jobs": NUMBERS,
        "--seed": NUMBERS,
    },
    "key": {"--output": PLACES},
    "doctor": {},
}
GRADED = [place for place in PLACES if place not in ("..", "/", ".")]  # whoever grades these grades all that lies there
COMMANDS = [*FLAGS, *FLAGS, *FLAGS, "", "train ", "Translate", "--version", "--help", "-h", "--", "help", "\0"]


def draw(rng):
    """One command line."""
    command = rng.choice(COMMANDS)
    line = [command]
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
        flags = FLAGS.get(command) or {"--quiet": TEXTS, "--nonsense": TEXTS}
        flag = rng.choice(list(flags))
        if rng.random() < 0.06:
            line.append(rng.choice([flag, flag[:5], "--quiet", "--int8", "--new", "--help", "-x"]))
        elif rng.random() < 0.1:
            line.append(f"{flag}={rng.choice(flags[flag])}")
        else:
            line += [flag, rng.choice(flags[flag])]
    if command == "train" and not {"--preset", "--resume"} & set(line) and rng.random() < 0.8:
        line += ["--preset", "fragment"]
    if command == "train" and "--resume" not in line:
        line += ["--set", *TOY, *rng.sample(SETTINGS, rng.choice([0, 1, 1, 2]))]
    if command == "grade" and rng.random() < 0.9:
        line.append(rng.choice(GRADED))
    if command == "key":
        line += rng.choices(["4", "4.1", "99", "4.99", "0", "four", ""], k=rng.choice([0, 1, 2]))
    if command == "evaluate" and rng.random() < 0.8:
        line.append(rng.choice([*PLACES, "run", "run", "run"]))
    if command == "translate":
        line += ["--model", "run"] if rng.random() < 0.6 else []
        line += rng.choices(TEXTS, k=rng.choice([0, 1, 1, 2]))
    return line


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a run, and with what may be mistaken for one."""
    place = tmp_path_factory.mktemp("lines")
    before = Path.cwd()
    os.chdir(place)
    try:
        assert main(["train", "--preset", "fragment", "--out", "run", "--quiet", "--set", *TOY]) == 0
    finally:
        os.chdir(before)
    for name in ("folder", "torn"):
        (place / name).mkdir()
    (place / "torn" / "config.json").write_bytes((place / "run" / "config.json").read_bytes()[:99])
    (place / "file.txt").write_text("Hello world\n\nA cat\n")
    nbformat.write(nbformat.v4.new_notebook(cells=[]), place / "plain.ipynb")
    return place


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Corpora of a few sentences, and no way to any other; the threads that a line asks for are put back."""
    import torch

    from xformer_lib.data import corpora
    from xformer_lib.training import run

    real = corpora.load_corpus

    def load(name, split="train"):
        return PAIRS if name in NAMES[:3] and split in ("train", "val", "test") else real(name, split)

    for module in (corpora, run):
        monkeypatch.setattr(module, "load_corpus", load)
    for name in ("XFORMER_DATA", "XFORMER_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # so that it is put back
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def copy_of(place, folder):
    """Each line meets the same files; what one of them wrote or replaced is gone with it."""
    for path in place.iterdir():
        if path.is_dir():
            (folder / path.name).mkdir()
            for file in path.iterdir():
                os.link(file, folder / path.name / file.name)
        else:
            (folder / path.name).write_bytes(path.read_bytes())


def stream(errors="strict", content=b""):
    """A standard stream as Python makes it: UTF-8, and on standard error escapes for what is no character."""
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", errors=errors)


def outcome(line):
    """The exit status of a line, or the error that came out of `main`, which is a failure."""
    try:
        return main(line)
    except SystemExit as exit:
        return exit.code
    except Exception as error:
        return repr(error)


def test_five_hundred_lines(place, small, tmp_path, monkeypatch, record_property):
    """0, 1, 2 or 130, a few lines on standard error, and nothing but SystemExit comes out of `main`."""
    rng, ended, wrong = random.Random(SEED), [], []
    weights = (place / "run" / "model.safetensors").read_bytes()
    for number in range(LINES):
        line, words = draw(rng), rng.choice([b"", b"Hello\n", b"\xef\xbb\xbfA cat\n\nHi", b"\xff", b"\0\n", b"\n\n"])
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        copy_of(place, tmp_path / str(number))
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdin", stream(content=words))
            patch.setattr("sys.stdout", stream())
            patch.setattr("sys.stderr", stream("backslashreplace"))
            status = outcome(line)
            sys.stderr.flush()
            errors = sys.stderr.buffer.getvalue().decode()
        said = errors.rpartition("\r")[2]  # after a progress bar
        ended.append(status)
        if (
            status not in (0, 1, 2, 130)
            or "Traceback" in errors
            or said.count("\n") > (8 if "usage:" in said else 3)
            or status == 2
            and not said.strip()
        ):
            wrong.append((line, status, said))
    assert wrong == []
    assert (place / "run" / "model.safetensors").read_bytes() == weights
    counts = {status: ended.count(status) for status in sorted(set(ended))}
    record_property("statuses", json.dumps(counts))
    assert counts[0] > LINES // 10 and counts[2] > 2 * LINES // 5
