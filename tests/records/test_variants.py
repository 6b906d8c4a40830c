"""The recorded runs of chapter 15: what can be computed again comes out again."""

import json
from pathlib import Path

import pytest

from xformer_lib.nn import LanguageModel, Transformer, TransformerConfig, VisionTransformer
from xformer_lib.nn.variants import SeriesReader

FILES = {
    name: json.loads((Path(__file__).resolve().parents[2] / "results" / name).read_text(encoding="utf-8"))
    for name in ("variants-text.json", "variants-transfer.json", "variants.json")
}
RUNS = [run for record in FILES.values() for run in record["runs"]]


def found(part, setting):
    return [run["found"] for run in RUNS if (run["part"], run["setting"]) == (part, setting)]


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


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
