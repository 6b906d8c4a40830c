"""Files are replaced whole or refused before the work, whoever reads or writes them at the same time."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from tests.ci import posix
from xformer_lib.data import Tokenizer
from xformer_lib.data.files import check_writable, write_atomically


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_threads_that_write_one_file_never_tear_it(tmp_path):
    """Four threads write, one reads: each reading is one of the contents, as long as it is, and no part is left."""
    path, torn, readings = tmp_path / "file", [], 0
    contents = [bytes([65 + n]) * (60_001 + 40_000 * n) for n in range(4)]
    write_atomically(path, contents[0])
    writers = [threading.Thread(target=lambda data=data: [write_atomically(path, data) for _ in range(12)]) for data in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        data, readings = path.read_bytes(), readings + 1
        torn += [data[:1]] * (data not in contents)
    assert not torn and readings > 3 and path.read_bytes() in contents
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(os.name == "nt", reason="Windows lets no file take the place of an open one")
def test_threads_that_save_a_tokenizer(tmp_path):
    tokenizer, found = Tokenizer.train(["a cat", "a dog"], vocab_size=270), []
    tokenizer.save(tmp_path / "tokenizer.json")
    savers = [threading.Thread(target=lambda: [tokenizer.save(tmp_path / "tokenizer.json") for _ in range(9)]) for _ in range(3)]
    for saver in savers:
        saver.start()
    while any(saver.is_alive() for saver in savers):
        found.append(Tokenizer.load(tmp_path / "tokenizer.json").fingerprint)
    assert set(found) == {tokenizer.fingerprint} and names(tmp_path) == ["tokenizer.json"]


@posix
def test_a_file_for_reading_only_is_refused_not_replaced(tmp_path):
    """For root, too; through a link, too."""
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o444)
    link.symlink_to(path)
    for place in (path, link):
        with pytest.raises(OSError, match="read-only.*; .*another"):
            write_atomically(place, b"new")
        with pytest.raises(OSError, match="read-only.*; .*another"):
            check_writable(place)
    assert path.read_bytes() == b"old" and names(tmp_path) == ["file", "link"]
    path.chmod(0o640)
    write_atomically(link, b"new")
    assert path.read_bytes() == b"new" and link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["a" * 250, "é" * 125, "checkpoint.safetensors"])
def test_a_name_as_long_as_the_system_allows(tmp_path, name):
    if os.name == "nt" and len(name) > 200:
        pytest.skip("the folder's name counts there")
    check_writable(tmp_path / name)
    for data in (b"old", b"new"):
        write_atomically(tmp_path / name, data)
    assert (tmp_path / name).read_bytes() == b"new" and len(names(tmp_path)) == 1


@posix
@pytest.mark.parametrize(
    "place, named",
    [
        ("a" * 300, "a" * 300),
        ("new/" + "a" * 300, "a" * 300),
        ("new/" + "a" * 300 + "/file", "a" * 300),
        ("file/below", "file/below"),
        ("full/new", "full cannot be written (No space left on device); name one in another folder"),
        ("full/new/file", "full cannot be written"),
    ],
)
def test_what_cannot_be_is_found_before_the_work(tmp_path, monkeypatch, place, named):
    (tmp_path / "file").write_text("old")
    (tmp_path / "full").mkdir()

    def no_room(dir):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", no_room)
    with pytest.raises(OSError) as error:
        check_writable(tmp_path / place)
    assert named in str(error.value) and "\n" not in str(error.value) and names(tmp_path) == ["file", "full"]


@posix
@pytest.mark.parametrize("refused, number", [("open", errno.EACCES), ("open", errno.EROFS), ("replace", errno.EBUSY)])
def test_a_file_that_nothing_can_replace_is_written_in_place(tmp_path, monkeypatch, refused, number):
    """As in a folder that is not ours, or where the file alone is mounted, into a container say."""
    path, there = tmp_path / "mounted", open

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    if refused == "replace":
        monkeypatch.setattr(os, "replace", refuse)
    else:
        monkeypatch.setattr(
            "builtins.open", lambda file, *rest, **more: (refuse if str(file).endswith(".part") else there)(file, *rest, **more)
        )
    path.write_bytes(b"a long old text")
    inode = path.stat().st_ino
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new" and path.stat().st_ino == inode and names(tmp_path) == ["mounted"]
    with pytest.raises(OSError, match="could not be written"):
        write_atomically(tmp_path / "other", b"new")
    assert names(tmp_path) == ["mounted"]


@posix
def test_a_full_disk_in_place_gives_the_old_bytes_back(tmp_path, monkeypatch):
    path, real = tmp_path / "mounted", os.fsync
    path.write_bytes(b"old and longer")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EBUSY, "busy")))
    calls = []

    def fsync(number):
        calls.append(number)
        if len(calls) == 2:  # the first was the part's
            raise OSError(errno.ENOSPC, "No space left on device")
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left on device"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old and longer" and names(tmp_path) == ["mounted"]


@posix
def test_what_is_no_file_of_its_own_is_written_to(tmp_path):
    """A descriptor under any of its names, a device, a pipe."""
    with open(tmp_path / "all", "ab") as file:
        file.write(b"before\n")
        file.flush()
        (tmp_path / "link").symlink_to(f"/dev/fd/{file.fileno()}")
        for place in (f"/dev/fd/{file.fileno()}", tmp_path / "link", f"/proc/{os.getpid()}/fd/{file.fileno()}"):
            if Path(place).exists():
                check_writable(Path(place))
                write_atomically(Path(place), b"line\n")
    assert set((tmp_path / "all").read_text().splitlines()) == {"before", "line"}
    write_atomically(Path(os.devnull), b"anything")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", b"through")
    assert os.read(reader, 99) == b"through" and names(tmp_path) == ["all", "link", "pipe"]
    os.close(reader)
