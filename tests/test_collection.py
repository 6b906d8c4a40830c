"""No folder of tests is left out by its name: what is not collected cannot fail."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]


def test_every_folder_of_tests_is_walked():
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    names = {part for folder in folders for part in folder.relative_to(ROOT).parts}
    assert {"book", "tools"} < names
    assert [name for name in names if any(fnmatch(name, pattern) for pattern in SETTINGS["norecursedirs"])] == []
