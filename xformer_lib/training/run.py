"""A run in memory: its settings, its data, its model and how far it is; page w2 explains it."""

import hashlib
import json
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path

import torch

from xformer_lib.data.augment import augment
from xformer_lib.data.corpora import load_corpus, normalise
from xformer_lib.data.pairs import PARTS
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.engine.modules import accelerate
from xformer_lib.nn._trees import without_wrappers
from xformer_lib.nn.checks import check_choice
from xformer_lib.nn.protocols import TrainableModel
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import checkpoint as files
from xformer_lib.training.checks import (
    check_corpus,
    check_pairs,
    check_specials,
    check_start,
)
from xformer_lib.training.config import TrainConfig
from xformer_lib.training.memory import check_memory
from xformer_lib.training.processes import SingleProcess
from xformer_lib.training.rehearsal import rehearse

__all__ = ["Run"]


ENGINES = ("fast", "compiled", "eager", "plain")


@dataclass
class Progress:
    """How far a run is; a checkpoint stores these numbers under these names."""

    step: int = 0  # optimiser steps done
    epoch: int = 0  # passes over the training data begun, from 0
    batch: int = 0  # batches of this epoch done
    tokens: int = 0  # target tokens seen
    seconds: float = 0.0  # wall clock spent training
    cpu_seconds: float = 0.0  # the same, summed over the cores of this process
    loss_sum: float = 0.0  # training loss since the last validation, in nats
    loss_tokens: int = 0  # and the target tokens it was summed over
    history: list[dict] = field(default_factory=list)  # one dict per validation


@dataclass(kw_only=True)
class Run(Progress):
    """A training run in memory: how far it is, its settings, its data and its model."""

    config: TrainConfig
    folder: Path
    tokenizer: Tokenizer
    device: str
    train_data: list  # (source ids, target ids)
    validation_data: list
    model: TrainableModel
    engine_model: TrainableModel  # the same parameters, computed by the chosen engine
    optimizer: torch.optim.Optimizer
    processes: SingleProcess = field(default_factory=SingleProcess)
    engine: str = "fast"  # how it computes; nothing of it is stored
    id: str | None = None  # drawn when the run began, in all its files
    pairs: str = ""  # a checksum of what it trains on and is validated with
    left_out: int = 0  # pairs of both sets that are longer than the model allows
    kept: dict | None = None  # of the model it began with (training.rehearsal)
    unread: torch.Tensor | None = None  # loss and gradient norm since `read_loss`

    def __repr__(self):
        pairs = (
            f"{len(self.train_data)} pairs, validated with {len(self.validation_data)}"
        )
        return (
            f"Run(step {self.step} of {self.config.max_steps}, {pairs}, "
            f"{type(self.model).__name__} on {self.device}, folder={str(self.folder)!r})"
        )


def state_of(run: Run) -> dict:
    """Return what a checkpoint's header stores."""
    return {
        "run": run.id,
        "pairs": run.pairs,
        "made_for": files.model_fingerprint(run.config.model, run.tokenizer),
        **{one.name: getattr(run, one.name) for one in fields(Progress)},
    }


def checksum(corpus: dict) -> str:
    """Of the pairs for training and validation, in their order."""
    pairs = [
        [tuple(map(normalise, pair)) for pair in corpus[name]]
        for name in ("train", "val")
    ]
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


def training_pairs(config: TrainConfig, corpus: dict) -> list[tuple[str, str]]:
    """The corpus's training pairs, with the varied copies that the settings ask for."""
    return augment(corpus["train"], copies=config.augment, seed=config.seed)


def encode_pairs(
    pairs: list[tuple[str, str]], tokenizer: Tokenizer, max_len: int
) -> list:
    """Return the ids of both sides; a pair that exceeds the model's length is left
    out."""
    sources, targets = (
        tokenizer.encode_batch([normalise(pair[side]) for pair in pairs])
        for side in (0, 1)
    )
    return [(s, t) for s, t in zip(sources, targets) if max(len(s), len(t)) < max_len]


def encode_sets(config: TrainConfig, tokenizer: Tokenizer, corpus: dict) -> dict:
    """Ids of the two sets; ValueError where one has no pair that fits, where one
    pair fits no batch, or where the model has other special ids than the tokenizer."""
    check_specials(config.model, tokenizer)
    pairs = {"train": training_pairs(config, corpus), "val": corpus["val"]}

    def encoded(name, max_len=config.model.max_len):
        return encode_pairs(pairs[name], tokenizer, max_len)

    sets = {name: encoded(name) for name in ("train", "val")}
    check_pairs(
        sets,
        partial(encoded, max_len=math.inf),
        max_len=config.model.max_len,
        max_tokens=config.max_tokens,
    )
    return sets


def build_run(
    config: TrainConfig,
    folder: Path,
    tokenizer: Tokenizer,
    corpus: dict | None,
    device: str,
    *,
    build: Callable[[TransformerConfig], TrainableModel] = Transformer,
    processes: SingleProcess | None = None,
    engine: str = "fast",
) -> Run:
    """Data, a freshly initialised model and its optimiser,
    all decided by ``config.seed``."""
    check_choice("engine", engine, ENGINES, '"plain" is the definition')
    if corpus is None:
        corpus = {
            split: load_corpus(config.corpus, split) for split in ("train", "val")
        }
    check_corpus(corpus)
    sets = encode_sets(config, tokenizer, corpus)
    if build is Transformer and device == "cpu":
        check_memory(config.model)
    torch.manual_seed(config.seed)
    model = build(config.model).to(device)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=config.peak_rate, betas=(0.9, 0.98), eps=1e-9, fused=True
    )
    run = Run(
        config=config,
        folder=folder,
        tokenizer=tokenizer,
        device=device,
        train_data=sets["train"],
        validation_data=sets["val"],
        model=model,
        engine_model=model if engine == "plain" else accelerate(model),
        engine=engine,
        optimizer=optimizer,
        processes=processes or SingleProcess(),
        pairs=checksum(corpus),
        left_out=(1 + config.augment) * len(corpus["train"])
        - len(sets["train"])
        + len(corpus["val"])
        - len(sets["val"]),
    )
    run.processes.join(run.engine_model)
    return run


def new_run(
    config: TrainConfig,
    folder: Path,
    corpus: dict | None,
    device: str,
    build: Callable[[TransformerConfig], TrainableModel],
    processes: SingleProcess,
    engine: str,
    start: Path | None = None,
) -> tuple[Run, dict | None]:
    """Return a run at step 0, with an id of its own, and the pairs that its folder is to
    keep, if any; nothing is written."""
    rehearsed = start is not None and config.rehearsal > 0
    own = corpus is not None or rehearsed
    if corpus is None:
        splits = PARTS if rehearsed else PARTS[:2]
        corpus = {split: load_corpus(config.corpus, split) for split in splits}
    check_corpus(corpus)
    if start is not None:
        check_start(config.model, files.load_settings(start)[0].model)
    if start is not None and rehearsed:
        corpus = rehearse(config, corpus, start, device)
    if start is None:
        sentences = [
            normalise(text) for pair in training_pairs(config, corpus) for text in pair
        ]
        tokenizer = Tokenizer.train(sentences, vocab_size=config.model.vocab_size)
    else:
        _, tokenizer = files.load_setup(start)
    config = replace(
        config, model=replace(config.model, vocab_size=tokenizer.vocab_size)
    )
    run = build_run(
        config,
        folder,
        tokenizer,
        corpus,
        device,
        build=build,
        processes=processes,
        engine=engine,
    )
    if start is not None:
        start_from(run, start)
    run.id = secrets.token_hex(8)  # from the system, so no generator moves
    return run, corpus if own else None


def start_from(run: Run, folder: Path) -> None:
    """Give a run at step 0 the weights of a trained model."""
    path = folder / "model.safetensors"
    made = files.model_fingerprint(run.config.model, run.tokenizer)
    weights, state = files.load_tensors(path, device=run.device)
    files.check_fingerprint(path, state.get("made_for", {}), made)
    model = without_wrappers(run.model)
    files.check_weights(model, weights, folder)
    model.load_state_dict(weights)
