"""Score a model that comes with the library and record the run that made it.

    python benchmarks/score_pretrained.py runs/tatoeba         → results/tatoeba-en-fr.json
    python benchmarks/score_pretrained.py results/gpu.json     → both, whose runs are recorded there

Translates the held-out part of Tatoeba with the packed weights, those of ``xformer_lib/pretrained``, and takes the settings,
clocks and history from the training run; its corpus says which of the two models it is. Tatoeba often has several translations
of one sentence. So there are two scores: every pair for itself, one reference each; and every sentence once, against all its references.
Where the record was another run's, the paired bootstrap against that one is kept under ``before``.
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
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import run_record
from xformer_lib.data.corpora import load_corpus
from xformer_lib.evaluation import bleu, chrf, exact_match, paired_bootstrap

ROOT = Path(__file__).parent.parent
LENGTHS = ((1, 4), (5, 6), (7, 8), (9, 12), (13, 99))  # words of the source
MODELS = {  # by the corpus of the run: name, language of the source, everyday sentences in it
    "tatoeba": ("en-fr", "english", "everyday.txt"),
    "tatoeba-fr-en": ("fr-en", "french", "everyday-fr.txt"),
}


def all_references(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The translations of each sentence, in the order of the corpus."""
    grouped = defaultdict(list)
    for source, target in pairs:
        grouped[source].append(target)
    return grouped


def multi_reference(translations: dict[str, str], grouped: dict[str, list[str]]) -> dict:
    """BLEU and chrF of one translation a sentence against all the references it has."""
    hypotheses = [translations[source] for source in grouped]
    streams = [list(stream) for stream in zip_longest(*grouped.values())]  # None where there are fewer
    scores = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        value = metric.corpus_score(hypotheses, streams).score
        scores[name] = {"value": value, "signature": str(metric.get_signature())}
    exact = sum(translations[source] in references for source, references in grouped.items())
    return {"sentences": len(grouped), "references": sum(map(len, grouped.values())), **scores, "exact_match": 100 * exact / len(grouped)}


def single_reference(pairs: list[tuple[str, str]], translations: dict[str, str]) -> dict:
    """Every pair for itself, as the command ``xformer evaluate`` scores."""
    hypotheses, references = [translations[source] for source, _ in pairs], [target for _, target in pairs]
    return {
        "bleu": vars(bleu(hypotheses, references)),
        "chrf": vars(chrf(hypotheses, references)),
        "exact_match": exact_match(hypotheses, references),
    }


def word_count(sentence: str) -> int:
    """Its words; the mark that French sets apart is none."""
    return sum(any(map(str.isalnum, part)) for part in sentence.split())


def by_length(translations: dict[str, str], grouped: dict[str, list[str]]) -> list[dict]:
    """Multi-reference scores of short and of long sentences."""
    rows = []
    for low, high in LENGTHS:
        part = {source: references for source, references in grouped.items() if low <= word_count(source) <= high}
        score = multi_reference(translations, part)
        rows.append({"words": [low, high], "sentences": score["sentences"], "bleu": score["bleu"]["value"], "chrf": score["chrf"]["value"]})
    return rows


def neighbours(sentence: str) -> set[tuple[str, ...]]:
    """The sentence's words, case and punctuation aside, with a gap for each word in turn."""
    words = re.findall(r"\w+", sentence.casefold())
    return {(*words[:n], "", *words[n + 1 :]) for n in range(len(words))}


def data_facts(corpus: str, language: str) -> dict:
    """How much there is, how often a name fills the page, and how close the held-out sentences are to trained ones."""
    parts = {split: load_corpus(corpus, split) for split in ("train", "val", "test")}
    trained = {source for source, _ in parts["train"]}
    gaps = set().union(*map(neighbours, trained))
    held_out = {source for source, _ in parts["test"]}
    return {
        "pairs": {split: len(part) for split, part in parts.items()},
        f"{language}_trained": len(trained),
        "percent_with_tom": 100 * sum("Tom" in source for source in trained) / len(trained),
        "percent_one_word_from_training": 100 * sum(bool(neighbours(source) & gaps) for source in held_out) / len(held_out),
    }


def runs_of(path: Path) -> list[dict]:
    """The record of a run's folder, or those of the shipped models in a record of several runs."""
    if path.is_dir():
        return [run_record(path)]
    record = json.loads(path.read_text(encoding="utf-8"))
    kept = ("command", "commit", "products", "beside", "seed", "minutes", "tokens_per_second", "config", "history")
    runs = [run for run in record["translators"] if run["corpus"] in MODELS]
    return [{"device": record["device"], "versions": {"torch": record["torch"]}} | {key: run[key] for key in kept} for run in runs]


def compared(before: dict, after: dict, references: list[str]) -> dict:
    """Greedy translations of two models, the earlier record first."""
    gap = paired_bootstrap(before["hypotheses"], after["hypotheses"], references)
    return {"command": before["command"], "commit": before["commit"], "bleu": before["bleu"]["value"], "paired_bootstrap": vars(gap)}


def score(run: dict) -> None:
    corpus = run["config"]["corpus"]
    name, language, file = MODELS[corpus]
    start = time.perf_counter()
    translator = load_pretrained(name)
    loading = time.perf_counter() - start
    pairs = load_corpus(corpus, "test")
    grouped, record = all_references(pairs), {"corpus": corpus, "split": "test", "decoding": "greedy"}
    sources = list(grouped)
    translations = dict(zip(sources, translator.translate(sources)))
    record |= single_reference(pairs, translations)
    record["multi_reference"] = multi_reference(translations, grouped)
    record["by_length"] = by_length(translations, grouped)
    beam = dict(zip(sources, translator.translate(sources, beam_size=4)))
    record["beam_4"] = {**single_reference(pairs, beam), "multi_reference": multi_reference(beam, grouped)}
    everyday = (ROOT / "benchmarks" / file).read_text(encoding="utf-8").splitlines()
    record["everyday"] = dict(zip(everyday, translator.translate(everyday)))
    seconds = []
    for sentence in everyday:
        start = time.perf_counter()
        translator.translate(sentence)
        seconds.append(time.perf_counter() - start)
    record["milliseconds"] = {"load": round(1e3 * loading), "sentence_median": round(1e3 * sorted(seconds)[10])}
    record["data"] = data_facts(corpus, language)
    record |= run
    record["hypotheses"] = [translations[source] for source, _ in pairs]
    record["samples"] = [
        {"source": pairs[n][0], "hypothesis": record["hypotheses"][n], "reference": pairs[n][1]}
        for n in range(0, len(pairs), len(pairs) // 12)
    ][:12]
    out = ROOT / "results" / f"tatoeba-{name}.json"
    last = json.loads(out.read_text(encoding="utf-8"))
    same = last["command"] == record["command"]
    record["before"] = last.get("before") if same else compared(last, record, [target for _, target in pairs])
    out.write_text(json_text(record), encoding="utf-8")
    print(
        f"{out}: {len(sources)} sentences, {len(pairs)} pairs, greedy BLEU {record['bleu']['value']:.2f}, "
        f"all references {record['multi_reference']['bleu']['value']:.2f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of the training run, or results/gpu.json")
    for run in runs_of(parser.parse_args().run):
        score(run)
