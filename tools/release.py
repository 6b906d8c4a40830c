"""Prepare a release for a person to publish: a source archive, a wheel and the book, in ``dist/``.

    python tools/release.py          what `make release` does once the book is built
    python tools/release.py --try    also install the wheel in an empty environment, from the package index, and run a chapter there

Nothing is published. The release is refused while something is uncommitted, while the version, the citation, the changelog
and the notebooks do not agree, or when an archive lacks a file or holds one that is not in the repository.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import sync_bootstrap
from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
NOT_IN_SDIST = (".",)  # what serves the host of the repository, or an editor
WRITTEN_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg"}
CHAPTER = "02_dictionary_lookup.ipynb"
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
"""


def disagreements(version: str) -> list[str]:
    """What still speaks of another version, in sentences."""
    found = []
    if f'version: "{version}"' not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff does not say {version}")
    parts = re.split(r"(?m)^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[1:]
    sections = dict(zip(parts[::2], parts[1::2]))
    if not any(re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", title) for title in sections):
        found.append(f"CHANGELOG.md has no section '## {version} (year-month-day)'")
    if "- " in sections.get("Unreleased", ""):
        found.append(f"CHANGELOG.md has entries under Unreleased; move them under {version}")
    if sync_bootstrap.main(["--check"]):
        found.append("the notebooks install from another address; run tools/sync_bootstrap.py")
    return found


def tracked() -> set[str]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout
    return set(listing.split("\0")) - {""}


def in_wheel(path: Path) -> set[str]:
    """The files of a wheel, without those that describe it."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def in_sdist(path: Path) -> set[str]:
    """The files of a source archive, without those that setuptools writes."""
    with tarfile.open(path) as archive:
        names = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    return {name for name in names if name not in WRITTEN_BY_SETUPTOOLS and ".egg-info/" not in name}


def wrong_files(wheel: Path, sdist: Path) -> list[str]:
    """Files that an archive lacks, or that nobody committed."""
    every = tracked()
    packages = {name for name in every if name.startswith(("xformer_lib/", "xformer_course/"))}
    packages |= {f"xformer_course/{name}" for name in every if name.startswith("results/")}  # by setup.py
    whole = {name for name in every if not name.startswith(NOT_IN_SDIST)}
    found = []
    for path, wanted, got in ((wheel, packages, in_wheel(wheel)), (sdist, whole, in_sdist(sdist))):
        found += [f"{path.name} lacks {name}" for name in sorted(wanted - got)]
        found += [f"{path.name} holds {name}, which is not in the repository" for name in sorted(got - wanted)]
    return found


def check_metadata(wheel: Path) -> None:
    """An index refuses a wheel whose description it cannot read; better to hear it here."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = archive.read(name)
    Metadata.from_email(text, validate=True)
    assert HeaderParser().parsestr(text.decode("utf-8"))["Description-Content-Type"] == "text/markdown"


def run_chapter(wheel: Path) -> None:
    """A chapter, alone in an empty environment that has the wheel and what it asks for."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "env"), with_pip=True)
        python = Path(folder, "env", "Scripts" if os.name == "nt" else "bin", "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{wheel}[course]", "nbclient", "ipykernel"], check=True)
        shutil.copy(ROOT / "chapters" / CHAPTER, folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "XFORMER"))}
        subprocess.run([python, "-c", RUN, CHAPTER], cwd=folder, env={**environment, "XFORMER_CLAIMS": "strict"}, check=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--try", action="store_true", dest="attempt", help="run a chapter with the wheel in an empty environment")
    options = parser.parse_args(arguments)
    version = sync_bootstrap.version()
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout
    problems = [f"uncommitted: {line}" for line in changed.splitlines()] + disagreements(version)
    if problems:
        return refuse(version, problems)

    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(ROOT / "build", ignore_errors=True)  # setuptools would take old files from it
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT], check=True, stdout=subprocess.DEVNULL)
    wheel, sdist = DIST / f"xformer_lib-{version}-py3-none-any.whl", DIST / f"xformer_lib-{version}.tar.gz"
    problems = wrong_files(wheel, sdist)
    if problems:
        return refuse(version, problems)
    check_metadata(wheel)
    if options.attempt:
        run_chapter(wheel)
        print(f"{CHAPTER} runs in an empty environment with the wheel.")
    book = shutil.make_archive(str(DIST / f"xformer-lib-{version}-book"), "zip", ROOT / "_build" / "html")
    for path in (wheel, sdist, Path(book)):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 2**20:.1f} MiB  sha256 {digest}")
    print(f"To publish it: git tag v{version}, and git push origin v{version}; the workflow release.yml does the rest.")
    return 0


def refuse(version: str, problems: list[str]) -> int:
    print(f"No release of {version}:", *(f"  {problem}" for problem in problems), sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
