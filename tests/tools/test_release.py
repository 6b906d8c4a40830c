"""What a release refuses, and what is in its archives."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import release
import sync_bootstrap

from tests.ci import continuous

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A repository of four files, ready for version 2.3.5."""
    files = {
        "xformer_lib/__init__.py": '__version__ = "2.3.5"\n',
        "CITATION.cff": 'version: "2.3.5"\n',
        "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\nNothing yet.\n\n## 2.3.5 (2031-07-11)\n\n- A thing.\n",
        "_config.yml": "repository:\n  url: https://github.com/somebody/course\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command in (["init", "--quiet"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "All"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    for module in (release, sync_bootstrap):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(sync_bootstrap, "CONFIG", tmp_path / "_config.yml")
    return tmp_path


def test_what_agrees_may_go(home):
    assert release.disagreements("2.3.5") == []


@pytest.mark.parametrize(
    "name, old, new, says",
    [
        ("CITATION.cff", "2.3.5", "2.3.7", "CITATION.cff does not say 2.3.5"),
        ("CHANGELOG.md", "(2031-07-11)", "", "no section '## 2.3.5 (year-month-day)'"),
        ("CHANGELOG.md", "Nothing yet.", "- Something.", "entries under Unreleased"),
    ],
)
def test_what_disagrees_is_named(home, capsys, name, old, new, says):
    text = (home / name).read_text(encoding="utf-8")
    (home / name).write_text(text.replace(old, new), encoding="utf-8")
    assert release.main([]) == 1
    said = capsys.readouterr().out
    assert "No release of 2.3.5" in said and says in said and f"uncommitted:  M {name}" in said


@continuous
def test_the_archives_hold_what_the_repository_holds(tmp_path, monkeypatch):
    source = tmp_path / "source"
    for name in release.tracked():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, source]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    [wheel], [sdist] = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert release.wrong_files(wheel, sdist) == []
    release.check_metadata(wheel)
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"xformer_lib-{sync_bootstrap.version()}.dist-info/METADATA").decode("utf-8")
    assert "License-Expression: MIT" in text and "Requires-Dist: numpy>=1.26" in text

    # what is missing and what is too much are both named
    monkeypatch.setattr(release, "tracked", lambda: {"xformer_lib/__init__.py", "xformer_lib/never.py"})
    found = release.wrong_files(wheel, sdist)
    assert f"{wheel.name} lacks xformer_lib/never.py" in found and f"{sdist.name} lacks xformer_lib/never.py" in found
    assert f"{sdist.name} holds Makefile, which is not in the repository" in found
