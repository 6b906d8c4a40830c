"""The steps of the test run, and which of them are chosen."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import run_tests

from tests import conftest


@pytest.fixture
def ran(monkeypatch):
    """The commands that were started; one that names `mypy` fails."""
    started = []

    def run(command, **_):
        started.append(command)
        return subprocess.CompletedProcess(command, int("mypy" in command))

    monkeypatch.setattr(subprocess, "run", run)
    return started


def test_the_library_needs_no_notebook_no_book_and_no_make(ran):
    assert run_tests.main(["--only", "library", "--jobs", "5"]) == 0
    [command] = ran
    assert command[command.index("--numprocesses") + 1] == "5"
    assert "--nbval" not in command and not any("chapters" in part or "make" in part for part in command)
    left_out = {Path(part.removeprefix("--ignore=")) for part in command if part.startswith("--ignore=")}
    assert all((run_tests.ROOT / name).exists() for name in left_out), "what is not there leaves nothing out"
    for folder in ("nn", "engine", "reference", "training", "data", "parity", "fuzz", "exercises"):
        assert Path("tests", folder) not in left_out


def test_the_longest_files_go_first_and_are_there():
    paths = [run_tests.ROOT / name for name in ("tests/test_cli.py", *reversed(conftest.LONGEST_FIRST), "chapters/01_motivation.ipynb")]
    items = [SimpleNamespace(path=path) for path in paths]
    conftest.pytest_collection_modifyitems(items)
    assert [one.path for one in items] == [*reversed(paths[1:-1]), paths[0], paths[-1]] and all(path.is_file() for path in paths)
