"""The files that a command reads and writes."""

import os
import sys
from pathlib import Path

from xformer_lib.data.files import write_atomically
from xformer_lib.data.typed import text_lines

__all__ = ["check_output", "read_lines", "write_text"]


def read_lines(path: str | None) -> list[str]:
    """Return the `text_lines` of a file, or of standard input, without a byte order mark. Raises ValueError for what is not UTF-8."""
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
    return text_lines(text) if text else []


def check_output(option: str, file: str | None) -> None:
    """Raise OSError, before the work and not after it, for a file that cannot be written, or that is a folder."""
    if file is None:
        return
    if Path(file).is_dir():
        raise IsADirectoryError(f"{option}: expected a file, got the folder {file or '.'}; name a file in it")
    folder = Path(file).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{option}: no folder {folder}; make it first")
    if not Path(file).exists() and not os.access(folder, os.W_OK):
        raise PermissionError(f"{option}: {folder} cannot be written; name a file in another folder")


def write_text(path: Path, text: str) -> None:
    """Write a file as UTF-8; where the disk is full, the file that was there stays."""
    if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        path.write_text(text, encoding="utf-8")
    else:
        write_atomically(path, text.encode("utf-8"))
