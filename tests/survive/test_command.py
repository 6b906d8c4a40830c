"""The command `xformer` as a user starts it: stopped by Ctrl-C, out of room, out of numbers, without a network, read by `head`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.ci import posix
from xformer_lib.cli import main
from xformer_lib.data import _download
from xformer_lib.training.checkpoint import load_tensors

ROOT = Path(__file__).parents[2]
pytestmark = posix
SMALL = (
    "--set d_model=22 num_heads=2 d_ff=29 num_encoder_layers=1 num_decoder_layers=1 max_len=31 vocab_size=283 "
    "max_tokens=301 warmup_steps=2 validate_every=20 max_steps=101"
).split()
FULL = "could not be written (File too large); what stood there is untouched, make room or name another folder"
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
ENVIRONMENT.pop("XFORMER_TRACEBACK", None)

# Imports once; then each line it reads is a command that runs in a process of its own, with its own streams and limits.
PROGRAM = """
import json, os, resource, signal, sys
import torch, torch._dynamo, sacrebleu
from xformer_lib import cli, decoding, evaluation
from xformer_lib.training import loop

for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in enumerate(order["streams"]):
            how = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
            if stream.startswith(">>"):
                how, stream = how | os.O_APPEND, stream[2:]
            if stream != "closed":
                os.dup2(os.open(stream, how), number)
        sys.stdin = open(0)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            if order["streams"][number] == "closed":  # as Python finds it when it starts
                os.close(number)
                setattr(sys, name, None)
        if order["limit"]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"], order["limit"]))
        sys.argv = ["xformer", *order["arguments"]]
        try:
            status = cli.main(order["arguments"])
            print(end="", flush=True)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            status = 120
        os._exit(status)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Commands:
    """Runs commands, one after the other, without importing torch for each."""

    def __init__(self, folder):
        self.folder = folder
        self.server = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=ENVIRONMENT, text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def start(self, *arguments, limit=None, stdin="/dev/null", stdout=None, stderr=None):
        for name in ("out", "err"):
            (self.folder / name).write_text("")
        streams = [str(stdin), str(stdout or self.folder / "out"), str(stderr or self.folder / "err")]
        order = {"arguments": [str(argument) for argument in arguments], "limit": limit, "streams": streams}
        self.server.stdin.write(json.dumps(order) + "\n")
        return int(self.server.stdout.readline())

    def ended(self):
        """Exit status, standard output, standard error."""
        return int(self.server.stdout.readline()), (self.folder / "out").read_text(), (self.folder / "err").read_text()

    def run(self, *arguments, **options):
        self.start(*arguments, **options)
        return self.ended()


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    commands = Commands(tmp_path_factory.mktemp("commands"))
    yield commands
    commands.server.stdin.close()
    commands.server.wait(60)


def one_line(errors, command):
    """The single line on standard error."""
    assert errors.count("\n") == 1 and errors.startswith(f"xformer {command}: "), errors
    return errors.removeprefix(f"xformer {command}: ").strip()


def same_run(one, other):
    (tensors, state), (expected, its_state) = (load_tensors(folder / "checkpoint.safetensors") for folder in (one, other))
    differ = [name for name in expected if not torch.equal(tensors[name], expected[name])]
    return (
        not differ
        and [line["validation_loss"] for line in state["history"]] == [line["validation_loss"] for line in its_state["history"]]
        and state["step"] == its_state["step"]
    )


@pytest.fixture(scope="module")
def unbroken(commands, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    status, said, errors = commands.run("train", "--preset", "fragment", "--out", folder, "--quiet", *SMALL)
    assert status == 0 and ": 101 steps, " in said and said.endswith("; 2,483 pairs longer than max_len were left out\n")
    assert one_line(errors, "train") == f"model {folder}; translate with it: --model {folder}"
    return folder


def test_ctrl_c_saves_and_says_how_to_go_on(commands, unbroken, tmp_path):
    """SIGINT to the real command while it trains: status 130, one line; the command in that line ends at the same bits."""
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "xformer_lib.cli", "train", "--preset", "fragment", "--out", folder, "--quiet", *SMALL],
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # whatever started the tests may ignore it
    while not (folder / "checkpoint.safetensors").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=300)
    assert (process.returncode, said) == (130, "")
    match = re.fullmatch(
        r"stopped after step (\d+) of 101, all is saved; go on with: xformer (train --resume \S+)", one_line(errors, "train")
    )
    step = load_tensors(folder / "checkpoint.safetensors")[1]["step"]
    assert match and int(match[1]) == step and 20 <= step < 101 and list(folder.glob("*.part")) == []
    status, said, errors = commands.run(*match[2].split(), "--quiet")
    assert status == 0 and ": 101 steps, " in said and one_line(errors, "train").startswith(f"model {folder}; ")
    assert same_run(folder, unbroken)


def test_numbers_that_overflow(commands, tmp_path):
    """A rate that no model survives: the step, the epoch, the batch, what to try; what the folder holds is whole."""
    folder = tmp_path / "run"
    settings = [setting if not setting.startswith("validate") else "validate_every=1" for setting in SMALL]
    status, said, errors = commands.run("train", "--preset", "fragment", "--out", folder, "--quiet", *settings, "peak_rate=1e30")
    assert (status, said) == (2, "")
    assert re.fullmatch(
        r"(loss|gradient|validation loss): expected a finite number, got (nan|inf) in step \d+ \(epoch 0, batch "
        rf"\d+, both from 0\); train again with a lower peak_rate, .*; what {folder} holds is whole",
        one_line(errors, "train"),
    )
    for path in folder.glob("*.safetensors"):
        load_tensors(path)


def test_out_of_room_while_it_trains(commands, unbroken, tmp_path):
    """Files limited in size: settings and tokenizer fit, the weights do not."""
    folder = tmp_path / "run"
    status, said, errors = commands.run("train", "--preset", "fragment", "--out", folder, "--quiet", *SMALL, limit=20_000)
    assert (status, said) == (2, "") and (unbroken / "tokenizer.json").stat().st_size < 20_000
    assert one_line(errors, "train") == f"{folder / 'checkpoint.safetensors'}: {FULL}"
    assert {path.name for path in folder.iterdir()} == {"config.json", "tokenizer.json", "provenance.json"}


def test_a_full_disk_for_translations(commands, unbroken, tmp_path):
    """The file that was there stays as it was."""
    target, source = tmp_path / "out.txt", tmp_path / "in.txt"
    target.write_text("what was there\n")
    source.write_text("The big yellow cat\n" * 99)
    assert commands.run("translate", "--model", unbroken, "--quiet", "--input", source, "--output", target)[0] == 0
    before = target.read_text()
    assert len(before) > 700
    source.write_text("Hello world\n" * 99)
    status, _, errors = commands.run("translate", "--model", unbroken, "--quiet", "--input", source, "--output", target, limit=300)
    assert status == 2 and one_line(errors, "translate") == f"{target}: {FULL}"
    assert target.read_text() == before and {path.name for path in tmp_path.iterdir()} == {"out.txt", "in.txt"}


@needs_full
def test_a_standard_output_that_takes_nothing(commands, unbroken, tmp_path):
    status, _, errors = commands.run("translate", "--model", unbroken, "Hello world", stdout="/dev/full")
    assert status == 2 and one_line(errors, "translate").startswith("standard output: could not be written (No space left on device)")
    source = tmp_path / "in.txt"
    source.write_text("Hello world\n")
    status, _, errors = commands.run("translate", "--model", unbroken, "--quiet", "--input", source, "--output", "/dev/full")
    assert status == 2 and one_line(errors, "translate").startswith("/dev/full: could not be written (No space left on device)")


def test_a_reader_that_has_gone(commands, unbroken, tmp_path):
    """`xformer translate … | head`: no complaint."""
    os.mkfifo(tmp_path / "pipe")
    commands.start("translate", "--model", unbroken, "Hello world", stdout=tmp_path / "pipe")
    os.close(os.open(tmp_path / "pipe", os.O_RDONLY))
    status, _, errors = commands.ended()
    assert (status, errors) == (0, "")


CLOSED = "expected an open one, got a closed one; name a file that takes the result, or open it"


@pytest.mark.parametrize("link", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_what_stands_for_standard_output_is_written_to(commands, unbroken, tmp_path, link):
    """`--output /dev/stdout >>all`: what the file holds stays, and what comes goes behind it; so with a link to it."""
    if link.startswith("/proc") and not Path("/proc/self/fd").exists():
        pytest.skip("this system has no /proc")
    (tmp_path / "link").symlink_to("/dev/stdout")
    place, every = tmp_path / link, tmp_path / "all"
    every.write_text("before\n")
    assert commands.run("translate", "--model", unbroken, "--output", place, "Hello", stdout=f">>{every}")[0] == 0
    assert commands.run("key", "4.1", "--output", place, stdout=f">>{every}")[0] == 0
    before, said, key = every.read_text().split("\n", 2)
    assert before == "before" and said and key.startswith("# Answer key")
    assert (tmp_path / "link").is_symlink() and not list(tmp_path.glob("*.part"))


def test_a_record_through_standard_output(commands, tmp_path):
    every = tmp_path / "all"
    every.write_text("before\n")
    for place in ("/dev/stdout", "-"):
        status, *_ = commands.run("evaluate", "--split", "val", "--corpus", "fragment", "--quiet", "--json", place, stdout=f">>{every}")
        assert status == 0
    text = every.read_text()
    head, _, record = text.partition("{")
    assert head.startswith("before\n") and "  BLEU" in head
    first, end = json.JSONDecoder().raw_decode("{" + record)
    alone = json.loads(record[end:])  # what "-" writes
    assert (alone["bleu"], alone["hypotheses"]) == (first["bleu"], first["hypotheses"])


def test_standard_error_is_closed(commands, unbroken, tmp_path):
    """`2>&-`: all is done, and no message lands in a file or among the translations."""
    (tmp_path / "in.txt").write_text("Hello\nThe cat\n")
    for out in ([], ["--output", tmp_path / "out.txt"]):
        status, said, _ = commands.run("translate", "--model", unbroken, "--input", tmp_path / "in.txt", *out, stderr="closed")
        text = (tmp_path / "out.txt").read_text() if out else said
        assert status == 0 and text.count("\n") == 2 and "xformer" not in text + said
    status, said, _ = commands.run("train", "--preset", "fragment", "--out", tmp_path / "run", *SMALL, stderr="closed", stdin="closed")
    assert status == 0 and said.startswith(f"{tmp_path / 'run'}: 101 steps") and said.count("\n") == 1
    assert same_run(tmp_path / "run", unbroken)
    status, said, _ = commands.run("evaluate", "--corpus", "fragment", "--split", "val", stderr="closed")
    assert status == 0 and said.splitlines()[1].startswith("  BLEU") and said.count("\n") == 4


@needs_full
def test_a_standard_error_that_takes_nothing(commands, unbroken, tmp_path):
    (tmp_path / "in.txt").write_text("Hello\n")
    status, said, _ = commands.run("translate", "--model", unbroken, "--input", tmp_path / "in.txt", stderr="/dev/full")
    assert status == 0 and said.count("\n") == 1


def test_standard_input_and_output_are_closed(commands, unbroken, tmp_path):
    """`<&-` and `>&-`: one line before the work, where it would read or write there; a run needs neither."""
    status, said, errors = commands.run("translate", "--model", unbroken, stdin="closed")
    assert (status, said) == (2, "")
    assert one_line(errors, "translate") == (
        "standard input: cannot be read (it is closed); name a file with --input, or type the sentences"
    )
    for command in (["translate", "--model", unbroken, "Hi"], ["evaluate", unbroken], ["key", "4"], ["doctor"]):
        status, _, errors = commands.run(*command, stdout="closed")
        assert status == 2 and one_line(errors, command[0]) == f"standard output: {CLOSED}"
    status, _, errors = commands.run("translate", "--model", unbroken, "--output", "/dev/stdout", "Hi", stdout="closed")
    assert status == 2 and one_line(errors, "translate").startswith("--output: /dev/stdout cannot be written (Bad file descriptor); ")
    assert commands.run("train", "--resume", unbroken, stdin="closed", stdout="closed", stderr="closed")[0] == 0
    assert commands.run("translate", "--model", unbroken, "Hi", "--output", tmp_path / "new", stdout="closed")[0] == 0


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_closed_terminal_and_a_request_to_end_save_as_ctrl_c_does(commands, unbroken, tmp_path, name):
    folder = tmp_path / "run"
    process = commands.start("train", "--preset", "fragment", "--out", folder, *SMALL)
    while not (folder / "checkpoint.safetensors").exists():
        time.sleep(0.005)
    os.kill(process, getattr(signal, name))
    status, said, errors = commands.ended()
    assert (status, said) == (130, "") and "all is saved; go on with: xformer train --resume" in errors
    assert commands.run("train", "--resume", folder, "--quiet")[0] == 0
    assert same_run(folder, unbroken)


def test_ctrl_c_while_it_waits_for_sentences(commands, unbroken, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    process = commands.start("translate", "--model", unbroken, "--quiet", stdin=tmp_path / "pipe")
    with open(tmp_path / "pipe", "w"):
        time.sleep(1)
        os.kill(process, signal.SIGINT)
        status, said, errors = commands.ended()
    assert (status, said) == (130, "") and one_line(errors, "translate") == "stopped at once"


# ---------------------------------------------------------------- in this process: what goes wrong before the work


@pytest.fixture
def fails(capsys, monkeypatch, tmp_path):
    """Runs a command that must leave exit status 2 and one line."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        assert main([str(argument) for argument in arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        return one_line(captured.err, arguments[0])

    return run


@pytest.mark.parametrize("device", ["tpu", "mps"])
def test_a_device_that_is_not_there(fails, unbroken, device):
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("it is")
    for command in (["translate", "--model", unbroken, "Hello"], ["evaluate", unbroken], ["train", "--resume", unbroken]):
        assert fails(*command, "--device", device).startswith(
            f"device: expected cpu, cuda or mps, and one that is here, got '{device}'; leave it out for "
        )


def test_no_network_and_no_corpus(fails, monkeypatch, tmp_path):
    """A port where nobody listens stands in for the publisher."""
    monkeypatch.delenv("XFORMER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setitem(_download.FILES, "multi30k/train.en.gz", {"url": "http://127.0.0.1:9/train.en.gz", "sha256": "0" * 64, "size": 0})
    said = fails("train", "--preset", "multi30k", "--quiet")
    assert re.fullmatch(
        r"multi30k/train.en.gz is not on this machine and could not be downloaded from \S+ \(.*\); connect to "
        "the network, or set XFORMER_DATA .*, or use the corpus 'fragment', which needs neither",
        said,
    )


def test_bytes_that_are_no_text(fails, unbroken, tmp_path):
    (tmp_path / "latin.txt").write_bytes("café\n".encode("latin-1"))
    assert fails("translate", "--model", unbroken, "--input", tmp_path / "latin.txt") == (
        f"{tmp_path / 'latin.txt'}: expected text in UTF-8, got other bytes at place 3; save the file as UTF-8"
    )


def test_an_output_without_a_folder_is_refused_before_the_work(fails, unbroken, monkeypatch):
    monkeypatch.setattr("xformer_lib.decoding.translator.decode_sentences", None)  # nothing is decoded before
    assert fails("evaluate", unbroken, "--json", "no/record.json") == "--json: no folder no; make it first"
    assert fails("translate", "--model", unbroken, "--output", "no/out.txt", "Hi") == "--output: no folder no; make it first"


def test_a_record_is_written_whole_or_not_at_all(unbroken, monkeypatch, tmp_path, capsys):
    """A disk that refuses the last move leaves the record from before."""
    record = tmp_path / "record.json"
    record.write_text("{}")
    monkeypatch.setattr("xformer_lib.decoding.sentences.decode_sentences", lambda *given, **_: [("Le chat", True)] * len(given[2]))

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    command = ["evaluate", str(unbroken), "--split", "val", "--quiet", "--json", str(record)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        assert main(command) == 2
    assert f"{record}: could not be written (Permission denied); what stood there is untouched" in capsys.readouterr().err
    assert record.read_text() == "{}" and [path.name for path in tmp_path.iterdir()] == ["record.json"]
    assert main(command) == 0
    assert json.loads(record.read_text())["corpus"] == "fragment"
