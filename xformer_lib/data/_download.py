"""Files of a corpus: found in a folder or the cache, downloaded otherwise, and always checked.

Written by hand: no chapter teaches it. ``xformer_lib.data.corpora`` is its only user.
"""

import hashlib
import json
import logging
import lzma
import os
import struct
import zipfile
import zlib
from importlib.resources import files
from pathlib import Path

from xformer_lib import _needs

__all__ = ["CorpusDamaged", "CorpusUnavailable", "corpus_bytes"]

RETRIES = 2  # more tries in one call, after a second and two
PATIENCE = 30  # seconds without a byte, after which a try is given up
# what a damaged zip makes zipfile raise: besides its own error, those of the decompressors and of nonsense in its tables
BAD_ZIP = (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, struct.error, RuntimeError, ValueError, OverflowError)


class CorpusUnavailable(OSError):
    """A corpus is not on this machine and could not be downloaded, or its file cannot be read or written."""


class CorpusDamaged(ValueError):
    """A corpus file is there, but it is not the file that its publisher released."""


# for each file: url, sha256, size in bytes, and the member of the zip that the sha256 is of, with its own size
FILES = json.loads(files("xformer_lib.data").joinpath("sources.json").read_text(encoding="utf-8"))["files"]


def corpus_bytes(name: str) -> bytes:
    """Return the verified content of a corpus file: from XFORMER_DATA, else from the cache, else downloaded."""
    file = FILES[name]
    if os.environ.get("XFORMER_DATA"):
        path = Path(os.environ["XFORMER_DATA"]) / name
        if not _is_missing(path):
            return _checked(path, file, "copy this file again, or unset XFORMER_DATA to download it")
    path = cache_folder() / name
    if not os.path.exists(path):  # in a home that cannot be searched nothing can be stored, which the download says
        _download(name, file, path)
    return _checked(path, file, "delete this file and run the same line again to download it")


def cache_folder() -> Path:
    """Return the user's cache; it can be deleted at any time."""
    try:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # as in a container, for a user whom the system does not know
        raise CorpusUnavailable(
            "cache: expected a home folder, got none (HOME is not set); set XDG_CACHE_HOME to a folder that can be written, "
            "or XFORMER_DATA to one that holds the corpora"
        ) from None
    return Path(root) / "xformer_lib"


def is_cached(name: str) -> bool:
    """Return whether a corpus file was downloaded before."""
    try:
        return os.path.exists(cache_folder() / name)
    except CorpusUnavailable:
        return False


# ---------------------------------------------------------------- reading


def _is_missing(path: Path) -> bool:
    """Return whether there is surely no such file; where its folder cannot be searched, reading it says so."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _checked(path: Path, file: dict, remedy: str) -> bytes:
    """Return the content of a file whose checksum is right; `remedy` ends the error message."""
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
    """Return the bytes whose checksum is pinned: the whole file, or one member of a zip."""
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
    """Fetch with pooch, which gives a file its name when its checksum is right; an archive is judged by its member."""
    try:
        import pooch
        import requests
    except ModuleNotFoundError as error:
        raise _needs.with_advice(error, name) from None
    pooch.get_logger().setLevel(logging.WARNING)
    checksum = None if "member" in file else file["sha256"]  # an archive may be packed anew, with the same member
    shelf = pooch.create(path.parent, base_url="", registry={path.name: checksum}, urls={path.name: file["url"]}, retry_if_failed=RETRIES)
    try:
        shelf.fetch(path.name, downloader=pooch.HTTPDownloader(timeout=PATIENCE))
        if checksum is None:
            _checked(path, file, "the download was deleted; run the same line again")
    except requests.RequestException as error:
        raise CorpusUnavailable(
            f"{name} is not on this machine and could not be downloaded from {file['url']} ({_reason(error)}); connect to the "
            f"network, or set XFORMER_DATA to a folder that holds the file, or use the corpus 'fragment', which needs neither"
        ) from None
    except CorpusDamaged:
        path.unlink()
        raise
    except ValueError:
        raise CorpusDamaged(
            f"{name}: expected sha256 {file['sha256'][:12]}…, got another; the download was deleted; run the same line again"
        ) from None
    except OSError as error:
        raise CorpusUnavailable(
            f"{name}: the download cannot be stored in {path.parent} ({_reason(error)}); free some space there, or set "
            f"XDG_CACHE_HOME to a folder that can be written, or XFORMER_DATA to one that holds the file"
        ) from None


def _reason(error: BaseException) -> str:
    """Return what went wrong, in one line, without the file name that the sentence around it has anyway.

    Of the errors that packages have wrapped around each other, the first one says it in the fewest words.
    """
    while inner := error.__cause__ or error.__context__:
        error = inner
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())
