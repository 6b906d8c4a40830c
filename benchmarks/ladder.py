"""Train the ladder of page 12c: three translators, and the Transformer less one thing at a time.

    python benchmarks/ladder.py                              whatever is not recorded yet: two hours on one core
    python benchmarks/ladder.py --only gru one-head --seed 2 these systems, these seeds
    python benchmarks/ladder.py --list                       what is recorded, what is missing
    python benchmarks/ladder.py --long --seed 1              the three families with three times the steps
    python benchmarks/ladder.py --smoke --out FILE           the whole path in seconds, on the fragment

One split, one metric: Multi30k English to French, trained on its training part, the learning rate of each system, variants included,
chosen by validation loss in short trials (a grid that is widened as long as its best rate lies on its edge), the best weights of a run
by validation loss, greedy translations of test_2016_flickr scored once by sacreBLEU. Every system reads the same batches, so the same
target tokens.

One record a run, SYSTEM-seedN in results/ladder.json (results/ladder-long.json with --long), and one a trial; a record that is there is
not made again, unless its rate is not the one that the trials choose, so that the command can be stopped and started, or run for
different systems on several cores. With --keep FOLDER a run that is cut off goes on from its last checkpoint, too.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from pathlib import Path

import torch
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from xformer_lib._json import json_text  # noqa: E402
from xformer_lib.cli.provenance import cpu_name, git_commit  # noqa: E402
from xformer_lib.data import Tokenizer, load_corpus  # noqa: E402
from xformer_lib.decoding import translate  # noqa: E402
from xformer_lib.evaluation import bleu, bleu_by_length, chrf  # noqa: E402
from xformer_lib.nn import MultiHeadAttention, Transformer, TransformerConfig  # noqa: E402
from xformer_lib.nn.recurrent import GRUAttentionTranslator, GRUTranslator  # noqa: E402
from xformer_lib.training import TrainConfig, load_model, resume  # noqa: E402
from xformer_lib.training.checkpoint import save_setup  # noqa: E402
from xformer_lib.training.loop import continue_run  # noqa: E402
from xformer_lib.training.run import build_run  # noqa: E402

RECORDS = ROOT / "results" / "ladder.json"
SEEDS = (1, 2, 3)
TRIAL_SEED = 0
RATES, MOST_RATES = (1e-3, 2e-3, 4e-3, 8e-3), 7
LENGTHS = (8, 11, 14, 18)  # the longest source, in words, of each group but the last

RECURRENT = TransformerConfig(vocab_size=4000, d_model=256, num_encoder_layers=1, num_decoder_layers=1)
TRANSFORMER = TransformerConfig(vocab_size=4000, d_model=128, num_heads=4, d_ff=512)  # three layers a side
SIZES = {"gru": RECURRENT, "gru-attention": RECURRENT, "transformer": TRANSFORMER}


def unscaled_transformer(config: TransformerConfig) -> Transformer:
    """A Transformer without 1/√d: every query is multiplied by √d before the scores, which cancels it."""
    model = Transformer(config)
    for layer in model.modules():
        if isinstance(layer, MultiHeadAttention):
            root = math.sqrt(layer.w_q.out_features / layer.num_heads)
            layer.w_q.register_forward_hook(lambda module, args, q, root=root: root * q)
    return model


@dataclass(frozen=True)
class System:
    """What is trained: a family, whose sizes it shares, and what is different about it."""

    family: str
    build: Callable[[TransformerConfig], nn.Module]
    model: dict = field(default_factory=dict)  # changes to the TransformerConfig
    train: dict = field(default_factory=dict)  # changes to the TrainConfig


SYSTEMS = {
    "gru": System("gru", GRUTranslator),
    "gru-attention": System("gru-attention", GRUAttentionTranslator),
    "transformer": System("transformer", Transformer),
    "no-scale": System("transformer", unscaled_transformer),
    "one-head": System("transformer", Transformer, model={"num_heads": 1}),
    "no-positions": System("transformer", Transformer, model={"positions": "none"}),
    "no-warm-up": System("transformer", Transformer, train={"warmup_steps": 1}),
    "no-smoothing": System("transformer", Transformer, train={"label_smoothing": 0.0}),
    "post-norm": System("transformer", Transformer, model={"norm": "post"}),
    "post-norm-no-warm-up": System("transformer", Transformer, model={"norm": "post"}, train={"warmup_steps": 1}),
}
FAMILIES = tuple(name for name, system in SYSTEMS.items() if name == system.family)


@dataclass(frozen=True)
class Scale:
    """How large the experiment is."""

    corpus: str
    steps: int
    warmup: int
    validate_every: int
    trial_steps: int
    trial_warmup: int
    max_tokens: int
    pairs: dict | None = None  # how many of each split are read; all of them when None
    model: dict = field(default_factory=dict)


FULL = Scale("multi30k", steps=900, warmup=150, validate_every=150, trial_steps=250, trial_warmup=50, max_tokens=2048)
LONG = replace(FULL, steps=2700, warmup=450)
SMOKE = Scale(
    "fragment",
    steps=6,
    warmup=2,
    validate_every=3,
    trial_steps=2,
    trial_warmup=1,
    max_tokens=101,
    pairs={"train": 300, "val": 23, "test": 29},
    model={"vocab_size": 300, "d_model": 20, "d_ff": 23, "max_len": 61},
)


class Ladder:
    """The corpus, its one tokenizer, the file of records and that of the trials."""

    def __init__(self, scale: Scale, out: Path, trials: Path | None = None, keep: Path | None = None):
        self.scale, self.out, self.trials, self.keep = scale, out, trials or out, keep
        self.corpus = {split: load_corpus(scale.corpus, split)[: (scale.pairs or {}).get(split)] for split in ("train", "val", "test")}
        sentences = [sentence for pair in self.corpus["train"] for sentence in pair]
        wanted = scale.model.get("vocab_size", TRANSFORMER.vocab_size)
        self.tokenizer = Tokenizer.train(sentences, vocab_size=wanted)
        out.parent.mkdir(parents=True, exist_ok=True)

    def config(self, name: str, *, rate: float, seed: int, trial: bool = False) -> TrainConfig:
        """The settings of a run, or of a trial, which is shorter and otherwise the same."""
        system, scale = SYSTEMS[name], self.scale
        sizes = {**scale.model, "vocab_size": self.tokenizer.vocab_size, **system.model}
        steps, warmup = (scale.trial_steps, scale.trial_warmup) if trial else (scale.steps, scale.warmup)
        settings = {
            "max_steps": steps,
            "warmup_steps": warmup,
            "validate_every": steps if trial else scale.validate_every,
            "max_tokens": scale.max_tokens,
            "precision": "auto",
            "peak_rate": rate,
            "seed": seed,
            **system.train,
        }
        return TrainConfig(scale.corpus, replace(SIZES[system.family], **sizes), **settings)

    def train(self, name: str, config: TrainConfig, folder: Path):
        """Train into the folder, or go on where a run in it was cut off; returns the finished run."""
        if (folder / "checkpoint.safetensors").exists():
            return resume(folder, corpus=self.corpus, device="cpu", progress=sys.stderr.isatty(), build=SYSTEMS[name].build)
        save_setup(folder, config, self.tokenizer)
        run = build_run(config, folder, self.tokenizer, self.corpus, "cpu", build=SYSTEMS[name].build)
        return continue_run(run, progress=sys.stderr.isatty())

    def trial(self, name: str, rate: float) -> dict:
        """The record of a short run at one rate, made if it is missing."""

        def make(folder: Path) -> dict:
            run = self.train(name, self.config(name, rate=rate, seed=TRIAL_SEED, trial=True), folder)
            return {"system": name, "rate": rate, **training_record(run)}

        return self.recorded(self.trials, f"trial-{name}-{rate:g}", make, f"--only {name} --rates")

    def rate(self, name: str) -> float:
        """The rate whose trial ends at the lowest validation loss; on the edge of the grid, the next rate is tried, too."""
        rates = list(RATES)
        while True:
            best = min(rates, key=lambda rate: self.trial(name, rate)["history"][-1]["validation_loss"])
            if best not in (min(rates), max(rates)) or len(rates) == MOST_RATES:
                return best
            rates.append(best / 2 if best == min(rates) else best * 2)

    def run(self, name: str, seed: int) -> dict:
        """The record of a run, made if it is missing."""

        rate = self.rate(name)

        def make(folder: Path) -> dict:
            run = self.train(name, self.config(name, rate=rate, seed=seed), folder)
            model, tokenizer = load_model(folder, build=SYSTEMS[name].build)
            start = time.process_time()
            hypotheses = translate(model, tokenizer, [source for source, _ in self.corpus["test"]])
            record = {
                "system": name,
                **training_record(run),
                "decoding": "greedy",
                "split": "test",
                "decoding_cpu_seconds": round(time.process_time() - start, 1),
                **scores(hypotheses, self.corpus["test"]),
            }
            keep = seed == SEEDS[0] or name in FAMILIES
            return {**record, "hypotheses": hypotheses} if keep else record

        long = "--long " if self.scale is LONG else ""
        return self.recorded(self.out, record_name(name, seed), make, f"{long}--only {name} --seed {seed}", rate)

    def recorded(self, file: Path, name: str, make: Callable[[Path], dict], options: str, rate: float | None = None) -> dict:
        """The record of that name: read, or made in a folder of its own (below ``keep``, if there is one) and written in one go.

        One whose rate is not ``rate`` is of an earlier grid and made again.
        """
        record = records(file).get(name)
        if record and rate in (None, record["config"]["peak_rate"]):
            return record
        print(f"{name} …", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            place = self.keep / name if self.keep else Path(folder)
            place.mkdir(parents=True, exist_ok=True)
            record = {"command": f"python benchmarks/ladder.py {options}", **provenance(), **make(place)}
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(json_text(dict(sorted({**records(file), name: record}.items()))), encoding="utf-8")  # with what others added
        os.replace(part, file)
        print("  " + summary(record), flush=True)
        return record


def records(file: Path) -> dict:
    """The records of a file by their names; none where there is no file yet."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def record_name(name: str, seed: int) -> str:
    return f"{name}-seed{seed}"


@cache
def provenance() -> dict:
    """Where and from what a record is made; asked once, before a run replaces a record and so changes the checkout."""
    return {
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": torch.get_num_threads(),
        "versions": {name: metadata.version(name) for name in ("torch", "tokenizers", "sacrebleu")},
    }


def training_record(run) -> dict:
    """Settings, sizes, clocks and history of a run."""
    from xformer_lib.training.config import config_to_json

    return {
        "seed": run.config.seed,
        "minutes": round(run.seconds / 60, 2),
        "cpu_minutes": round(run.cpu_seconds / 60, 2),
        "tokens": run.tokens,
        "tokens_per_second": round(run.tokens / run.seconds),
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "config": config_to_json(run.config),
        "history": run.history,
    }


def scores(hypotheses: list[str], pairs: list) -> dict:
    """BLEU and chrF of the whole split, and BLEU of each range of source lengths."""
    sources, references = zip(*pairs, strict=True)
    groups = bleu_by_length(list(sources), hypotheses, list(references), limits=LENGTHS)
    return {
        "bleu": vars(bleu(hypotheses, list(references))),
        "chrf": vars(chrf(hypotheses, list(references))),
        "by_length": [
            {"from": group.shortest, "to": group.longest, "sentences": group.count, "bleu": group.score.value} for group in groups
        ],
    }


def summary(record: dict) -> str:
    loss = record["history"][-1]["validation_loss"]
    score = f"BLEU {record['bleu']['value']:.2f}, " if "bleu" in record else ""
    return f"{score}validation loss {loss:.3f}, {record['cpu_minutes']} minutes of one core"


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="SYSTEM",
        choices=list(SYSTEMS),
        help=f"any of {', '.join(SYSTEMS)} (default: all; with --long the first three)",
    )
    parser.add_argument("--seed", nargs="+", type=int, default=list(SEEDS), help="default: 1 2 3")
    parser.add_argument("--rates", action="store_true", help="only choose the learning rates")
    parser.add_argument("--list", action="store_true", help="say what is recorded and what is missing")
    parser.add_argument("--long", action="store_true", help="three times the steps, at the rates of the short trials")
    parser.add_argument("--smoke", action="store_true", help="a few steps on the fragment; needs --out")
    parser.add_argument("--out", type=Path, help="file of the records (default: results/ladder.json)")
    parser.add_argument("--keep", type=Path, help="train below this folder and leave it there: a run that is cut off goes on")
    options = parser.parse_args(arguments)
    if options.smoke and options.out is None:
        parser.error("--smoke: name another file with --out, these are no results")
    if options.smoke and options.long:
        parser.error("--smoke: expected no --long beside it; leave one out")
    options.out = options.out or RECORDS.with_name("ladder-long.json" if options.long else "ladder.json")
    options.only = options.only or list(FAMILIES if options.long else SYSTEMS)
    return options


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    wanted = [(name, seed) for seed in options.seed for name in options.only]  # every system once, then again
    if options.list:
        for name, seed in wanted:
            record = records(options.out).get(record_name(name, seed))
            print(f"{record_name(name, seed):22}", summary(record) if record else "missing")
        return
    if not options.smoke and git_commit().endswith(("-dirty", "unknown")):
        sys.exit("commit: expected a clean clone, so that the records name what made them; commit or use --smoke")
    provenance()
    scale = SMOKE if options.smoke else LONG if options.long else FULL
    ladder = Ladder(scale, options.out, trials=RECORDS if options.long else None, keep=options.keep)
    if options.rates:
        for name in options.only:
            print(f"{name}: {ladder.rate(name):g}")
        return
    for name, seed in wanted:
        ladder.run(name, seed)


if __name__ == "__main__":
    main()
