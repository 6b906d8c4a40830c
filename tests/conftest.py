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
LONGEST_FIRST = """
tests/training/test_compiled.py
tests/test_export.py
tests/test_shapes_hold.py
tests/book/test_laboratory.py
tests/explorables/test_translator_page.py
tests/test_readme.py
tests/book/test_live.py
chapters/15_what_next.ipynb
chapters/11_training.ipynb
chapters/09a_longer_than_trained.ipynb
chapters/12h_train_it_on_your_own_sentences.ipynb
chapters/13d_into_other_engines.ipynb
tests/book/test_browser.py
tests/exercises/test_hostile_answers.py
chapters/12b_what_attention_shows.ipynb
chapters/12i_what_a_head_is_worth.ipynb
chapters/09_encoder_decoder.ipynb
chapters/14_scaling_out.ipynb
chapters/15a_one_body_other_tasks.ipynb
""".split()
PLACES = {ROOT / name: place for place, name in enumerate(LONGEST_FIRST)}


def pytest_collection_modifyitems(items):
    """Files of a minute and more go first, so that nobody waits for one of them at the end."""
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium; without one, the tests that need it are skipped."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        pytest.skip("no Chromium on this machine: pages were parsed but not opened in a browser")
    return found
