"""The shapes in the signatures are true: the library's tests pass with every signature checked at run time.

Of each test one case is enough, since a signature does not know the numbers. The continuous integration takes two, and the
engine, too.
All cases run elsewhere, unchecked.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.ci import in_ci

ROOT = Path(__file__).resolve().parents[1]
CHECKED = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:nbval", "-p", "no:cacheprovider"]
CHECKED += ["-p", "tests.first_cases", "--jaxtyping-packages=xformer_lib,xformer_course,tests.first_cases.checked", "-m", "not errors"]


def run_checked(*paths):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    return subprocess.run([*CHECKED, *map(str, paths)], cwd=ROOT, env=environment, capture_output=True, text=True)


def test_signatures_hold():
    run = run_checked("tests/reference", "tests/nn", *in_ci(["tests/engine"], []))
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]


def test_the_check_is_on(tmp_path):
    """A call that breaks a signature and nothing else is caught, so the test above can fail."""
    (tmp_path / "test_wrong.py").write_text(
        "import numpy as np\n"
        "from xformer_lib.reference.masks import length_mask\n"
        "def test_wrong():\n"
        "    length_mask(np.zeros((2, 3), dtype=np.int64), 5)\n"
    )
    run = run_checked(tmp_path)
    assert run.returncode == 1 and "jaxtyping" in run.stdout, run.stdout[-3000:]


def test_placeholders_without_jaxtyping():
    """With NumPy alone, a shape is the array type it wraps."""
    code = (
        "import sys; sys.modules['jaxtyping'] = None\n"
        "import numpy as np\n"
        "from xformer_lib.shapes import Bool, Float, Int\n"
        "assert Float[np.ndarray, '*b i d'] is np.ndarray\n"
        "assert (Bool[np.ndarray, 'i j'] | None) is not None\n"
        "from xformer_lib.reference.attention import softmax\n"
        "print(softmax(np.zeros(2)))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(np.array([0.5, 0.5]))
