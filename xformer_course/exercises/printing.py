"""Printing where standard output knows fewer letters than the course uses."""

from typing import TextIO


def fitting(text: str, file: TextIO) -> str:
    """Text that a file can take: letters that its encoding lacks are written as their escapes."""
    encoding = getattr(file, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
