"""JSON as people read it: a list of numbers or words on one line, whatever its length; one line for each thing that holds others."""

import json
from typing import Any

__all__ = ["json_text"]

WIDE = 140  # letters up to which an object of plain values stands on one line, too


def json_text(value: Any) -> str:
    """Return a value as JSON with a line break at its end.

    >>> print(json_text({"losses": [4.1, 3.9], "runs": [{"seed": 1}, {"seed": 2}]}), end="")
    {
     "losses": [4.1, 3.9],
     "runs": [
      {"seed": 1},
      {"seed": 2}
     ]
    }
    """
    return _text(value, "") + "\n"


def _text(value: Any, indent: str) -> str:
    line = json.dumps(value, ensure_ascii=False)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    plain = not any(isinstance(part, dict | list | tuple) for part in parts)
    if not parts or (plain and (not isinstance(value, dict) or len(indent) + len(line) <= WIDE)):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        rows = [f"{inner}{json.dumps(str(key), ensure_ascii=False)}: {_text(part, inner)}" for key, part in value.items()]
    else:
        rows = [inner + _text(part, inner) for part in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(rows) + f"\n{indent}{closing}"
