"""What a run needs before its first step: pairs that fit, and a machine that holds the model.

Written by hand: page w2 explains the run, and ``xformer_lib.training.loop`` is the only user.
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import lru_cache

import torch
from torch import nn

from xformer_lib._checks import shown
from xformer_lib.data.pairs import check_pairs_of
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.nn.transformer import Transformer, TransformerConfig

__all__ = ["check_corpus", "check_memory", "check_pairs", "check_specials", "check_start"]

SETS = ("train", "val")
BYTES = 16  # of a parameter: itself, its gradient and Adam's two means, in float32


def check_corpus(corpus: dict) -> None:
    """ValueError for anything but pairs of texts for both sets."""
    if not isinstance(corpus, Mapping):
        raise ValueError(f'corpus: expected {{"train": pairs, "val": pairs}}, got {shown(corpus)}; data.pairs reads and divides files')
    for name in SETS:
        check_pairs_of(name, corpus.get(name, ()))
    empty = [name for name in SETS if not len(corpus.get(name, ()))]
    if empty:
        raise ValueError(f"corpus: expected pairs for train and val, got none for {' and '.join(empty)}; give it some")


def check_specials(config: TransformerConfig, tokenizer: Tokenizer) -> None:
    """ValueError unless the model takes for padding, start and end what the tokenizer writes for them."""
    names = ("pad_id", "bos_id", "eos_id")
    given, written = (tuple(getattr(one, name) for name in names) for one in (config, tokenizer))
    if given != written:
        raise ValueError(f"{', '.join(names)}: expected {written}, those of the tokenizer, got {given}; leave them out")


def check_start(config: TransformerConfig, there: TransformerConfig) -> None:
    """ValueError unless a run has the model that it is to begin with, dropout aside; the tokenizer settles the vocabulary."""
    free = ("dropout", "attention_dropout", "vocab_size")
    asked, found = ({name: value for name, value in asdict(one).items() if name not in free} for one in (config, there))
    differ = [name for name in found if found[name] != asked[name]]
    if differ:
        expected, got = (", ".join(f"{name}={one[name]}" for name in differ) for one in (found, asked))
        raise ValueError(f"start: expected the model of that folder, with {expected}, got {got}; only dropout may differ")


def check_pairs(encoded: dict, lengths: Callable[[str], list], *, max_len: int, max_tokens: int) -> None:
    """ValueError if ``max_len`` leaves no pair of a set, or if one that it leaves is over the budget of a batch.

    ``encoded`` holds the pairs of each set that are left, and ``lengths(name)`` gives all of them, for the message.
    """
    for name in SETS:
        if not encoded[name]:
            shortest = min(max(map(len, pair)) for pair in lengths(name)) + 1  # and the special id
            raise ValueError(f"max_len: expected at least {shortest}, for the shortest pair of the {name} set, got {max_len}; raise it")
        longest = max(max(map(len, pair)) for pair in encoded[name]) + 1
        if longest > max_tokens:
            raise ValueError(
                f"max_tokens: expected at least {longest}, for the longest pair of the {name} set, got {max_tokens}; "
                "raise it, or lower max_len, which leaves longer pairs out"
            )


def check_memory(config: TransformerConfig) -> None:
    """ValueError for a model that this machine cannot train; the system would end the process without a word."""
    count, there = parameters(config), memory() or math.inf
    if BYTES * count > there:
        raise ValueError(
            f"model: expected one that this machine's {there / 1e9:,.0f} GB hold, got {count:,} parameters, which "
            f"with gradients and Adam's means take {BYTES * count / 1e9:,.0f} GB; make d_model, d_ff, vocab_size or "
            "the number of layers smaller"
        )


@lru_cache
def parameters(config: TransformerConfig) -> int:
    """`parameter_count` by a model of one layer on each side, without memory: each further layer has as many as the first."""
    with torch.device("meta"):
        model = Transformer(replace(config, num_encoder_layers=1, num_decoder_layers=1))

    def count(part: nn.Module) -> int:
        return sum(weight.numel() for weight in part.parameters())

    encoder, decoder = count(model.encoder.layers[0]), count(model.decoder.layers[0])
    return count(model) + (config.num_encoder_layers - 1) * encoder + (config.num_decoder_layers - 1) * decoder


def memory() -> int | None:
    """Bytes of memory of this machine, if the system says."""
    names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
    if not hasattr(os, "sysconf") or not set(names) <= set(os.sysconf_names):
        return None
    return math.prod(map(os.sysconf, names))
