"""Score the shipped English–French model and record the run that made it.

    python benchmarks/score_pretrained.py runs/tatoeba     → results/tatoeba-en-fr.json

Translates the held-out part of Tatoeba with the packed weights, those of ``xformer_lib/pretrained/en-fr``, and takes the settings,
clocks and history from the training run. Tatoeba often has several French sentences for an English one. So there are two
scores: every pair for itself, one reference each; and every English sentence once, against all its references.
"""

import argparse
import json
import re
import time
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF

from xformer_lib import load_pretrained
from xformer_lib.cli import run_record
from xformer_lib.data.corpora import load_corpus
from xformer_lib.evaluation import bleu, chrf, exact_match

ROOT = Path(__file__).parent.parent
LENGTHS = ((1, 4), (5, 6), (7, 8), (9, 12), (13, 99))  # English words


def all_references(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The French sentences of each English one, in the order of the corpus."""
    grouped = defaultdict(list)
    for english, french in pairs:
        grouped[english].append(french)
    return grouped


def multi_reference(translations: dict[str, str], grouped: dict[str, list[str]]) -> dict:
    """BLEU and chrF of one translation a sentence against all the references it has."""
    hypotheses = [translations[english] for english in grouped]
    streams = [list(stream) for stream in zip_longest(*grouped.values())]  # None where there are fewer
    scores = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        value = metric.corpus_score(hypotheses, streams).score
        scores[name] = {"value": value, "signature": str(metric.get_signature())}
    exact = sum(translations[english] in french for english, french in grouped.items())
    return {"sentences": len(grouped), "references": sum(map(len, grouped.values())), **scores, "exact_match": 100 * exact / len(grouped)}


def single_reference(pairs: list[tuple[str, str]], translations: dict[str, str]) -> dict:
    """Every pair for itself, as the command ``xformer evaluate`` scores."""
    hypotheses, references = [translations[english] for english, _ in pairs], [french for _, french in pairs]
    return {
        "bleu": vars(bleu(hypotheses, references)),
        "chrf": vars(chrf(hypotheses, references)),
        "exact_match": exact_match(hypotheses, references),
    }


def by_length(translations: dict[str, str], grouped: dict[str, list[str]]) -> list[dict]:
    """Multi-reference scores of short and of long sentences."""
    rows = []
    for low, high in LENGTHS:
        part = {english: french for english, french in grouped.items() if low <= len(english.split()) <= high}
        score = multi_reference(translations, part)
        rows.append({"words": [low, high], "sentences": score["sentences"], "bleu": score["bleu"]["value"], "chrf": score["chrf"]["value"]})
    return rows


def neighbours(sentence: str) -> set[tuple[str, ...]]:
    """The sentence's words, case and punctuation aside, with a gap for each word in turn."""
    words = re.findall(r"\w+", sentence.casefold())
    return {(*words[:n], "", *words[n + 1 :]) for n in range(len(words))}


def data_facts() -> dict:
    """How much there is, how often a name fills the page, and how close the held-out sentences are to trained ones."""
    parts = {split: load_corpus("tatoeba", split) for split in ("train", "val", "test")}
    trained = {english for english, _ in parts["train"]}
    gaps = set().union(*map(neighbours, trained))
    held_out = {english for english, _ in parts["test"]}
    return {
        "pairs": {split: len(part) for split, part in parts.items()},
        "english_trained": len(trained),
        "percent_with_tom": 100 * sum("Tom" in english for english in trained) / len(trained),
        "percent_one_word_from_training": 100 * sum(bool(neighbours(e) & gaps) for e in held_out) / len(held_out),
    }


def main(folder: Path, out: Path) -> None:
    start = time.perf_counter()
    translator = load_pretrained("en-fr")
    loading = time.perf_counter() - start
    pairs = load_corpus("tatoeba", "test")
    grouped, record = all_references(pairs), {"corpus": "tatoeba", "split": "test", "decoding": "greedy"}
    english = list(grouped)
    translations = dict(zip(english, translator.translate(english)))
    record |= single_reference(pairs, translations)
    record["multi_reference"] = multi_reference(translations, grouped)
    record["by_length"] = by_length(translations, grouped)
    beam = dict(zip(english, translator.translate(english, beam_size=4)))
    record["beam_4"] = {**single_reference(pairs, beam), "multi_reference": multi_reference(beam, grouped)}
    everyday = (ROOT / "benchmarks" / "everyday.txt").read_text(encoding="utf-8").splitlines()
    record["everyday"] = dict(zip(everyday, translator.translate(everyday)))
    seconds = []
    for sentence in everyday:
        start = time.perf_counter()
        translator.translate(sentence)
        seconds.append(time.perf_counter() - start)
    record["milliseconds"] = {"load": round(1e3 * loading), "sentence_median": round(1e3 * sorted(seconds)[10])}
    record["data"] = data_facts()
    record |= run_record(folder)
    record["hypotheses"] = [translations[sentence] for sentence, _ in pairs]
    record["samples"] = [
        {"source": pairs[n][0], "hypothesis": record["hypotheses"][n], "reference": pairs[n][1]}
        for n in range(0, len(pairs), len(pairs) // 12)
    ][:12]
    out.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(
        f"{out}: {len(english)} sentences, {len(pairs)} pairs, greedy BLEU {record['bleu']['value']:.2f}, "
        f"all references {record['multi_reference']['bleu']['value']:.2f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "tatoeba-en-fr.json")
    options = parser.parse_args()
    main(options.run, options.out)
