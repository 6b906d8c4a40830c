"""``--set NAME=VALUE``: the settings of a run from words, each with the type that its field is declared with."""

import math
import os
from dataclasses import fields, replace

__all__ = ["with_settings"]

WORDS = {int: "a whole number", float: "a finite number"}
STATE = 16  # bytes that training keeps of each number of a model: itself, its gradient, Adam's two means


def with_settings(config, settings: list[str]):
    """The configuration with NAME=VALUE pairs applied to it or to its model."""
    own = {field.name: field for field in fields(config) if field.name != "model"}
    inner = {field.name: field for field in fields(config.model)}
    changes, model_changes = {}, {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in {**own, **inner}:
            raise ValueError(f"--set: expected NAME=VALUE with a name of {', '.join([*own, *inner])}, got {setting!r}; "
                             "for example max_steps=2000")
        if name in own:
            changes[name] = convert(own[name], text, getattr(config, name))
        else:
            model_changes[name] = convert(inner[name], text, getattr(config.model, name))
    config = replace(config, **changes, model=replace(config.model, **model_changes))
    check_size(config.model)
    return config


def convert(field, text: str, old):
    """The text as the type of its field; ``None`` where the field may be without a value."""
    optional = field.type == int | None
    kind = int if optional else field.type
    if optional and text in ("None", "none"):
        return None
    try:
        value = kind(text)
        if kind is float and not math.isfinite(value):
            raise ValueError
    except ValueError:
        raise ValueError(f"--set {field.name}: expected {WORDS[kind]}{' or None' if optional else ''}, got {text!r:.40}; "
                         f"for example {field.name}={old}") from None
    return value


def check_size(model) -> None:
    """Raise ValueError for a model whose matrices alone, with what Adam keeps of them, exceed the memory of this machine.

    Counted on paper: a machine that is asked for too much may kill the process without a word.
    """
    attention = 2 * model.d_model**2 * (1 + (model.num_kv_heads or model.num_heads) / model.num_heads)
    feed_forward = 2 * model.d_model * model.d_ff
    numbers = (model.vocab_size * model.d_model + model.num_encoder_layers * (attention + feed_forward)
               + model.num_decoder_layers * (2 * attention + feed_forward))
    if STATE * numbers > memory():
        raise ValueError(f"--set: expected a model that can be trained in {memory() / 1e9:.0f} GB of memory, got one of "
                         f"{numbers:.1e} numbers, which takes {STATE * numbers / 1e9:,.0f} GB; choose a smaller d_model, d_ff or "
                         "vocab_size, or fewer layers")


def memory() -> float:
    """Bytes of memory in this machine; without bound where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # AttributeError: Windows has no sysconf
        return math.inf
