"""The corpora: normalisation, groups that stay together, downloads that resume and never lie."""

import gzip
import hashlib
import io
import os
import re
import threading
import unicodedata
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xformer_lib.data import _download, corpora
from xformer_lib.data.corpora import CorpusDamaged, linked_groups, load_corpus, normalise

SPLITS = ("train", "val", "test")
DATA = Path(os.environ.get("XFORMER_DATA") or "nowhere")
needs_multi30k = pytest.mark.skipif(not (DATA / "multi30k/train.en.gz").exists(), reason="XFORMER_DATA has no multi30k")
needs_tatoeba = pytest.mark.skipif(not (DATA / "tatoeba/fra-eng.zip").exists(), reason="XFORMER_DATA has no tatoeba")


# ---------------------------------------------------------------- text and groups


@settings(deadline=None)
@given(st.text())
def test_normalising_is_done_once_and_for_all(text):
    once = normalise(text)
    assert normalise(once) == once == once.strip()
    assert unicodedata.is_normalized("NFC", once)
    assert not set(once) & set("\u00a0\u202f\u2009\u2018\u2019\u201c\u201d") and "  " not in once


def test_normalising_examples():
    assert normalise("Qu\u2019est-ce\u202f?\n") == "Qu'est-ce ?"
    assert normalise("e\u0301te\u0301") == "été"
    assert normalise("\u201cOui\u201d\u2009!") == '"Oui" !'


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")), max_size=17))
def test_groups_are_the_connected_components(pairs):
    groups = linked_groups(pairs)
    labels = list(range(len(pairs)))
    for _ in pairs:  # the slow definition: spread the smallest label until nothing changes
        labels = [min(labels[b] for b, other in enumerate(pairs) if pair[0] == other[0] or pair[1] == other[1]) for pair in pairs]
    for a in range(len(pairs)):
        for b in range(len(pairs)):
            assert (groups[a] == groups[b]) == (labels[a] == labels[b])


def test_groups_ignore_case_and_punctuation_and_keep_languages_apart():
    assert len(set(linked_groups([("Run!", "Cours !"), ("run", "Fuyez !"), ("Flee.", "fuyez")]))) == 1
    assert len(set(linked_groups([("table", "La table"), ("A table", "table")]))) == 2


def test_a_new_sentence_can_rename_a_group_and_move_it():
    pairs = [("Many thanks.", "Merci."), ("Thanks!", "Merci !"), ("I see.", "Je vois.")]
    parts = [corpora._part_of(name) for name in linked_groups(pairs)]
    grown = linked_groups([*pairs, ("A thousand thanks.", "Merci.")])
    assert grown == ["en:athousandthanks"] * 2 + ["en:isee", "en:athousandthanks"]
    assert (parts[0], corpora._part_of(grown[0])) == ("test", "train")


def test_the_order_of_the_corpus_does_not_matter():
    pairs = [("Many thanks.", "Merci."), ("Bye.", "Salut."), ("Thanks!", "Merci !"), ("Hi.", "Salut."), ("Hi.", "Merci.")]
    assert linked_groups(pairs[::-1]) == linked_groups(pairs)[::-1]


def test_a_group_keeps_its_part_when_unrelated_pairs_are_added():
    pairs = [(f"sentence {n}", f"phrase {n}") for n in range(500)]
    before = [corpora._part_of(group) for group in linked_groups(pairs)]
    after = [corpora._part_of(group) for group in linked_groups(pairs + [("new", "nouveau")])]
    assert before == after[:500] and {"train", "val", "test"} == set(before)


def test_fragment_is_a_corpus():
    assert [len(load_corpus("fragment", split)) for split in SPLITS] == [12_000, 500, 500]
    assert ("The big yellow cat", "Le gros chat jaune") in load_corpus("fragment")
    assert load_corpus("fragment", split="val") == load_corpus("fragment", "val")


def test_a_corpus_is_turned_round():
    assert load_corpus("fragment-fr-en", "val") == [(french, english) for english, french in load_corpus("fragment", "val")]


@pytest.mark.parametrize("name", ["wmt-fr-en", "-fr-en", "fragment-fr-en-fr-en", "fragment-en-fr", None])
def test_nothing_else_is_turned_round(name):
    with pytest.raises(ValueError, match=f"name: expected one of fragment, multi30k, tatoeba, got {name!r}; .* with -fr-en behind it"):
        load_corpus(name)


def test_unknown_names_list_the_valid_ones():
    with pytest.raises(ValueError, match="name: expected one of fragment, multi30k, tatoeba, got 'wmt'"):
        load_corpus("wmt")
    with pytest.raises(ValueError, match="split: expected one of train, val, test, got 'dev'"):
        load_corpus("multi30k", "dev")


def test_an_accent_written_as_a_sign_of_its_own_makes_no_other_sentence():
    composed, decomposed = "L'été.", "L'e\u0301te\u0301."
    assert composed != decomposed
    assert corpora.sentence_keys(("Summer.", composed)) == corpora.sentence_keys(("summer", decomposed)) == ("en:summer", "fr:lété")


# ---------------------------------------------------------------- the real corpora


@needs_multi30k
def test_multi30k():
    parts = {split: load_corpus("multi30k", split) for split in SPLITS}
    assert {split: len(part) for split, part in parts.items()} == {"train": 28_996, "val": 1_014, "test": 1_000}
    published = corpora._multi30k_published("train")
    assert len(published) == 29_000 and len(set(published) - set(parts["train"])) == 4
    held_out = parts["val"] + parts["test"]
    for side in (0, 1):
        assert not {pair[side] for pair in parts["train"]} & {pair[side] for pair in held_out}
    kept = set(parts["train"])
    dropped = [pair for pair in published if pair not in kept]
    known = {key for pair in held_out for key in corpora.sentence_keys(pair)}
    assert all(known & set(corpora.sentence_keys(pair)) for pair in dropped)
    assert all(normalise(text) == text and text for part in parts.values() for pair in part for text in pair)


@needs_tatoeba
def test_tatoeba():
    parts = {split: load_corpus("tatoeba", split) for split in SPLITS}
    assert [len(part) for part in parts.values()] == [160_222, 3_326, 3_227]
    for side in (0, 1):
        keys = [{re.sub(r"\W", "", pair[side].casefold()) for pair in part} for part in parts.values()]
        assert not keys[0] & keys[1] and not keys[0] & keys[2] and not keys[1] & keys[2]
    pairs = [pair for part in parts.values() for pair in part]
    assert len(set(pairs)) == len(pairs)
    assert not any(map(corpora._is_offensive, pairs))
    assert not any(character in text for pair in pairs for text in pair for character in "\u202f\u00a0\u2009\u2019")


def test_listed_words_are_found_in_their_language_only(monkeypatch):
    monkeypatch.setattr(corpora, "_LISTED", {hashlib.sha256(b"en:turnip").hexdigest()[:8]})
    corpora._is_listed.cache_clear()
    assert corpora._is_offensive(("You Turnip!", "Bonjour"))
    assert not corpora._is_offensive(("Turnips", "turnip"))
    corpora._is_listed.cache_clear()


# ---------------------------------------------------------------- files and downloads

LINES = {"en": "A dog runs.\nA cat sleeps.\n", "fr": "Un chien court.\nUn chat dort.\n"}
CONTENT = {language: gzip.compress(text.encode() * 400, mtime=0) for language, text in LINES.items()}


class Publisher(BaseHTTPRequestHandler):
    """Serves CONTENT and counts; `server.missing` hides it."""

    def do_GET(self):
        self.server.asked += 1
        if self.server.missing:
            return self.send_error(404)
        data = CONTENT[self.path.strip("/")]
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def publisher(tmp_path, monkeypatch):
    """A publisher on this machine, an empty cache, and no folder of corpora."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    server.asked, server.missing = 0, False
    files = {
        f"multi30k/val.{language}.gz": {
            "url": f"http://127.0.0.1:{server.server_port}/{language}",
            "sha256": hashlib.sha256(data).hexdigest(),
            "size": len(data),
        }
        for language, data in CONTENT.items()
    }
    monkeypatch.setattr(_download, "FILES", files)
    monkeypatch.setattr(_download, "RETRIES", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("XFORMER_DATA", raising=False)
    server.cache = tmp_path / "cache/xformer_lib/multi30k"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_downloaded_once_then_read_from_the_cache(publisher):
    pairs = load_corpus("multi30k", "val")
    assert len(pairs) == 800 and pairs[1] == ("A cat sleeps.", "Un chat dort.")
    assert publisher.asked == 2
    assert load_corpus("multi30k", "val") == pairs
    assert publisher.asked == 2
    assert sorted(path.name for path in publisher.cache.iterdir()) == ["val.en.gz", "val.fr.gz"]


def test_a_corrupt_file_in_the_cache_is_named(publisher):
    load_corpus("multi30k", "val")
    (publisher.cache / "val.fr.gz").write_bytes(b"nonsense")
    with pytest.raises(CorpusDamaged, match=r"val.fr.gz: expected sha256 .*; delete this file and run"):
        load_corpus("multi30k", "val")


@pytest.fixture
def folder(publisher, tmp_path, monkeypatch):
    """XFORMER_DATA with both files, and a publisher that must not be asked."""
    publisher.missing = True
    (tmp_path / "data/multi30k").mkdir(parents=True)
    for language, data in CONTENT.items():
        (tmp_path / f"data/multi30k/val.{language}.gz").write_bytes(data)
    monkeypatch.setenv("XFORMER_DATA", str(tmp_path / "data"))
    return tmp_path / "data/multi30k"


def test_the_folder_of_the_user_comes_first(folder, publisher):
    assert len(load_corpus("multi30k", "val")) == 800
    assert publisher.asked == 0 and not publisher.cache.exists()


def test_what_the_folder_lacks_is_downloaded(folder, publisher):
    (folder / "val.fr.gz").unlink()
    publisher.missing = False
    assert len(load_corpus("multi30k", "val")) == 800
    assert [path.name for path in publisher.cache.iterdir()] == ["val.fr.gz"]


def test_a_corrupt_file_of_the_user_is_named_and_kept(folder):
    (folder / "val.en.gz").write_bytes(b"nonsense")
    with pytest.raises(CorpusDamaged, match=r"val.en.gz: expected sha256 .*; copy this file again, or unset XFORMER_DATA"):
        load_corpus("multi30k", "val")
    assert (folder / "val.en.gz").read_bytes() == b"nonsense"


def test_sides_of_different_length_are_refused(folder, monkeypatch):
    shorter = gzip.compress(LINES["fr"].encode())
    (folder / "val.fr.gz").write_bytes(shorter)
    monkeypatch.setitem(_download.FILES["multi30k/val.fr.gz"], "sha256", hashlib.sha256(shorter).hexdigest())
    with pytest.raises(CorpusDamaged, match="multi30k val: expected as many English as French lines, got 800 and 2"):
        load_corpus("multi30k", "val")


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


def test_the_checksum_of_a_zip_is_that_of_its_member(tmp_path):
    file = {"sha256": hashlib.sha256(b"Go.\tVa !\n").hexdigest(), "member": "fra.txt", "member_size": 9}
    for archive in (zipped(**{"fra.txt": b"Go.\tVa !\n"}), zipped(**{"fra-eng__fra.txt": b"Go.\tVa !\n"})):
        (tmp_path / "fra-eng.zip").write_bytes(archive)
        assert _download._checked(tmp_path / "fra-eng.zip", file, "") == b"Go.\tVa !\n"


def test_sources_are_pinned():
    files = _download.FILES
    assert len(files) == 7
    for name, file in files.items():
        assert re.fullmatch(r"[0-9a-f]{64}", file["sha256"]) and file["url"].startswith("https://")
        if name.startswith("multi30k"):
            assert "/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/" in file["url"]
    assert files["tatoeba/fra-eng.zip"]["sha256"].startswith("0bb85dbaa1c896844649094d7eaf2e34")
