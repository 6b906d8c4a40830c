"""What readers run is the same each time; what the continuous integration runs is not, and can be run again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DRAWN = """
from hypothesis import given, strategies

numbers = []

@given(strategies.integers())
def test_draw(number):
    numbers.append(number)

def test_write():
    print("drawn", numbers)

@given(strategies.integers(min_value=0))
def test_fail(number):
    assert number < 1000
"""


def output(folder, **environment):
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
        str(folder),
    ]
    return subprocess.run(command, env={**clean, **environment}, cwd=folder, capture_output=True, text=True, timeout=120).stdout


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_it.py").write_text(DRAWN, encoding="utf-8")
    return tmp_path


def drawn(text):
    [line] = [line for line in text.splitlines() if "drawn [" in line]
    return line


def test_readers_get_the_same_examples(folder):
    assert drawn(output(folder)) == drawn(output(folder))


def test_the_continuous_integration_explores(folder):
    one, other = output(folder, CI="true"), output(folder, CI="true")
    assert drawn(one) != drawn(other)
    assert "@reproduce_failure(" in one, "a failure that was drawn by chance can be drawn again"
    assert not (folder / ".hypothesis" / "examples").exists()
