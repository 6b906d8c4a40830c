"""Property tests: the same examples on every reader's machine, others in every run of the continuous integration.

With CI=true they explore. Nothing is kept between two runs; what fails is printed as a line that, put above the test, fails again.
No machine is too slow for them.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

PROFILE = {"deadline": None, "max_examples": 100, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("course", derandomize=True, **PROFILE)
settings.register_profile("exploring", derandomize=False, print_blob=True, **PROFILE)
settings.load_profile("exploring" if os.environ.get("CI") == "true" else "course")


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium; without one, the tests that need it are skipped."""
    from book.pdf import find_chromium  # which brings lxml; most tests need neither

    found = find_chromium()
    if not found:
        pytest.skip("no Chromium on this machine: pages were parsed but not opened in a browser")
    return found
