"""The record of greedy decoding against beams: of the shipped weights, held out, and scored again from what it stores."""

import hashlib
import json
from pathlib import Path

import pytest

from xformer_lib import load_pretrained
from xformer_lib.data.corpora import CORPUS_ERRORS, load_corpus
from xformer_lib.evaluation import bleu, bleu_counts

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "results" / "beam-tatoeba.json").read_text(encoding="utf-8"))
SYSTEMS = {system["name"]: system for system in RECORD["systems"]}


def test_it_is_of_the_weights_that_are_shipped():
    weights = ROOT / "xformer_lib" / "pretrained" / "en-fr" / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == RECORD["weights_sha256"], "run benchmarks/beam.py again"
    assert len(RECORD["commit"]) == 12, "recorded from a clean clone"


@pytest.mark.parametrize("name", SYSTEMS)
def test_stored_translations_give_the_stored_scores(name):
    system, references = SYSTEMS[name], RECORD["references"]
    assert len(system["translations"]) == len(system["log_probs"]) == len(references) == len(RECORD["sources"])
    again = bleu(system["translations"], references)
    assert again.value == pytest.approx(system["bleu"]["value"]) and again.signature == system["bleu"]["signature"]
    said, wanted = bleu_counts(system["translations"], references).sum(axis=0)[:2]
    assert said / wanted == pytest.approx(system["length_ratio"])
    greedy = SYSTEMS["greedy"]
    assert system["changed"] == sum(a != b for a, b in zip(system["translations"], greedy["translations"]))
    assert system["less_likely"] == sum(b < a - 1e-3 for a, b in zip(greedy["log_probs"], system["log_probs"]))


def test_its_sentences_are_held_out_and_different():
    try:
        pairs, trained = set(load_corpus("tatoeba", "test")), {english for english, _ in load_corpus("tatoeba", "train")}
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason).partition(" (")[0])
    assert set(zip(RECORD["sources"], RECORD["references"])) <= pairs
    assert len(set(RECORD["sources"])) == len(RECORD["sources"]) and trained.isdisjoint(RECORD["sources"])


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_shipped_model_says_it_again(name):
    """Some of the sentences; another processor may round a tie the other way."""
    system = SYSTEMS[name]
    again = load_pretrained("en-fr").translate(
        RECORD["sources"][::40], beam_size=system["beam_size"], length_penalty=system["length_penalty"]
    )
    assert sum(a == b for a, b in zip(again, system["translations"][::40], strict=True)) >= len(again) - 1
