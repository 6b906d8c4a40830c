"""How much is tried: with CI=true everything, elsewhere enough to notice what broke, so that nobody waits; and where."""

import itertools
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


def in_ci(everything, enough):
    """The first with CI=true, else the second."""
    return everything if EVERYTHING else enough


def combinations(**options):
    """Parametrize by all combinations with CI=true, else by a few in which each choice of each option stands at least twice."""
    choices = [list(some) for some in options.values()]
    most = max(map(len, choices))
    few = {tuple((row + row // most * place) % len(some) for place, some in enumerate(choices)) for row in range(2 * most)}
    rows = in_ci(list(itertools.product(*(range(len(some)) for some in choices))), sorted(few))
    return pytest.mark.parametrize(list(options), [[some[at] for some, at in zip(choices, row)] for row in rows])
