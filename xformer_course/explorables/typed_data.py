"""The patterns and tables of `xformer_lib.translation` as data, so that ``translator_typed.js`` has no second copy of them."""

import re

from xformer_lib import translation
from xformer_lib.data import _sentences, typed

# White space and letters of words, as Python's \s and \w have them; inside brackets, for JavaScript's own are others.
SPACE = r"\t-\r\x1c-\x20\x85\p{Z}"
_LETTER = r"\p{L}\p{N}_"
_SAID_OTHERWISE = {
    "(?P<": "(?<",
    r"\s": f"[{SPACE}]",
    r"\S": f"[^{SPACE}]",
    r"\b": f"(?:(?<![{_LETTER}])(?=[{_LETTER}])|(?<=[{_LETTER}])(?![{_LETTER}]))",
    r"\"": '"',
}
_MODULES = {
    typed: (
        "RAISED",
        "READABLE",
        "UNSEEN",
        "HIDDEN",
        "WORD",
        "NAME",
        "TITLE",
        "ROMAN",
        "FIGURE",
        "TAKEN",
        "SHORT",
        "OPENED",
        "LISTED",
        "STROKE",
    ),
    _sentences: ("END", "BEFORE_WORD", "OPENING"),
    translation: (
        "HAS_LETTER",
        "EDGE",
        "LINE_END",
        "FENCE",
        "LEAD",
        "BEFORE",
        "BEHIND",
        "BESIDE",
        "PLACED",
        "SMALL_I",
        "SPOKEN",
        "GAP",
        "BLANK",
    ),
}


def for_javascript(pattern: re.Pattern[str]) -> str:
    r"""Return the source of a pattern as JavaScript reads it with the flag ``u``, with the same matches.

    >>> for_javascript(re.compile(r"(?P<mark>[^\s\"]\.)\u00ad"))
    '(?<mark>[^\\t-\\r\\x1c-\\x20\\x85\\p{Z}"]\\.)\\u00ad'
    """
    source, inside = "", False
    for part in re.findall(r"\(\?P<|\\.|[^\\]", pattern.pattern):
        if part in ("[", "]"):
            inside = part == "["
        if inside and part == r"\s":
            part = SPACE
        elif len(part) == 1 and not (" " <= part <= "~" or part.isalpha()):
            part = f"\\u{ord(part):04x}"  # so that no letter hides in the page that cannot be seen
        source += _SAID_OTHERWISE.get(part, part)
    return source


def typed_data() -> dict:
    """Return what the script needs: patterns by their names in Python, twins of plain letters by code point, words, numbers."""
    return {
        "patterns": {name: for_javascript(getattr(module, name)) for module, names in _MODULES.items() for name in names},
        "breaks": [for_javascript(pattern) for pattern in translation.BREAKS],
        "space": SPACE,
        "twins": typed.TWINS,
        "titles": sorted(_sentences.TITLES),
        "endings": sorted(_sentences.ENDINGS),
        "signs": typed.SIGNS,
        "hole": translation.HOLE,
        "closed": typed.CLOSED,
        "before": typed.BEFORE,
        "longest": _sentences.LONGEST,
        "shouted": translation.SHOUTED,
        "firstTry": translation.FIRST_TRY,
        "listed": translation.LISTED,
    }
