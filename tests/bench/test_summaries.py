"""Medians and ratios of numbers that fit in a hand."""

import pytest

from benchmarks import summaries


def training_table():
    return {
        "target_tokens": [10, 20, 30],
        "gigaflop": [4.0, 8.0, 12.0],
        "floor": {
            "float32": [
                {"a": (8.0, 80.0), "b": (6.0, 60.0)},
                {"a": (16.0, 160.0), "b": (10.0, 100.0)},
                {"a": (20.0, 200.0), "b": (11.0, 110.0)},
            ]
        },
        "rows": [
            {"name": "other", "precision": "float32", "cpu_seconds": [2.0, 6.0, 4.0], "wall_seconds": [1.0, 1.0, 1.0]},
            {"name": "ours", "precision": "float32", "cpu_seconds": [1.0, 2.0, 4.0], "wall_seconds": [2.0, 4.0, 5.0]},
        ],
    }


def test_training():
    table = training_table()
    summaries.summarise_training(table, "cpu_seconds")
    other, ours = table["rows"]
    assert other["over_ours"] == {"median": 2.0, "low": 1.5, "high": 2.5}  # 2, 3 and 1 times ours
    assert other["tokens_per_second"] == 5 and ours["tokens_per_second"] == 10
    assert table["peaks"]["float32"] == {"shape": "a", "median": 16.0, "low": 12.0, "high": 18.0}
    assert ours["gigaflop_per_second"] == 4.0 and ours["fraction_of_peak"] == 0.25


def test_the_clock_is_the_one_asked_for():
    table = training_table()
    summaries.summarise_training(table, "wall_seconds")
    assert table["rows"][0]["over_ours"]["median"] == 0.25
    assert table["peaks"]["float32"]["median"] == 160.0


def test_decoding():
    table = {
        "sentences": 12,
        "rows": [{"name": "ours", "tokens": 60, "cpu_seconds": [1.0, 2.0]}, {"name": "other", "tokens": 60, "cpu_seconds": [3.0, 3.0]}],
    }
    summaries.summarise_decoding(table, "cpu_seconds")
    assert [(row["sentences_per_second"], row["tokens_per_second"]) for row in table["rows"]] == [(4.0, 20), (2.0, 10)]
    assert table["rows"][1]["over_ours"] == pytest.approx({"median": 2.25, "low": 1.875, "high": 2.625})
