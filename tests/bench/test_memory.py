"""The memory benchmark at its smallest: a curve, and one in two sittings."""

import json
import os
import platform
import signal

import pytest

from benchmarks import memory
from xformer_lib.training import loop

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="resident memory is read from Linux")


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """The benchmark replaces functions of the loop; each test gives them back, and keeps this process's heap as it is."""
    monkeypatch.setattr(loop, "train_step", loop.train_step)
    monkeypatch.setattr(loop, "return_unused_memory", lambda: None)
    monkeypatch.setattr(loop, "keep_freed_memory", lambda: None)


def test_a_curve(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "EVERY", 7)
    assert memory.main(["--preset", "fragment", "--steps", "15", "--json", str(tmp_path / "curve.json")]) == 0
    record = json.loads((tmp_path / "curve.json").read_text())
    assert [row["step"] for row in record["curve"]][:3] == [0, 7, 14]
    assert all(0.05 < row["resident_gib"] < row["highest_gib"] + 0.01 for row in record["curve"])  # two counts of the system's
    assert all(row["highest_gib"] <= record["highest_gib"] for row in record["curve"])


def test_a_second_sitting_goes_on_where_the_first_was_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "EVERY", 7)
    step, arguments = (
        loop.train_step,
        ["--preset", "fragment", "--steps", "15", "--folder", str(tmp_path / "run"), "--json", str(tmp_path / "curve.json")],
    )

    def stopped_at_nine(run, batch):
        if run.step == 9:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(run, batch)

    monkeypatch.setattr(loop, "train_step", stopped_at_nine)
    assert memory.main(arguments) == 0
    first = json.loads((tmp_path / "curve.json").read_text())["curve"]
    assert [row["step"] for row in first] == [0, 7]
    monkeypatch.setattr(loop, "train_step", step)
    assert memory.main(arguments) == 0
    both = json.loads((tmp_path / "curve.json").read_text())["curve"]
    assert both[:2] == first and [(row["sitting"], row["step"]) for row in both[2:]] == [(2, 14)]
