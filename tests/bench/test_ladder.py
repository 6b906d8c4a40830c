"""The ladder: fair by construction, made again bit for bit, resumable, and its records re-scored."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
import torch

from tests.ci import continuous, in_ci
from xformer_lib.data.corpora import CorpusUnavailable, load_corpus
from xformer_lib.nn import MultiHeadAttention, Transformer, TransformerConfig

ROOT = Path(__file__).resolve().parents[2]
EVERY = {
    f"{file.stem}/{name}": record
    for file in sorted((ROOT / "results").glob("ladder*.json"))
    for name, record in json.loads(file.read_text(encoding="utf-8")).items()
}
RECORDS = {name: record for name, record in EVERY.items() if "/trial-" not in name}
TRIALS = [record for name, record in EVERY.items() if "/trial-" in name]
FAMILIES = ("gru", "gru-attention", "transformer")
VARIANTS = ("no-positions", "no-scale", "no-smoothing", "no-warm-up", "one-head", "post-norm", "post-norm-no-warm-up")
MADE = in_ci(FAMILIES + VARIANTS, (*FAMILIES, "no-scale", "one-head"))  # in the run of the smallest scale
# The other seeds of the variants keep scores without translations, for the sake of the repository's size.
WITH_TRANSLATIONS = [name for name, record in RECORDS.items() if name.endswith("-seed1") or record["system"] in FAMILIES]


@pytest.fixture(scope="module")
def ladder():
    spec = importlib.util.spec_from_file_location("ladder", ROOT / "benchmarks" / "ladder.py")
    module = sys.modules["ladder"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def smoke(ladder, tmp_path_factory):
    """A run of the systems on the smallest scale, a second one of two, and the file they are in."""
    out = tmp_path_factory.mktemp("ladder") / "ladder.json"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    ladder.main(["--smoke", "--out", str(out), "--seed", "1", "--only", *MADE])
    ladder.main(["--smoke", "--out", str(out), "--seed", "2", "--only", "gru", "one-head"])
    torch.set_num_threads(threads)
    return out


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- the script


@continuous
def test_systems_of_a_seed_read_the_same_tokens(ladder, smoke):
    for seed, names in ((1, MADE), (2, ("gru", "one-head"))):
        records = [read(smoke)[f"{name}-seed{seed}"] for name in names]
        assert len({record["tokens"] for record in records}) == 1
        assert all(record["history"][-1]["step"] == record["config"]["max_steps"] for record in records)
        assert len({record["config"]["model"]["vocab_size"] for record in records}) == 1


def test_a_system_differs_from_its_family_in_what_its_name_says(ladder):
    made = ladder.Ladder(ladder.SMOKE, Path("/nonexistent/../tmp"))
    full = made.config("transformer", rate=1e-3, seed=5)
    wanted = {
        "no-scale": {},
        "one-head": {"num_heads": 1},
        "no-positions": {"positions": "none"},
        "no-warm-up": {"warmup_steps": 1},
        "no-smoothing": {"label_smoothing": 0.0},
        "post-norm": {"norm": "post"},
        "post-norm-no-warm-up": {"norm": "post", "warmup_steps": 1},
    }
    for name, changes in wanted.items():
        config = made.config(name, rate=1e-3, seed=5)
        flat = [{**vars(c), **vars(c.model), "model": None} for c in (full, config)]
        assert {key: flat[1][key] for key in flat[0] if flat[0][key] != flat[1][key]} == changes
    assert set(wanted) | set(ladder.FAMILIES) == set(ladder.SYSTEMS)


def test_without_scale_the_scores_are_plain_products(ladder):
    config = TransformerConfig(vocab_size=31, d_model=22, num_heads=2, d_ff=13, dropout=0.0, max_len=17)
    torch.manual_seed(0)
    scaled = Transformer(config)
    torch.manual_seed(0)
    plain = ladder.unscaled_transformer(config)
    one, other = (next(layer for layer in model.modules() if isinstance(layer, MultiHeadAttention)) for model in (scaled, plain))
    x = torch.randn(3, 5, 22)
    q, k = one.split(one.w_q(x), one.d_head), one.split(one.w_k(x), one.d_head)
    _, weights = other(x, x, x, need_weights=True)
    torch.testing.assert_close(weights, (q @ k.transpose(-2, -1)).softmax(-1))
    assert not torch.allclose(weights, one(x, x, x, need_weights=True)[1])


def test_the_rate_is_the_one_with_the_least_validation_loss(ladder, smoke):
    for name in MADE:
        trials = [record for key, record in read(smoke).items() if key.startswith(f"trial-{name}-0")]
        rates = sorted(trial["rate"] for trial in trials)
        assert set(rates) >= set(ladder.RATES)
        best = min(trials, key=lambda trial: trial["history"][-1]["validation_loss"])
        assert read(smoke)[f"{name}-seed1"]["config"]["peak_rate"] == best["rate"]
        assert rates[0] < best["rate"] < rates[-1] or len(rates) == ladder.MOST_RATES, "the best rate has a neighbour on each side"


def test_what_is_recorded_is_not_made_again(ladder, smoke, monkeypatch):
    before = smoke.read_bytes()
    monkeypatch.setattr(ladder.Ladder, "train", None)  # calling it would fail
    ladder.main(["--smoke", "--out", str(smoke), "--seed", "1", "--only", *MADE])
    assert before == smoke.read_bytes()


def test_a_missing_run_is_made_from_what_is_there(ladder, smoke):
    whole = read(smoke)
    before = whole["one-head-seed2"]
    smoke.write_text(json.dumps({name: record for name, record in whole.items() if record is not before}), encoding="utf-8")
    ladder.main(["--smoke", "--out", str(smoke), "--only", "one-head", "--seed", "2"])
    assert list(read(smoke)) == list(whole)
    after = read(smoke)["one-head-seed2"]
    assert [line["validation_loss"] for line in after["history"]] == [l["validation_loss"] for l in before["history"]]
    assert after["bleu"] == before["bleu"] and after["by_length"] == before["by_length"]


def test_a_changed_checkout_records_nothing(ladder, tmp_path, monkeypatch):
    monkeypatch.setattr(ladder, "git_commit", lambda: "0123456789ab-dirty")
    with pytest.raises(SystemExit, match="^commit: expected a clean clone"):
        ladder.main(["--out", str(tmp_path / "ladder.json")])


# ---------------------------------------------------------------- the records


@pytest.mark.parametrize("name", in_ci(WITH_TRANSLATIONS, WITH_TRANSLATIONS[::3]))
def test_stored_translations_give_the_stored_scores(ladder, name):
    record = RECORDS[name]
    try:
        pairs = load_corpus("multi30k", "test")
    except CorpusUnavailable as reason:
        pytest.skip(str(reason).partition(" (")[0])
    again = ladder.scores(record["hypotheses"], pairs)
    assert again["bleu"] == pytest.approx(record["bleu"]) and again["chrf"] == pytest.approx(record["chrf"])
    for group, stored in zip(again["by_length"], record["by_length"], strict=True):
        assert group == pytest.approx(stored)


def test_rates_were_chosen_by_the_trials():
    best = {}
    for trial in TRIALS:
        loss = trial["history"][-1]["validation_loss"]
        best[trial["system"]] = min(best.get(trial["system"], (loss, trial["rate"])), (loss, trial["rate"]))
    for record in RECORDS.values():
        assert record["config"]["peak_rate"] == best[record["system"]][1]
