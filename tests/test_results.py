"""Recorded runs are believed only when their stored translations give the stored scores again.

Every file of results/ that stores translations is scored here; those of results/ladder in test_ladder.py.
"""

import json
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU, CHRF

from xformer_lib.data.corpora import CORPUS_ERRORS, load_corpus
from xformer_lib.evaluation import bleu, chrf

ROOT = Path(__file__).parent.parent
FILES = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "results").glob("*.json"))}
RECORDS = [pytest.param(record, id=path.stem) for path, record in FILES.items() if "hypotheses" in record]


def pairs_of(record):
    try:
        return load_corpus(record["corpus"], record["split"])
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason))


def scores(hypotheses, pairs):
    """Both scores, one reference for each hypothesis."""
    references = [target for _, target in pairs]
    return {"bleu": vars(bleu(hypotheses, references)), "chrf": vars(chrf(hypotheses, references))}


def multi_reference_scores(hypotheses, pairs):
    """Each English sentence once, against all its French ones; where there are fewer, the first is repeated."""
    said, french = {}, {}
    for (source, target), hypothesis in zip(pairs, hypotheses, strict=True):
        assert said.setdefault(source, hypothesis) == hypothesis, "one sentence, one translation"
        french.setdefault(source, []).append(target)
    most = max(map(len, french.values()))
    streams = list(zip(*(found + found[:1] * (most - len(found)) for found in french.values()), strict=True))
    return {name: metric.corpus_score(list(said.values()), streams).score
            for name, metric in (("bleu", BLEU()), ("chrf", CHRF()))}


def test_there_are_recorded_runs():
    corpora = [record["corpus"] for record in FILES.values() if "hypotheses" in record]
    assert corpora.count("multi30k") >= 2
    assert all("hypotheses" in record for path, record in FILES.items() if "-en-fr" in path.stem)


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_says_where_it_comes_from(record):
    assert record["command"].startswith(f"xformer train --preset {record['corpus']}")
    assert len(record["commit"]) == 12, "recorded from a clean clone"
    for name in ("device", "threads", "versions", "seed", "minutes", "cpu_minutes", "tokens_per_second"):
        assert record[name], name
    assert record["seed"] == record["config"]["seed"]
    assert record["history"][-1]["step"] == record["config"]["max_steps"]


@pytest.mark.parametrize("record", RECORDS)
def test_stored_translations_give_the_stored_scores(record):
    pairs = pairs_of(record)
    assert len(record["hypotheses"]) == len(pairs)
    for name, found in scores(record["hypotheses"], pairs).items():
        assert found == pytest.approx(record[name]), name
    translations = {(*pair, said) for pair, said in zip(pairs, record["hypotheses"])}
    assert {(one["source"], one["reference"], one["hypothesis"]) for one in record["samples"]} <= translations


@pytest.mark.parametrize("record", [one for one in RECORDS if "multi_reference" in one.values[0]])
def test_stored_translations_give_the_stored_scores_against_all_references(record):
    stored = record["multi_reference"]
    for name, found in multi_reference_scores(record["hypotheses"], pairs_of(record)).items():
        assert found == pytest.approx(stored[name]["value"]), name


def test_a_changed_translation_is_noticed():
    pairs = [("Hello world", "Bonjour le monde"), ("The big yellow cat sleeps", "Le gros chat jaune dort"),
             ("Hello world", "Bonjour au monde entier")]
    said = ["Bonjour le monde", "Le gros chat jaune dort", "Bonjour le monde"]
    changed = [said[0], "Le gros chat noir dort", said[2]]
    assert scores(changed, pairs)["bleu"] != pytest.approx(scores(said, pairs)["bleu"])
    assert multi_reference_scores(said, pairs) == pytest.approx({"bleu": 100.0, "chrf": 100.0})
    assert multi_reference_scores(changed, pairs)["chrf"] < 99
