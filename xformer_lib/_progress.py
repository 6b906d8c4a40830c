"""A progress bar on standard error, which stops no work where nobody can read it."""

import sys
from contextlib import suppress
from typing import Any

from tqdm import tqdm

__all__ = ["progress_bar"]


class Messages:
    """Standard error, as it is at the moment; what it does not take, as its terminal or its reader has gone, is lost."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # ValueError: it was closed
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


def progress_bar(total: int, *, unit: str, shown: bool, initial: int = 0) -> tqdm:
    """Return a bar that is shown if it is wanted and there is a standard error, which a program without a console lacks."""
    return tqdm(total=total, initial=initial, unit=unit, file=Messages(), disable=not shown or sys.stderr is None)
