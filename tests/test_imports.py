"""What importing the library brings along, and which part may know which."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def modules_after(statement):
    """Top-level packages that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import xformer_lib", {"torch", "matplotlib", "numpy"}),
        ("import xformer_lib.reference.attention", {"torch", "matplotlib"}),
        ("import xformer_lib.data.batching, xformer_lib.data.fragment", {"torch", "matplotlib"}),
        ("import xformer_lib.cli", {"torch", "matplotlib"}),
        ("import xformer_course.exercises", {"torch", "matplotlib"}),
    ],
)
def test_import_is_light(statement, absent):
    assert modules_after(statement) & absent == set()


def test_parts_keep_their_direction():
    """The contracts under ``tool.importlinter`` in pyproject.toml."""
    tool = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    run = subprocess.run([tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_parts_are_reached_from_the_top():
    import xformer_lib

    assert xformer_lib.reference.softmax is xformer_lib.reference.attention.softmax
    assert "reference" in dir(xformer_lib)


def test_unknown_part_lists_the_known():
    import xformer_lib

    with pytest.raises(AttributeError, match="no attribute 'transformers'; its parts are data, "):
        _ = xformer_lib.transformers


def test_unknown_name_of_a_package():
    from xformer_lib import reference

    with pytest.raises(AttributeError, match="xformer_lib.reference.* has no attribute 'hardmax'"):
        _ = reference.hardmax
    assert "softmax" in dir(reference)
