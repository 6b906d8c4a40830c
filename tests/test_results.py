"""Recorded runs are believed only when their stored translations give the stored scores again."""

import json
from pathlib import Path

import pytest

from xformer_lib.data.corpora import CorpusUnavailable, load_corpus
from xformer_lib.evaluation import bleu, chrf

ROOT = Path(__file__).parent.parent
RECORDS = sorted((ROOT / "results").glob("multi30k-*.json"))


def test_there_are_recorded_runs():
    assert RECORDS


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_where_it_comes_from(path):
    record = json.loads(path.read_text())
    assert record["command"].startswith("xformer train --preset multi30k")
    assert len(record["commit"]) == 12, "recorded from a clean clone"
    for name in ("device", "threads", "versions", "seed", "minutes", "cpu_minutes", "tokens_per_second"):
        assert record[name], name
    assert record["history"][-1]["step"] == record["config"]["max_steps"]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_stored_translations_give_the_stored_scores(path):
    record = json.loads(path.read_text())
    try:
        pairs = load_corpus(record["corpus"], record["split"])
    except CorpusUnavailable as reason:
        pytest.skip(str(reason))
    references = [target for _, target in pairs]
    assert vars(bleu(record["hypotheses"], references)) == pytest.approx(record["bleu"])
    assert vars(chrf(record["hypotheses"], references)) == pytest.approx(record["chrf"])
    assert all((sample["source"], sample["reference"]) in pairs for sample in record["samples"])
