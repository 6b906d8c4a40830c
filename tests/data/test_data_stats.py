"""What chapter 10 records about the corpora is what results/data-stats.json says."""

import json
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def page():
    """The names that the chapter's recording cell defines."""
    cells = nbformat.read(ROOT / "chapters/10_data.ipynb", as_version=4).cells
    [source] = [cell.source for cell in cells if cell.source.startswith("recorded_pairs = {")]
    names = {}
    exec(source, names)
    return names


@pytest.fixture(scope="module")
def stats():
    return json.loads((ROOT / "results/data-stats.json").read_text(encoding="utf-8"))


def test_counts(page, stats):
    assert page["recorded_pairs"] == {
        name: tuple(parts[split]["pairs"] for split in ("train", "val", "test")) for name, parts in stats["sizes"].items()
    }
    assert page["recorded"] == {
        "multi30k dropped": stats["multi30k"]["dropped_from_train"],
        "tatoeba offensive": stats["tatoeba"]["offensive_pairs"],
        "tatoeba groups": stats["tatoeba"]["groups"],
        "tatoeba kept": stats["tatoeba"]["kept_pairs"],
        "leak share by line": stats["tatoeba"]["leak_share_by_line"],
        "unknown word share": stats["pieces"]["unknown_word_share"],
        "distinct French words": stats["pieces"]["distinct_french_words"],
        "mean words": stats["pieces"]["mean_words"],
        "mean characters": stats["pieces"]["mean_characters"],
        "padding budget": stats["padding"]["max_tokens"],
    }


def test_leaks(page, stats):
    assert page["recorded_half_known"] == stats["leaks"]["half_known"]
    assert page["recorded_one_word_apart"] == stats["leaks"]["test_one_word_apart"]


def test_lengths(page, stats):
    for name, (english, _) in stats["words_histogram"].items():
        bins = [sum(english[start : start + 3]) for start in range(1, 31, 3)] + [sum(english[31:])]
        assert page["recorded_lengths"][name] == [round(100 * count / sum(english), 1) for count in bins]


def test_vocabularies_and_padding(page, stats):
    ways = ("buckets", "random", "to_the_longest")
    assert page["recorded_vocabularies"] == stats["pieces"]["vocab_size_and_mean_pieces"]
    assert page["recorded_padding"] == [stats["padding"][way]["share"] for way in ways]
    assert page["recorded_batches"] == [stats["padding"][way]["batches"] for way in ways]
