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
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from xformer_lib._shell import quoted
from xformer_lib.training.checkpoint import load_settings

__all__ = ["check_free", "lock_run_folder"]

SETTINGS = (
    "config.json",
    "tokenizer.json",
    "provenance.json",
    "pairs.tsv",
    "kept.json",
)
WEIGHTS = ("checkpoint.safetensors", "model.safetensors")
LOCK = "xformer.lock"
PARTIAL_FILE = re.compile(
    rf"({'|'.join(map(re.escape, SETTINGS + WEIGHTS))})\.(\d+|[0-9a-f]{{16}})\.part"
)  # what `write_atomically` begins with, in earlier versions with the process's number
NO_WRITING = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


def check_free(folder: Path) -> None:
    """ValueError unless a run may begin here: no file that it would replace is worth anything, or somebody else's."""
    nearest = next(
        place for place in (folder, *folder.parents) if os.path.lexists(place)
    )
    if not nearest.is_dir():
        raise ValueError(
            f"folder: expected a folder, got {folder}, but {nearest} is none; name another folder"
        )
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
def lock_run_folder(folder: Path, rank: int, *, new: bool = False) -> Iterator[None]:
    """Keep the folder for this process and those that it works with; rank 0 of them sees to it.

    It is made if it is not there. What a killed run half wrote goes. ``new``: a run is to begin here.
    """
    if rank > 0:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{folder}: the folder could not be made ({error.strerror or error}); name another folder"
        ) from error
    with locked(folder / LOCK):
        if new:
            check_free(folder)
        for path in folder.iterdir():
            if PARTIAL_FILE.fullmatch(path.name) and path.is_file():
                path.unlink()
        yield


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock of the system's, which ends with the process, however that dies. The file only says whose it is.

    Nothing is held where nothing can be written and so nothing mixed, and on a file system without locks.
    """
    lock = FileLock(
        path, blocking=False, fallback_to_soft=False, on_acquired=partial(sign, path)
    )
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"folder: expected one in which nothing trains, {path.parent} is in use by {whose(path)}; wait until it "
            "ends, or name another folder"
        ) from None
    except OSError as error:
        if error.errno in NO_LOCKS:
            path.unlink(missing_ok=True)
        elif error.errno not in NO_WRITING:
            why = error.strerror or error
            raise OSError(
                f"{path}: could not be written ({why}); what stood there is untouched, make room or name another folder"
            ) from error
    try:
        yield
    finally:
        if lock.is_locked:
            with suppress(
                OSError
            ):  # a disk that refuses has said so already; on Windows `release` removes the file
                path.unlink(missing_ok=True)
            lock.release()


def sign(path: Path, file: int) -> None:
    """Write down who holds the lock, behind the first byte, which nobody else can read on Windows."""
    owner = f"process {os.getpid()} on {platform.node() or 'this machine'} since {time.strftime('%Y-%m-%d %H:%M:%S')}"
    try:
        os.ftruncate(file, 0)
        os.write(file, f" {owner}".encode())
    except OSError:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise


def whose(path: Path) -> str:
    """What the owner of a lock wrote."""
    try:
        with open(path, "rb") as file:
            file.seek(1)
            return file.read(200).decode() or "another process"
    except FileNotFoundError:  # it has just ended
        return "another process"
