"""Where things are: the repository's folder, its address, and the pages of the book in reading order."""

from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


@cache
def repository():
    """``https://host/you/fork/blob/main`` of the settings."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
    return f"{settings['url']}/blob/{settings['branch']}"


def files(entry):
    """Every ``file:`` of a table of contents, from top to bottom."""
    if isinstance(entry, list):
        return [file for one in entry for file in files(one)]
    found = [entry["file"]] if "file" in entry else []
    return found + [file for key in ("parts", "chapters", "sections") for file in files(entry.get(key, []))]


@cache
def notebooks():
    """The notebooks that the table of contents names, in its order, as paths from the root: a draft beside them is no page."""
    named = files(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
    return tuple(f"{name}.ipynb" for name in named if (ROOT / f"{name}.ipynb").exists())
