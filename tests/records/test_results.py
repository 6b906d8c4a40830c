"""Recorded runs are believed only when their stored translations give the stored scores again.

Every file of results/ that stores translations is scored here; those of the ladder in bench/test_ladder.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from benchmarks import captions
from tests.ci import in_ci
from xformer_lib.data.corpora import CORPUS_ERRORS, load_corpus
from xformer_lib.evaluation import bleu, bleu_of_counts, chrf, middle, resampled_bleu

ROOT = Path(__file__).resolve().parents[2]
FILES = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "results").glob("*.json"))}
RECORDS = [pytest.param(record, id=path.stem) for path, record in FILES.items() if "hypotheses" in record]
SCORED = in_ci(RECORDS, RECORDS[::4])
COMPARED = FILES.get(ROOT / "results" / "captions-compared.json")


def pairs_of(record):
    try:
        return load_corpus(record["corpus"], record["split"])
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason).partition(" (")[0])


def scores(hypotheses, pairs):
    """Both scores, one reference for each hypothesis."""
    references = [target for _, target in pairs]
    return {"bleu": vars(bleu(hypotheses, references)), "chrf": vars(chrf(hypotheses, references))}


def multi_reference_scores(hypotheses, pairs):
    """Each sentence once, against all its translations; where there are fewer, the first is repeated."""
    said, references = {}, {}
    for (source, target), hypothesis in zip(pairs, hypotheses, strict=True):
        assert said.setdefault(source, hypothesis) == hypothesis, "one sentence, one translation"
        references.setdefault(source, []).append(target)
    most = max(map(len, references.values()))
    streams = list(zip(*(found + found[:1] * (most - len(found)) for found in references.values()), strict=True))
    return {name: metric.corpus_score(list(said.values()), streams).score for name, metric in (("bleu", BLEU()), ("chrf", CHRF()))}


@pytest.mark.parametrize("run", FILES[ROOT / "results" / "gpu.json"]["translators"], ids=lambda run: f"{run['corpus']}-{run['width']}")
def test_a_translator_from_a_gpu_has_its_stored_scores(run):
    """Rounded to two digits, as they are stored; the settings are those that the command names."""
    pairs = pairs_of(run)
    for found in (run["greedy"], run["beam of 4"]):
        again = scores(found["hypotheses"], pairs)
        assert {name: round(again[name]["value"], 2) for name in again} == {name: found[name] for name in again}
    assert f"max_steps={run['history'][-1]['step']}" in run["command"] and run["config"]["max_steps"] == run["history"][-1]["step"]


@pytest.mark.parametrize("record", SCORED)
def test_stored_translations_give_the_stored_scores(record):
    pairs = pairs_of(record)
    assert len(record["hypotheses"]) == len(pairs)
    for name, found in scores(record["hypotheses"], pairs).items():
        assert found == pytest.approx(record[name]), name
    translations = {(*pair, said) for pair, said in zip(pairs, record["hypotheses"])}
    assert {(one["source"], one["reference"], one["hypothesis"]) for one in record["samples"]} <= translations


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_stored_translations_give_the_stored_scores_against_all_references(name):
    record = FILES[ROOT / "results" / f"tatoeba-{name}.json"]
    stored = record["multi_reference"]
    for name, found in multi_reference_scores(record["hypotheses"], pairs_of(record)).items():
        assert found == pytest.approx(stored[name]["value"]), name


def test_counts_of_captions_give_the_scores_of_their_runs():
    """On any machine: the sums of the counts are the scores, the groups share the sentences out, and chance moves the gaps as said."""
    words = np.array(COMPARED["source_words"])
    for run in COMPARED["systems"]:
        record, counts = FILES[ROOT / "results" / f"{run['record']}.json"], np.array(run["counts"]).T
        assert counts.shape == (len(record["hypotheses"]), 10) and len(words) == len(counts)
        assert bleu_of_counts(counts) == pytest.approx(record["bleu"]["value"])
        assert run["bleu"] == record["bleu"] and run["minutes"] == record["minutes"]
        cut = Tokenizer13a()
        assert counts[:, 0].tolist() == [len(cut(text).split()) for text in record["hypotheses"]]
        for group in run["by_length"]:
            chosen = counts[(words >= group["shortest"]) & (words <= group["longest"])]
            assert group["score"]["value"] == pytest.approx(bleu_of_counts(chosen)) and group["count"] == len(chosen)
            assert (group["low"], group["high"]) == pytest.approx(middle(resampled_bleu(chosen)[0]))
        assert sum(group["count"] for group in run["by_length"]) == len(words)


def test_captions_are_counted_again():
    try:
        again = captions.measure()
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason).partition(" (")[0])
    stored = {name: COMPARED[name] for name in again}
    near = {name: pytest.approx(again["commonness"].pop(name), abs=2e-6) for name in ("machine", "person")}
    for name, value in near.items():
        assert stored["commonness"].pop(name) == value, name
    assert json.loads(json.dumps(again)) == stored
