"""Sentences of one's own: what a file may hold, how it is divided, and what a broken one is told."""

import pytest

from xformer_lib.cli import main
from xformer_lib.data.pairs import LEAST, load_pairs, read_pairs, save_pairs, split_pairs

PAIRS = [(f"I see {n} cats.", f"Je vois {n} chats.") for n in range(40)]
LINES = ["\t".join(pair) for pair in PAIRS]


def written(path, lines, encoding="utf-8"):
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


def test_one_file_or_two_give_the_same_pairs(tmp_path):
    one = written(tmp_path / "both.tsv", [*LINES[:7], "", "  ", *LINES[7:], LINES[3]], "utf-8-sig")
    left, right = (written(tmp_path / name, [pair[side] for pair in PAIRS]) for side, name in enumerate(("en.txt", "fr.txt")))
    assert read_pairs(one) == read_pairs(left, right) == PAIRS


@pytest.mark.parametrize(
    "lines, says",
    [
        (["I see a cat."] * 40, r"two columns, got 1 in line 1 of .*; write one tab"),
        ([*LINES, "a\tb\tc"], r"two columns, got 3 in line 41 of .*, 'a'; keep two"),
        ([*LINES, "a\t "], r"a source and a target, got an empty one in line 41 of .*; fill it, or leave the line out"),
        (LINES[: LEAST - 1], r"at least 20 different ones, got 19"),
        ([LINES[0]] * 50, r"at least 20 different ones, got 1"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path, lines, says):
    with pytest.raises(ValueError, match=f"^pairs: expected {says}"):
        read_pairs(written(tmp_path / "mine.tsv", lines))


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ValueError, match="^pairs: expected text in UTF-8, .*; save it as UTF-8"):
        read_pairs(written(tmp_path / "latin.tsv", ["é\tà"] * 30, "latin-1"))
    with pytest.raises(FileNotFoundError, match="^pairs: no file .*; check the name"):
        read_pairs(tmp_path / "none.tsv")
    with pytest.raises(IsADirectoryError, match="^pairs: expected a file, got the folder"):
        read_pairs(tmp_path)
    short = written(tmp_path / "short.txt", ["a"] * 39)
    with pytest.raises(ValueError, match="^pairs: expected as many lines in .*, got 39 and 40; line n"):
        read_pairs(written(tmp_path / "long.txt", ["a"] * 40), short)
    with pytest.raises(ValueError, match="^pairs: expected one file with tabs, or two .*, got 3"):
        read_pairs(short, short, short)


def test_pairs_that_share_a_sentence_stay_in_one_part():
    pairs = [*PAIRS, *((source, f"{target} Oui.") for source, target in PAIRS[:10])]
    parts = split_pairs(pairs, seed=3)
    assert parts == split_pairs(pairs, seed=3) and sorted(sum(parts.values(), [])) == sorted(pairs)
    assert len(parts["val"]) == len(parts["test"]) == 2
    sources = {name: {source for source, _ in part} for name, part in parts.items()}
    assert not sources["train"] & (sources["val"] | sources["test"]) and not sources["val"] & sources["test"]
    with pytest.raises(ValueError, match="^pairs: expected sentences that differ"):
        split_pairs([("one", target) for _, target in PAIRS])


def test_pairs_come_back_from_a_folder(tmp_path):
    parts = split_pairs(PAIRS)
    save_pairs(tmp_path, parts)
    assert load_pairs(tmp_path) == parts and load_pairs(tmp_path / "elsewhere") is None
    (tmp_path / "pairs.tsv").write_text("train\tone\n")
    with pytest.raises(ValueError, match="^pairs: expected part, source and target, got 'train.tone' in line 1"):
        load_pairs(tmp_path)


def test_from_a_file_to_a_translation(tmp_path, capsys):
    """Train, go on, evaluate and translate, with nothing but the file; a broken one leaves no folder behind."""
    file, folder = written(tmp_path / "mine.tsv", LINES), tmp_path / "run"
    small = "max_steps=3 warmup_steps=1 validate_every=2 d_model=16 d_ff=24 num_encoder_layers=1 num_decoder_layers=1".split()
    assert main(["train", "--pairs", str(file), "--out", str(folder), "--quiet", "--set", *small]) == 0
    assert main(["train", "--resume", str(folder), "--quiet"]) == 0
    assert main(["evaluate", str(folder), "--quiet"]) == 0
    assert f"{folder} on mine test, 2 sentences" in capsys.readouterr().out
    assert main(["translate", "--model", str(folder), "I see 3 cats."]) == 0 and capsys.readouterr().out.count("\n") == 1
    assert main(["train", "--pairs", str(written(tmp_path / "bad.tsv", ["a"] * 40)), "--out", str(tmp_path / "bad"), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("xformer train: pairs: expected two columns, got 1 in line 1") and said.count("\n") == 1
    assert not (tmp_path / "bad").exists()
