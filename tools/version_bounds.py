"""The oldest, or the newest, packages that the ranges of pyproject.toml promise, one requirement a line, for pip.

    python tools/version_bounds.py course            numpy==1.26.*, torch==2.4.*, …: the last patch of each range's first release
    python tools/version_bounds.py course grade      those of several extras together
    python tools/version_bounds.py course --newest   numpy>=1.26, …: the ranges themselves, of which pip takes the newest

The lower end of a range is what the continuous integration installs to see whether the promise holds.
"""

import argparse
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent


def project():
    """The table ``[project]`` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(extras, table):
    """What the library and these extras ask for, an extra of an extra included; a package once, in the order of the file."""
    offered, found, open_ones = table["optional-dependencies"], {}, list(table["dependencies"])
    for extra in extras:
        if extra not in offered:
            raise SystemExit(f"extra: expected one of {', '.join(offered)}, got {extra!r}; name one of these")
        open_ones += offered[extra]
    while open_ones:
        wanted = Requirement(open_ones.pop(0))
        if wanted.name == table["name"]:
            open_ones = [text for extra in sorted(wanted.extras) for text in offered[extra]] + open_ones
        elif found.setdefault(wanted.name, wanted).specifier != wanted.specifier:
            raise SystemExit(
                f"{wanted.name}: expected one range, got {found[wanted.name].specifier} and {wanted.specifier}; write the same"
            )
    return list(found.values())


def oldest(requirement):
    """``torch>=2.4`` as ``torch==2.4.*``, and ``pytest>=8`` as ``pytest==8.0.*``."""
    lower = [one.version for one in requirement.specifier if one.operator == ">="]
    if len(lower) != 1:
        raise SystemExit(f"{requirement}: expected a range with one lower end, such as {requirement.name}>=1.0; write it so")
    release = [*Version(lower[0]).release, 0][: max(2, len(Version(lower[0]).release))]
    return f"{requirement.name}=={'.'.join(map(str, release))}.*"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extras", nargs="*", help="names of extras; none: what the library alone needs")
    parser.add_argument("--newest", action="store_true", help="the ranges themselves, for pip install --upgrade")
    options = parser.parse_args(arguments)
    wanted = requirements(options.extras, project())
    print("\n".join(map(str if options.newest else oldest, wanted)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
