"""Copying the folder `results` of a hand-in: plain files and folders alone, so many and no more."""

import os
import shutil
import stat
import time
from pathlib import Path

MOST_BYTES = 20_000_000
MOST_ENTRIES = 2000
DEEPEST = 16
SECONDS = 10.0
PIECE = 2**20


class TooMuch(Exception):
    """The folder holds more than is copied; the message says more than what."""


def copy_results(source: Path, target: Path) -> str:
    """Copies a folder, all of it or nothing, and gives a sentence on what was left out, or "".

    Links, pipes, sockets and devices stay where they are: each could lead out of the hand-in, or never end.
    """
    if source.is_symlink():
        return "results: a link, not a folder; it was left out"
    if not source.is_dir():
        return ""
    until = time.monotonic() + SECONDS
    try:
        folders, files, others = plan(source, until)
        for folder in folders:
            (target / folder).mkdir()
        for file, size in files:
            copy_file(source / file, target / file, size, until)
    except TooMuch as excess:
        shutil.rmtree(target, ignore_errors=True)
        return f"results: left out, because it holds more than {excess}"
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        return f"results: left out, because it could not be read ({error.strerror})"
    return "results: links and special files were left out" if others else ""


def plan(source: Path, until: float) -> tuple[list[str], list[tuple[str, int]], int]:
    """What is to be copied: folders, parents first; files with their sizes; and how many entries are neither.

    Raises:
        TooMuch: as soon as a limit is passed.
    """
    folders, files, others = ["."], [], 0
    entries, total = 0, 0
    for folder in folders:  # grows while it is walked
        if folder.count(os.sep) >= DEEPEST:
            raise TooMuch(f"{DEEPEST} folders in one another")
        with os.scandir(source / folder) as found:
            for entry in found:
                entries += 1
                name = os.path.join(folder, entry.name)
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    folders.append(name)
                elif stat.S_ISREG(status.st_mode):
                    files.append((name, status.st_size))
                    total += status.st_size
                else:
                    others += 1
                if entries > MOST_ENTRIES:
                    raise TooMuch(f"{MOST_ENTRIES:,} files and folders")
                if total > MOST_BYTES:
                    raise TooMuch(f"{MOST_BYTES // 1_000_000} MB")
                watch(until)
    return folders, files, others


def copy_file(source: Path, target: Path, size: int, until: float) -> None:
    """Copies so many bytes of a plain file, and no more if it has grown since."""
    handle = os.open(source, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as reader, open(target, "xb") as writer:
        while size > 0 and (piece := reader.read(min(PIECE, size))):
            writer.write(piece)
            size -= len(piece)
            watch(until)


def watch(until: float) -> None:
    if time.monotonic() > until:
        raise TooMuch(f"can be copied in {SECONDS:g} s")
