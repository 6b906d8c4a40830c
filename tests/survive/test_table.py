"""The table of failures in tests/README.md: its tests exist, and its sentences are those of the library."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
SPOKEN_BY = (TESTS.parent / "xformer_lib", TESTS.parent / "xformer_course")


def rows():
    table = (TESTS / "README.md").read_text(encoding="utf-8").split("## When things break")[1]
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def sentences():
    """Every string of the library and of the course, with … for what varies."""
    found = []
    for path in sorted(path for package in SPOKEN_BY for path in package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            if isinstance(node, ast.JoinedStr):
                found.append("".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values))
    return found


def test_each_line_names_a_test():
    assert len(rows()) > 25
    for what, _, held_by in rows():
        path, _, name = held_by.strip("`").partition("::")
        assert f"\ndef {name}(" in (TESTS / path).read_text(encoding="utf-8"), what


def test_each_sentence_is_said_by_the_library():
    said, checked = sentences(), 0
    for what, seen, _ in rows():
        for sentence in re.findall(r"`([^`]*; [^`]*)`", seen):
            checked += 1
            assert any(sentence in text for text in said), (what, sentence)
    assert checked > 20
