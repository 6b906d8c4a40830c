"""What a run refuses before its first step: settings that no run can have, and pairs that do not fit."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from xformer_lib._checks import check_whole, is_number, shown
from xformer_lib.data.pairs import check_pairs_of

__all__: list[str] = []  # for the library itself

if TYPE_CHECKING:
    from xformer_lib.data.tokenizer import Tokenizer
    from xformer_lib.nn.transformer import TransformerConfig

CHOICES = {
    "schedule": ("trapezoid", "inverse_sqrt"),
    "precision": ("float32", "bfloat16", "auto"),
}


SPANS = {
    "peak_rate": ("a finite number above 0", lambda x: 0 < x < math.inf, "1e-3"),
    "clip": ("a finite number above 0", lambda x: 0 < x < math.inf, "1.0"),
    "decay": ("0 < decay ≤ 1", lambda x: 0 < x <= 1, "0.5"),
    "rehearsal": ("a finite number, 0 or more", lambda x: 0 <= x < math.inf, "1.0"),
    "label_smoothing": ("0 ≤ ε < 1", lambda x: 0 <= x < 1, "0.1"),
}


def check_warmup(warmup: int, total: int, decay: float) -> None:
    """Refuse a warm-up that ends after the trapezoid's fall has begun."""
    latest = int(total * (1 - decay) + 1e-6)
    if warmup > max(1, latest):  # a single step is no warm-up
        raise ValueError(
            f"warmup_steps: expected at most {latest}, where the fall "
            f"begins (decay {decay} of {total} steps), got {warmup}; warm "
            "up for fewer steps, or lower decay"
        )


def check_train_config(config) -> None:
    """Raise ValueError for settings that no run can have."""
    if not isinstance(config.corpus, str):
        raise ValueError(
            f"corpus: expected a name, got {config.corpus!r}; for pairs of "
            "your own any name will do"
        )
    for name in (
        "max_steps",
        "max_tokens",
        "warmup_steps",
        "validate_every",
        "accumulate",
    ):
        check_whole(name, getattr(config, name), least=1, advice="see TrainConfig")
    check_whole("seed", config.seed, advice="1 is usual")
    check_whole(
        "patience", config.patience, least=0, advice="0 trains to the last step"
    )
    check_whole(
        "augment", config.augment, least=0, advice="0 trains on the pairs alone"
    )
    if config.seed >= 2**63:
        raise ValueError(
            f"seed: expected less than 2**63, got {config.seed}; 1 is usual"
        )
    for name, (expected, holds, usual) in SPANS.items():
        value = getattr(config, name)
        if not is_number(value) or not holds(value):
            raise ValueError(
                f"{name}: expected {expected}, got {value}; {usual} is usual"
            )
    if config.schedule == "trapezoid":
        check_warmup(config.warmup_steps, config.max_steps, config.decay)
    for name, valid in CHOICES.items():
        if getattr(config, name) not in valid:
            raise ValueError(
                f"{name}: expected one of {', '.join(valid)}, got "
                f"{getattr(config, name)!r}; {valid[0]} is usual"
            )


def check_longer(max_steps: int, config) -> None:
    """Refuse to prolong a run to fewer steps than it has."""
    check_whole("max_steps", max_steps, advice="see TrainConfig")
    if max_steps < config.max_steps:
        raise ValueError(
            f"max_steps: expected at least {config.max_steps}, which the run was begun with, got {max_steps}; "
            "a run can be prolonged, not shortened"
        )


SETS = ("train", "val")


def check_corpus(corpus: dict) -> None:
    """ValueError for anything but pairs of texts for both sets."""
    if not isinstance(corpus, Mapping):
        raise ValueError(
            f'corpus: expected {{"train": pairs, "val": pairs}}, got {shown(corpus)}; data.pairs reads and divides files'
        )
    for name in SETS:
        check_pairs_of(f"corpus[{name!r}]", corpus.get(name, ()))
    empty = [name for name in SETS if not len(corpus.get(name, ()))]
    if empty:
        raise ValueError(
            f"corpus: expected pairs for train and val, got none for {' and '.join(empty)}; give it some"
        )


def check_specials(config: "TransformerConfig", tokenizer: "Tokenizer") -> None:
    """ValueError unless the model takes for padding, start and end what the tokenizer writes for them."""
    names = ("pad_id", "bos_id", "eos_id")
    given, written = (
        tuple(getattr(one, name) for name in names) for one in (config, tokenizer)
    )
    if given != written:
        raise ValueError(
            f"{', '.join(names)}: expected {written}, those of the tokenizer, got {given}; leave them out"
        )


def check_start(config: "TransformerConfig", there: "TransformerConfig") -> None:
    """ValueError unless a run has the model that it is to begin with, dropout aside; the tokenizer settles the vocabulary."""
    free = ("dropout", "attention_dropout", "vocab_size")
    asked, found = (
        {name: value for name, value in asdict(one).items() if name not in free}
        for one in (config, there)
    )
    differ = [name for name in found if found[name] != asked[name]]
    if differ:
        expected, got = (
            ", ".join(f"{name}={one[name]}" for name in differ)
            for one in (found, asked)
        )
        raise ValueError(
            f"start: expected the model of that folder, with {expected}, got {got}; only dropout may differ"
        )


def check_pairs(
    encoded: dict, lengths: Callable[[str], list], *, max_len: int, max_tokens: int
) -> None:
    """ValueError if ``max_len`` leaves no pair of a set, or if one that it leaves is over the budget of a batch.

    ``encoded`` holds the pairs of each set that are left, and ``lengths(name)`` gives all of them, for the message.
    """
    for name in SETS:
        if not encoded[name]:
            shortest = (
                min(max(map(len, pair)) for pair in lengths(name)) + 1
            )  # and the special id
            raise ValueError(
                f"max_len: expected at least {shortest}, for the shortest pair of the {name} set, got {max_len}; raise it"
            )
        longest = max(max(map(len, pair)) for pair in encoded[name]) + 1
        if longest > max_tokens:
            raise ValueError(
                f"max_tokens: expected at least {longest}, for the longest pair of the {name} set, got {max_tokens}; "
                "raise it, or lower max_len, which leaves longer pairs out"
            )
