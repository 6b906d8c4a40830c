"""No notebook sees a corpus when nbval runs it: what is stored holds on a machine that has none."""

import os
import tempfile
from unittest.mock import patch

import pytest
from run_notebooks import out_of_sight

EMPTY = tempfile.TemporaryDirectory(prefix="no-corpora-")  # the cache of every kernel; gone when pytest ends


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """A kernel starts in the set-up of a notebook's first cell and keeps the environment that it finds."""
    with patch.dict(os.environ, out_of_sight(os.environ, EMPTY.name), clear=True):
        return (yield)
