"""The folder of a run: where one may begin, who trains there now, and what a killed one left behind.

Written by hand: page w2 says what the files are for, and ``xformer_lib.training.loop`` is the only user.
"""

import errno
import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from xformer_lib._shell import quoted
from xformer_lib.training.checkpoint import load_settings

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows: two runs in one folder are not noticed there
    flock = None  # type: ignore[assignment]  # a module that is not there has no type

__all__ = ["check_free", "taken"]

SETTINGS = ("config.json", "tokenizer.json", "provenance.json", "pairs.tsv")
WEIGHTS = ("checkpoint.safetensors", "model.safetensors")
LOCK = "xformer.lock"
PART = re.compile(rf"({'|'.join(map(re.escape, SETTINGS + WEIGHTS))})\.\d+\.part")  # what `write_atomically` begins with
NO_WRITING = (errno.EACCES, errno.EPERM, errno.EROFS)


def check_free(folder: Path) -> None:
    """ValueError unless a run may begin here: no file that it would replace is worth anything, or somebody else's."""
    nearest = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
    if not nearest.is_dir():
        raise ValueError(f"folder: expected a folder, got {folder}, but {nearest} is none; name another folder")
    there = [name for name in WEIGHTS + SETTINGS if os.path.lexists(folder / name)]
    if "checkpoint.safetensors" in there:
        raise ValueError(
            f"folder: expected one without a run, {folder} holds a checkpoint; go on with "
            f"xformer train --resume {quoted(folder)}, or name another folder"
        )
    if "model.safetensors" in there:
        raise ValueError(
            f"folder: expected one without a model, {folder} holds model.safetensors and no checkpoint; "
            "move it elsewhere, or name another folder"
        )
    if there and not begun(folder):
        raise ValueError(
            f"folder: expected one without settings of something else, {folder} holds a {there[0]} that no run wrote; name another folder"
        )


def begun(folder: Path) -> bool:
    """Whether settings of a run lie here: one that was killed before its first checkpoint."""
    try:
        load_settings(folder)
    except (FileNotFoundError, ValueError):
        return False
    return True


@contextmanager
def taken(folder: Path, rank: int, *, new: bool = False) -> Iterator[None]:
    """The folder for this process, and those that it works with, alone; rank 0 of them sees to it.

    It is made if it is not there. What a killed run half wrote goes. ``new``: a run is to begin here.
    """
    if rank > 0:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"{folder}: the folder could not be made ({error.strerror or error}); name another folder") from error
    with locked(folder / LOCK):
        if new:
            check_free(folder)
        for path in folder.iterdir():
            if PART.fullmatch(path.name) and path.is_file():
                path.unlink()
        yield


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock of the system's, which ends with the process, however that dies. The file only says whose it is."""
    file = lock_file(path)
    try:
        yield
    finally:
        if file is not None:
            with suppress(OSError):  # a disk that refuses has said so already, in the error that ends the run
                path.unlink(missing_ok=True)
            file.close()


def lock_file(path: Path) -> TextIO | None:
    """The file, open and locked; None where there are no locks, or where nothing can be written and so nothing mixed."""
    while flock is not None:
        try:
            file = open(path, "a+", encoding="utf-8")
        except OSError as error:
            if error.errno in NO_WRITING:
                return None
            raise not_written(path, error) from error
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            owner = whose(file)
            file.close()
            raise ValueError(
                f"folder: expected one in which nothing trains, {path.parent} is in use by {owner}; wait until it "
                "ends, or name another folder"
            ) from None
        except OSError:  # a file system without locks
            file.close()
            path.unlink(missing_ok=True)
            return None
        if still_there(path, file):
            sign(path, file)
            return file
        file.close()  # its owner has just removed it
    return None


def still_there(path: Path, file: TextIO) -> bool:
    """Whether the open file is the one that others find under its name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def sign(path: Path, file: TextIO) -> None:
    """Write down who holds the lock."""
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node() or 'this machine'} since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        file.flush()
    except OSError as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # Python tries again to write what the disk did not take
            file.close()
        raise not_written(path, error) from error


def whose(file: TextIO) -> str:
    """What the owner of a lock wrote."""
    file.seek(0)
    return file.read(200) or "another process"


def not_written(path: Path, error: OSError) -> OSError:
    return OSError(
        f"{path}: could not be written ({error.strerror or error}); what stood there is untouched, make room or name another folder"
    )
