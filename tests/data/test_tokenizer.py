"""The tokenizer: lossless, deterministic, closed against special tokens."""

import hashlib
import json
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xformer_lib.data.fragment import fragment_split, split_words
from xformer_lib.data.tokenizer import Tokenizer, piece_words

TEXTS = [text for example in fragment_split("val") for text in (example.source, example.target)]
TOKENIZER = Tokenizer.train(TEXTS, vocab_size=401)


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_every_text_comes_back(text):
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == unicodedata.normalize("NFC", text)
    assert all(3 < number < TOKENIZER.vocab_size for number in ids)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["<pad>", "<bos>", "<eos>", "<unk>", " ", "L'", "école", "\n", "é", "e\u0301", "  "])))
def test_special_tokens_in_a_text_stay_text(parts):
    text = "".join(parts)
    ids = TOKENIZER.encode(text)
    assert not {0, 1, 2, 3} & set(ids)
    assert TOKENIZER.decode(ids) == unicodedata.normalize("NFC", text)


def test_special_tokens_learned_from_text_stay_text():
    tokenizer = Tokenizer.train(["<pad><eos> <unk>"] * 50, vocab_size=300)
    assert min(tokenizer.encode("<pad> <eos><unk>")) > 3
    assert tokenizer.decode(tokenizer.encode("<pad> <eos><unk>")) == "<pad> <eos><unk>"


def test_special_ids_add_nothing_to_a_text():
    ids = TOKENIZER.encode("Le chat")
    assert TOKENIZER.decode([1, *ids, 2, 0, 0, 3]) == "Le chat"
    assert TOKENIZER.pieces([1, 2, 0, 3]) == ["<bos>", "<eos>", "<pad>", "<unk>"]
    assert (TOKENIZER.pad_id, TOKENIZER.bos_id, TOKENIZER.eos_id, TOKENIZER.unk_id) == (0, 1, 2, 3)


@given(st.lists(st.text(max_size=20), max_size=7))
@settings(max_examples=50, deadline=None)
def test_batch_encoding_is_encoding_one_by_one(texts):
    assert TOKENIZER.encode_batch(texts) == [TOKENIZER.encode(text) for text in texts]


def test_pieces_read_like_the_text():
    read = {text: "".join(TOKENIZER.pieces(TOKENIZER.encode(text))).replace("▁", " ") for text in TEXTS}
    whole = {text: shown for text, shown in read.items() if "<0x" not in shown}
    assert len(whole) > 0.9 * len(read) and all(text == shown for text, shown in whole.items())
    assert TOKENIZER.pieces(TOKENIZER.encode("😀")) == ["<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]


def test_pieces_belong_to_words():
    for text in TEXTS:
        pieces = TOKENIZER.pieces(TOKENIZER.encode(text))
        words = {}
        for piece, number in zip(pieces, piece_words(pieces), strict=True):
            words[number] = words.get(number, "") + piece.replace("▁", "")
        assert all(shown == word or "<0x" in shown for shown, word in zip(words.values(), split_words(text), strict=True))
    assert piece_words([]) == []


def test_vocabulary_size_is_the_one_asked_for():
    assert TOKENIZER.vocab_size == 401
    assert Tokenizer.train(["abab"], vocab_size=5000).vocab_size < 300  # nothing left to merge
    assert repr(TOKENIZER) == "Tokenizer(vocab_size=401)"


def test_bytes_alone_are_enough():
    smallest = Tokenizer.train([], vocab_size=260)
    assert smallest.decode(smallest.encode("déjà vu 😀")) == "déjà vu 😀"
    assert len(smallest.encode("é")) == 2


def test_saved_and_loaded(tmp_path):
    path = tmp_path / "deep" / "tokenizer.json"
    TOKENIZER.save(path)
    loaded = Tokenizer.load(path)
    for text in [*TEXTS[:50], "<eos> ça 😀", ""]:
        assert loaded.encode(text) == TOKENIZER.encode(text)
    assert [found.name for found in path.parent.iterdir()] == ["tokenizer.json"]  # nothing temporary stays
    json.loads(path.read_text(encoding="utf-8"))


def test_training_is_deterministic_across_processes(tmp_path):
    program = (
        "import sys\nfrom xformer_lib.data.tokenizer import Tokenizer\n"
        "Tokenizer.train(open(sys.argv[1], encoding='utf-8').read().split('\\n'), vocab_size=401).save(sys.argv[2])"
    )
    (tmp_path / "texts").write_text("\n".join(TEXTS), encoding="utf-8")
    TOKENIZER.save(tmp_path / "here.json")
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.json"
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "texts"), str(out)],
            check=True,
            env={**__import__("os").environ, "PYTHONHASHSEED": seed},
        )
        assert out.read_bytes() == (tmp_path / "here.json").read_bytes()


@pytest.mark.parametrize("number", [-1, 401, 10**6])
def test_ids_outside_the_vocabulary(number):
    for method in (TOKENIZER.decode, TOKENIZER.pieces):
        with pytest.raises(ValueError, match=f"ids: expected integers from 0 to 400, got {number}; use the tokenizer"):
            method([5, number])


def test_too_small_a_vocabulary():
    with pytest.raises(ValueError, match="vocab_size: expected at least 260 .* got 259; ask for more"):
        Tokenizer.train(TEXTS, vocab_size=259)


@pytest.mark.parametrize("size", [4_000_000_000, 2**31, 2**64, 1_000_001])
def test_too_large_a_vocabulary(size):
    """In a process of its own: what reserves memory for it ends the process, and no `except` would see that."""
    program = (
        "import sys\nfrom xformer_lib.data.tokenizer import Tokenizer\n"
        "try:\n    Tokenizer.train(['le chat'], vocab_size=int(sys.argv[1]))\nexcept ValueError as error:\n    print(error)"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(size)], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (
        0,
        f"vocab_size: expected at most 1,000,000, got {size}; ask for fewer, 8,000 are usual\n",
    ), ended.stderr


@pytest.mark.parametrize("size", [300.0, "300", True, None])
def test_a_vocabulary_of_no_whole_number(size):
    with pytest.raises(ValueError, match=f"vocab_size: expected a whole number, 1 or more, got {size!r}; "):
        Tokenizer.train(["le chat"], vocab_size=size)


def test_the_largest_vocabulary():
    assert Tokenizer.train(["le chat"], vocab_size=1_000_000).vocab_size == 260


def test_a_file_with_the_right_checksum_that_is_no_tokenizer(tmp_path):
    """Made by hand: the package that reads it has errors of its own, one of them for each thing that is wrong."""
    path = tmp_path / "tokenizer.json"
    TOKENIZER.save(path)
    rest = path.read_bytes().split(b",", 1)[1]
    for changed in (
        rest.replace(b'"BPE"', b'"XYZ"'),
        b'"a":1}',
        b'"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b"\xff}",
        b"",
        rest.replace(b'"merges":[', b'"merges":[["?","?"],'),
    ):
        path.write_bytes(b'{"sha256":"%s",' % hashlib.sha256(changed).hexdigest().encode() + changed)
        with pytest.raises(ValueError, match="path: expected a tokenizer file, got .*tokenizer.json, which was changed, ") as error:
            Tokenizer.load(path)
        assert "\n" not in str(error.value)


def test_what_is_no_text():
    with pytest.raises(TypeError, match="text: expected a string, got list; give encode one sentence"):
        TOKENIZER.encode(["Le chat"])
    with pytest.raises(ValueError, match="half of a surrogate pair; read the file again as UTF-8"):
        TOKENIZER.encode("a\ud800")


def test_files_that_are_no_tokenizer(tmp_path):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(FileNotFoundError):
        Tokenizer.load(path)
    changed = r"path: expected a tokenizer file, got .*tokenizer.json, which was changed, .*save the tokenizer again"
    TOKENIZER.save(path)
    whole = path.read_text(encoding="utf-8")
    older = "{" + whole.split(",", 1)[1]  # without its checksum
    assert json.loads(older) | {"sha256": json.loads(whole)["sha256"]} == json.loads(whole)
    for damaged in (whole[:-100], whole.replace("<eos>", "<end>"), older, "", "{}", "Le gros chat jaune"):
        path.write_text(damaged, encoding="utf-8")
        with pytest.raises(ValueError, match=changed):
            Tokenizer.load(path)


def test_the_fingerprint_is_that_of_pieces_and_merges(tmp_path):
    assert Tokenizer.train(TEXTS, vocab_size=401).fingerprint == TOKENIZER.fingerprint
    others = [Tokenizer.train(TEXTS, vocab_size=400), Tokenizer.train(TEXTS[:-200], vocab_size=401)]
    assert len({TOKENIZER.fingerprint, *(other.fingerprint for other in others)}) == 3
    TOKENIZER.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").fingerprint == TOKENIZER.fingerprint


def test_one_string_is_not_a_list_of_texts():
    for call in (TOKENIZER.encode_batch, lambda texts: Tokenizer.train(texts, vocab_size=260)):
        with pytest.raises(TypeError, match=r"texts: expected a list of sentences, got one string; write \[text\]"):
            call("Le chat")


@pytest.mark.parametrize("ids", [[4.5], ["5"], 7, None, [None]])
def test_ids_that_are_no_integers(ids):
    for method in (TOKENIZER.decode, TOKENIZER.pieces):
        with pytest.raises(TypeError, match="ids: expected a list of integers, got .*; give decode the ids of one text"):
            method(ids)
