"""What a word is, in every script: letters, digits and underscores, each with the marks and joiners behind it.

Python's ``\\w`` has no combining marks, so it cuts Hindi, Thai, Hebrew with its vowels, or a decomposed é in pieces. The marks are
those that this Python's table of Unicode calls M; a mark behind no letter belongs to no word.
"""

import re
import unicodedata
from functools import cache

__all__ = ["find_words", "word_pattern"]

JOINERS = "\u200c\u200d"  # they say how the letters beside them look
PLANES = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))  # no mark is outside them


@cache
def word_pattern() -> str:
    """Return the source of a regular expression for one word; it takes a moment, so it is made when it is first needed."""
    marks = "".join(letter for letter in map(chr, PLANES) if unicodedata.category(letter).startswith("M"))
    return rf"\w+(?:[{marks}{JOINERS}]+\w*)*"


def find_words(text: str) -> list[str]:
    """Return the words of a text, in their order.

    >>> find_words("की और का, e\\u0301te\\u0301!") == ["की", "और", "का", "e\\u0301te\\u0301"]
    True
    """
    return re.findall(word_pattern(), text)
