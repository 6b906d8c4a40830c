"""The recorded runs of chapter 15: complete, from a clean commit, and what can be computed again comes out again."""

import json
from collections import Counter
from pathlib import Path

import pytest

from xformer_lib.nn import LanguageModel, SeriesReader, Transformer, TransformerConfig, VisionTransformer

FILES = {
    name: json.loads((Path(__file__).resolve().parents[2] / "results" / name).read_text(encoding="utf-8"))
    for name in ("variants-text.json", "variants-transfer.json", "variants.json")
}
RUNS = [run for record in FILES.values() for run in record["runs"]]
each_file = pytest.mark.parametrize("name", FILES)


def found(part, setting):
    return [run["found"] for run in RUNS if (run["part"], run["setting"]) == (part, setting)]


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


@each_file
def test_a_record_says_where_it_comes_from(name):
    record = FILES[name]
    assert record["command"].startswith("python benchmarks/variants.py") and name in record["command"]
    assert len(record["commit"]) == 12, "recorded from a clean clone"
    assert record["device"] and record["threads"] == 1 and {"torch", "scikit-learn", "python"} <= set(record["versions"])
    assert record["cpu_minutes"] == pytest.approx(sum(run["cpu_seconds"] for run in record["runs"]) / 60, abs=0.1)


def test_a_part_runs_all_its_settings_seed_by_seed():
    runs = Counter((run["part"], run["setting"], run["seed"]) for run in RUNS)
    assert set(runs.values()) == {1}
    for part in {run["part"] for run in RUNS}:
        seeds = {}
        for run in RUNS:
            if run["part"] == part:
                seeds.setdefault(run["setting"], []).append(run["seed"])
        assert all(sorted(each) == list(range(len(each))) for each in seeds.values()), part
        assert max(map(len, seeds.values())) - min(map(len, seeds.values())) <= 1, part
    assert min(len(found("transfer", labels)) for labels in (25, 50, 100, 400)) >= 5


def test_simple_methods_give_their_recorded_accuracy_again():
    datasets = pytest.importorskip("sklearn.datasets")
    neighbours = pytest.importorskip("sklearn.neighbors")
    data = datasets.load_digits()
    x, y = data.data, data.target
    accuracy = neighbours.KNeighborsClassifier(3).fit(x[:1297], y[:1297]).score(x[1297:], y[1297:])
    recorded = [one["accuracy"] for one in found("vision", "nearest neighbours")]
    assert recorded == pytest.approx([accuracy] * len(recorded)) and len(recorded) >= 2


def test_recorded_sizes_are_those_of_the_machines():
    small = TransformerConfig(vocab_size=10, d_model=48, num_heads=4, d_ff=96, num_encoder_layers=2)
    for name, pool, positions in (("class token", "token", "learned"), ("mean", "mean", "learned"), ("no positions", "token", "none")):
        config = TransformerConfig(**{**vars(small), "positions": positions})
        machine = VisionTransformer(config, num_patches=16, patch_size=2, pool=pool)
        assert {one["parameters"] for one in found("vision", name)} == {size(machine)}
    config = TransformerConfig(vocab_size=11, d_model=32, num_heads=2, d_ff=64, num_encoder_layers=1, num_decoder_layers=2)
    reader = SeriesReader(config, series_width=7, num_answers=2, max_frames=200)
    assert {one["parameters"] for one in found("series", "none")} == {size(reader)}


def test_both_wirings_of_translation_are_as_large_as_recorded():
    sizes = {kind: {one["parameters"] for one in found("one-row", kind)} for kind in ("encoder–decoder", "one row")}
    ours = {"d_model": 96, "num_heads": 4, "d_ff": 192}
    both = [size(Transformer(TransformerConfig(vocab_size=n, num_encoder_layers=2, num_decoder_layers=2, **ours))) for n in (97, 98)]
    words = 97 + (min(sizes["encoder–decoder"]) - both[0]) // (both[1] - both[0])
    one = LanguageModel(TransformerConfig(vocab_size=words, num_encoder_layers=5, **ours))
    assert sizes["one row"] == {size(one)}
    assert min(sizes["one row"]) == pytest.approx(min(sizes["encoder–decoder"]), rel=0.002)
