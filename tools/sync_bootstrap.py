"""Keep what depends on the repository's address in line with it.

The address stands in ``_config.yml`` (``repository.url``) and nowhere else by hand. From it follow the bootstrap cell of every
notebook (the code cell tagged ``bootstrap``) and the marked lines of other files. The first line of each cell tagged ``claims``,
by which a reader's notebook knows it, is written here, too.
It needs nothing but Python.

    python tools/sync_bootstrap.py             rewrite what differs
    python tools/sync_bootstrap.py --check     name what differs, write nothing
    python tools/sync_bootstrap.py --url URL   put a new address into _config.yml first
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = re.search(r'(?m)^MARK = "(.+?)"', (ROOT / "xformer_course" / "claims.py").read_text(encoding="utf-8"))[1]
CONFIG = ROOT / "_config.yml"
ADDRESS = re.compile(r"(?m)^(repository:\n(?:[ \t]+.*\n)*?[ \t]+url:[ \t]*)(\S+)")
VERSION = re.compile(r'(?m)^__version__ = "(.+)"$')
BOOTSTRAP = """\
#@title Set-up
import importlib.util, subprocess, sys
if importlib.util.find_spec("xformer_course") is None:  # as on Colab: install the course
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "COURSE"], check=True)
import xformer_course
xformer_course.start()"""
# May quote the address, or its "account/repository", as the buttons that open a copy elsewhere do.
MARKED = ("README.md", "pyproject.toml", "CONTRIBUTING.md", "SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml")


def repository_url():
    """The address in ``_config.yml``."""
    found = ADDRESS.search(CONFIG.read_text(encoding="utf-8"))
    if not found:
        raise SystemExit("_config.yml: expected 'repository:' with an indented 'url:' below it; add both lines")
    return found[2].strip("\"'").removesuffix("/").removesuffix(".git")


def version():
    """The library's version."""
    return VERSION.search((ROOT / "xformer_lib" / "__init__.py").read_text(encoding="utf-8"))[1]


def bootstrap_source():
    """The text of the bootstrap cell. A repository without an address of its own is installed from the copy that the notebook lies in."""
    url = repository_url()
    return BOOTSTRAP.replace("COURSE", "..[course]" if "your_github_account" in url else f"xformer-lib[course] @ git+{url}")


def notebooks():
    return sorted((ROOT / "chapters").rglob("*.ipynb"))


def synced_source(cell):
    """The text of a cell as it should be."""
    tags, source = cell["metadata"].get("tags", []), "".join(cell["source"])
    if "bootstrap" in tags:
        return bootstrap_source()
    if "claims" in tags and not source.startswith(f"{MARK}\n"):
        return f"{MARK}\n{source}"
    return source


def synced_notebook(path):
    """The notebook's text with the bootstrap cell and the first lines of its claims brought up to date."""
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    stale = [(cell, source) for cell in notebook["cells"] if (source := synced_source(cell)) != "".join(cell["source"])]
    if not stale:
        return text
    for cell, source in stale:
        cell["source"] = source.splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def account_and_name(url):
    """``account/repository`` of an address."""
    return "/".join(url.split("/")[3:])


def synced_text(path, old, new):
    return path.read_text(encoding="utf-8").replace(old, new).replace(account_and_name(old), account_and_name(new))


def set_url(url):
    """Put a new address into ``_config.yml`` and wherever the old one was quoted; return the files changed."""
    url = url.removesuffix("/").removesuffix(".git")
    if not re.fullmatch(r"https://[^/\s]+/[^/\s]+/[^/\s]+", url):
        raise SystemExit(f"URL: expected https://host/account/repository, got {url!r}; quote the address of the fork")
    old, changed = repository_url(), []
    for path in [CONFIG] + [ROOT / name for name in MARKED]:
        if path.exists() and synced_text(path, old, url) != path.read_text(encoding="utf-8"):
            path.write_text(synced_text(path, old, url), encoding="utf-8", newline="\n")
            changed.append(path)
    return changed


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="name what differs and write nothing")
    parser.add_argument("--url", help="the repository's new address")
    options = parser.parse_args(arguments)
    changed = set_url(options.url) if options.url else []
    for path in notebooks():
        text = synced_notebook(path)
        if text != path.read_text(encoding="utf-8"):
            changed.append(path)
            if not options.check:
                path.write_text(text, encoding="utf-8", newline="\n")
    print("\n".join(str(path.relative_to(ROOT)) for path in changed) or "Everything agrees with _config.yml and the version.")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
