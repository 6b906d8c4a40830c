"""The benchmarks of chapter 13 run, and their records say what they should."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from xformer_lib.data.corpora import CORPUS_ERRORS, load_corpus
from xformer_lib.evaluation import bleu, chrf

ROOT = Path(__file__).resolve().parents[2]


def record(name):
    path = ROOT / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_growth_has_the_exponents_it_fitted():
    from benchmarks.growth import AXES, LONG, ROWS, SHORT, slope

    found = record("bench-growth")
    sizes = {row["name"]: row["sizes"] for row in [*found["length"], *found["step"]]}
    assert sizes.pop("dense") == list(SHORT) and len(sizes) == 6 + len(AXES)
    for name, values in sizes.items():
        assert values == list(AXES.get(name, LONG))
    for row in [*found["length"], *found["step"], found["corpus"]]:
        assert len(row["ms"]) == len(row["sizes"]) and min(row["ms"]) > 0
        assert row["time_exponent"] == pytest.approx(slope(row["sizes"], row["ms"]), abs=0.25), row["name"]
        if "numbers" in row:
            assert row["memory_exponent"] == pytest.approx(slope(row["sizes"], row["numbers"]), abs=1e-3)
    assert [row["rows"] for row in found["roofline"]] == list(ROWS)


def test_the_growth_script_runs(capsys):
    from benchmarks.growth import smoke, table

    measured = smoke(rounds=2)
    table(measured)
    assert "local attention" in capsys.readouterr().out
    memory = {row["name"]: row["memory_exponent"] for row in measured["length"]}
    assert memory["self-attention, explicit"] == 2 and memory["local attention"] == pytest.approx(1, abs=0.01)


def test_an_interval_is_students():
    from scipy import stats

    from benchmarks.growth import interval

    mean, half = interval([1.0, 2.0, 4.0])
    low, high = stats.t.interval(0.95, 2, loc=mean, scale=stats.sem([1.0, 2.0, 4.0]))
    assert (mean - half, mean + half) == (pytest.approx(low, abs=1e-2), pytest.approx(high, abs=1e-2))


@pytest.mark.parametrize("number", [0, 1])
def test_int8_translations_give_their_scores(number):
    found = record("int8")["scores"][number]
    try:
        pairs = load_corpus(found["corpus"], found["split"])
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason).partition(" (")[0])
    said, references = found["int8_translations"], [target for _, target in pairs]
    assert len(said) == len(pairs) == found["sentences"]
    assert vars(bleu(said, references)) == pytest.approx(found["int8"]["bleu"])
    assert vars(chrf(said, references)) == pytest.approx(found["int8"]["chrf"])
    assert found["paired_bootstrap"]["second"] == pytest.approx(found["int8"]["bleu"]["value"])
    assert hashlib.sha256("\n".join(said).encode()).hexdigest() == found["int8"]["translations_sha256"]


def test_int8_was_measured_with_the_shipped_weights():
    from benchmarks.int8 import WEIGHTS, tensors_sha256

    assert record("int8")["tensors_sha256"] == tensors_sha256(WEIGHTS)


def test_the_shipped_weights_have_the_recorded_bytes():
    from benchmarks.int8 import weight_bytes
    from xformer_lib import load_pretrained

    models = {"float32": load_pretrained("en-fr").model, "int8": load_pretrained("en-fr", weights="int8").model}
    assert {name: weight_bytes(model) for name, model in models.items()} == record("int8")["bytes"]


def test_int8_writes_the_recorded_translations():
    from xformer_lib import load_pretrained

    try:
        pairs = load_corpus("tatoeba", "test")
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason).partition(" (")[0])
    chosen = range(0, len(pairs), len(pairs) // 20)
    again = load_pretrained("en-fr", weights="int8").translate([pairs[n][0] for n in chosen])
    stored = [record("int8")["scores"][0]["int8_translations"][n] for n in chosen]
    # another processor may round a tie the other way; a wrong model changes nearly all
    assert sum(a == b for a, b in zip(again, stored, strict=True)) >= len(stored) - 2


def test_heads_keep_the_bytes_that_were_recorded():
    from benchmarks.grouped_query import HEADS, SEEDS, kept_bytes
    from xformer_lib.nn import Transformer
    from xformer_lib.training import preset

    rows = record("grouped-query")["runs"]
    assert sorted((row["seed"], row["num_kv_heads"]) for row in rows) == sorted((s, h) for s in SEEDS for h in HEADS)
    for heads in HEADS:
        model = Transformer(replace(preset("fragment").model, num_kv_heads=heads))
        assert {row["kept_bytes"] for row in rows if row["num_kv_heads"] == heads} == {kept_bytes(model)}
