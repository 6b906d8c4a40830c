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


WITHOUT = """
import builtins, inspect, io, pydoc, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
import xformer_lib, xformer_lib.data, xformer_lib.nn
"""
ADVICE = "expected torch, which is not installed here; pip install torch --index-url https://download.pytorch.org/whl/cpu"
PIP = "which is not installed here; pip install "
LOOKS = {
    "hasattr": ("print(hasattr(xformer_lib.nn, 'Transformer'), hasattr(xformer_lib, 'inspection'))", "False False"),
    "getattr": ("print(getattr(xformer_lib.nn, 'Transformer', 7), getattr(xformer_lib, 'load_pretrained', 7))", "7 7"),
    "getmembers": ("print('Transformer' in dict(inspect.getmembers(xformer_lib.nn)))", "False"),
    "getmembers of all": ("print('engine' in dict(inspect.getmembers(xformer_lib)))", "True"),
    "pydoc": ("print('The names of' in pydoc.render_doc(xformer_lib.nn), 'Attention' in pydoc.render_doc(xformer_lib))", "True True"),
    "what is there": ("print(xformer_lib.reference.__name__, 'Transformer' in dir(xformer_lib.nn))", "xformer_lib.reference True"),
    "what needs less": ("print(xformer_lib.data.read_pairs.__name__)", "read_pairs"),
    "the course": ("import xformer_course.lessons as c; print(len(inspect.getmembers(c)) > 5)", "True"),
}


def without(missing, code):
    return subprocess.run([sys.executable, "-c", WITHOUT.format(missing=missing) + code], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("name", LOOKS)
def test_to_ask_what_there_is_works_without_torch(name):
    code, printed = LOOKS[name]
    run = without(["torch", "tokenizers"], code)
    assert (run.stdout.strip(), run.returncode) == (printed, 0), run.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("xformer_lib.nn.Transformer", f"AttributeError: xformer_lib.nn.transformer: {ADVICE}"),
        ("from xformer_lib.nn import Transformer", f"ModuleNotFoundError: xformer_lib.nn.transformer: {ADVICE}"),
        ("from xformer_lib.nn import *", f"Error: xformer_lib.nn.positions: {ADVICE}"),
        ("from xformer_lib import load_pretrained", f"ModuleNotFoundError: xformer_lib.pretrained: {ADVICE}"),
        ("xformer_lib.load_pretrained", f"AttributeError: xformer_lib.pretrained: {ADVICE}"),
        ("import xformer_lib.nn.transformer", "ModuleNotFoundError: No module named 'torch'"),
        ("from xformer_lib.data import Tokenizer", f"tokenizers, {PIP}tokenizers"),
        ("from xformer_lib.nn import Transformed", "ImportError: cannot import name 'Transformed'"),
    ],
)
def test_what_is_missing_is_named_with_its_command(code, said):
    run = without(["torch", "tokenizers"], code)
    assert run.returncode == 1 and said in run.stderr.splitlines()[-1], run.stderr
