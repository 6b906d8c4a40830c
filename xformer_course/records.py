"""What long runs and benchmarks have found, for the pages that read it: the files of ``results/``."""

import json
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "recorded", "by_setting"]

_HERE = Path(__file__).parent
#: The folder ``results/`` of the repository, or the copy that was installed with the course.
RESULTS = _HERE / "results" if (_HERE / "results").is_dir() else _HERE.parent / "results"


def recorded(name: str) -> dict[str, Any]:
    """The record ``results/NAME``.

    >>> recorded("grouped-query.json")["runs"][0]["num_kv_heads"]
    4
    """
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def by_setting(name: str, part: str) -> dict[str, list]:
    """What each seed found, under its setting, in one part of a record of ``benchmarks/variants.py``."""
    found: dict[str, list] = {}
    for run in recorded(name)["runs"]:
        if run["part"] == part:
            found.setdefault(run["setting"], []).append(run["found"])
    return found
