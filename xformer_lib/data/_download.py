"""Files of a corpus: found in a folder or the cache, downloaded otherwise, and always checked.

Written by hand: no chapter teaches it. ``xformer_lib.data.corpora`` is its only user.
"""

import hashlib
import json
import lzma
import os
import struct
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from importlib.resources import files
from io import FileIO
from pathlib import Path

try:
    from fcntl import LOCK_EX, flock
except ImportError:  # Windows: of two processes that download at once, one may be told that its file is damaged
    flock = None  # type: ignore[assignment]  # a module that is not there has no type

__all__ = ["CorpusDamaged", "CorpusUnavailable", "corpus_bytes"]

TRIES = 3  # in one call; each goes on where the one before it stopped
PATIENCE = 30  # seconds without a byte, after which a try is given up
AT_LEAST, SLOWEST = 60, 10_000  # seconds that all tries together may take, and one more for each so many bytes
ARCHIVE_ROOM = 2  # an archive that was packed anew may be larger than the one whose size is noted
BROKEN_OFF = (ConnectionError, TimeoutError, HTTPException)
# what a damaged zip makes zipfile raise: besides its own error, those of the decompressors and of nonsense in its tables
BAD_ZIP = (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, struct.error, RuntimeError, ValueError, OverflowError)


class CorpusUnavailable(OSError):
    """A corpus is not on this machine and could not be downloaded, or its file cannot be read or written."""


class CorpusDamaged(ValueError):
    """A corpus file is there, but it is not the file that its publisher released."""


class _TooMuch(Exception):
    """A publisher sends more bytes than the file has."""


class _NotWritten(OSError):
    """The disk, not the network, stopped a download."""


# for each file: url, sha256, size in bytes, and the member of the zip that the sha256 is of, with its own size
FILES = json.loads(files("xformer_lib.data").joinpath("sources.json").read_text(encoding="utf-8"))["files"]


def corpus_bytes(name: str) -> bytes:
    """The verified content of a corpus file: from XFORMER_DATA, else from the cache, else downloaded."""
    file = FILES[name]
    if os.environ.get("XFORMER_DATA"):
        path = Path(os.environ["XFORMER_DATA"]) / name
        if path.exists():
            return _checked(path, file, "copy this file again, or unset XFORMER_DATA to download it")
    path = cache_folder() / name
    if not path.exists():
        _download(name, file, path)
    return _checked(path, file, "delete this file and run the same line again to download it")


def cache_folder() -> Path:
    """The user's cache; it can be deleted at any time."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "xformer_lib"


# ---------------------------------------------------------------- reading


def _checked(path: Path, file: dict, remedy: str) -> bytes:
    """The content of a file whose checksum is right; `remedy` ends the error message."""
    try:
        data = _content(path, file)
    except OSError as error:
        raise CorpusUnavailable(f"{path} cannot be read ({_reason(error)}); {remedy}") from None
    except BAD_ZIP as error:
        raise CorpusDamaged(f"{path}: expected a zip archive, got a damaged one ({error}); {remedy}") from None
    found = hashlib.sha256(data).hexdigest()
    if found != file["sha256"]:
        raise CorpusDamaged(f"{path}: expected sha256 {file['sha256'][:12]}…, got {found[:12]}…; {remedy}")
    return data


def _content(path: Path, file: dict) -> bytes:
    """The bytes whose checksum is pinned: the whole file, or one member of a zip."""
    member = file.get("member")
    if member is None:
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        for inside in archive.infolist():
            if inside.filename.rpartition("/")[2] == member:
                if inside.file_size != file["member_size"]:  # nothing is unpacked that has no end
                    raise zipfile.BadZipFile(f"{member} has {inside.file_size} bytes, not {file['member_size']}")
                return archive.read(inside)
    raise zipfile.BadZipFile(f"no {member} inside")


# ---------------------------------------------------------------- downloading


def _download(name: str, file: dict, path: Path) -> None:
    """Fetch, verify, and only then give the file its name; one process at a time, the others wait for its result."""
    try:
        with _part_of(path) as part:
            unfinished = Path(part.name)
            try:
                if not path.exists():  # or another process was faster
                    _fetch_whole(name, file, part)
                if flock is None:
                    part.close()  # Windows neither renames nor deletes an open file
                if path.exists():
                    unfinished.unlink(missing_ok=True)
                    return
                _checked(unfinished, file, "the download was deleted; run the same line again")
            except CorpusDamaged:
                if flock is None:
                    part.close()
                unfinished.unlink()
                raise
            os.replace(unfinished, path)
    except CorpusUnavailable:
        raise
    except OSError as error:
        raise CorpusUnavailable(
            f"{name}: the download cannot be stored in {path.parent} ({_reason(error)}); free some space there, or set "
            f"XDG_CACHE_HOME to a folder that can be written, or XFORMER_DATA to one that holds the file"
        ) from None


@contextmanager
def _part_of(path: Path) -> Iterator[FileIO]:
    """The unfinished download of a file, open for writing at its end, for this process alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.with_name(path.name + ".part")
    while True:
        with open(name, "ab", buffering=0) as part:
            if flock is not None:
                with suppress(OSError):  # a file system without locks
                    flock(part, LOCK_EX)
            # whoever held the lock before us may have renamed or deleted the file that we opened
            if name.exists() and os.path.samestat(os.stat(name), os.fstat(part.fileno())):
                yield part
                return


def _fetch_whole(name: str, file: dict, part: FileIO) -> None:
    """A few tries, each from where the one before it stopped; a sentence when they were not enough."""
    url, size = file["url"], file["size"] * (ARCHIVE_ROOM if "member" in file else 1)
    latest = time.monotonic() + AT_LEAST + size / SLOWEST
    try:
        complete = any(_fetch(url, part, size, latest) for _ in range(TRIES))
    except _TooMuch:
        raise CorpusDamaged(f"{name}: expected {size} bytes, got more; the download was deleted; run the same line again") from None
    except _NotWritten as error:
        raise (error.__cause__ or error) from None
    except (OSError, HTTPException) as error:
        raise CorpusUnavailable(_no_network(name, url, error)) from None
    if not complete:
        raise CorpusUnavailable(f"{name}: the download stopped after {part.tell()} bytes; run the same line again to continue from there")


def _no_network(name: str, url: str, error: Exception) -> str:
    return (
        f"{name} is not on this machine and could not be downloaded from {url} "
        f"({_reason(error)}); connect to the network, or set XFORMER_DATA to a folder "
        f"that holds the file, or use the corpus 'fragment', which needs neither"
    )


def _reason(error: Exception) -> str:
    """What went wrong, in one line, without the file name that the sentence around it has anyway."""
    return " ".join(str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error or type(error).__name__).split())


def _fetch(url: str, part: FileIO, size: int, latest: float) -> bool:
    """Continue a download where an earlier try stopped; is it complete now?

    It stops with the first byte after ``size``, and at the moment ``latest`` even while bytes still come.
    """
    if time.monotonic() > latest:
        return False
    start = part.seek(0, os.SEEK_END)
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"})
    try:
        answer = urllib.request.urlopen(request, timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to send
            return True
        raise
    with answer:
        if answer.status != 206:  # the publisher sends the file from its beginning
            part.truncate(0)
            start = part.seek(0)
        with suppress(*BROKEN_OFF):
            while block := answer.read1(1 << 16):  # what has come so far, without waiting for more
                if part.tell() + len(block) > size:
                    raise _TooMuch
                _write(part, block)
                if time.monotonic() > latest:
                    return False
            announced = answer.headers["Content-Length"] or ""
            return not announced.isdecimal() or part.tell() - start == int(announced)
    return False


def _write(part: FileIO, block: bytes) -> None:
    """Append; an error here is the disk's, and is told apart from those of the network."""
    try:
        while block:
            block = block[part.write(block) :]
    except OSError as error:
        raise _NotWritten from error
