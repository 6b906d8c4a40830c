"""The wheel of this working tree, for the tests that install it."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
FOLDERS = ("xformer_lib", "xformer_course", "results")


def copy_source(folder: Path) -> None:
    """Copy all that a wheel is made of."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder)


def build_wheel(source: Path, out: Path) -> Path:
    """Build the wheel of a source folder; returns its path."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = out.glob("*.whl")
    return wheel
