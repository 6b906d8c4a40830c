"""A run that goes on: from its last checkpoint or not at all. `survive/test_kills.py` compares what comes of it
to the bit, `fuzz/test_files.py` brings files of other runs."""

import signal
from itertools import islice
from types import SimpleNamespace

import pytest

from tests.ci import posix_only
from tests.survive.runner import Runner, everything
from xformer_lib.data import batches
from xformer_lib.training import loop


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


def test_the_run_passes_over_the_data_more_than_once_and_learns(unbroken):
    """Else equal weights after a kill would say little."""
    checkpoint, _ = everything(unbroken)[1]
    losses = [line["validation_loss"] for line in checkpoint["history"]]
    assert checkpoint["epoch"] >= 2 and checkpoint["batch"] > 0 and losses[-1] < losses[0] - 0.5


def test_killed_before_the_first_checkpoint(runner, tmp_path):
    """There is nothing to go on from, and the sentence says so."""
    assert runner.live("train", tmp_path, "step 3") == -signal.SIGKILL
    assert runner.live("resume", tmp_path) == 1
    said = runner.errors.read_text().strip().splitlines()[-1]
    assert said.startswith("FileNotFoundError: checkpoint: no file ") and "train first" in said


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
