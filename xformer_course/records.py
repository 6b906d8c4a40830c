"""What long runs and benchmarks have found, for the pages that read it: the files of ``results/``."""

import json
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xformer_lib._json import json_text

__all__ = ["RESULTS", "recorded", "by_setting", "run_or_read"]

_HERE = Path(__file__).parent
#: The folder ``results/`` of the repository, or the copy that was installed with the course.
RESULTS = _HERE / "results" if (_HERE / "results").is_dir() else _HERE.parent / "results"


def recorded(name: str) -> dict[str, Any]:
    """The record ``results/NAME``.

    >>> recorded("grouped-query.json")["runs"][0]["num_kv_heads"]
    4
    """
    path = RESULTS / name
    if not path.exists():
        raise FileNotFoundError(
            f"name: expected a record in {RESULTS}, got {name}; only the book's own runs are recorded, take one of theirs"
        )
    return json.loads(path.read_text(encoding="utf-8"))


def by_setting(name: str, part: str) -> dict[str, list]:
    """What each seed found, under its setting, in one part of a record of ``benchmarks/variants.py``."""
    found: dict[str, list] = {}
    for run in recorded(name)["runs"]:
        if run["part"] == part:
            found.setdefault(run["setting"], []).append(run["found"])
    return found


def run_or_read(page: str, name: str, run: Callable[[], Any], *, live: bool = False) -> Any:
    """Return what ``run()`` returned when it was recorded in ``results/pages/PAGE.json``, or run it now if ``live``.

    What is not recorded, as with a reader's own width in the name, runs now, too.

    The environment variable ``XFORMER_LIVE`` asks every page at once: ``1`` runs, as on Sundays, and ``record`` also writes
    the record. What ``run`` returns is made of lists, dicts, numbers and strings.
    """
    asked = os.environ.get("XFORMER_LIVE", "")
    kept = {} if live or asked else recorded(f"pages/{page}.json")["found"]
    if name in kept:
        return kept[name]
    found = json.loads(json.dumps(run()))
    if asked == "record":
        _record(RESULTS / "pages" / f"{page}.json", page, {name: found})
    return found


def _record(file: Path, page: str, found: dict[str, Any]) -> None:
    before = json.loads(file.read_text(encoding="utf-8"))["found"] if file.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=_HERE, capture_output=True, text=True, check=True
    ).stdout.strip()
    about = {"command": f"XFORMER_LIVE=record python tools/run_notebooks.py chapters/{page}.ipynb", "commit": commit}
    about["device"] = f"cpu, {platform.machine()}, Python {platform.python_version()}"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json_text(about | {"found": before | found}), encoding="utf-8")
