"""The memory benchmark at its smallest: a curve, and pairs that take turns."""

import json
import platform
from itertools import count

import pytest

from benchmarks import memory
from xformer_lib.training import loop

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="resident memory is read from Linux")


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """The benchmark replaces functions of the loop; each test gives them back, and keeps this process's heap as it is."""
    monkeypatch.setattr(loop, "train_step", loop.train_step)
    monkeypatch.setattr(loop, "return_unused_memory", lambda: calls.append(loop))
    monkeypatch.setattr(loop, "keep_freed_memory", lambda: None)
    calls = []
    return calls


def test_a_curve(tmp_path, untouched, monkeypatch):
    monkeypatch.setattr(memory, "EVERY", 7)
    assert memory.main(["--preset", "fragment", "--steps", "15", "--json", str(tmp_path / "curve.json")]) == 0
    record = json.loads((tmp_path / "curve.json").read_text())
    assert [row["step"] for row in record["curve"]][:3] == [0, 7, 14]
    assert all(0.05 < row["resident_gib"] < row["highest_gib"] + 0.01 for row in record["curve"])  # two counts of the system's
    assert all(row["highest_gib"] <= record["highest_gib"] for row in record["curve"])


def test_pairs_take_turns(tmp_path, untouched, monkeypatch):
    monkeypatch.setattr(memory, "BLOCK", 20)
    monkeypatch.setattr(loop, "resident_memory", count(0, 2**30).__next__)  # it has always grown
    assert memory.main(["--preset", "fragment", "--price", "1", "--json", str(tmp_path / "price.json")]) == 0
    record = json.loads((tmp_path / "price.json").read_text())
    assert [block["given_back"] for block in record["blocks"]][:2] == [True, False]
    with_it, without = (block["microseconds_a_token"] for block in record["blocks"][:2])
    assert record["ratios"][0] == pytest.approx(with_it / without, abs=1e-3)
    assert len(untouched) == 20, "given back after every step of the first half, and never in the second"
