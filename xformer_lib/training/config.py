"""The settings of a run, and the named ones; page w2 explains them."""

import json
from dataclasses import asdict, dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any

from xformer_lib._shipped import model_folder
from xformer_lib.data.pairs import check_pairs_of
from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training.checks import check_train_config

__all__ = ["TrainConfig", "preset", "preset_for"]


@dataclass(frozen=True)
class TrainConfig:
    """One training run. ``model.vocab_size`` is what the tokenizer is asked for."""

    corpus: str  # "fragment", "multi30k" or "tatoeba"
    model: TransformerConfig
    max_steps: int  # optimiser steps
    max_tokens: int = 2048  # in a batch, padding included, on the longer side
    peak_rate: float = 1e-3  # Adam's learning rate after warm-up
    warmup_steps: int = 400
    schedule: str = "trapezoid"  # or "inverse_sqrt"
    decay: float = 0.5  # share of the steps over which the trapezoid falls
    label_smoothing: float = 0.1
    clip: float = 1.0  # largest gradient norm
    precision: str = "float32"  # TF32 on a GPU; or "bfloat16", or "auto": the quicker
    validate_every: int = 500  # steps between validations and checkpoints
    accumulate: int = 1  # parts of a batch, computed one after another
    augment: int = 0  # varied copies of each pair (data.augment)
    seed: int = 1
    patience: int = 0  # validations without a better loss that end a run; 0: none do
    rehearsal: float = 0.0  # old sentences for each new pair, in fine-tuning

    def __post_init__(self):
        check_train_config(self)


PRESETS = {
    "fragment": TrainConfig(
        corpus="fragment",
        max_steps=800,
        warmup_steps=100,
        validate_every=100,
        max_tokens=1024,
        model=TransformerConfig(
            vocab_size=800,
            d_model=128,
            d_ff=512,
            num_encoder_layers=2,
            num_decoder_layers=2,
            max_len=64,
        ),
    ),
    "multi30k": TrainConfig(
        corpus="multi30k",
        max_steps=10500,
        peak_rate=2e-3,
        precision="auto",
        max_tokens=1024,
        model=TransformerConfig(
            vocab_size=8000, d_model=192, d_ff=768, dropout=0.2, positions="rotary"
        ),
    ),
    "tatoeba": TrainConfig(
        corpus="tatoeba",
        max_steps=15000,
        peak_rate=2e-3,
        decay=0.4,
        validate_every=1000,
        precision="auto",
        model=TransformerConfig(vocab_size=8000, dropout=0.1),
    ),
}


def preset(name: str) -> TrainConfig:
    """Return the settings of a named run; an unknown name lists the known ones."""
    if name not in PRESETS:
        raise ValueError(
            f"preset: expected one of {', '.join(PRESETS)}, got {name!r}; "
            "or build a TrainConfig of your own"
        )
    return PRESETS[name]


def preset_for(
    pairs: list[tuple[str, str]], *, start: str | Path | None = None
) -> TrainConfig:
    """Return settings for pairs of one's own: a small model for few, that of Multi30k for
    many; with ``start``, the gentle ones that `fine_tuned` gives."""
    check_pairs_of("pairs", pairs)
    if len(pairs) >= 20_000:
        config = replace(PRESETS["multi30k"], corpus="mine")
    else:
        model = TransformerConfig(
            vocab_size=2000,
            d_model=128,
            d_ff=512,
            dropout=0.2,
            max_len=128,
            num_encoder_layers=2,
            num_decoder_layers=2,
            positions="rotary",
        )
        config = TrainConfig(
            corpus="mine",
            model=model,
            max_steps=1500,
            warmup_steps=150,
            max_tokens=1024,
            validate_every=150,
            peak_rate=2e-3,
        )
    return config if start is None else fine_tuned(config, start, len(pairs))


def fine_tuned(
    config: TrainConfig, start: str | Path, pairs: int = 2000
) -> TrainConfig:
    """Return the settings with the sizes of a trained model, and gentle ones for so many
    ``pairs``: what a model knows does not survive large steps, nor many of them."""
    there = load_settings(model_folder(start))[0]
    steps = min(max(60, pairs // 2), 1000)
    return replace(
        config,
        model=replace(there.model, dropout=0.0),
        max_steps=steps,
        max_tokens=1024,
        peak_rate=1e-4,
        warmup_steps=steps // 20,
        validate_every=steps // 10,
        label_smoothing=0.0,
        patience=2,
        rehearsal=0.0 if there.corpus == config.corpus != "mine" else 1.0,
    )


def config_to_json(config: TrainConfig) -> dict:
    """Return plain numbers and strings, as stored beside a checkpoint."""
    return json.loads(json.dumps(asdict(config), default=to_plain))


_RETIRED = ("attention_path",)  # of the first edition: how to compute, not what


def config_from_json(data: dict) -> TrainConfig:
    """Return the settings that `config_to_json` gave; a value of a wrong type is a ValueError."""
    if "model" not in data:
        raise ValueError("model: expected the sizes of one, got none")
    sizes = {
        name: value for name, value in data["model"].items() if name not in _RETIRED
    }
    model = TransformerConfig(**checked_types(TransformerConfig, sizes))
    return TrainConfig(**checked_types(TrainConfig, {**data, "model": model}))


def to_plain(number):
    """A number of NumPy's as Python's, which JSON can write."""
    return number.item()


def load_settings(folder: Path) -> tuple[TrainConfig, str | None]:
    """The settings in config.json, and the id of the run that wrote it, or None."""
    path = folder / "config.json"
    if not path.exists():
        raise FileNotFoundError(
            f"run: no {path}; name the folder that xformer train wrote to"
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
        run = data.pop("run", None)
        return config_from_json(data), run
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"run: {path} cannot be read ({error}); restore it or train again"
        ) from error


def checked_types(settings: type, data: dict) -> dict:
    """The same data, where every value has the type of the field it is for."""
    types: dict[str, Any] = {field.name: field.type for field in fields(settings)}
    for name, value in data.items():
        if name not in types:
            raise ValueError(
                f"{name}: expected one of {', '.join(types)}; leave it out"
            )
        wanted = types[name] | int if types[name] is float else types[name]
        fits = isinstance(value, wanted) and not isinstance(value, bool)
        if not fits or isinstance(value, float) and not isfinite(value):
            raise ValueError(
                f"{name}: expected {getattr(wanted, '__name__', wanted)}, "
                f"got {value!r}; see TrainConfig and TransformerConfig"
            )
    return data
