"""Measure the corpora for chapter 10: sizes, lengths, pieces, padding, leaks.

    python benchmarks/data_stats.py             writes results/data-stats.json (a minute; needs the corpora)
    python benchmarks/data_stats.py --out FILE  writes elsewhere

Nothing here depends on chance: every draw is seeded, so that the same corpora give the same file but for the
commit and the seconds.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import tokenizers

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from xformer_lib._json import json_text  # noqa: E402
from xformer_lib.data._download import corpus_bytes  # noqa: E402
from xformer_lib.data.batching import batches, make_batch  # noqa: E402
from xformer_lib.data.corpora import _multi30k_published, linked_groups, load_corpus, normalise, sentence_keys  # noqa: E402
from xformer_lib.data.tokenizer import Tokenizer  # noqa: E402

SPLITS = ("train", "val", "test")
VOCABULARIES = (500, 1000, 2000, 4000, 8000, 16000)
MAX_TOKENS = 2048


def sizes(corpora):
    """Pairs, mean and longest length in words, for every corpus and split."""
    table = {}
    for (name, split), pairs in corpora.items():
        words = np.array([[len(side.split()) for side in pair] for pair in pairs])
        table.setdefault(name, {})[split] = {
            "pairs": len(pairs),
            "mean_words": [round(float(value), 2) for value in words.mean(axis=0)],
            "longest": words.max(axis=0).tolist(),
        }
    return table


def histogram(pairs, longest=40):
    """Sentences of 0, 1, … words, for both sides; the last entry holds all longer ones."""
    return [np.bincount([min(len(pair[side].split()), longest) for pair in pairs], minlength=longest + 1).tolist() for side in (0, 1)]


def pieces(train, test):
    """Vocabulary size against the pieces of a French test sentence, with words and characters to compare."""
    french_train, french_test = [pair[1] for pair in train], [pair[1] for pair in test]
    texts = [side for pair in train for side in pair]
    known = {word for text in french_train for word in text.split()}
    used = [word for text in french_test for word in text.split()]
    curve = []
    for size in VOCABULARIES:
        tokenizer = Tokenizer.train(texts, vocab_size=size)
        mean = np.mean([len(ids) for ids in tokenizer.encode_batch(french_test)])
        curve.append([tokenizer.vocab_size, round(float(mean), 2)])
    return {
        "vocab_size_and_mean_pieces": curve,
        "mean_words": round(len(used) / len(test), 2),
        "mean_characters": round(float(np.mean([len(text) for text in french_test])), 2),
        "distinct_french_words": len(known),
        "unknown_word_share": round(sum(word not in known for word in used) / len(used), 4),
    }


def padding_share(made):
    """The share of all positions, source and target, that hold padding."""
    positions = sum(batch.source.size + batch.target_in.size for batch in made)
    real = sum(int((batch.source != 0).sum() + (batch.target_in != 0).sum()) for batch in made)
    return round(1 - real / positions, 4)


def padding(pairs):
    """Three ways to fill batches of the same budget: length buckets, random order, everything to the longest."""
    rng = np.random.default_rng(0)
    longest = max(max(len(source), len(target)) for source, target in pairs) + 1
    order, shuffled, start = rng.permutation(len(pairs)), [], 0
    while start < len(order):  # random order, cut where the budget is full
        width, end = 0, start
        while end < len(order):
            width = max(width, *(len(side) + 1 for side in pairs[order[end]]))
            if (end - start + 1) * width > MAX_TOKENS:
                break
            end += 1
        shuffled.append(make_batch([pairs[number] for number in order[start:end]]))
        start = end
    real = sum(len(source) + len(target) + 2 for source, target in pairs)
    buckets = list(batches(pairs, max_tokens=MAX_TOKENS, rng=rng))
    return {
        "max_tokens": MAX_TOKENS,
        "buckets": {"share": padding_share(buckets), "batches": len(buckets)},
        "random": {"share": padding_share(shuffled), "batches": len(shuffled)},
        "to_the_longest": {
            "share": round(1 - real / (2 * longest * len(pairs)), 4),
            "batches": -(-len(pairs) // (MAX_TOKENS // longest)),
            "longest": longest,
        },
    }


def half_known(train, held_out):
    """How many held-out pairs have a side that stands in the training part, case, spaces and punctuation aside."""
    seen = {key for pair in train for key in sentence_keys(pair)}
    return sum(not seen.isdisjoint(sentence_keys(pair)) for pair in held_out)


def gapped(text):
    """The sentence with each of its words left out in turn: two that differ in one word share one of these."""
    words = re.findall(r"\w+", text.casefold())
    return {" ".join((*words[:n], "_", *words[n + 1 :])) for n in range(len(words))}


def one_word_apart(train, held_out):
    """The share of held-out English sentences that a training sentence equals but for one word."""
    seen = {gap for english, _ in train for gap in gapped(english)}
    return round(sum(not seen.isdisjoint(gapped(english)) for english, _ in held_out) / len(held_out), 4)


def leaks(corpora):
    """What the held-out parts share with the training part, in each corpus and in Multi30k as published."""
    parts = {name: [corpora[name, split] for split in SPLITS] for name in ("fragment", "multi30k", "tatoeba")}
    published = [_multi30k_published(split) for split in SPLITS]
    return {
        "half_known": {
            name: half_known(train, val + test) for name, (train, val, test) in {**parts, "multi30k as published": published}.items()
        },
        "test_one_word_apart": {name: one_word_apart(train, test) for name, (train, _, test) in parts.items()},
    }


def tatoeba_leaks(corpora):
    """What a split by line would have leaked, against the split by linked groups."""
    pairs = [pair for split in SPLITS for pair in corpora["tatoeba", split]]
    lines = corpus_bytes("tatoeba/fra-eng.zip").decode("utf-8").rstrip("\n").split("\n")
    distinct = {tuple(normalise(column) for column in line.split("\t")[:2]) for line in lines}
    by_line = np.random.default_rng(0).permutation(len(pairs))
    held, rest = by_line[: len(pairs) // 50], by_line[len(pairs) // 50 :]
    english, french = ({pairs[number][side] for number in rest} for side in (0, 1))
    leaked = sum(pairs[number][0] in english or pairs[number][1] in french for number in held)
    groups = Counter(linked_groups(pairs))
    return {
        "lines": len(lines),
        "distinct_pairs": len(distinct),
        "kept_pairs": len(pairs),
        "offensive_pairs": len(distinct) - len(pairs),
        "leak_share_by_line": round(leaked / len(held), 4),
        "groups": len(groups),
        "largest_group": max(groups.values()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "data-stats.json")
    out = parser.parse_args().out
    start = time.time()
    corpora = {(name, split): load_corpus(name, split) for name in ("fragment", "multi30k", "tatoeba") for split in SPLITS}
    train = corpora["multi30k", "train"]
    tokenizer = Tokenizer.train([side for pair in train for side in pair], vocab_size=8000)
    encoded = list(zip(*(tokenizer.encode_batch([pair[side] for pair in train]) for side in (0, 1)), strict=True))
    result = {
        "command": "python benchmarks/data_stats.py",
        "commit": subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, encoding="utf-8").stdout.strip(),
        "seed": 0,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "tokenizers": tokenizers.__version__},
        "sizes": sizes(corpora),
        "words_histogram": {name: histogram(corpora[name, "train"]) for name in ("fragment", "multi30k", "tatoeba")},
        "multi30k": {
            "published_train": len(_multi30k_published("train")),
            "dropped_from_train": len(_multi30k_published("train")) - len(train),
        },
        "tatoeba": tatoeba_leaks(corpora),
        "leaks": leaks(corpora),
        "pieces": pieces(train, corpora["multi30k", "test"]),
        "padding": padding(encoded),
        "seconds": round(time.time() - start),
    }
    beside = out.with_suffix(".tmp")
    beside.write_text(json_text(result), encoding="utf-8")
    os.replace(beside, out)
    print(f"wrote {out} in {result['seconds']} s")


if __name__ == "__main__":
    main()
