"""``make serve`` where its port is taken: a sentence, and the next free port or the way to choose one."""

import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from tests.book.conftest import ROOT


@contextmanager
def begun(*arguments):
    """The command, which ends with its block; Ctrl-C reaches it even where these tests run in the background."""
    served = subprocess.Popen(
        [sys.executable, ROOT / "book" / "serve.py", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield served
    finally:
        served.kill()
        served.communicate()


@pytest.fixture
def taken():
    """A port on which somebody listens, 8000 or, where another program has that, any."""
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", 8000))
        except OSError:
            one.bind(("127.0.0.1", 0))
        one.listen()
        yield one.getsockname()[1]


def test_the_next_free_port_is_taken_and_named(taken):
    with begun() as served:
        said = []
        while not said or "Reading at" not in said[-1]:
            said.append(served.stdout.readline())
        assert said[0] == "Port 8000 is taken.\n"
        address = said[-1].split()[2]
        assert urllib.request.urlopen(f"{address.replace('localhost', '127.0.0.1')}/").status == 200
        served.send_signal(signal.SIGINT)
        assert served.wait(20) == 0 and "Traceback" not in served.stderr.read()


@pytest.mark.parametrize(
    "given, words", [(None, "port: expected a free one"), ("12345678", "port: expected a number"), ("x", "port: expected a number")]
)
def test_a_port_that_cannot_be_had_is_one_sentence(taken, given, words):
    with begun(given or str(taken)) as served:
        assert served.wait(20) == 1
        [line] = served.stderr.read().splitlines()
        assert line.startswith(words) and line.endswith("make serve PORT=9000")
