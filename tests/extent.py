"""How much is tried: with CI=true everything, elsewhere enough to notice what broke, so that nobody waits; and where."""

import os

import pytest

EVERYTHING = os.environ.get("CI") == "true"
continuous = pytest.mark.skipif(not EVERYTHING, reason="the continuous integration tries it; here: CI=true")
NO_POSIX = "this system has no fork, no signals to send, no links and modes of files" if os.name != "posix" else ""
posix = pytest.mark.skipif(bool(NO_POSIX), reason=NO_POSIX)


def posix_only():
    """For a fixture what the mark `posix` is for a test."""
    if NO_POSIX:
        pytest.skip(NO_POSIX)


def extent(everything, enough):
    """The first with CI=true, else the second."""
    return everything if EVERYTHING else enough
