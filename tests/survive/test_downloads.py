"""Downloads that break: a publisher that breaks off, lies, stalls or serves nonsense; two processes at once; a disk that is full.

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

from tests.extent import posix
from xformer_lib.data import _download
from xformer_lib.data.corpora import CORPUS_ERRORS, CorpusDamaged, CorpusUnavailable, load_corpus

ROOT = Path(__file__).parents[2]
LINES = {"en": "A dog runs.\nA cat sleeps.\n", "fr": "Un chien court.\nUn chat dort.\n"}
CONTENT = {language: gzip.compress(text.encode() * 400, mtime=0) for language, text in LINES.items()}
NAME = "multi30k/val.en.gz"
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


class Publisher(BaseHTTPRequestHandler):
    """Behaves as `server.manners` says: each answer is `name` or `name:number`; the last one holds for good."""

    def do_GET(self):
        data = CONTENT[self.path.strip("/")]
        start = int(re.match(r"bytes=(\d+)-", self.headers.get("Range", "bytes=0-")).group(1))
        with self.server.lock:
            manners = self.server.manners
            manner, _, number = (manners.pop(0) if len(manners) > 1 else manners[0]).partition(":")
            self.server.asked.append(start)
        getattr(self, manner)(data, start, int(number or 0))

    def answer(self, status, body, length=None):
        self.send_response(status)
        if length != "none":
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def well(self, data, start, number):
        self.answer(206 if start < len(data) else 416, data[start:])

    def cut(self, data, start, number):
        """Breaks off after so many bytes."""
        self.answer(206, data[start : start + number], len(data) - start)

    def whole(self, data, start, number):
        """Knows no ranges."""
        self.answer(200, data)

    def whole_cut(self, data, start, number):
        self.answer(200, data[:number], len(data))

    def short(self, data, start, number):
        """Says that there are fewer bytes, and sends them all."""
        self.answer(206, data[start:], len(data) - start - number)

    def long(self, data, start, number):
        """Says that there are more bytes than it sends."""
        self.answer(206, data[start:], len(data) - start + number)

    def silent_length(self, data, start, number):
        """Says no length, and breaks off."""
        self.answer(206, data[start : start + number], "none")

    def odd_length(self, data, start, number):
        self.answer(206, data[start:], "many")

    def wrong_range(self, data, start, number):
        """Calls it the rest, and sends the file from its beginning."""
        self.answer(206, data)

    def nonsense(self, data, start, number):
        self.answer(200, bytes(len(data)))

    def page(self, data, start, number):
        """A login page, as hotels have them."""
        self.answer(200, b"<html>Welcome! Room number?</html>")

    def hang_up(self, data, start, number):
        self.close_connection = True

    def babble(self, data, start, number):
        """No HTTP at all."""
        self.wfile.write(b"Bonjour le monde\r\n\r\n")
        self.close_connection = True

    def error(self, data, start, number):
        self.send_error(number)

    def stall(self, data, start, number):
        """Sends so many bytes and then nothing more."""
        self.answer(206, data[start : start + number], len(data) - start)
        self.server.released.wait(20)

    def stall_first(self, data, start, number):
        self.server.released.wait(20)

    def slow(self, data, start, number):
        """In so many pieces, a moment apart."""
        self.answer(206, b"", len(data) - start)
        for n in range(start, len(data), number):
            self.wfile.write(data[n : n + number])
            time.sleep(0.05)

    def drip(self, data, start, number):
        """A byte at a time, each well within the patience for one."""
        self.answer(206, b"", len(data) - start)
        for n in range(start, len(data)):
            if self.server.released.wait(0.05):
                return
            self.wfile.write(data[n : n + 1])
            self.wfile.flush()

    def endless(self, data, start, number):
        """The file, and then more and more; it names no length."""
        self.answer(200, data, "none")
        while not self.server.released.is_set():
            self.wfile.write(bytes(1 << 16))
            self.server.sent += 1 << 16

    def announced(self, data, start, number):
        """Announces a length that nobody could store."""
        self.answer(200, data, 10**15)
        self.server.released.wait(20)

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
    server.manners, server.asked, server.sent = ["well"], [], 0
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

STOPPED = r"multi30k/val\.en\.gz: the download stopped after \d+ bytes; run the same line again to continue from there"
NO_NETWORK = r"multi30k/val\.en\.gz is not on this machine and could not be downloaded from http://127.* \(.+\); connect to"
TOO_MUCH = r"multi30k/val\.en\.gz: expected \d+ bytes, got more; the download was deleted; run the same line again"
WRONG = r".*val\.en\.gz\.part: expected sha256 .*…, got .*…; the download was deleted; run the same line again"


@pytest.mark.errors
@pytest.mark.parametrize(
    "manners, kind, message, left",
    [
        (["cut:13"], CorpusUnavailable, STOPPED, ["val.en.gz.part"]),
        (["whole_cut:13"], CorpusUnavailable, STOPPED, ["val.en.gz.part"]),
        (["long:7"], CorpusUnavailable, STOPPED, ["val.en.gz.part"]),
        (["stall:11"], CorpusUnavailable, STOPPED, ["val.en.gz.part"]),
        (["short:5"], CorpusDamaged, WRONG, []),
        (["silent_length:17"], CorpusDamaged, WRONG, []),
        (["cut:19", "wrong_range"], CorpusDamaged, TOO_MUCH, []),
        (["nonsense"], CorpusDamaged, WRONG, []),
        (["page"], CorpusDamaged, WRONG, []),
        (["hang_up"], CorpusUnavailable, NO_NETWORK, ["val.en.gz.part"]),
        (["babble"], CorpusUnavailable, NO_NETWORK, ["val.en.gz.part"]),
        (["error:404"], CorpusUnavailable, NO_NETWORK, ["val.en.gz.part"]),
        (["error:503"], CorpusUnavailable, NO_NETWORK, ["val.en.gz.part"]),
        (["stall_first"], CorpusUnavailable, NO_NETWORK, ["val.en.gz.part"]),
    ],
    ids=lambda value: value[-1].replace(":", " ") if isinstance(value, list) and value and value[-1][-4:] != "part" else "",
)
def test_bad_manners_are_one_line_and_never_a_wrong_file(publisher, manners, kind, message, left):
    """The file gets its name only when its bytes are right; as soon as the publisher behaves, the same line works."""
    publisher.manners = manners
    assert re.fullmatch(message + ".*", refused(kind))
    assert in_cache(publisher) == left
    publisher.manners = ["well"]
    try:
        pairs = load_corpus("multi30k", "val")
    except CorpusDamaged:  # what was kept was no good: it is gone now, and the third time is the last
        pairs = load_corpus("multi30k", "val")
    assert len(pairs) == 800 and in_cache(publisher) == ["val.en.gz", "val.fr.gz"]


@pytest.mark.parametrize(
    "manners",
    [
        ["cut:13", "cut:11", "well"],
        ["cut:13", "whole", "well"],
        ["stall:13", "well"],
        ["whole_cut:13", "well"],
        ["odd_length"],
        ["short:0"],
    ],
    ids=lambda manners: " ".join(manners),
)
def test_what_can_be_mended_within_one_call_is(publisher, manners):
    """A broken-off answer is continued, an answer 200 instead of 206 starts afresh, an odd length is not believed."""
    publisher.manners = manners
    assert len(load_corpus("multi30k", "val")) == 800
    assert in_cache(publisher) == ["val.en.gz", "val.fr.gz"]
    if manners[0] in ("cut:13", "stall:13"):
        assert publisher.asked[:2] == [0, 13]


@pytest.mark.errors
@pytest.mark.parametrize("manners", [["endless"], ["announced", "endless"], ["cut:13", "endless"]], ids=" ".join)
def test_an_endless_answer_is_left_at_once(publisher, manners):
    """Nothing beyond the size that the file is known to have is stored; the same line then works."""
    publisher.manners = manners
    began = time.monotonic()
    assert re.fullmatch(TOO_MUCH, refused(CorpusDamaged))
    assert time.monotonic() - began < 5 and in_cache(publisher) == [] and publisher.sent < 50e6
    publisher.manners = ["well"]
    assert len(load_corpus("multi30k", "val")) == 800


@pytest.mark.errors
def test_a_slow_drip_is_given_up_and_goes_on_later(publisher, monkeypatch):
    """No single byte is late, and all together would take seven seconds here, days for a corpus."""
    monkeypatch.setattr(_download, "AT_LEAST", 0.5)
    monkeypatch.setattr(_download, "SLOWEST", 10**4)
    publisher.manners = ["drip"]
    began = time.monotonic()
    said = refused(CorpusUnavailable)
    assert re.fullmatch(STOPPED, said) and 0.5 < time.monotonic() - began < 3 and in_cache(publisher) == ["val.en.gz.part"]
    kept = (publisher.cache / "val.en.gz.part").stat().st_size
    assert 3 < kept < 40 and publisher.asked == [0]
    publisher.manners = ["well"]
    assert len(load_corpus("multi30k", "val")) == 800 and publisher.asked[1] == kept


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
    """All get the right bytes, no part is torn or left, and the publisher sends each byte once."""
    publisher.manners = ["slow:20"]
    started = [reader(publisher, tmp_path) for _ in range(3)]
    (tmp_path / "go").touch()
    for process in started:
        said, errors = process.communicate(timeout=60)
        assert errors == "" and bytes.fromhex(said) == CONTENT["en"]
    assert in_cache(publisher) == ["val.en.gz"] and publisher.asked == [0]


@posix
def test_the_one_that_downloads_is_killed_and_another_goes_on(publisher, tmp_path):
    """The lock goes with its process; what was on the disk by then is not asked for again."""
    publisher.manners, part = ["stall:23", "well"], publisher.cache / "val.en.gz.part"
    (tmp_path / "go").touch()
    first = reader(publisher, tmp_path)
    wait_for(lambda: part.exists() and part.stat().st_size == 23)
    second = reader(publisher, tmp_path)
    time.sleep(0.3)
    assert publisher.asked == [0] and second.poll() is None  # it waits
    first.kill()
    said, errors = second.communicate(timeout=60)
    assert errors == "" and bytes.fromhex(said) == CONTENT["en"]
    assert publisher.asked == [0, 23] and in_cache(publisher) == ["val.en.gz"]
    first.communicate()


# ---------------------------------------------------------------- the disk

DISK = (
    r"multi30k/val\.en\.gz: the download cannot be stored in .*multi30k \({}\); free some space there, or set "
    r"XDG_CACHE_HOME to a folder that can be written, or XFORMER_DATA to one that holds the file"
)


@needs_full
@pytest.mark.errors
def test_a_full_disk_is_not_called_a_network(publisher):
    """/dev/full stands in for the part: every write to it ends as on a full disk."""
    publisher.cache.mkdir(parents=True)
    (publisher.cache / "val.en.gz.part").symlink_to("/dev/full")
    assert re.fullmatch(DISK.format("No space left on device"), refused(CorpusUnavailable))
    (publisher.cache / "val.en.gz.part").unlink()
    assert len(load_corpus("multi30k", "val")) == 800


@posix
@pytest.mark.errors
def test_a_disk_that_fills_up_half_way(publisher, tmp_path):
    """A limit on the size of files, in a process of its own; then there is room again, and the download goes on."""
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (29, 29))\n" + PROGRAM
    (tmp_path / "go").touch()
    run = subprocess.run(
        [sys.executable, "-c", program, json.dumps(publisher.files), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert re.search("CorpusUnavailable: " + DISK.format("File too large") + "$", run.stderr.strip())
    assert (publisher.cache / "val.en.gz.part").stat().st_size == 29
    assert len(load_corpus("multi30k", "val")) == 800 and publisher.asked[1] == 29


@posix
@pytest.mark.errors
def test_a_cache_that_cannot_be_written(publisher, tmp_path, monkeypatch):
    """A path through a file: nothing can be made there, not even by an administrator."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert re.fullmatch(DISK.format("Not a directory"), refused(CorpusUnavailable))


@pytest.mark.errors
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


@pytest.mark.errors
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


@pytest.mark.errors
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


@pytest.mark.errors
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
