"""Files that survive a crash; page w2 explains them."""

import errno
import os
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import BinaryIO

__all__: list[str] = []  # for the library itself

NO_NEW_FILE = (errno.EACCES, errno.EPERM, errno.EROFS)  # says a folder
NO_OTHER_FILE = (errno.EBUSY, errno.EPERM)  # say a mounted file, and one in /tmp
DESCRIPTOR = re.compile(r"/(?:dev|proc/(\d+)(?:/task/\d+)?)/fd/(\d+)")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old one or the new one,
    never a part. Where the disk refuses, OSError says so and the old one stays.

    A new file keeps the mode of the old one; behind a link, it replaces the target.
    One that cannot be replaced, because it is mounted by itself or its folder takes no
    new file, is written in place; a stream (`open_stream`) is written to.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f"{target.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        stream = open_stream(path)
        if stream is not None:
            with stream:
                stream.write(data)
            return
        check_mode(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not write_new(part, data, instead_of=target):
            write_in_place(target, data)
    except BrokenPipeError:  # nobody reads on: no mistake
        raise
    except OSError as error:
        raise OSError(
            f"{path}: could not be written ({error.strerror or error}); what stood there is untouched, make room or name another folder"
        ) from error
    finally:
        with suppress(OSError):  # so that the first error is the one that is seen
            part.unlink(missing_ok=True)


def write_new(part: Path, data: bytes, *, instead_of: Path) -> bool:
    """Write a file, down to the disk, and give it the name of another; False where that
    one is there and the system lets nothing take its place."""
    refusals: tuple[int, ...] = NO_NEW_FILE
    try:
        with open(part, "wb") as file:
            refusals = ()
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if instead_of.exists():
            shutil.copymode(instead_of, part)
        refusals = NO_OTHER_FILE
        os.replace(part, instead_of)
    except OSError as error:
        if error.errno in refusals and instead_of.exists():
            return False
        raise
    return True


def write_in_place(path: Path, data: bytes) -> None:
    """Write over a file; where the disk refuses, what was there is written back."""
    with open(path, "r+b", buffering=0) as file:
        old = file.read()
        try:
            write_over(file, data)
        except OSError:
            write_over(file, old)
            raise


def write_over(file: FileIO, data: bytes) -> None:
    """Put ``data`` in the place of all that a file holds."""
    file.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.truncate()
    os.fsync(file.fileno())


def open_stream(path: str | Path) -> BinaryIO | None:
    """Open what is no regular file of its own, a pipe, a device or a descriptor such as
    /dev/stdout, to write behind what is there; None for a file, and for nothing yet."""
    found = find_descriptor(path)
    if found is not None:
        process, number = found.groups()
        own = process in (None, str(os.getpid()))
        return open(os.dup(int(number)), "wb") if own else open(path, "ab")
    if not os.path.exists(path) or os.path.isfile(path):
        return None
    return open(path, "wb")


def find_descriptor(path: str | Path) -> re.Match | None:
    """The process and the number of an open file that a path, or a link, stands for."""
    place = os.path.abspath(path)
    for _ in range(40):  # links, as many as Linux follows
        folder, name = os.path.split(place)
        place = os.path.join(os.path.realpath(folder), name)
        found = DESCRIPTOR.fullmatch(place)
        if found or not os.path.islink(place):
            return found
        place = os.path.join(os.path.dirname(place), os.readlink(place))
    return None


def check_mode(path: Path) -> None:
    """PermissionError for a file that is there and read-only; for root, too, whom the
    system would let replace it."""
    if os.path.exists(path) and not (os.access(path, os.W_OK) and os.stat(path).st_mode & 0o222):
        raise PermissionError(errno.EACCES, "it is read-only")


def check_writable(path: str | Path) -> None:
    """Raise OSError where `write_atomically` could not write, in folders that it would
    make, too: before the work, not after it. Nothing is made."""
    place = target = Path(os.path.realpath(path))
    refused, advice = str(path), "name another"
    try:
        stream = open_stream(path) if find_descriptor(path) else None
        if stream is not None:
            with stream:
                os.write(stream.fileno(), b"")
            return
        while not is_there(place):
            place = place.parent
        if place == target:
            return check_mode(target)
        for name in target.relative_to(place).parts:
            is_there(place / name)  # behind a missing folder no name is too long
        refused, advice = str(place), "name one in another folder"
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        tempfile.TemporaryFile(dir=place).close()  # modes do not tell all
    except OSError as error:
        why = error.strerror or error
        raise OSError(f"{refused} cannot be written ({why}); {advice}") from error


def is_there(path: Path) -> bool:
    """Whether there is a file or folder of this name; OSError where it cannot be known,
    or where the name is none."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True
