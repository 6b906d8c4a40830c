"""What a notebook's digest is taken over, on a small repository; and which notebooks pytest leaves out because of it."""

import json
import os
import shutil
import subprocess
import sys

import made_with
import nbformat
import pytest
import run_notebooks

LAZY = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from xformer_lib.nn.layers import Layer as Layer\n"
LAZY += "    from xformer_lib.nn.masks import mask as mask\n    from xformer_lib.nn import deep as deep\n"
FILES = {
    "requirements.lock": "numpy==2.4.6\ntorch==2.13.0\nwheel==1.0\n",
    "xformer_lib/__init__.py": "",
    "xformer_lib/nn/__init__.py": LAZY,
    "xformer_lib/nn/layers.py": "def layer():\n    from xformer_lib.nn.attention import attend\n",
    "xformer_lib/nn/attention.py": "import numpy\n",
    "xformer_lib/nn/masks.py": "",
    "xformer_lib/nn/deep.py": "",
    "xformer_lib/nn/unused.py": "",
    "xformer_lib/training/__init__.py": "",
    "xformer_lib/training/loop.py": "",
    "xformer_lib/cli/__init__.py": "from importlib import import_module\n\nimport_module(f'xformer_lib.cli.{module}')\n",
    "xformer_lib/cli/train.py": "",
    "xformer_lib/pretrained/__init__.py": "",
    "xformer_lib/pretrained/en-fr/model.safetensors": "",
    "xformer_lib/pretrained/fr-en/model.safetensors": "",
    "xformer_course/__init__.py": "",
    "xformer_course/exercises/__init__.py": "import xformer_course.exercises.registry\n",
    "xformer_course/exercises/registry.py": "import_module(f'xformer_course.exercises.chapter_{number:02d}')\n",
    "xformer_course/exercises/chapter_04/__init__.py": "import xformer_course.exercises.chapter_04.heads\n",
    "xformer_course/exercises/chapter_04/heads.py": "",
    "xformer_course/exercises/chapter_05.py": "",
    "xformer_course/explorables/__init__.py": "",
    "xformer_course/explorables/soft_lookup.py": "Explorable('soft-lookup', scripts=[f'part_{one}.js' for one in 'ab'])\n",
    "xformer_course/explorables/assets/soft_lookup.js": "",
    "xformer_course/explorables/assets/part_a.js": "",
    "xformer_course/explorables/assets/masks.js": "",
    "results/speed.json": "",
    "results/ladder/one.json": "",
    "results/pages/04_attention.json": "",
    "results/pages/05_order.json": "",
}
LAYERS = "from xformer_lib.nn import Layer"
EXERCISE = "from xformer_course.exercises import check\ncheck('4.6', None)"
MODEL = "from xformer_lib.pretrained import load\nload('en-fr')"
COMMAND = "import xformer_lib.cli"
FIGURE = "from xformer_course.explorables.soft_lookup import figure"


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def page(*sources, prose="Words.", output="1\n"):
    """A notebook that was run, as its file has it."""
    made = [nbformat.v4.new_output("stream", name="stdout", text=output)]
    cells = [nbformat.v4.new_code_cell(source, id=f"c{at}", execution_count=1, outputs=made) for at, source in enumerate(sources)]
    cells.insert(0, nbformat.v4.new_markdown_cell(prose, id="words"))
    return json.loads(nbformat.writes(nbformat.v4.new_notebook(cells=cells)))


def test_code_and_outputs_change_it_and_prose_does_not(root):
    digest = made_with.Sources(root).digest
    same = digest(page("%matplotlib inline\nx = 1"))
    assert same == digest(page("%matplotlib inline\nx = 1", prose="Other words."))
    assert len({same, digest(page("%matplotlib inline\nx = 2")), digest(page("%matplotlib inline\nx = 1", output="2\n"))}) == 3


@pytest.mark.parametrize(
    ("source", "changed", "other"),
    [
        (LAYERS, "xformer_lib/nn/layers.py", "xformer_lib/nn/masks.py"),
        (LAYERS, "xformer_lib/nn/attention.py", "xformer_lib/nn/unused.py"),
        (LAYERS, "xformer_lib/nn/__init__.py", "xformer_lib/nn/deep.py"),
        ("from xformer_lib import nn\nnn.mask()", "xformer_lib/nn/masks.py", "xformer_lib/nn/layers.py"),
        ("import xformer_lib as x\nx.nn.deep.f()", "xformer_lib/nn/deep.py", "xformer_lib/nn/layers.py"),
        ("def f():\n    import xformer_lib.nn.unused", "xformer_lib/nn/unused.py", "xformer_lib/nn/deep.py"),
        ("show_source('training.loop', 'train')", "xformer_lib/training/loop.py", "xformer_lib/nn/layers.py"),
        ("run([python, '-m', 'xformer_lib.training.loop'])", "xformer_lib/training/loop.py", "xformer_lib/nn/layers.py"),
        (COMMAND, "xformer_lib/cli/train.py", "xformer_lib/training/loop.py"),
        (EXERCISE, "xformer_course/exercises/chapter_04/heads.py", "xformer_course/exercises/chapter_05.py"),
        ("from xformer_course.exercises import registry", "xformer_course/exercises/chapter_05.py", "xformer_lib/nn/layers.py"),
        (MODEL, "xformer_lib/pretrained/en-fr/model.safetensors", "xformer_lib/pretrained/fr-en/model.safetensors"),
        (FIGURE, "xformer_course/explorables/assets/soft_lookup.js", "xformer_course/explorables/assets/masks.js"),
        (FIGURE, "xformer_course/explorables/assets/part_a.js", "xformer_course/explorables/assets/masks.js"),
        ("recorded('speed.json')", "results/speed.json", "results/ladder/one.json"),
        ("recorded(f'ladder/{name}.json')", "results/ladder/one.json", "results/speed.json"),
        ("run_or_read('04_attention', 'seeds', f)", "results/pages/04_attention.json", "results/pages/05_order.json"),
    ],
)
def test_a_file_that_is_named_changes_it_and_another_does_not(root, source, changed, other):
    def digest():
        return made_with.Sources(root).digest(page(source))

    before = digest()
    (root / other).write_text("# other")
    assert digest() == before
    (root / changed).write_text(FILES[changed] + "# changed")
    assert digest() != before


@pytest.mark.parametrize(("pins", "same"), [("numpy==2.5.0\ntorch==2.13.0\n", False), ("numpy==2.4.6\ntorch==2.13.0\nwheel==9\n", True)])
def test_pinned_numpy_and_torch_count(root, pins, same):
    before = made_with.Sources(root).digest(page("x = 1"))
    (root / "requirements.lock").write_text(pins)
    assert (made_with.Sources(root).digest(page("x = 1")) == before) == same


OPENS = """
import os, sys
opened = set()
sys.addaudithook(lambda event, given: opened.add(given[0]) if event == "open" and isinstance(given[0], str) else None)
exec(sys.argv[1])
opened |= {module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)}
print(*(os.path.relpath(one).replace(os.sep, "/") for one in opened), sep="\\n")
"""


def test_what_a_page_really_opens_is_found():
    """Python runs what a page imports and shows: no file of ours that it opens is missed."""
    source = """from xformer_course import explorables, plots
from xformer_course.exercises import check
from xformer_lib.nn import Transformer
explorables.soft_lookup()._repr_html_(), plots.use_style(), check('2.2', None)"""
    command = [sys.executable, "-c", OPENS, source]
    environment = os.environ | {"PYTHONPATH": str(made_with.ROOT)}
    done = subprocess.run(command, cwd=made_with.ROOT, env=environment, capture_output=True, text=True)
    sources = made_with.Sources(made_with.ROOT)
    ours = sources.files & set(done.stdout.splitlines())
    assert len(ours) > 50 and sorted(ours - set(sources.reached([source]))) == [], done.stderr


@pytest.fixture
def book(root):
    """Ten stored notebooks in a checkout of git, with what pytest knows of them."""
    (root / "chapters").mkdir()
    shutil.copy(made_with.ROOT / "chapters/conftest.py", root / "chapters")
    for number in range(10):
        notebook = page(f"print({number})", output=f"{number}\n")
        notebook["metadata"]["xformer"] = {"made_with": made_with.Sources(root).digest(notebook)}
        (root / f"chapters/{number:02d}_page.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    commit(root)
    return root


def commit(root):
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, "commit", "--quiet", "--allow-empty", "--message", "one more"], cwd=root, check=True)


def pages(root):
    return sorted((root / "chapters").glob("*.ipynb"))


def test_every_commit_draws_a_fifth_and_others_other_ones(book):
    left = [made_with.left_out(pages(book), book, str(number)) for number in range(20)]
    assert {len(one) for one in left} == {8} and len({frozenset(one) for one in left}) > 5
    assert set.intersection(*left) == set(), "in time each is run"
    assert made_with.left_out(pages(book), book, commit=None) == set()


def test_a_notebook_without_its_digest_or_with_another_is_run(book):
    bare, edited = pages(book)[:2]
    notebook = json.loads(bare.read_text())
    del notebook["metadata"]["xformer"]
    bare.write_text(json.dumps(notebook))
    edited.write_text(edited.read_text().replace("print(1)", "print(1 + 0)"))
    left = set.union(*(made_with.left_out(pages(book), book, str(number)) for number in range(20)))
    assert left == set(pages(book)) - {bare, edited}


@pytest.mark.parametrize(
    ("asked", "environment", "passed", "left"),
    [
        (["chapters"], {"CI": ""}, 2, 8),
        (["chapters", "--numprocesses", "2"], {"CI": ""}, 2, 8),
        (["chapters"], {"CI": "true"}, 10, 0),
        (["chapters/03_page.ipynb", "chapters/04_page.ipynb::Cell 0"], {"CI": ""}, 2, 0),
        (["chapters", *(f"chapters/{number:02d}_page.ipynb" for number in range(10))], {"CI": ""}, 10, 0),
    ],
)
def test_pytest_leaves_them_out_and_says_so(book, asked, environment, passed, left):
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--collect-only", "--nbval", "--nbval-current-env"]
    environment = os.environ | {"PYTHONPATH": str(made_with.ROOT / "tools")} | environment
    command = [one for one in command if one != "--collect-only" or "--numprocesses" not in asked]
    done = subprocess.run([*command, *asked], cwd=book, env=environment, capture_output=True, text=True, timeout=300)
    said = f"{left} notebooks were left out, since nothing that made their outputs has changed. All: CI=true make test"
    assert f"{passed} passed" in done.stdout or f"{passed} tests collected" in done.stdout, done.stdout + done.stderr
    assert (said in done.stdout) == bool(left)


def test_a_stored_notebook_has_its_digest_and_a_second_run_changes_nothing(tmp_path):
    path = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import xformer_lib\nprint(6 * 7)")]), path)
    assert run_notebooks.run(path) == []
    first = path.read_text(encoding="utf-8")
    stored = json.loads(first)
    assert made_with.stored_digest(stored) == made_with.Sources(made_with.ROOT).digest(stored)
    assert run_notebooks.run(path) == [] and path.read_text(encoding="utf-8") == first
