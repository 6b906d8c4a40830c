"""The steps of the test run, and which of them are chosen."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import run_tests

from tests import conftest
from tests.ci import posix


@pytest.fixture
def ran(monkeypatch):
    """The commands that were started; one that names `mypy` fails."""
    started = []

    def run(command, **_):
        started.append(command)
        return subprocess.CompletedProcess(command, int("mypy" in command))

    monkeypatch.setattr(subprocess, "run", run)
    return started


def test_every_step_but_the_library_alone_is_run(ran, capsys):
    assert run_tests.main([]) == 1
    said = capsys.readouterr().out
    assert [line.split()[1] for line in said.splitlines() if line.startswith("== ") and ":" not in line] == list(run_tests.steps(2))
    assert len(ran) == 5 and "Failed: types" in said


def test_chosen_steps_alone_in_the_order_named(ran, capsys):
    assert run_tests.main(["--only", "form", "style", "--jobs", "3"]) == 0
    assert sorted("format" in command for command in ran) == [False, True]
    assert "All passed" in capsys.readouterr().out


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


def test_near_runs_the_quick_steps_and_the_tests_that_it_names(ran, monkeypatch, capsys):
    monkeypatch.setattr(run_tests, "changed_files", lambda root: ["tests/test_cli.py"])
    assert run_tests.main(["--near"]) == 1
    said = capsys.readouterr().out
    names = [line.split()[1] for line in said.splitlines() if line.startswith("== ") and ":" not in line]
    assert names == ["style", "form", "types", "export", "exercises", "near"] and "tests/test_cli.py: itself" in said
    assert any("tools/export_library.py" in command for command in ran) and ran[-1][-1] == "tests/test_cli.py"
    ran.clear()
    monkeypatch.setattr(run_tests, "changed_files", lambda root: [])
    run_tests.main(["--near"])
    assert len(ran) == 5 and "Nothing was changed." in capsys.readouterr().out


@posix
def test_closed_streams_reach_no_test():
    """`make test <&- 2>&-`: a process that is started there has all three."""
    program = (
        "import sys, subprocess; sys.path[:0] = sys.argv[1:]; import run_tests; run_tests.open_closed_streams(); "
        "sys.exit(subprocess.run([sys.executable, '-c', 'import sys; sys.exit(None in (sys.stdin, sys.stdout, sys.stderr))']).returncode)"
    )
    tools = Path(run_tests.__file__).parent
    done = subprocess.run(["/bin/sh", "-c", '"$@" <&- >&- 2>&-', "sh", sys.executable, "-c", program, tools, tools.parent])
    assert done.returncode == 0
