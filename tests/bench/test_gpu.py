"""The command for a GPU, in its smallest sizes on a CPU: each part writes what it says, and what is fast says what is plain."""

import json

import pytest

from benchmarks import gpu
from tests.ci import continuous


def test_a_word_by_every_way_is_the_same_word():
    rows = gpu.words("cpu", smoke=True)["rows"]
    assert [(row["at_once"], row["way"]) for row in rows] == [(n, way) for n in (1, 4) for way in ("cached", "room")]
    assert all(row["equal_to_cached"] == 1 and row["ms_per_word"] > 0 for row in rows)


def test_sentences_are_as_long_as_each_other_and_the_same(tmp_path):
    rows = gpu.decoding(gpu.SMOKE, "cpu", tmp_path, smoke=True)["rows"]
    assert [(row["at_once"], row["beam_size"]) for row in rows] == [(n, k) for n in (1, 8) for k in (1, 4)]
    for row in rows:
        assert row["captured_equals_cached"] and {"captured", "cached"} <= row["sentences_per_second"].keys()


def test_a_part_that_fails_is_named_and_the_next_is_tried(tmp_path, monkeypatch):
    def fails(*args):
        raise ValueError("no room")

    for name in ("decoding", "training", "translator", "by_torchrun"):
        monkeypatch.setattr(gpu, name, lambda *args: {"rows": []})
    monkeypatch.setattr(gpu, "words", fails)
    assert gpu.main(["--smoke", "--device", "cpu", "--out", str(tmp_path)]) == 1
    parts = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["parts"]
    assert parts.pop("words") == "failed: ValueError: no room" and len(parts) == 9
    assert all(json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))["device"] for name in parts)


@continuous
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_step_is_timed_as_it_is_and_compiled(tmp_path, precision):
    rows = gpu.training(gpu.SMOKE, precision, "cpu", tmp_path, smoke=True)["rows"]
    assert rows["ours"]["programs"] == 0 < rows["ours compiled"]["programs"] <= 3
    assert all(row["tokens_per_second"] > 0 and row["memory_mb"] > 1 for row in rows.values())
