"""JSON with a line per record: what holds only plain values, or is short, stands on one line."""

import json
from typing import Any

__all__ = ["json_text"]

WIDE = 300  # letters up to which a value that holds lists or objects stands on one line, too


def json_text(value: Any) -> str:
    """Return a value as JSON with a line break at its end.

    >>> print(json_text({"losses": [4.1] * 60, "runs": [{"seed": 1}, {"seed": 2}]}), end="")  # doctest: +ELLIPSIS
    {
     "losses": [4.1, ..., 4.1],
     "runs": [{"seed": 1}, {"seed": 2}]
    }
    """
    return _text(value, "") + "\n"


def _text(value: Any, indent: str) -> str:
    line = json.dumps(value, ensure_ascii=False)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    if len(line) <= WIDE or not any(isinstance(part, dict | list | tuple) for part in parts):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        rows = [f"{inner}{json.dumps(str(key), ensure_ascii=False)}: {_text(part, inner)}" for key, part in value.items()]
    else:
        rows = [inner + _text(part, inner) for part in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(rows) + f"\n{indent}{closing}"
