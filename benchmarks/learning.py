"""What does a translator write while it learns? One run on Tatoeba, looked at after 0, 25, 50, 100, … steps, for `explorables.learning`.

    python -m benchmarks.learning                    about 45 minutes of one core; writes xformer_course/explorables/assets/learning.json
    python -m benchmarks.learning --smoke --out FILE a few steps on the fragment

English to French. At each moment: validation loss, BLEU and chrF of 200 validation sentences, and what the model writes greedily for five
sentences that are in no corpus of the course, at most 20 pieces of each. Beside it, from word to word and in hundredths, the weights of one
head of cross-attention: the one that at the last moment reads every English word most surely. The file is rewritten at every moment.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path

import numpy as np
import torch

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data import Tokenizer, load_corpus
from xformer_lib.decoding import greedy, translate
from xformer_lib.decoding.sentences import encode_sentences
from xformer_lib.evaluation import bleu, chrf
from xformer_lib.inspection import AttentionMaps, attention_maps, word_maps
from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training import TrainConfig, loop, validation_loss
from xformer_lib.training.config import config_to_json
from xformer_lib.training.memory import keep_freed_memory

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "xformer_course" / "explorables" / "assets" / "learning.json"
SENTENCES = {
    "agreement": "My two sisters are very tired tonight.",
    "pronoun order": "She gives me the keys every morning.",
    "adjective order": "He bought a white car and a small house.",
    "question": "Where did you put my blue umbrella?",
    "negation": "We never eat meat on Fridays.",
}
FIRST, LONGEST, SCORED = 25, 20, 200  # the first step looked at after 0; pieces of a translation; validation sentences translated
MODEL = TransformerConfig(
    vocab_size=4000, d_model=192, d_ff=768, num_encoder_layers=2, num_decoder_layers=2, dropout=0.1, positions="rotary", max_len=128
)
FULL = TrainConfig("tatoeba", MODEL, max_steps=12800, max_tokens=1024, peak_rate=2e-3, warmup_steps=400, precision="auto")
SMOKE = replace(FULL, corpus="fragment", max_steps=50, warmup_steps=5, model=replace(MODEL, vocab_size=300, d_model=32, d_ff=64))


@dataclass
class Moment:
    """The numbers of one step, and the maps of what was written then: a sentence's, and whether it was cut off."""

    numbers: dict
    maps: list[tuple[AttentionMaps, bool]] = field(repr=False)

    def record(self, layer: int, head: int) -> dict:
        said = []
        for words, cut in self.maps:
            shares = np.rint(100 * words.cross[layer, head, :-1]).astype(int).tolist()
            said.append({"words": words.labels("cross")[0][:-1], "cut": cut, "shares": shares})
        return {**self.numbers, "said": said}


def moments(run: loop.Run, pairs: list) -> Iterator[Moment]:
    """Train, and look at the model before the first step, after FIRST steps, and each time that their number has doubled."""
    sentences, due = 0, FIRST
    yield look(run, pairs, sentences)
    for batch in loop.batch_stream(run):
        loop.train_step(run, batch)
        sentences += len(batch.source)
        if run.step in (due, run.config.max_steps):
            due *= 2
            yield look(run, pairs, sentences)
        if run.step == run.config.max_steps:
            return


def look(run: loop.Run, pairs: list, sentences: int) -> Moment:
    """The model as it is after this step; its training goes on afterwards."""
    loss = validation_loss(run.engine_model, run.validation_data, max_tokens=2048, device="cpu")
    run.model.eval()
    said = translate(run.model, run.tokenizer, [source for source, _ in pairs])
    references = [reference for _, reference in pairs]
    maps = []
    for text, source in zip(SENTENCES.values(), encode_sentences(run.model, run.tokenizer, [*SENTENCES.values()]), strict=True):
        ids = greedy(run.model, torch.tensor([source]), max_len=LONGEST)[0]
        maps.append((word_maps(attention_maps(run.model, run.tokenizer, text, ids)), len(ids) == LONGEST))
    run.model.train(), run.engine_model.train()
    numbers = {
        "step": run.step,
        "minutes": round(run.seconds / 60, 2),
        "sentences": sentences,
        "tokens": run.tokens,
        "validation_loss": round(loss, 4),
        "bleu": round(bleu(said, references).value, 2),
        "chrf": round(chrf(said, references).value, 2),
    }
    return Moment(numbers, maps)


def surest_head(maps: list[AttentionMaps]) -> tuple[int, int]:
    """Layer and head, from 0, by how much the French word that reads an English one most reads it, in the mean of all English words."""
    surest = np.mean([words.cross[:, :, :-1, :-1].max(axis=2, initial=0).mean(axis=-1) for words in maps], axis=0)
    layer, head = np.unravel_index(surest.argmax(), surest.shape)
    return int(layer), int(head)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=FULL.max_steps, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=FULL.seed)
    parser.add_argument("--smoke", action="store_true", help="a few steps on the fragment; needs --out")
    parser.add_argument("--out", type=Path, help="default: the figure's own file")
    options = parser.parse_args(arguments)
    if options.smoke and options.out is None:
        parser.error("--smoke: name another file with --out, this is no result")
    commit = git_commit()
    if not options.smoke and commit.endswith(("-dirty", "unknown")):
        sys.exit("commit: expected a clean clone, so that the record names what made it; commit or use --smoke")
    torch.set_num_threads(1)
    keep_freed_memory()
    config = SMOKE if options.smoke else replace(FULL, max_steps=options.steps, seed=options.seed)
    corpus = {split: load_corpus(config.corpus, split) for split in ("train", "val")}
    tokenizer = Tokenizer.train([text for pair in corpus["train"] for text in pair], vocab_size=config.model.vocab_size)
    config = replace(config, model=replace(config.model, vocab_size=tokenizer.vocab_size))
    run = loop.build_run(config, Path(tempfile.gettempdir()), tokenizer, corpus, "cpu")
    run.model.train(), run.engine_model.train()
    about = {
        "command": f"python -m benchmarks.learning --steps {config.max_steps} --seed {config.seed}",
        "commit": commit,
        "device": cpu_name(),
        "threads": 1,
        "versions": {name: metadata.version(name) for name in ("torch", "tokenizers", "sacrebleu")},
        "seed": config.seed,
        "config": config_to_json(config),
        "parameters": sum(weight.numel() for weight in run.model.parameters()),
    }
    seen: list[Moment] = []
    for moment in moments(run, corpus["val"][:: math.ceil(len(corpus["val"]) / SCORED)]):
        seen.append(moment)
        maps = [words for words, _ in moment.maps]
        layer, head = surest_head(maps)
        sources = [words.labels("cross")[1] for words in maps]
        record = {
            **about,
            "cpu_minutes": round(run.cpu_seconds / 60, 2),
            "layer": layer,
            "head": head,
            "sentences": [{"about": name, "source": source} for name, source in zip(SENTENCES, sources, strict=True)],
            "moments": [one.record(layer, head) for one in seen],
        }
        (options.out or OUT).write_text(json_text(record), encoding="utf-8")
        print(moment.numbers, *(" ".join(words.labels("cross")[0]) for words in maps), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
