"""Chapter 15's four machines, each with several seeds: what transfer, one sequence, patches and two clocks give.

    python benchmarks/variants.py [--parts transfer questions one-row vision series] [--json results/variants.json]

The tasks and the loop are ``xformer_course.lessons.variants``, the machines ``xformer_lib.nn.variants``. The file is
rewritten after every run, and a second call does only the runs that it lacks. A run takes from seconds to two
minutes on one CPU thread. The part "questions" needs the Tatoeba corpus.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import sklearn
import torch
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from torch.nn.functional import cross_entropy

from xformer_course.lessons.variants import BANDS, NUM_SOUNDS, fit, gender_sentences, recordings, split_nouns
from xformer_lib import load_pretrained
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.batching import make_batch, pad_rows
from xformer_lib.data.corpora import load_corpus
from xformer_lib.data.fragment import fragment_split, split_words
from xformer_lib.decoding import greedy
from xformer_lib.engine.modules import accelerate
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.nn.variants import LanguageModel, SequenceClassifier, SeriesReader, VisionTransformer, left_half, next_token_loss, write

# Transfer -----------------------------------------------------------------------------------------------------------


@cache
def translator():
    return load_pretrained("en-fr")


def ids_of(sentences):
    tokenizer = translator().tokenizer
    return torch.from_numpy(pad_rows([[*row, tokenizer.eos_id] for row in tokenizer.encode_batch(sentences)]))


def body(kind, seed):
    """The shipped encoder, or one of the same size with random parameters."""
    if kind == "trained":
        return left_half(load_pretrained("en-fr").model)
    torch.manual_seed(seed)
    return left_half(Transformer(translator().model.config))


@torch.inference_mode()
def features(machine, sentences):
    machine.eval()
    return torch.cat([machine.features(ids_of(sentences[i : i + 64])) for i in range(0, len(sentences), 64)]).numpy()


def linear(train_x, train_y, test_x, test_y):
    """Accuracy of logistic regression on features of comparable size."""
    scale = train_x.std() or 1.0
    model = LogisticRegression(max_iter=3000).fit(train_x / scale, train_y)
    return float(model.score(test_x / scale, test_y))


def bag_of_words(train, train_y, test, test_y, longest=1):
    """Logistic regression on which words (or, with ``longest=2``, also which neighbours) occur."""
    count = CountVectorizer(ngram_range=(1, longest), token_pattern=r"[^\s.]+", binary=True)
    return linear(count.fit_transform(train).toarray(), train_y, count.transform(test).toarray(), test_y)


def shuffled(sentences, rng):
    """The same words in random order. A full stop stays with its word, a hint which of two nouns came second."""
    return [" ".join(rng.permutation(sentence.split())) for sentence in sentences]


def trained_network(kind, seed, train, train_y, test, test_y, steps=60):
    """Encoder and linear layer trained together, from the shipped parameters or from random ones."""
    torch.manual_seed(seed)
    machine = SequenceClassifier(body(kind, seed), num_classes=2).train()
    ids, labels = ids_of(train), torch.from_numpy(np.asarray(train_y))

    def loss():
        rows = torch.randint(len(ids), (32,))
        return cross_entropy(machine(ids[rows]), labels[rows])

    fit([{"params": machine.body.parameters(), "lr": 3e-4}, {"params": machine.classify.parameters(), "lr": 3e-3}], loss, steps=steps)
    machine.eval()
    with torch.inference_mode():
        said = torch.cat([machine(ids_of(test[i : i + 64])) for i in range(0, len(test), 64)]).argmax(dim=-1).numpy()
    return float((said == test_y).mean())


def methods(seed, train, train_y, test, test_y):
    """Accuracy of each way to use the labels."""
    rng = np.random.default_rng(1000 + seed)
    trained, random = (SequenceClassifier(body(kind, seed), 2) for kind in ("trained", "random"))
    mixed = shuffled(train, rng), shuffled(test, rng)
    return {
        "bag of words": bag_of_words(train, train_y, test, test_y),
        "words and pairs": bag_of_words(train, train_y, test, test_y, longest=2),
        "frozen, random": linear(features(random, train), train_y, features(random, test), test_y),
        "frozen, words shuffled": linear(features(trained, mixed[0]), train_y, features(trained, mixed[1]), test_y),
        "frozen": linear(features(trained, train), train_y, features(trained, test), test_y),
        "from scratch": trained_network("random", seed, train, train_y, test, test_y),
        "fine-tuned": trained_network("trained", seed, train, train_y, test, test_y),
    }


def transfer(labels, seed):
    rng = np.random.default_rng(seed)
    known, unseen = split_nouns(rng)
    test, test_y = gender_sentences(unseen, 400, rng)
    train, train_y = gender_sentences(known, 400, rng)
    return methods(seed, train[:labels], train_y[:labels], test, test_y)


@cache
def statements_and_questions():
    """Held-out Tatoeba sentences without their last mark, and 1 where that was a question mark."""
    found = {}
    for source, _ in load_corpus("tatoeba", split="test") + load_corpus("tatoeba", split="val"):
        if source[-1] in ".?" and source[:-1].strip(".?! "):
            found.setdefault(source.rstrip(".?! "), int(source.endswith("?")))
    return list(found.items())


def questions(labels, seed):
    rng = np.random.default_rng(seed)
    pairs = statements_and_questions()
    pools = [[text for text, label in pairs if label == wanted] for wanted in (0, 1)]
    take = (labels + 400) // 2
    chosen = [(text, label) for label, pool in enumerate(pools) for text in (pool[i] for i in rng.permutation(len(pool))[:take])]
    order = [(zero, one) for zero, one in zip(chosen[:take], chosen[take:], strict=True)]
    texts, wanted = zip(*(pair for both in order for pair in both), strict=True)
    wanted = np.array(wanted)
    return methods(seed, list(texts[400:]), wanted[400:], list(texts[:400]), wanted[:400])


# One row for both languages -----------------------------------------------------------------------------------------


@cache
def word_pairs():
    """The fragment as ids of whole words: vocabulary, training pairs, test pairs."""
    splits = [[(split_words(one.source), split_words(one.target)) for one in fragment_split(name)] for name in ("train", "test")]
    words = sorted({word for pair in splits[0] for side in pair for word in side})
    ids = {word: number for number, word in enumerate(["<pad>", "<bos>", "<eos>", "<sep>", *words])}
    known = [
        [tuple([ids[word] for word in side] for side in pair) for pair in split if all(word in ids for side in pair for word in side)]
        for split in splits
    ]
    return len(ids), *known


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def one_row(kind, seed, steps=1200, sep=3):
    """Translate the fragment by an encoder–decoder of 2 + 2 layers, or by one stack of 5 over "source <sep> target"."""
    size, train, test = word_pairs()
    layers = {"encoder–decoder": (2, 2), "one row": (5, 1)}[kind]
    config = TransformerConfig(
        vocab_size=size,
        d_model=96,
        num_heads=4,
        d_ff=192,
        dropout=0.1,
        max_len=48,
        num_encoder_layers=layers[0],
        num_decoder_layers=layers[1],
    )
    torch.manual_seed(seed)
    model = Transformer(config) if kind == "encoder–decoder" else LanguageModel(config)
    computing, start = accelerate(model), time.process_time()

    def loss():
        pairs = [train[i] for i in torch.randint(len(train), (64,)).tolist()]
        if kind == "encoder–decoder":
            source, target_in, target_out = map(torch.from_numpy, make_batch(pairs))
            logits = computing(source, target_in)
            return cross_entropy(logits.flatten(0, 1), target_out.flatten(), ignore_index=0)
        ids = torch.from_numpy(pad_rows([[1, *source, sep, *target, 2] for source, target in pairs]))
        after = (ids == sep).cumsum(dim=1).bool() & (ids != sep)
        return next_token_loss(computing(ids), ids, counted=after)

    fit([{"params": model.parameters(), "lr": 1.5e-3}], loss, steps=steps)
    seconds, model = time.process_time() - start, model.eval()
    right = 0
    for length in sorted({len(source) for source, _ in test}):
        group = [pair for pair in test if len(pair[0]) == length]
        if kind == "encoder–decoder":
            said = greedy(model, torch.tensor([[*source, 2] for source, _ in group]), max_len=40)
        else:
            said = write(model, torch.tensor([[1, *source, sep] for source, _ in group]), max_len=40)
        right += sum(one == target for one, (_, target) in zip(said, group, strict=True))
    return {"exact match": right / len(test), "parameters": count(model), "training cpu seconds": round(seconds, 1)}


# Patches ------------------------------------------------------------------------------------------------------------


@cache
def digits():
    """Images (1797, 8, 8) from 0 to 1 and labels: the first 1,297 to train on, the last 500 to test on."""
    data = load_digits()
    return torch.from_numpy(data.images.astype(np.float32) / 16), torch.from_numpy(data.target)


VISION = {"class token": ("token", "learned"), "mean": ("mean", "learned"), "no positions": ("token", "none")}


def vision(kind, seed, steps=600):
    images, labels = digits()
    flat = images.flatten(1).numpy()
    if kind in ("linear", "nearest neighbours"):
        model = LogisticRegression(max_iter=3000) if kind == "linear" else KNeighborsClassifier(3)
        return {"accuracy": float(model.fit(flat[:1297], labels[:1297]).score(flat[1297:], labels[1297:]))}
    pool, positions = VISION[kind]
    torch.manual_seed(seed)
    config = TransformerConfig(vocab_size=10, d_model=48, num_heads=4, d_ff=96, num_encoder_layers=2, dropout=0.1, positions=positions)
    model = VisionTransformer(config, num_patches=16, patch_size=2, pool=pool).train()

    def loss():
        rows = torch.randint(1297, (64,))
        return cross_entropy(model(images[rows]), labels[rows])

    fit([{"params": model.parameters(), "lr": 3e-3}], loss, steps=steps)
    with torch.inference_mode():
        right = model.eval()(images[1297:]).argmax(dim=-1) == labels[1297:]
    return {"accuracy": float(right.float().mean()), "parameters": count(model)}


# Two clocks ---------------------------------------------------------------------------------------------------------


def series(positions, seed, steps=800):
    """Who rises? The share of right answers for words said once and for words said again, at two speeds."""
    config = TransformerConfig(
        vocab_size=NUM_SOUNDS + 3,
        d_model=32,
        num_heads=2,
        d_ff=64,
        num_encoder_layers=1,
        num_decoder_layers=2,
        dropout=0.0,
        positions=positions,
    )
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = SeriesReader(config, series_width=BANDS + 1, num_answers=2, max_frames=200)

    def loss():
        words, frames, real, rises, _ = recordings(32, rng)
        return cross_entropy(model(words, frames, real).flatten(0, 1), rises.flatten())

    fit([{"params": model.parameters(), "lr": 3e-3}], loss, steps=steps)
    model.eval()
    found = {}
    for name, slow in (("as trained", 1), ("half speed", 2)):
        words, frames, real, rises, _ = recordings(500, np.random.default_rng(10_000 + seed), slow=slow)
        with torch.inference_mode():
            right = (model(words, frames, real).argmax(dim=-1) == rises).numpy()
        once = np.array([[Counter(row)[word] == 1 for word in row] for row in words.tolist()])
        found[name] = {"all": float(right.mean()), "once": float(right[once].mean()), "again": float(right[~once].mean())}
    return {**found, "parameters": count(model)}


# The file -----------------------------------------------------------------------------------------------------------

PARTS = {
    "transfer": (transfer, (25, 50, 100, 400), 5),
    "series": (series, ("sinusoidal", "none"), 5),
    "vision": (vision, (*VISION, "linear", "nearest neighbours"), 5),
    "one-row": (one_row, ("encoder–decoder", "one row"), 3),
    "questions": (questions, (25, 100, 400), 3),
}


def provenance():
    versions = {"python": sys.version.split()[0], "torch": torch.__version__, "scikit-learn": sklearn.__version__}
    return {
        "command": " ".join(["python benchmarks/variants.py", *sys.argv[1:]]),
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": 1,
        "versions": versions,
        "runs": [],
    }


def store(path, record):
    """Write beside the file, then put it in its place: a killed run leaves a whole file."""
    record["cpu_minutes"] = round(sum(run["cpu_seconds"] for run in record["runs"]) / 60, 1)
    beside = path.with_suffix(".part")
    beside.write_text(json_text(record), encoding="utf-8")
    os.replace(beside, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path, default=Path("results/variants.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    record = json.loads(options.json.read_text(encoding="utf-8")) if options.json.exists() else provenance()
    done = {(run["part"], run["setting"], run["seed"]) for run in record["runs"]}
    for part in options.parts:
        measure, settings, seeds = PARTS[part]
        for seed in range(seeds):
            for setting in settings:
                if (part, setting, seed) in done:
                    continue
                start = time.process_time()
                found = measure(setting, seed)
                record["runs"].append(
                    {"part": part, "setting": setting, "seed": seed, "found": found, "cpu_seconds": round(time.process_time() - start, 1)}
                )
                store(options.json, record)
                print(part, setting, seed, found, flush=True)


if __name__ == "__main__":
    main()
