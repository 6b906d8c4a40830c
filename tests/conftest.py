"""What all tests share: the examples of property tests, the order of the files, the browser.

Property tests take the same examples on every reader's machine, others in every run of the continuous integration (CI=true).
Nothing is kept between two runs; what fails is printed as a line that, put above the test, fails again. No machine is too slow for
them.
"""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PROFILE = {"deadline": None, "max_examples": 100, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("course", derandomize=True, **PROFILE)
settings.register_profile("exploring", derandomize=False, print_blob=True, **PROFILE)
settings.load_profile("exploring" if os.environ.get("CI") == "true" else "course")

ROOT = Path(__file__).resolve().parent.parent
LONG = {ROOT / f"chapters/{name}.ipynb" for name in ("11_training", "15_what_next", "15b_other_ways_to_step", "09_encoder_decoder")}
LONG |= {ROOT / f"tests/{name}.py" for name in ("book/test_browser", "book/test_live", "exercises/test_hostile_answers", "test_readme")}


def pytest_collection_modifyitems(items):
    """Files of a minute and more go first, so that nobody waits for one of them at the end."""
    items.sort(key=lambda item: item.path not in LONG)


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium; without one, the tests that need it are skipped."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        pytest.skip("no Chromium on this machine: pages were parsed but not opened in a browser")
    return found
