"""Property tests draw the same examples on every machine, and no machine is too slow for them."""

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("course", deadline=None, derandomize=True, max_examples=100,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium; without one, the tests that need it are skipped."""
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        pytest.skip("no Chromium on this machine: pages were parsed but not opened in a browser")
    return found
