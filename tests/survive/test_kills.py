"""Fifty kills: a run that dies again and again ends with the very weights of a run that was left alone.

SIGKILL cannot be caught, so what these processes leave behind is what a dead machine would leave (but for the disk's own
cache). Half of them die at a moment of the clock, the others at a named place: inside a step, a validation, a write.
"""

import random
import re
import signal

import pytest

from tests.ci import in_ci, posix
from tests.survive.runner import EVERY, STEPS, Runner, assert_same, everything
from xformer_lib.training.checkpoint import load_model, load_setup, load_tensors

pytestmark = posix
KILLS, DISKS = in_ci(50, 15), 24


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    runner = Runner(tmp_path_factory.mktemp("program"))
    yield runner
    runner.server.stdin.close()
    runner.server.wait(60)


@pytest.fixture(scope="module")
def unbroken(runner, tmp_path_factory):
    """The run that was left alone, and how long it took."""
    folder = tmp_path_factory.mktemp("unbroken")
    assert runner.live("train", folder) == 0, runner.errors.read_text()
    return everything(folder), runner.seconds


def places(seconds):
    """Where the fifty lives end: fixed for ever but for the clock, whose moments follow the speed of the machine."""
    draw = random.Random(5)
    for _ in range(KILLS):
        count = draw.randint(1, 4)
        yield draw.choice(
            [f"clock {draw.uniform(0, 0.4) * seconds:.4f}"] * 7
            + [
                f"step {draw.randint(1, 11)}",
                f"after-step {draw.randint(1, 11)}",
                f"validation {count}",
                f"after-validation {count}",
                f"fsync {2 * count}",
                f"move {2 * count}",
                f"moved {2 * count}",
                f"write {2 * count} {draw.random():.3f}",
            ]
        )


def whole(folder):
    """No file under its own name is ever torn; returns the step that the next life begins with, 0 for the start."""
    if (folder / "model.safetensors").exists():
        load_model(folder)
    if not (folder / "checkpoint.safetensors").exists():
        return 0
    load_setup(folder)
    return load_tensors(folder / "checkpoint.safetensors")[1]["step"]


NAMES = {"config.json", "tokenizer.json", "pairs.tsv", "checkpoint.safetensors", "model.safetensors"}


def test_fifty_kills(runner, unbroken, tmp_path, record_property):
    """Killed, looked at, resumed, fifty times over, elsewhere than in the continuous integration fifteen times; each
    run that gets to its end equals the one left alone."""
    expected, seconds = unbroken
    folder, runs, step, torn, began = tmp_path / "0", 0, 0, 0, []
    for place in places(seconds):
        status = runner.live("resume" if step else "train", folder, place)
        if status == 0:  # it was faster than its end: one run is done, the next one takes over
            assert_same(everything(folder), expected)
            runs += 1
            folder, step = tmp_path / str(runs), 0
            status = runner.live("train", folder, "step 7")
        assert status == -signal.SIGKILL, runner.errors.read_text()
        torn += len(list(folder.glob("*.part")))
        before, step = step, whole(folder)
        assert step >= before and step in (*range(0, STEPS, EVERY), STEPS)
        began.append(step)
    assert runner.live("resume" if step else "train", folder) == 0, runner.errors.read_text()
    assert_same(everything(folder), expected)
    assert {path.name for path in folder.iterdir()} == NAMES  # no part is left, and no lock
    record_property("kills", len(began))
    print(f"{len(began)} kills, {runs + 1} runs to the end, {torn} parts left by the dead; lives began at {began}")
    assert len(began) == KILLS and len(set(began)) > KILLS // 10 and torn > KILLS // 20


def files(folder):
    """The files of a run and their bytes; a killed one leaves its lock behind, which holds nothing."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}


def disks():
    """How the disks fill up: at a size, at a write and after so much of it, when it is to be stored for good, at the last move."""
    draw = random.Random(11)
    yield from ("disk 700", "full-move 1", "full-fsync 2", "disk 3000")
    for _ in range(DISKS - 4):
        count = draw.randint(1, 6)
        yield draw.choice(
            [
                f"disk {draw.choice((0, 10, 700, 3_000, 30_000, 60_000, 90_000))}",
                f"full-fsync {count}",
                f"full-move {count}",
                f"full-write {count} {draw.random():.3f}",
            ]
        )


def test_twenty_full_disks(runner, unbroken, tmp_path, record_property):
    """One after the other, under one run: one line each, no torn file, no part, no step lost; with room, the same bits."""
    folder, runs, step, full, named, steps = tmp_path / "0", 0, 0, 0, [], []
    for place in disks():
        status = runner.live("resume" if step else "train", folder, place)
        if status == 0:  # the run was done before the disk was full
            assert_same(everything(folder), unbroken[0])
            runs += 1
            folder, step = tmp_path / str(runs), 0
            status = runner.live("train", folder, "full-fsync 3")
        said = runner.errors.read_text().splitlines()[-1]
        match = re.fullmatch(
            rf"OSError: {folder}/(\S+): could not be written \((File too large|No space left on device)\); "
            "what stood there is untouched, make room or name another folder",
            said,
        )
        assert status == 1 and match, said
        assert set(files(folder)) == {path.name for path in folder.iterdir()} <= NAMES  # no part, no lock
        before, step = step, whole(folder)
        assert step >= before
        full += 1
        named.append(match[1])
        steps.append(step)
    assert runner.live("resume" if step else "train", folder) == 0, runner.errors.read_text()
    assert_same(everything(folder), unbroken[0])
    record_property("disks", full)
    print(f"{full} full disks, met by {', '.join(named)}; steps stored: {steps}; {runs + 1} runs to the end")
    assert full == DISKS >= 20 and set(named) >= NAMES and len(set(steps)) > 3
