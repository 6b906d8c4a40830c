"""How much is tried: with CI=true everything, elsewhere enough to notice what broke, so that nobody waits."""

import os

import pytest

EVERYTHING = os.environ.get("CI") == "true"
continuous = pytest.mark.skipif(not EVERYTHING, reason="the continuous integration tries it; here: CI=true")


def extent(everything, enough):
    """The first with CI=true, else the second."""
    return everything if EVERYTHING else enough
