"""A run on a CPU keeps freed memory between steps, and gives back what lies unused around a validation."""

import os
import platform
import subprocess
import sys
from dataclasses import replace

import pytest

from xformer_lib.data import load_corpus
from xformer_lib.training import loop, memory, preset

HOLES = """
from xformer_lib.training.memory import keep_freed_memory, return_unused_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1]) // 256  # pages of 4 KB to MB

keep_freed_memory()
before = resident()
blocks = [b"x" * (2**20 + 4099 * n) for n in range(307)]
blocks = blocks[:: 41] + blocks[-1:]  # few stay, among them the last, so that the top of the heap is taken
kept = resident() - before
return_unused_memory()
print(kept, resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc" or platform.system() != "Linux", reason="only glibc on Linux keeps freed blocks")
def test_the_holes_of_the_heap_go_back():
    answer = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True)
    kept, left = map(int, answer.stdout.split())
    assert kept > 400  # 494 MB were in use, 14 are: the rest was kept
    assert left < 60


def test_a_run_keeps_memory_between_steps_and_returns_it_around_a_validation(tmp_path, monkeypatch):
    kept, returned = [], []
    monkeypatch.setattr(loop, "keep_freed_memory", lambda: kept.append("kept"))  # the real one would hold for the tests that follow
    monkeypatch.setattr(loop, "return_unused_memory", lambda: returned.append("returned"))
    small = preset("fragment")
    config = replace(
        small,
        max_steps=7,
        warmup_steps=3,
        validate_every=7,
        max_tokens=173,
        model=replace(small.model, d_model=16, num_heads=2, d_ff=24, num_encoder_layers=1, num_decoder_layers=1),
    )
    pairs = load_corpus("fragment", "val")[:113]
    loop.train(config, tmp_path / "run", corpus={"train": pairs, "val": pairs[:29]}, device="cpu", progress=False)
    assert kept == ["kept"]
    assert returned == ["returned"] * 2  # before the one validation, and after what it saved


def test_a_run_keeps_few_kernels_unless_the_environment_says_otherwise(monkeypatch):
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    monkeypatch.delenv("LRU_CACHE_CAPACITY", raising=False)
    memory.keep_few_kernels()
    assert (os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"], os.environ["LRU_CACHE_CAPACITY"]) == ("7", "64")
    monkeypatch.delenv("LRU_CACHE_CAPACITY")


def test_memory_is_given_back_when_it_has_grown(monkeypatch):
    gigabyte, returned = 2**30, []
    monkeypatch.setattr(memory, "return_unused_memory", lambda: returned.append("returned"))
    monkeypatch.setattr(memory, "resident_memory", iter([2 * gigabyte, 3 * gigabyte, 1.5 * gigabyte]).__next__)
    assert memory.bound_memory(1.3 * gigabyte) == 1.3 * gigabyte and not returned
    assert memory.bound_memory(1.3 * gigabyte) == 1.5 * gigabyte and returned == ["returned"]
