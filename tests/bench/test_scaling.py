"""The benchmark of loss by size: its text, its schedule, a short run, and the record that page 14a reads."""

import json
from pathlib import Path

import pytest

from benchmarks import scaling

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def record():
    return json.loads((ROOT / "results" / "scaling.json").read_text(encoding="utf-8"))


def test_the_runs_are_those_of_the_grid_in_its_order(record):
    """Every width with every rate and the first seed, then with its best rate and the others."""
    runs = record["runs"]
    grid = [(width, rate, scaling.SEEDS[0]) for width in scaling.WIDTHS for rate in scaling.RATES]
    grid += [(width, scaling.best_rate(runs, width), seed) for seed in scaling.SEEDS[1:] for width in scaling.WIDTHS]
    assert [(run["width"], run["rate"], run["seed"]) for run in runs] == grid
    assert record["tokens"] == record["steps"] * record["rows"] * record["length"]
    for run in runs:
        config = scaling.config_of(run["width"], record["vocab_size"])
        assert run["parameters"] == sum(weight.numel() for weight in scaling.LanguageModel(config).parameters())
        assert run["loss"] < record["loss_of_frequencies"]


def test_prose_is_divided_by_cells(tmp_path):
    (tmp_path / "chapters").mkdir()
    cells = [{"cell_type": "markdown", "source": [f"text {n}"]} for n in range(20)]
    cells.insert(3, {"cell_type": "code", "source": ["never"]})
    (tmp_path / "chapters" / "a.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    train, held_out = scaling.prose(tmp_path)
    assert held_out == "text 9\n\ntext 19" and "never" not in train
    assert train.count("text") == 18 and "text 9" not in train.split("\n\n")


def test_a_short_run_learns():
    texts = ("the cat sat on the mat. " * 40, "the cat sat on the mat. " * 10)
    run = scaling.train(8, 0.02, 1, 60, scaling.ids_of(texts))
    assert run["loss"] < 2.3 and run["curve"][-1][0] <= 60 and run["curve"][0][1] > run["curve"][-1][1]
