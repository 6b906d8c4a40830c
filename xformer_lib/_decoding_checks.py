"""What decoding refuses of a model and of its input, before the first word."""

import math
from typing import Any

from torch import Tensor

from xformer_lib._checks import check_whole, is_number, is_whole, shown
from xformer_lib.nn._trees import WRAPPERS
from xformer_lib.nn.checks import check_ids, check_known_ids

__all__ = [
    "check_beam",
    "check_best",
    "check_memory",
    "check_prompt",
    "check_source",
    "check_temperature",
    "check_translator",
    "checked_tokenizer",
]


def check_translator(model: Any) -> None:
    """Raise ValueError for a wrapper around a model, and for a model that cannot translate."""
    if isinstance(model, WRAPPERS):
        raise ValueError(f"model: expected the model itself, got {type(model).__name__} around it; pass model.module")
    if isinstance(model, tuple):
        raise ValueError(f"model: expected the model alone, got {shown(model)}; write Translator(*load_model(folder))")
    missing = [name for name in ("config", "encode", "decode") if not hasattr(model, name)]
    if missing:
        raise ValueError(
            f"model: expected one with config, encode and decode, got {shown(model)} without {' and '.join(missing)}; "
            "take a Transformer, or give yours what nn.protocols.TranslationModel lists"
        )


def checked_tokenizer(tokenizer: Any) -> Any:
    """Return what turns texts into ids and back; a ValueError for anything else."""
    if not (hasattr(tokenizer, "encode_batch") and hasattr(tokenizer, "decode")):
        raise ValueError(f"tokenizer: expected a Tokenizer, got {shown(tokenizer)}; load_model(folder) gives the model and its tokenizer")
    return tokenizer


def check_source(source: Any) -> None:
    """Raise ValueError for a batch without sentences, or of sentences without ids; `check_ids` has the rest."""
    if isinstance(source, Tensor) and source.ndim == 2 and not source.numel():
        raise ValueError(
            f"source: expected one sentence or more, each with an id or more, got {tuple(source.shape)}; an empty sentence is <eos> alone"
        )


def check_memory(memory: Any) -> None:
    """Raise ValueError unless what a model has read is one tensor, whose rows can leave."""
    if not isinstance(memory, Tensor):
        raise ValueError(
            f"model.encode: expected one tensor, with a row for each sentence, got {shown(memory)}; "
            "return the vectors alone, and compute the rest in decode"
        )


def check_beam(beam_size: int, length_penalty: float) -> None:
    """Raise ValueError for a search that cannot be."""
    if not is_whole(beam_size) or beam_size < 1:
        raise ValueError(f"beam_size: expected at least 1, got {shown(beam_size)}; 1 is greedy decoding")
    if not is_number(length_penalty) or not 0 <= length_penalty <= 10:
        raise ValueError(
            f"length_penalty: expected 0 to 10, got {shown(length_penalty)}; 0 compares probabilities, 1 the mean log p of a token"
        )


def check_best(best: list[float], model: Any) -> None:
    """Raise FloatingPointError where the largest logit or log p of a row, as the CPU has it, is no number or has overflowed.

    NaN counts as the largest, and attention hands it on from word to word, so that a look at the last word tells it all.
    """
    if not any(math.isnan(one) or one == math.inf for one in best):
        return
    weights = [name for name, weight in model.named_parameters() if not bool(weight.isfinite().all())]
    if weights:
        raise FloatingPointError(f"model: expected finite weights, got nan or inf in {weights[0]}; load them again, or train again")
    raise FloatingPointError("logits: expected finite numbers, got nan or inf from finite weights; compute in float32")


def check_temperature(temperature: Any) -> None:
    """Raise ValueError unless scores may be divided by it, or it is 0 or None."""
    if temperature is not None and not (is_number(temperature) and (temperature == 0 or 0.01 <= temperature <= 100)):
        raise ValueError(f"temperature: expected 0, or from 0.01 to 100, got {shown(temperature)}; 0 takes the likeliest token, 1 is usual")


def check_prompt(ids: Any, max_new_tokens: Any, temperature: Any, config: Any) -> None:
    """Raise ValueError unless a language model can continue these ids by so many."""
    check_whole("max_new_tokens", max_new_tokens, least=1, advice="20 make a short sentence")
    check_temperature(temperature)
    check_ids("ids", ids, config)
    check_known_ids("ids", ids, config)  # on a GPU, too
    if not ids.numel() or bool((ids == config.pad_id).any()):
        got = "padding in it" if ids.numel() else tuple(ids.shape)
        raise ValueError(
            f"ids: expected prompts of one length, of an id or more, got {got}; continue those of another length by themselves"
        )
    if ids.shape[1] + max_new_tokens > config.max_len:
        raise ValueError(
            f"max_new_tokens: expected at most {config.max_len - ids.shape[1]} behind {ids.shape[1]} ids, as the model reads "
            f"max_len={config.max_len}, got {max_new_tokens}; ask for fewer, or shorten the prompt"
        )
