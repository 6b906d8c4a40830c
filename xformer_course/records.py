"""What long runs and benchmarks have found, for the pages that read it: the files of ``results/``, where they are."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

__all__ = ["recorded", "by_setting"]


def recorded(name: str) -> dict[str, Any]:
    """The record ``../results/NAME``, as seen from a page.

    Where the folder is not there (a chapter alone, as on Colab) a sentence is printed, and every key of what comes back
    is an empty list, so that a loop over it does nothing.

    >>> recorded("no-such-record.json")["rows"]
    results/no-such-record.json is not on this machine.
    []
    """
    path = Path("../results") / name
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    print(f"results/{name} is not on this machine.")
    return defaultdict(list)


def by_setting(name: str, part: str) -> dict[str, list]:
    """What each seed found, under its setting, in one part of a record of ``benchmarks/variants.py``."""
    found: dict[str, list] = {}
    for run in recorded(name)["runs"]:
        if run["part"] == part:
            found.setdefault(run["setting"], []).append(run["found"])
    return found
