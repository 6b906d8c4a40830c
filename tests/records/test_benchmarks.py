"""A recorded comparison is believed only when its own samples give its medians again."""

import copy
import json
import re
from pathlib import Path

import pytest

from benchmarks import peers, quality

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("attention-paths", "batch-size", "decoding", "growth", "one-change", "peers", "plan", "project")
RECORDS = {f"bench-{name}": json.loads((ROOT / "results" / f"bench-{name}.json").read_text(encoding="utf-8")) for name in NAMES}


def test_every_record_is_looked_at():
    assert sorted(RECORDS) == sorted(path.stem for path in (ROOT / "results").glob("bench-*.json"))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_comes_from_a_commit(name):
    record = RECORDS[name]
    assert re.fullmatch("[0-9a-f]{12}", record["commit"]), "recorded from a clean clone"
    assert record["command"].startswith("python ") and record["device"]


def summaries(tables, summarise, clock):
    """The tables with their summaries taken away and made again."""
    again = copy.deepcopy(tables)
    for table in again:
        for row in table["rows"]:
            row["over_ours"] = None
        summarise(table, clock)
    return again


class TestPeers:
    def test_samples_give_the_stored_medians(self):
        record = RECORDS["bench-peers"]
        assert summaries(record["training"], peers.summarise_training, record["clock"]) == record["training"]
        assert summaries(record["decoding"], peers.summarise_decoding, record["clock"]) == record["decoding"]

    def test_nobody_was_idle(self):
        sizes = peers.Sizes(**RECORDS["bench-peers"]["sizes"])
        for table in RECORDS["bench-peers"]["training"]:
            for row in table["rows"]:
                peers.check_learns(row["name"], row["losses"], sizes)
                assert len(row["cpu_seconds"]) == len(table["target_tokens"])
                assert row["fraction_of_peak"] < 1
        for table in RECORDS["bench-peers"]["decoding"]:
            for row in table["rows"]:
                exact = row["weights"] == "shipped" and "int8" not in row["name"]
                assert not exact or row["equal_to_ours"] >= peers.SAME_TOKENS[table["task"]]


class TestQuality:
    TRIALS = json.loads((ROOT / "results" / "quality.json").read_text(encoding="utf-8"))["trials"]

    @pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: f"{trial['name']}, seed {trial['seed']}")
    def test_a_trial_is_what_its_name_says_and_learns(self, trial):
        assert trial["changes"] == quality.TRIALS[trial["name"]] and re.fullmatch("[0-9a-f]{12}", trial["commit"])
        config = quality.config_of(trial["name"], trial["seed"], 1000)
        assert [look["step"] for look in trial["looks"]] == [config.max_steps // 2, config.max_steps * 4 // 5, config.max_steps]
        for measure in ("tokens", "cpu_seconds"):
            assert sorted(look[measure] for look in trial["looks"]) == [look[measure] for look in trial["looks"]]
        losses = [look["weights"]["loss"] for look in trial["looks"]]
        assert losses == sorted(losses, reverse=True) and all({*map(str, quality.MEANS)} < look.keys() for look in trial["looks"])

    def test_none_is_there_twice(self):
        assert len({(trial["name"], trial["seed"]) for trial in self.TRIALS}) == len(self.TRIALS) > 2

    def test_narrower_wins_in_the_same_time_with_every_seed(self):
        last = {(trial["name"], trial["seed"]): trial["looks"][-1] for trial in self.TRIALS}
        for seed in (1, 2, 3):
            base, other = last["base", seed], last["narrower", seed]
            assert other["weights"]["bleu"] > base["weights"]["bleu"] + 2 and other["weights"]["loss"] < base["weights"]["loss"] - 0.08
            assert seed == 1 or abs(other["cpu_seconds"] / base["cpu_seconds"] - 1) < 0.01  # seeds 2 and 3 ran side by side
