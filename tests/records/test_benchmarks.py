"""A recorded comparison is believed only when its own samples give its medians again."""

import copy
import json
from pathlib import Path

from benchmarks import peers

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("attention-paths", "batch-size", "decoding", "growth", "one-change", "peers", "plan")
RECORDS = {f"bench-{name}": json.loads((ROOT / "results" / f"bench-{name}.json").read_text(encoding="utf-8")) for name in NAMES}


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
