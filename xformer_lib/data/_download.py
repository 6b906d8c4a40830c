"""Files of a corpus: found in a folder or the cache, downloaded otherwise, and always checked.

Written by hand: no chapter teaches it. ``xformer_lib.data.corpora`` is its only user.
"""

import hashlib
import json
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from contextlib import suppress
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path

__all__ = ["CorpusDamaged", "CorpusUnavailable", "corpus_bytes"]

class CorpusUnavailable(OSError):
    """A corpus is not on this machine and could not be downloaded."""


class CorpusDamaged(ValueError):
    """A corpus file is there, but it is not the file that its publisher released."""


# for each file: url, sha256, and the member of the zip that the sha256 is of
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


def _checked(path: Path, file: dict, remedy: str) -> bytes:
    """The content of a file whose checksum is right; `remedy` ends the error message."""
    try:
        data = _content(path, file.get("member"))
    except (zipfile.BadZipFile, EOFError) as error:
        raise CorpusDamaged(f"{path}: expected a zip archive, got a damaged one ({error}); {remedy}") from None
    found = hashlib.sha256(data).hexdigest()
    if found != file["sha256"]:
        raise CorpusDamaged(f"{path}: expected sha256 {file['sha256'][:12]}…, got {found[:12]}…; {remedy}")
    return data


def _content(path: Path, member: str | None) -> bytes:
    """The bytes whose checksum is pinned: the whole file, or one member of a zip."""
    if member is None:
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.rpartition("/")[2] == member:
                return archive.read(name)
    raise zipfile.BadZipFile(f"no {member} inside")


def _download(name: str, file: dict, path: Path) -> None:
    """Fetch, verify, and only then give the file its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        complete = any(_fetch(file["url"], part) for _ in range(3))
    except OSError as error:
        raise CorpusUnavailable(_no_network(name, file["url"], error)) from None
    if not complete:
        raise CorpusUnavailable(f"{name}: the download stopped after {part.stat().st_size} bytes; run the "
                                f"same line again to continue from there")
    try:
        _checked(part, file, "the download was deleted; run the same line again")
    except CorpusDamaged:
        part.unlink()
        raise
    os.replace(part, path)


def _no_network(name: str, url: str, error: OSError) -> str:
    return (f"{name} is not on this machine and could not be downloaded from {url} "
            f"({getattr(error, 'reason', error)}); connect to the network, or set XFORMER_DATA to a folder "
            f"that holds the file, or use the corpus 'fragment', which needs neither")


def _fetch(url: str, part: Path) -> bool:
    """Continue a download where an earlier try stopped; is it complete now?"""
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"})
    try:
        answer = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to send
            return True
        raise
    with answer, open(part, "ab" if answer.status == 206 else "wb") as file:
        before, announced = file.tell(), answer.headers["Content-Length"]
        with suppress(ConnectionError, TimeoutError, HTTPException):
            shutil.copyfileobj(answer, file)
            return announced is None or file.tell() - before == int(announced)
    return False
