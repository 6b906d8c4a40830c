"""What each extra of `pyproject.toml` promises, tried in an environment that holds it alone.

The environments are made without a registry: our package comes from a wheel that is built here, and the packages that an extra
requires, with all that these require in turn, are linked from the environment of the tests.
"""

import ast
import os
import re
import subprocess
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

from tests.ci import continuous, posix
from tests.wheel import build_wheel, copy_source
from xformer_lib import _needs

ROOT = Path(__file__).parents[1]
pytestmark = posix  # environments of links, with bin/python
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
TRAIN = (
    "train --preset fragment --quiet --out run --set max_steps=3 warmup_steps=1 d_model=12 num_heads=2 d_ff=11 "
    "num_encoder_layers=1 num_decoder_layers=1 max_tokens=301 vocab_size=277"
).split()
NOTEBOOK = ["### Exercise 3.7 · Only what is near", "import numpy as np\ndef recent_mask(length, window):\n    return np.ones((2, 2))"]


def required(requirements):
    """Names of all distributions that some requirements come down to, as they are installed here."""
    found, open_ones = set(), [(Requirement(text), "") for text in requirements]
    while open_ones:
        requirement, extra = open_ones.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        own = PROJECT["optional-dependencies"] if name == "xformer-lib" else {}
        for wanted in requirement.extras:
            open_ones += [(Requirement(text), "") for text in own.get(wanted, [])]
        if name in found or own:
            continue
        found.add(name)
        for text in metadata.distribution(name).requires or []:
            open_ones += [(Requirement(text), one) for one in ("", *requirement.extras)]
    return found


def link(name, site):
    """The files of a distribution, folder by folder; those beside the packages, such as scripts, are left out."""
    distribution = metadata.distribution(name)
    for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")}:
        if not (site / top).exists():
            (site / top).symlink_to(Path(distribution.locate_file(top)).resolve())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Our package as pip would install it, with the data that setuptools found."""
    folder = tmp_path_factory.mktemp("wheel")
    copy_source(folder / "source")
    return build_wheel(folder / "source", folder)


class Environment:
    """An environment with one extra, or none; it runs what a user types, in an empty folder."""

    def __init__(self, folder, wheel, extra):
        venv.create(folder / "env", symlinks=True)
        self.folder, self.python = folder, folder / "env" / "bin" / "python"
        (site,) = (folder / "env").glob("lib/python*/site-packages")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(site)
        wanted = PROJECT["dependencies"] + (PROJECT["optional-dependencies"][extra] if extra else [])
        for name in required(wanted):
            link(name, site)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XFORMER", "COV"))}
        self.environment |= {
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, *arguments):
        ended = subprocess.run([self.python, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert "Traceback" not in ended.stderr or "-c" in arguments, ended.stderr
        return ended

    def command(self, *arguments):
        return self.run("-m", "xformer_lib", *arguments)

    def says(self, code):
        ended = self.run("-c", code)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def refuses(self, *arguments):
        """The one line with which a command ends that lacks something."""
        ended = self.command(*arguments)
        assert ended.returncode == 2 and ended.stdout == "" and ended.stderr.count("\n") == 1, ended.stderr
        return ended.stderr.strip()


@pytest.fixture
def install(tmp_path, wheel):
    return lambda extra: Environment(tmp_path, wheel, extra)


def grade(here):
    """A notebook with one answer, which is wrong, is graded."""
    cells = [nbformat.v4.new_markdown_cell(NOTEBOOK[0]), nbformat.v4.new_code_cell(NOTEBOOK[1])]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), here.folder / "answers.ipynb")
    return here.command("grade", "answers.ipynb")


def test_the_lists_of_packages_are_those_of_the_project():
    for extra, packages in _needs.EXTRAS.items():
        names = [Requirement(text) for text in PROJECT["optional-dependencies"][extra]]
        inner = [name for one in names for wanted in one.extras for name in _needs.EXTRAS[wanted]]
        assert [*inner, *(one.name for one in names if not one.extras)] == list(packages)


def test_nothing_but_numpy(install):
    """The definitions work; each command says what it lacks, and how to get it."""
    here = install(None)
    assert here.says("import numpy as np; from xformer_lib.reference import softmax; print(softmax(np.zeros(2)))") == "[0.5 0.5]"
    rest = "pip install tokenizers safetensors tqdm"
    assert here.refuses("translate", "Hello") == (
        f"xformer translate: torch, tokenizers, safetensors, tqdm: not installed here; {TORCH} && {rest}"
    )
    assert here.refuses("train", "--preset", "fragment").endswith(f"{TORCH} && {rest} filelock")
    assert here.refuses("evaluate").endswith(f"{TORCH} && pip install tokenizers safetensors sacrebleu tqdm")
    assert here.refuses("grade", "x.ipynb").endswith("; pip install ipykernel jupyter-client psutil")
    doctor = here.command("doctor")
    assert doctor.returncode == 1 and doctor.stderr == "" and TORCH in doctor.stdout.splitlines()[-1]
    assert "6.0 GB and 9 minutes" in doctor.stdout and "XFORMER_DATA" not in doctor.stdout
    ended = here.run("-c", "from xformer_lib.nn import Transformer")
    assert ended.stderr.splitlines()[-1] == (
        f"ModuleNotFoundError: xformer_lib.nn.transformer: expected torch, which is not installed here; {TORCH}"
    )
    assert here.command("--version").stdout.startswith("xformer ")


@continuous
def test_torch_alone(install):
    """A Transformer can be built and run; what reads text is named."""
    here = install("torch")
    assert (
        here.says(
            "import torch\nfrom xformer_lib.nn import Transformer, TransformerConfig\n"
            "model = Transformer(TransformerConfig(vocab_size=101, d_model=12, num_heads=3, d_ff=11))\n"
            "print(*model(torch.full((2, 7), 5), torch.full((2, 5), 5)).shape)"
        )
        == "2 5 101"
    )
    assert here.refuses("translate", "Hello").endswith("; pip install tokenizers safetensors tqdm")
    ended = here.run("-c", "from xformer_lib import load_pretrained")
    assert re.search(
        r"ModuleNotFoundError: xformer_lib\.pretrained: expected (tqdm|tokenizers|safetensors), which is not installed "
        r"here; pip install \1$",
        ended.stderr.strip(),
    )
    doctor = here.command("doctor")
    assert doctor.returncode == 1 and doctor.stderr == "" and re.search(r"(?m)^device +cpu, 1 threads$", doctor.stdout)
    assert doctor.stdout.splitlines()[-1].endswith("; pip install tokenizers safetensors sacrebleu tqdm pooch matplotlib scikit-learn")


@continuous
def test_training_and_scoring(install):
    """Train, translate with the run and with the shipped model, score."""
    here = install("train")
    trained = here.command(*TRAIN)
    assert trained.returncode == 0 and trained.stdout.startswith("run: 3 steps, "), trained.stderr
    assert here.command("translate", "--model", "run", "Hello").returncode == 0
    assert here.command("translate", "Where is the station?").stdout == "Où est la gare ?\n"
    scored = here.command("evaluate", "run", "--split", "val", "--json", "record.json", "--quiet")
    assert scored.returncode == 0 and "BLEU" in scored.stdout, scored.stderr
    doctor = here.command("doctor")
    assert doctor.returncode == 1 and doctor.stdout.splitlines()[-1].endswith("; pip install matplotlib scikit-learn")
    assert "bfloat16" in doctor.stdout


def test_grading_alone(install):
    """A notebook that needs NumPy alone is graded."""
    graded = grade(install("grade"))
    assert graded.returncode == 1 and "answers.ipynb: 0 of 1 passed" in graded.stdout, graded.stderr


def test_the_course(install):
    """All that any chapter imports is there, but for the two engines to which page 13d exports; it says how to install them."""
    here = install("course")
    wanted = set()
    for path in sorted((ROOT / "chapters").rglob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                for node in ast.walk(ast.parse(cell.source)):
                    if isinstance(node, ast.Import):
                        wanted |= {name.name.partition(".")[0] for name in node.names}
                    if isinstance(node, ast.ImportFrom) and not node.level:
                        wanted.add(node.module.partition(".")[0])
    assert {"numpy", "torch", "matplotlib", "sklearn", "xformer_lib"} <= wanted
    wanted -= {"ctranslate2", "onnxruntime", "IPython"}  # Jupyter brings the last one
    code = f"from importlib.util import find_spec\nprint([n for n in {sorted(wanted)} if find_spec(n) is None])"
    assert here.says(code) == "[]"
    assert here.says("import xformer_course.plots as p; print(len(p.__all__) > 10)") == "True"
    doctor = here.command("doctor")
    assert doctor.returncode == 0 and doctor.stdout.splitlines()[-1] == "verdict        everything the course needs is here"
    assert here.refuses("grade", "x.ipynb").endswith("; pip install ipykernel jupyter-client psutil")
