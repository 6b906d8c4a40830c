"""How a figure carries its script and its style: a page holds many figures, and a notebook stores each of them."""

import re
from functools import cache
from importlib.resources import files

COMMENT = re.compile(r"/\*.*?\*/|(?:^|\s)//\s[^\n]*", re.DOTALL)


@cache
def packed(package: str, name: str) -> str:
    """Return a script or style sheet of a package's folder ``assets`` on one line, without comments; each statement ends in a semicolon.

    >>> packed("xformer_course.pictures", "picture.js").startswith("const hold = (line) =>")
    True
    """
    text = (files(package) / "assets" / name).read_text(encoding="utf-8")
    return re.sub(r"\s*\n\s*", " ", COMMENT.sub("", text)).strip()
