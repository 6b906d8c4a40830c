"""Each test of a figure draws in the course's style, without a screen, and closes what it opened."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from xformer_course import plots


@pytest.fixture(autouse=True)
def clean():
    with matplotlib.rc_context():
        plots.use_style()
        yield
    plt.close("all")
