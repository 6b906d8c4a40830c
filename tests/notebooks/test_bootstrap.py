"""The cell that installs the library where it is missing, and the one place of the repository's address."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest
import sync_bootstrap

from tests.ci import continuous
from tests.wheel import build_wheel, copy_source

ROOT = Path(__file__).resolve().parents[2]


def test_every_notebook_holds_the_same_cell():
    assert sync_bootstrap.main(["--check"]) == 0, "run tools/sync_bootstrap.py"


def test_no_chapter_reaches_beside_itself():
    """On Colab there is a notebook and the installed library, and nothing else."""
    reaching = []
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        reaching += [f"{path.name}: {cell.id}" for cell in cells if cell.cell_type == "code" and "../" in cell.source]
    assert reaching == []


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A small copy of the repository that a test may change."""
    (tmp_path / "chapters").mkdir()
    shutil.copy(ROOT / "_config.yml", tmp_path)
    (tmp_path / "xformer_lib").mkdir()
    (tmp_path / "xformer_lib" / "__init__.py").write_text('__version__ = "7.11.13"\n', encoding="utf-8")
    for name in sync_bootstrap.MARKED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    cell = nbformat.v4.new_code_cell("pass", metadata={"tags": ["bootstrap"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "chapters" / "03_x.ipynb")
    monkeypatch.setattr(sync_bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(sync_bootstrap, "CONFIG", tmp_path / "_config.yml")
    return tmp_path


def test_a_fork_changes_one_thing(copy):
    old = sync_bootstrap.repository_url()
    assert sync_bootstrap.main(["--url", "https://github.com/somebody/fork.git"]) == 0
    assert sync_bootstrap.repository_url() == "https://github.com/somebody/fork"
    cell = nbformat.read(copy / "chapters" / "03_x.ipynb", as_version=4).cells[0]
    assert "git+https://github.com/somebody/fork" in cell.source
    texts = {path.relative_to(copy).as_posix(): path.read_text(encoding="utf-8") for path in copy.rglob("*") if path.is_file()}
    assert [name for name, text in texts.items() if sync_bootstrap.account_and_name(old) in text] == []
    for name in ("pyproject.toml", "SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"):
        assert "https://github.com/somebody/fork/" in texts[name]
    for button in ("https://mybinder.org/v2/gh/somebody/fork/main", "https://codespaces.new/somebody/fork"):
        assert button in texts["README.md"]
    assert sync_bootstrap.main(["--check"]) == 0


def test_an_address_is_changed_by_a_bare_python(copy):
    """Without a site, so without any package: nobody builds an environment to change an address."""
    (copy / "tools").mkdir()
    (copy / "xformer_course").mkdir()
    for file in ("tools/sync_bootstrap.py", "xformer_course/claims.py"):
        shutil.copy(ROOT / file, copy / file)
    command = [sys.executable, "-I", "-S", "tools/sync_bootstrap.py", "--url", "https://github.com/somebody/fork"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0 and "chapters/03_x.ipynb" in done.stdout, done.stderr
    notebook = nbformat.read(copy / "chapters" / "03_x.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert "git+https://github.com/somebody/fork" in notebook.cells[0].source
    steps = subprocess.run(["make", "-n", "repository", "URL=x"], cwd=ROOT, capture_output=True, text=True).stdout
    assert "sync_bootstrap" in steps and "pip install" not in steps


def test_check_notices_an_edited_cell(copy, capsys):
    assert sync_bootstrap.main(["--check"]) == 1
    assert "03_x.ipynb" in capsys.readouterr().out


def test_an_address_must_be_whole(copy):
    with pytest.raises(SystemExit, match="expected https://host/account/repository"):
        sync_bootstrap.main(["--url", "somebody/fork"])


def test_does_nothing_where_the_library_is(monkeypatch):
    def refuse(*arguments, **_):
        raise AssertionError(f"the cell ran {arguments}")

    monkeypatch.setattr(subprocess, "run", refuse)
    exec(sync_bootstrap.bootstrap_source(), {})


@pytest.mark.parametrize(
    "address, course",
    [
        ("https://github.com/somebody/fork", "xformer-lib[course] @ git+https://github.com/somebody/fork"),
        ("https://github.com/your_github_account/a-name", "..[course]"),  # nobody's address, where anybody could put something
    ],
)
def test_what_is_installed(copy, monkeypatch, address, course):
    asked = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: asked.append(command[-1]))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert sync_bootstrap.main(["--url", address]) == 0
    exec(sync_bootstrap.bootstrap_source(), {})
    assert asked == [course]


RUN_NOTEBOOK = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
probe = nbformat.v4.new_code_cell("import xformer_lib; print(xformer_lib.__file__)")
notebook.cells.append(probe)
NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
print(notebook.cells[-1].outputs[0].text.strip())
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """What a release is made of, and its wheel."""
    source = tmp_path_factory.mktemp("release") / "source"
    copy_source(source)
    return {"a local copy": source, "a wheel": build_wheel(source, source.parent)}


@continuous
@pytest.mark.parametrize("kind, chapter", [("a local copy", "03_scaled_dot_product_attention"), ("a wheel", "02_dictionary_lookup")])
def test_chapter_runs_in_a_fresh_environment(tmp_path, package, kind, chapter):
    """As on Colab: NumPy, torch and matplotlib are there, the library is not; one cell installs it."""
    text = (ROOT / "chapters" / f"{chapter}.ipynb").read_text(encoding="utf-8")
    chapter = tmp_path / "chapter.ipynb"
    chapter.write_text(text.replace("..[course]", f"{package[kind]}[course]"), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "fresh"], check=True)
    python = tmp_path / "fresh" / "bin" / "python"
    [packages] = (tmp_path / "fresh" / "lib").glob("python*/site-packages")
    installed = sysconfig.get_paths()["purelib"]  # everything but our own editable install, whose hook is not read here
    (packages / "colab.pth").write_text(f"{installed}\n")
    environment = {key: os.environ[key] for key in os.environ if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment |= {
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "XFORMER_CLAIMS": "strict",
    }
    run = subprocess.run([python, "-c", RUN_NOTEBOOK, chapter], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.strip().startswith(str(packages)), "the chapter used a library from elsewhere"
