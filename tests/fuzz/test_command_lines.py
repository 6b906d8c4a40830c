"""Strange command lines, drawn from a grammar of options and nasty values: each ends in words and a known exit status.

What takes long is made small, not left out: the corpora have a few sentences, the settings of a training are those of a toy model.
"""

import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.extent import extent, posix
from xformer_lib.cli import main

ROOT = Path(__file__).parents[2]
pytestmark = posix
LINES, PROCESSES = extent((500, 30), (150, 6))
SEED = int(os.environ.get("XFORMER_SEED", 13))  # by night another one
PAIRS = [("The cat sleeps", "Le chat dort"), ("My boy is here", "Mon garçon est ici"), ("A cat", "Un chat")] * 7
TOY = [
    "max_steps=1",
    "warmup_steps=1",
    "validate_every=1",
    "d_model=12",
    "num_heads=2",
    "d_ff=11",
    "num_encoder_layers=1",
    "num_decoder_layers=1",
    "max_tokens=301",
    "vocab_size=277",
    "max_len=31",
]
NUMBERS = [
    "0",
    "-1",
    "1",
    "3",
    "1e3",
    "1_000",
    "٣",
    "",
    " ",
    "nan",
    "inf",
    "-inf",
    "x",
    "None",
    "1e400",
    "0x10",
    "1000000000",
    "9" * 5000,
    "3.5",
    "--",
    "1;2",
]
TEXTS = [
    "Hello",
    "",
    " ",
    "\t",
    "\n",
    "a\nb",
    "\ufeff",
    "\udcff",
    "\0",
    "你好",
    "Привет 😀",
    "e\u0301" * 9,
    "cat " * 400,
    "-",
    "--",
    "-5",
    "=",
    "\x1b[31mred",
    "%s%n{}",
    "~",
    "NUL",
    "\u202egnirts",
]
PLACES = [
    "folder",
    "file.txt",
    "nowhere",
    "no/such/place",
    "",
    " ",
    ".",
    "..",
    "/dev/null",
    "/",
    "dangling",
    "file.txt/below",
    "a" * 300,
    "\udcff",
    "new\nline",
    "\0",
    "~",
    "run",
    "deep",
    "torn",
    "plain.ipynb",
    "latin.txt",
    "-",
]
DEVICES = ["cpu", "cpu:x", "cpu:0", "cuda", "cuda:99", "mps", "tpu", "", ":", "cpu:", "CPU", "meta", "cpu:-1", "\0", "xla:1"]
NAMES = ["fragment", "multi30k", "tatoeba", "wmt14", "", "Fragment", "\0", "../fragment"]
SETTINGS = [
    "d_model=0",
    "d_model=7",
    "d_model=1000000000",
    "d_model=x",
    "num_heads=5",
    "num_kv_heads=abc",
    "num_kv_heads=None",
    "num_kv_heads=1",
    "num_kv_heads=0",
    "vocab_size=4000000000",
    "vocab_size=9",
    "vocab_size=-1",
    "dropout=1",
    "dropout=nan",
    "dropout=-0",
    "positions=sideways",
    "positions=rotary",
    "positions=alibi",
    "positions=relative",
    "max_offset=0",
    "schedule=never",
    "precision=float8",
    "peak_rate=inf",
    "peak_rate=0",
    "clip=nan",
    "decay=2",
    "max_steps=0",
    "max_steps=1.5",
    "warmup_steps=99",
    "accumulate=1000000000",
    "accumulate=0",
    "max_tokens=0",
    "seed=x",
    "seed=7",
    "label_smoothing=1",
    "corpus=wmt14",
    "corpus=",
    "model=3",
    "=",
    "",
    "d_model",
    "d_model=",
    "=3",
    "pad_id=1",
    "eos_id=-1",
    "bos_id=999999",
    "num_encoder_layers=1000000000",
    "num_decoder_layers=0",
    "max_len=0",
    "max_len=x",
    "d_ff=1e3",
    "nonsense=1",
    "__class__=int",
]
FLAGS = {
    "train": {"--preset": NAMES, "--resume": PLACES, "--out": PLACES, "--device": DEVICES, "--set": SETTINGS},
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
    for name in ("folder", "deep", "torn"):
        (place / name).mkdir()
    (place / "deep" / "config.json").write_text("[" * 100_000)
    (place / "torn" / "config.json").write_bytes((place / "run" / "config.json").read_bytes()[:99])
    (place / "file.txt").write_text("Hello world\n\nA cat\n")
    (place / "latin.txt").write_bytes("café\n".encode("latin-1"))
    (place / "dangling").symlink_to("nothing")
    nbformat.write(nbformat.v4.new_notebook(cells=[]), place / "plain.ipynb")
    return place


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Corpora of a few sentences, and no way to any other."""
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


def copy_of(place, folder):
    """Each line meets the same files; what one of them wrote or replaced is gone with it."""
    for path in place.iterdir():
        if path.is_symlink():
            (folder / path.name).symlink_to(os.readlink(path))
        elif path.is_dir():
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


@pytest.mark.errors
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


@pytest.mark.errors
def test_thirty_lines_as_processes(place, small, record_property):
    """The same through a shell's eyes, for lines that end before torch is loaded; some with streams closed, some without docstrings."""
    rng, tried = random.Random(SEED + 1), 0
    wrong = [
        ["translate", "--beam-size", "0", "Hi"],
        ["translate", "--output", "folder", "Hi"],
        ["translate", "--device", "cpu:x", "Hi"],
        ["evaluate", "--json", "folder"],
        ["translate", "--length-penalty", "nan", "Hi"],
        ["grade", "nowhere.ipynb", "--csv", "folder"],
    ]
    while tried < PROCESSES:
        line = rng.choice(wrong) if rng.random() < 0.3 else draw(rng)
        if line not in wrong and line[0] in FLAGS:
            line = [*line, "--nonsense"]  # refused by the parser
        if any("\0" in word or "\udcff" in word for word in line):
            continue
        how = rng.choice(["", "", ">&-", "2>&-", "<&-", ">&- 2>&-"])
        options = rng.choice([[], ["-OO"]])
        ended = subprocess.run(
            ["sh", "-c", f'exec "$@" {how}', "sh", sys.executable, *options, "-m", "xformer_lib", *line],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert ended.returncode in (0, 2), (line, how, ended)
        assert "Traceback" not in ended.stderr and "Error" not in ended.stderr.replace("error:", ""), (line, how, ended.stderr)
        assert ended.stderr.count("\n") <= 8 and ("2>" in how) <= (ended.stderr == ""), (line, how, ended.stderr)
        tried += 1
    record_property("processes", tried)
