"""Downloads that break: a publisher that breaks off, lies, stalls or serves nonsense; three processes at once; a disk that fills up.

The publisher is a server on this machine; it, and every process that a test starts, is real.
"""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.ci import posix
from xformer_lib.data import _download
from xformer_lib.data.corpora import CORPUS_ERRORS, CorpusDamaged, CorpusUnavailable, load_corpus

ROOT = Path(__file__).parents[2]
LINES = {"en": "A dog runs.\nA cat sleeps.\n", "fr": "Un chien court.\nUn chat dort.\n"}
CONTENT = {language: gzip.compress(text.encode() * 400, mtime=0) for language, text in LINES.items()}


class Publisher(BaseHTTPRequestHandler):
    """Behaves as `server.manners` says: each answer is `name` or `name:number`; the last one holds for good."""

    def do_GET(self):
        data = CONTENT[self.path.strip("/")]
        with self.server.lock:
            manners = self.server.manners
            manner, _, number = (manners.pop(0) if len(manners) > 1 else manners[0]).partition(":")
            self.server.asked += 1
        getattr(self, manner)(data, int(number or 0))

    def answer(self, body, length=None):
        self.send_response(200)
        if length != "none":
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def well(self, data, number):
        self.answer(data)

    def cut(self, data, number):
        """Breaks off after so many bytes."""
        self.answer(data[:number], len(data))

    def short(self, data, number):
        """Says that there are fewer bytes, and sends them all."""
        self.answer(data, len(data) - number)

    def long(self, data, number):
        """Says that there are more bytes than it sends."""
        self.answer(data, len(data) + number)

    def silent_length(self, data, number):
        """Says no length, and breaks off."""
        self.answer(data[:number], "none")

    def nonsense(self, data, number):
        self.answer(bytes(len(data)))

    def page(self, data, number):
        """A login page, as hotels have them."""
        self.answer(b"<html>Welcome! Room number?</html>")

    def hang_up(self, data, number):
        self.close_connection = True

    def babble(self, data, number):
        """No HTTP at all."""
        self.wfile.write(b"Bonjour le monde\r\n\r\n")
        self.close_connection = True

    def error(self, data, number):
        self.send_error(number)

    def stall(self, data, number):
        """Sends so many bytes and then nothing more."""
        self.answer(data[:number], len(data))
        self.server.released.wait(20)

    def stall_first(self, data, number):
        self.server.released.wait(20)

    def slow(self, data, number):
        """In so many pieces, a moment apart."""
        self.answer(b"", len(data))
        for n in range(0, len(data), number):
            self.wfile.write(data[n : n + number])
            time.sleep(0.05)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A reader that hangs up first is part of these tests."""


@pytest.fixture
def publisher(tmp_path, monkeypatch):
    """A publisher on this machine, an empty cache, and no folder of corpora."""
    server = Server(("127.0.0.1", 0), Publisher)
    server.manners, server.asked = ["well"], 0
    server.lock, server.released = threading.Lock(), threading.Event()
    server.files = {
        f"multi30k/val.{language}.gz": {
            "url": f"http://127.0.0.1:{server.server_port}/{language}",
            "sha256": hashlib.sha256(data).hexdigest(),
            "size": len(data),
        }
        for language, data in CONTENT.items()
    }
    server.cache = tmp_path / "cache/xformer_lib/multi30k"
    monkeypatch.setattr(_download, "FILES", server.files)
    monkeypatch.setattr(_download, "PATIENCE", 1.0)
    monkeypatch.setattr(_download, "RETRIES", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("XFORMER_DATA", raising=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


def in_cache(publisher):
    return sorted(path.name for path in publisher.cache.iterdir()) if publisher.cache.exists() else []


def refused(kind):
    """The one line with which both files are refused."""
    with pytest.raises(kind) as caught:
        load_corpus("multi30k", "val")
    message = str(caught.value)
    assert "\n" not in message and "; " in message and isinstance(caught.value, CORPUS_ERRORS)
    return message


# ---------------------------------------------------------------- publishers without manners

NO_NETWORK = r"multi30k/val\.en\.gz is not on this machine and could not be downloaded from http://127.* \(.+\); connect to"
WRONG = r"multi30k/val\.en\.gz: expected sha256 .*…, got another; the download was deleted; run the same line again"


@pytest.mark.parametrize(
    "manner, kind, message",
    [
        ("cut:13", CorpusUnavailable, NO_NETWORK),
        ("long:7", CorpusUnavailable, NO_NETWORK),
        ("stall:11", CorpusUnavailable, NO_NETWORK),
        ("short:5", CorpusDamaged, WRONG),
        ("silent_length:17", CorpusDamaged, WRONG),
        ("nonsense", CorpusDamaged, WRONG),
        ("page", CorpusDamaged, WRONG),
        ("hang_up", CorpusUnavailable, NO_NETWORK),
        ("babble", CorpusUnavailable, NO_NETWORK),
        ("error:404", CorpusUnavailable, NO_NETWORK),
        ("error:503", CorpusUnavailable, NO_NETWORK),
        ("stall_first", CorpusUnavailable, NO_NETWORK),
    ],
)
def test_bad_manners_are_one_line_and_never_a_wrong_file(publisher, manner, kind, message):
    """The file gets its name only when its bytes are right; as soon as the publisher behaves, the same line works."""
    publisher.manners = [manner]
    assert re.fullmatch(message + ".*", refused(kind))
    assert in_cache(publisher) == [] and publisher.asked == 1
    publisher.manners = ["well"]
    assert len(load_corpus("multi30k", "val")) == 800 and in_cache(publisher) == ["val.en.gz", "val.fr.gz"]


@pytest.mark.parametrize("manner", ["cut:13", "stall:17", "error:503", "nonsense"])
def test_what_fails_once_is_tried_again(publisher, monkeypatch, manner):
    monkeypatch.setattr(_download, "RETRIES", 1)
    publisher.manners = [manner, "well"]
    assert len(load_corpus("multi30k", "val")) == 800 and publisher.asked == 3
    assert in_cache(publisher) == ["val.en.gz", "val.fr.gz"]


def test_every_file_has_the_size_that_was_published():
    """A bound for each; an archive's own bytes may change, those of its member may not."""
    files = json.loads((ROOT / "xformer_lib/data/sources.json").read_text())["files"]
    assert all(1000 < file["size"] < 10**7 for file in files.values())
    assert (
        [name for name, file in files.items() if "member" in file]
        == [name for name, file in files.items() if "member_size" in file]
        == ["tatoeba/fra-eng.zip"]
    )
    for name, file in files.items():
        path = Path(os.environ.get("XFORMER_DATA", "nowhere")) / name
        if path.exists():
            assert path.stat().st_size == file["size"]


# ---------------------------------------------------------------- processes

PROGRAM = """
import json, os, sys, time
from pathlib import Path
from xformer_lib.data import _download
_download.FILES = json.loads(sys.argv[1])
start = Path(sys.argv[2])
(start / str(os.getpid())).touch()
while not (start / "go").exists():
    time.sleep(0.005)
print(_download.corpus_bytes("multi30k/val.en.gz").hex())
"""


def reader(publisher, start):
    """A process that asks for the file as soon as there is `start/go`; its id appears in `start` before."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(publisher.files), str(start)]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for((start / str(process.pid)).exists)
    return process


def wait_for(condition):
    latest = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < latest
        time.sleep(0.005)


@posix
def test_three_processes_download_at_once(publisher, tmp_path):
    """All get the right bytes, and nothing torn is left."""
    publisher.manners = ["slow:20"]
    started = [reader(publisher, tmp_path) for _ in range(3)]
    (tmp_path / "go").touch()
    for process in started:
        said, errors = process.communicate(timeout=60)
        assert errors == "" and bytes.fromhex(said) == CONTENT["en"]
    assert in_cache(publisher) == ["val.en.gz"]


@posix
def test_one_that_downloads_is_killed_and_the_next_begins_anew(publisher, tmp_path):
    publisher.manners = ["stall:23", "well"]
    (tmp_path / "go").touch()
    first = reader(publisher, tmp_path)
    wait_for(lambda: publisher.asked == 1)
    first.kill()
    first.communicate()
    assert load_corpus("multi30k", "val")[1] == ("A cat sleeps.", "Un chat dort.")


# ---------------------------------------------------------------- the disk

DISK = (
    r"multi30k/val\.en\.gz: the download cannot be stored in .*multi30k \({}\); free some space there, or set "
    r"XDG_CACHE_HOME to a folder that can be written, or XFORMER_DATA to one that holds the file"
)


@posix
def test_a_disk_that_fills_up_half_way(publisher, tmp_path):
    """A limit on the size of files, in a process of its own; then there is room again."""
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (29, 29))\n" + PROGRAM
    (tmp_path / "go").touch()
    run = subprocess.run(
        [sys.executable, "-c", program, json.dumps(publisher.files), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert re.search("CorpusUnavailable: " + DISK.format("File too large") + "$", run.stderr.strip())
    assert in_cache(publisher) == []
    assert len(load_corpus("multi30k", "val")) == 800


@posix
def test_a_cache_that_cannot_be_written(publisher, tmp_path, monkeypatch):
    """A path through a file: nothing can be made there, not even by an administrator."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert re.fullmatch(DISK.format("Not a directory"), refused(CorpusUnavailable))


def test_a_cache_for_reading_only_serves_what_it_holds(publisher, monkeypatch):
    """Permission bits do not bind an administrator, so every opening for writing is refused instead."""
    load_corpus("multi30k", "val")
    real = open

    def reading_only(path, mode="r", *rest, **options):
        if set(mode) & set("wxa+"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, mode, *rest, **options)

    monkeypatch.setattr("builtins.open", reading_only)
    assert len(load_corpus("multi30k", "val")) == 800
    (publisher.cache / "val.en.gz").unlink()
    assert re.fullmatch(DISK.format("Permission denied"), refused(CorpusUnavailable))


def test_a_file_that_cannot_be_read(publisher):
    (publisher.cache / "val.en.gz").mkdir(parents=True)
    assert re.fullmatch(r".*val\.en\.gz cannot be read \(Is a directory\); delete this file and run .*", refused(CorpusUnavailable))


# ---------------------------------------------------------------- damaged archives

LINE = b"Go.\tVa !\tCC-BY\n"


def archive(method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as packed:
        packed.writestr(zipfile.ZipInfo("fra-eng/fra.txt", (2020, 2, 2, 2, 2, 2)), LINE * 7, method)
    return buffer.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_every_byte_of_an_archive(method, tmp_path, record_property):
    """Two other values for every byte, every truncation: the pinned content comes out, or one line says what to do."""
    whole, path = archive(method), tmp_path / "fra-eng.zip"
    file = {"sha256": hashlib.sha256(LINE * 7).hexdigest(), "member": "fra.txt", "member_size": len(LINE * 7)}
    damaged = [whole[:n] for n in range(len(whole))] + [whole + b"more"]
    damaged += [whole[:n] + bytes([whole[n] ^ change]) + whole[n + 1 :] for n in range(len(whole)) for change in (1, 255)]
    refused = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            assert _download._checked(path, file, "do this") == LINE * 7
        except (CorpusDamaged, CorpusUnavailable) as error:
            refused += 1
            assert str(error).startswith(str(path)) and str(error).endswith("; do this") and "\n" not in str(error)
    record_property("cases", len(damaged))
    assert refused > 0.5 * len(damaged) > 200


def test_an_archive_that_would_unpack_without_end(tmp_path):
    """A few kilobytes that hold ten megabytes of nothing are refused by what they announce, before they are unpacked."""
    path = tmp_path / "fra-eng.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("fra-eng/fra.txt", bytes(10**7))
    file = {"sha256": hashlib.sha256(LINE).hexdigest(), "member": "fra.txt", "member_size": len(LINE)}
    assert path.stat().st_size < 20_000
    with pytest.raises(
        CorpusDamaged, match=f"expected a zip archive, got a damaged one .fra.txt has 10000000 bytes, not {len(LINE)}.; this"
    ):
        _download._checked(path, file, "this")
