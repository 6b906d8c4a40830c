"""What decoding refuses of a model and of its input, before the first word."""

from typing import Any

from torch import Tensor

from xformer_lib._checks import is_number, is_whole, shown
from xformer_lib.nn._trees import WRAPPERS


def check_translator(model: Any) -> None:
    """Raise ValueError for a wrapper around a model, and for a model that cannot translate."""
    if isinstance(model, WRAPPERS):
        raise ValueError(
            f"model: expected the model itself, got {type(model).__name__} around it; pass model.module"
        )
    if isinstance(model, tuple):
        raise ValueError(
            f"model: expected the model alone, got {shown(model)}; write Translator(*load_model(folder))"
        )
    missing = [
        name for name in ("config", "encode", "decode") if not hasattr(model, name)
    ]
    if missing:
        raise ValueError(
            f"model: expected one with config, encode and decode, got {shown(model)} without {' and '.join(missing)}; "
            "take a Transformer, or give yours what nn.protocols.TranslationModel lists"
        )


def checked_tokenizer(tokenizer: Any) -> Any:
    """Return what turns texts into ids and back; a ValueError for anything else."""
    if not (hasattr(tokenizer, "encode_batch") and hasattr(tokenizer, "decode")):
        raise ValueError(
            f"tokenizer: expected a Tokenizer, got {shown(tokenizer)}; load_model(folder) gives the model and its tokenizer"
        )
    return tokenizer


def check_source(source: Any) -> None:
    """Raise ValueError for a batch without sentences, or of sentences without ids; `check_ids` has the rest."""
    if isinstance(source, Tensor) and source.ndim == 2 and not source.numel():
        raise ValueError(
            f"source: expected one sentence or more, each with an id or more, got {tuple(source.shape)}; an empty sentence is <eos> alone"
        )


def check_beam(beam_size: int, length_penalty: float) -> None:
    """Raise ValueError for a search that cannot be."""
    if not is_whole(beam_size) or beam_size < 1:
        raise ValueError(
            f"beam_size: expected at least 1, got {shown(beam_size)}; 1 is greedy decoding"
        )
    if not is_number(length_penalty) or not 0 <= length_penalty <= 10:
        raise ValueError(
            f"length_penalty: expected 0 to 10, got {shown(length_penalty)}; 0 compares probabilities, 1 the mean log p of a token"
        )
