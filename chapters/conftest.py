"""Which notebooks nbval runs, and that none sees a corpus: what is stored holds on a machine that has none.

Elsewhere than in the continuous integration (CI=true), a notebook whose stored digest fits is left out, but for the commit's
sample (tools/made_with.py). One that the command line names is run.
"""

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from made_with import commit_of, left_out
from run_notebooks import out_of_sight

EMPTY = tempfile.TemporaryDirectory(prefix="no-corpora-")  # the cache of every kernel; gone when pytest ends
HERE = Path(__file__).resolve().parent
LEFT_OUT = pytest.StashKey[set]()


def pytest_configure(config):
    """Nothing is left out where no notebook is asked for."""
    named = {(config.invocation_params.dir / one.partition("::")[0]).resolve() for one in config.args}
    whole = config.getoption("nbval", False) and os.environ.get("CI") != "true" and any(HERE.is_relative_to(one) for one in named)
    pages = sorted(HERE.rglob("*.ipynb")) if whole else []
    config.stash[LEFT_OUT] = left_out(pages, HERE.parent, commit_of(HERE.parent)) - named


def pytest_ignore_collect(collection_path, config):
    return True if collection_path in config.stash[LEFT_OUT] else None


def pytest_terminal_summary(terminalreporter, config):
    if left := len(config.stash[LEFT_OUT]):
        why = "since nothing that made their outputs has changed"
        terminalreporter.write_line(f"{left} notebooks were left out, {why}. All: CI=true make test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """A kernel starts in the set-up of a notebook's first cell and keeps the environment that it finds."""
    with patch.dict(os.environ, out_of_sight(os.environ, EMPTY.name), clear=True):
        return (yield)
