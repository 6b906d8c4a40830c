"""The files that a command reads and writes; "-" is standard input or output."""

import os
import sys
from pathlib import Path

from xformer_lib.data.files import check_writable, write_atomically
from xformer_lib.data.typed import text_lines

__all__ = ["STANDARD", "check_output", "read_lines", "write_text"]

STANDARD = "-"


def read_lines(path: str | None) -> list[str]:
    """Return the `text_lines` of a file, or of standard input, without a byte order mark. Raises ValueError for what is not UTF-8."""
    try:
        if path is not None and path != STANDARD:
            data = Path(path).read_bytes()
        elif sys.stdin is None:
            raise OSError("it is closed")
        else:
            data = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode("utf-8")
        text = data.decode("utf-8-sig")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise ValueError(
            f"{path or 'standard input'}: expected text in UTF-8, got other bytes at place {error.start}; save the file as UTF-8"
        ) from None
    except OSError as error:
        name, advice = (path, "name another file") if path else ("standard input", "name a file with --input, or type the sentences")
        raise OSError(f"{name}: cannot be read ({error.strerror or error}); {advice}") from error
    return text_lines(text) if text else []


def check_output(option: str, file: str | None) -> None:
    """Raise OSError, before the work and not after it, for a file that cannot be written, or that is a folder."""
    if file is None or file == STANDARD:
        return
    if os.path.isdir(file) or not file:
        raise IsADirectoryError(f"{option}: expected a file, got the folder {file or '.'}; name a file in it")
    try:
        check_writable(file)
    except OSError as error:
        raise OSError(f"{option}: {error}") from error
    folder = Path(file).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{option}: no folder {folder}; make it first")


def write_text(file: str, text: str) -> None:
    """Write a file as UTF-8; where the disk is full, the file that was there stays."""
    if file == STANDARD:
        print(text, end="", flush=True)
        return
    if sys.stdout is not None:
        sys.stdout.flush()  # a descriptor may be the same
    write_atomically(Path(file), text.encode("utf-8"))
