"""``--set NAME=VALUE``: the settings of a run from words, each with the type that its field is declared with."""

import math
from dataclasses import fields, replace

__all__ = ["with_settings"]

WORDS = {int: "a whole number", float: "a finite number"}


def with_settings(config, settings: list[str]):
    """The configuration with NAME=VALUE pairs applied to it or to its model."""
    own = {field.name: field for field in fields(config) if field.name != "model"}
    inner = {field.name: field for field in fields(config.model)}
    changes, model_changes = {}, {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in {**own, **inner}:
            raise ValueError(
                f"--set: expected NAME=VALUE with a name of {', '.join([*own, *inner])}, got {setting!r}; for example max_steps=2000"
            )
        if name in own:
            changes[name] = convert(own[name], text, getattr(config, name))
        else:
            model_changes[name] = convert(inner[name], text, getattr(config.model, name))
    return replace(config, **changes, model=replace(config.model, **model_changes))


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
        raise ValueError(
            f"--set {field.name}: expected {WORDS[kind]}{' or None' if optional else ''}, got {text!r:.40}; for example {field.name}={old}"
        ) from None
    return value
