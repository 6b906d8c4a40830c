"""Show definitions of the library on a page, as they are in their file."""

import ast
import re
from pathlib import Path

import xformer_lib

__all__ = ["Source", "show_source"]

LIBRARY = Path(xformer_lib.__file__).parent


class Source:
    """Lines of a file of the library; a notebook shows them as a block of Python."""

    def __init__(self, path: str, lines: str):
        self.path, self.lines = path, lines

    def __repr__(self) -> str:
        return self.path

    def _repr_markdown_(self) -> str:
        return f"```python\n# {self.path}\n{self.lines}\n```"


def show_source(module: str, *names: str) -> Source:
    """Return definitions of a module for a notebook to show, in the order in which they are named.

    Args:
        module: Its name inside the library, such as ``"training.loop"``.
        names: Functions, classes and constants at the top of the module, each shown with the comment above it.

    Raises:
        ValueError: for a name that the module does not define.
    """
    path = LIBRARY.joinpath(*module.split(".")).with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), {}
    for node in ast.parse(text).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) - 1
        while first and re.match(r"# (?!fmt|%%)", lines[first - 1]):
            first -= 1
        for name in [getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)]:
            found[name] = (node, "\n".join(lines[first : node.end_lineno]))
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"names: expected definitions of {module}, got {', '.join(missing)}; look into {path}")
    shown = ""
    for before, name in zip((None, *names), names):
        lone = before and all(isinstance(found[one][0], (ast.Assign, ast.AnnAssign)) for one in (before, name))
        shown += ("" if before is None else "\n" if lone else "\n\n\n") + found[name][1]
    return Source(f"{LIBRARY.name}/{path.relative_to(LIBRARY).as_posix()}", shown)
