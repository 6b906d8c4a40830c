"""What ``xformer translate`` reads."""

import sys
from pathlib import Path

__all__ = ["read_lines"]


def read_lines(path: str | None) -> list[str]:
    """The lines of a file, or of standard input; line n of the output translates line n. A byte order mark is no text."""
    try:
        if path is not None:
            data = Path(path).read_bytes()
        else:
            data = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode("utf-8")
        text = data.decode("utf-8-sig")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise ValueError(
            f"{path or 'standard input'}: expected text in UTF-8, got other bytes at place {error.start}; save the file as UTF-8"
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n").split("\n") if text else []
