"""What the layers and models refuse, in one line each: *name: expected …, got …; what to do*; page w1 explains it."""

import math
import numbers
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from xformer_lib._checks import check_share, check_whole, is_number, is_whole, shown
from xformer_lib.nn._modes import may_be_read

__all__: list[str] = []  # for the library itself

SCHEMES = ("sinusoidal", "learned", "relative", "rotary", "alibi", "none")
SIZES = ("vocab_size", "d_model", "num_heads", "d_ff", "num_encoder_layers", "num_decoder_layers", "max_len", "max_offset")


def check_sizes(advice: str = "pass a size such as 64", **sizes: object) -> None:
    """Raise ValueError unless each size, given by its name, is a whole number of at
    least 1."""
    for name, size in sizes.items():
        check_whole(name, size, least=1, advice=advice)


def check_choice(name: str, value: object, choices: tuple[str, ...], advice: str) -> None:
    """Raise ValueError unless the value is one of these words; they are listed."""
    if not isinstance(value, str) or value not in choices:
        *others, last = (f'"{choice}"' for choice in choices)
        raise ValueError(f"{name}: expected {', '.join(others)} or {last}, got {shown(value)}; {advice}")


def check_norm(norm: object) -> None:
    """Raise ValueError for a place of the norm that no residual knows."""
    check_choice("norm", norm, ("pre", "post"), '"pre" is the default')


def check_attention_kind(attention: object) -> None:
    """Raise ValueError unless a layer is given what makes attention of this library's
    kind."""
    made = getattr(attention, "func", attention)  # of a partial
    theirs = isinstance(made, type) and issubclass(made, torch.nn.MultiheadAttention)
    if theirs or isinstance(attention, torch.nn.Module) or not callable(attention):
        got = "PyTorch's own class" if theirs else shown(attention)
        raise ValueError(
            "attention: expected the class MultiHeadAttention of this "
            f"library, or one made and called like it, got {got}; pass "
            "xformer_lib.nn.MultiHeadAttention, whose mask says what may be "
            "read"
        )


def is_called(part: Any, *args: object, **options: object) -> bool:
    """Whether a module or a function is called like this, as far as its signature
    says."""
    try:
        signature(getattr(part, "forward", part)).bind(*args, **options)
    except TypeError:
        return False
    return True


def check_scheme(positions, d_head: int, d_value: int) -> None:
    """Raise ValueError unless positions inside attention are None, or a scheme that is
    called as attention is and fits heads of this width."""
    if positions is None:
        return
    if not is_called(positions, 0, 0, 0, mask=None, dropout=0.0):
        raise ValueError(
            f"positions: expected None or a scheme inside attention, called as scheme(q, k, v, mask=…, dropout=…), got {shown(positions)}; "
            f'write attention_positions("rotary", {d_head}, max_offset=16)'
        )
    made_for = getattr(positions, "d_head", None)
    if made_for not in (None, d_head):
        raise ValueError(
            f"positions: expected a scheme for heads of width {d_head}, got {shown(positions)} for {made_for}; build it for {d_head}"
        )
    if hasattr(positions, "value_table") and d_value != d_head:
        raise ValueError(
            f"d_value: expected {d_head}, a head's width, as relative positions add to the values, got {d_value}; leave it out"
        )


def check_body(body: object) -> None:
    """Raise ValueError unless it turns ids into vectors under a mask, as a TokenEncoder
    does."""
    if not (hasattr(body, "config") and is_called(body, 0, mask=None)):
        raise ValueError(
            f"body: expected a TokenEncoder, called as body(ids, mask=…), got {shown(body)}; "
            "write TokenEncoder(config), left_half(transformer) or language_model.body"
        )


def check_half(model: object) -> None:
    """Raise ValueError unless a model has what a TokenEncoder is made of."""
    if not all(hasattr(model, name) for name in ("config", "embedding", "positions", "dropout", "encoder")):
        raise ValueError(f"model: expected a Transformer, got {shown(model)}; of a LanguageModel take model.body")


def check_module(model: object) -> None:
    """Raise ValueError for anything but a module of PyTorch's."""
    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"model: expected a torch.nn.Module, got {shown(model)}; of load_model's two take the first")


def check_images(images: Tensor, size: int) -> None:
    """Raise ValueError unless images (b y x) can be cut into squares of this size."""
    check_sizes("8 pixels are usual", size=size)
    if not isinstance(images, Tensor) or images.ndim != 3 or not images.is_floating_point():
        raise ValueError(
            f"images: expected floating-point numbers (batch, height, width), got {shown(images)}; "
            "one image is a batch of one: images[None], and whole numbers become images.float()"
        )
    for side in images.shape[1:]:
        if side % size:
            raise ValueError(f"size: expected a divisor of {side}, the pixels of a side, got {size}; crop or pad the images")


def sizes_that_fit(d_model: int, num_heads: int) -> str:
    """Advice: a width for these heads, or a number of heads for this width; an even
    width leaves heads of even width."""
    wide = max(1, d_model // (2 * num_heads)) * 2 * num_heads
    pair = 1 + (d_model % 2 == 0)
    fit = [n for n in range(1, d_model + 1) if d_model % (n * pair) == 0]
    heads = next((n for n in fit if n >= num_heads), fit[-1])
    return f"try d_model={wide} or num_heads={heads}"


def head_width(d_model: int, num_heads: int) -> int:
    """d_model / num_heads, or a ValueError that offers numbers which divide."""
    width, rest = divmod(d_model, num_heads)
    if rest:
        raise ValueError(
            f"d_model must be divisible by num_heads: got d_model="
            f"{d_model}, num_heads={num_heads} (remainder {rest}); " + sizes_that_fit(d_model, num_heads)
        )
    return width


def key_heads(num_heads: int, num_kv_heads: int | None) -> int:
    """How many heads of keys and values: as many as of queries, or a divisor of it."""
    number = num_heads if num_kv_heads is None else num_kv_heads
    if not is_whole(number) or number < 1 or num_heads % number:
        fit = ", ".join(str(n) for n in range(1, num_heads + 1) if num_heads % n == 0)
        raise ValueError(f"num_kv_heads: expected a divisor of num_heads={num_heads}, got {shown(number)}; try one of {fit}")
    return number


def head_sizes(d_model: int, num_heads: int, d_head: int | None, d_value: int | None) -> tuple[int, int]:
    """A head's columns of queries and keys, and of values; what is None follows from
    the others."""
    check_sizes(d_model=d_model, num_heads=num_heads)
    d_head = head_width(d_model, num_heads) if d_head is None else d_head
    d_value = d_head if d_value is None else d_value
    check_sizes(d_head=d_head, d_value=d_value)
    return d_head, d_value


def check_positions(name: object, d_model: int, num_heads: int) -> None:
    """Raise ValueError for an unknown scheme, or a width without the pairs that it
    turns."""
    if not isinstance(name, str) or name not in SCHEMES:
        raise ValueError(f"positions: expected one of {', '.join(SCHEMES)}, got {shown(name)}; sinusoidal is the default")
    if name in ("sinusoidal", "rotary") and d_model % 2:
        nearest = f"{d_model - 1} or {d_model + 1}" if d_model > 1 else "2"
        raise ValueError(
            f"d_model: expected an even number with {name} positions, got {d_model}; try {nearest}, sines and cosines come in pairs"
        )
    width = head_width(d_model, num_heads)
    if name == "rotary" and width % 2:
        raise ValueError(f"positions: rotary turns pairs of dimensions, got heads of width {width}; " + sizes_that_fit(d_model, num_heads))


def check_config(config) -> None:
    """Raise ValueError for settings that no model can be built from."""
    check_sizes("see TransformerConfig", **{name: getattr(config, name) for name in SIZES})
    for name in ("dropout", "attention_dropout"):
        check_share(name, getattr(config, name))
    check_norm(config.norm)
    check_positions(config.positions, config.d_model, config.num_heads)
    key_heads(config.num_heads, config.num_kv_heads)
    specials = (config.pad_id, config.bos_id, config.eos_id)
    known = all(is_whole(i) and 0 <= i < config.vocab_size for i in specials)
    if not known or len(set(specials)) < 3:
        raise ValueError(
            f"pad_id, bos_id, eos_id: expected three different ids below vocab_size={config.vocab_size}, got {specials}; 0, 1, 2 are usual"
        )


def check_given(config: object, wanted: type) -> None:
    """Raise ValueError unless a model is given its settings in one object."""
    if not isinstance(config, wanted):
        name = wanted.__name__
        raise ValueError(f"config: expected a {name}, got {shown(config)}; write {name}(vocab_size=…, d_model=…)")


def check_tensor(name: str, x: object, otherwise: str = "pass vectors (batch, length, width)") -> None:
    """Raise ValueError for anything but a tensor, with the line that makes one of an
    array or a list."""
    if isinstance(x, Tensor):
        return
    if isinstance(x, list | tuple | numbers.Number):
        otherwise = f"write torch.tensor({name})"
    elif type(x).__module__ == "numpy":
        otherwise = f"write torch.from_numpy({name})"
    raise ValueError(f"{name}: expected a torch.Tensor, got {shown(x)}; {otherwise}")


def check_inputs(d_model: int, query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise ValueError unless the three inputs are (b, i, m), (b, j, m), (b, j, m)."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, x)
        if not x.is_floating_point():
            raise ValueError(f"{name}: expected floating-point numbers, got {x.dtype}; write {name}.float(), or embed the ids first")
        if x.ndim != 3 or x.shape[-1] != d_model:
            raise ValueError(
                f"{name}: expected (batch, length, d_model={d_model}), got {tuple(x.shape)}; add the batch axis or check d_model"
            )
    q, k, v = (tuple(x.shape) for x in (query, key, value))
    if q[0] != k[0] or k[:2] != v[:2]:
        raise ValueError(
            f"key and value: expected one value for each key and one batch size, got query {q}, key {k}, value {v}; align them"
        )


def check_places(x: Tensor, start: int, table: Tensor) -> None:
    """Raise ValueError unless a table of positions (n m) has a row for each place of x
    (b i m), from ``start`` on."""
    if x.ndim != 3 or x.shape[-1] != table.shape[1]:
        raise ValueError(
            f"x: expected vectors (batch, length, d_model={table.shape[1]}), got {tuple(x.shape)}; one sentence is a batch of one: x[None]"
        )
    end = start + x.shape[1]
    if end > len(table):
        raise ValueError(
            f"x: expected at most max_len={len(table)} places, got {end}; shorten x or build the positions with a larger max_len"
        )


def check_mask(mask: Tensor | None, wanted: tuple[int, int, int, int]) -> None:
    """Raise an error unless a mask is (i j), (b i j) or (b h i j) and broadcasts to the
    scores; also where its two axes may be (b j) as well as (i j). A square one is (i j).
    """
    if mask is None:
        return
    check_tensor("mask", mask)
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask: expected torch.bool, True = may attend, got {mask.dtype}; write mask.bool(), or mask == 0 for an additive mask"
        )
    given = mask.unsqueeze(1) if mask.ndim == 3 else mask
    sizes = (1,) * (4 - given.ndim) + tuple(given.shape)
    fits = all(n in (1, w) for n, w in zip(sizes, wanted))
    b, _, i, j = wanted
    of_keys = mask.ndim == 2 and tuple(mask.shape) == (b, j)
    cure = "; for one of each sentence's keys (b, j) write mask[:, None, :]" * of_keys
    if given.ndim not in (2, 4) or not fits:
        raise ValueError(
            "mask: expected a shape that broadcasts to (b, h, i, j) = "
            f"{wanted}, got {tuple(mask.shape)}; rows are queries, columns "
            "are keys" + cure
        )
    if of_keys and b == i != j and b > 1:
        raise ValueError(
            f"mask: expected three axes where the batch is as large as the "
            f"queries are many, {b}, got {tuple(mask.shape)}; for one of "
            "queries and keys (i, j) write mask[None]" + cure
        )


def check_attention(layer, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, kept: int = 0) -> None:
    """Raise an error unless these are what a layer of attention takes.

    ``kept``: keys that the layer already holds, in front of ``key``.
    """
    check_inputs(layer.d_model, query, key, value)
    check_beside_weights(layer.w_q, {"query": query, "key": key, "value": value})
    check_mask(mask, (query.shape[0], layer.num_heads, query.shape[1], kept + key.shape[1]))


def check_beside_weights(linear, inputs: dict[str, Tensor]) -> None:
    """Raise ValueError unless inputs are of the device and the type of a plain layer's weights, to which autocast may bring them."""
    if type(linear) is not torch.nn.Linear:  # another kind may know what to do
        return
    weight = linear.weight
    for name, x in inputs.items():
        if x.device != weight.device:
            raise ValueError(
                f"{name}: expected it on {weight.device}, as the weights are, got {x.device}; write {name}.to({str(weight.device)!r})"
            )
        kind = x.device.type
        if x.dtype != weight.dtype and not (torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)):
            raise ValueError(f"{name}: expected {weight.dtype}, as the weights are, got {x.dtype}; write {name}.to({weight.dtype})")


def check_rows(name: str, ids: Tensor) -> None:
    """Raise ValueError unless ids are whole numbers (b i)."""
    check_tensor(name, ids, "encode the text with a tokenizer, and write torch.tensor([ids])")
    is_kind = ids.dtype in (torch.int64, torch.int32)
    if ids.ndim != 2 or not is_kind:
        advice = f"write {name}.long()"
        if is_kind:
            advice = "one sentence is a batch of one: ids[None]"
        raise ValueError(f"{name}: expected integer ids (batch, length), got {ids.dtype} {tuple(ids.shape)}; {advice}")


def check_ids(name: str, ids: Tensor, config, start: int = 0) -> None:
    """Raise ValueError unless ids (b i) are known, and no more than max_len in a row.

    Their numbers are looked at where that costs nothing, so that a model compiles,
    exports and never waits for its device.
    """
    check_rows(name, ids)
    check_length(name, ids, config, start)
    if may_be_read(ids):
        check_known_ids(name, ids, config)


def check_length(name: str, ids: Tensor, config, start: int = 0) -> None:
    """Raise ValueError unless ids that follow ``start`` others end within max_len."""
    if start + ids.shape[1] > config.max_len:
        raise ValueError(
            f"{name}: expected at most max_len={config.max_len} tokens, got "
            f"{start + ids.shape[1]}; split the sentence or build the model "
            "with a larger max_len"
        )


def check_known_ids(name: str, ids: Tensor, config) -> None:
    """Raise ValueError unless each id has a row in the model's embedding."""
    if not ids.numel():
        return
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= config.vocab_size:
        raise ValueError(
            f"{name}: expected ids from 0 to {config.vocab_size - 1}, "
            f"got {low if low < 0 else high}; was the text encoded by "
            "this model's tokenizer?"
        )


def check_memory(memory: Any) -> None:
    """Raise ValueError unless what a model has read is one tensor, whose rows can leave."""
    if not isinstance(memory, Tensor):
        raise ValueError(
            f"model.encode: expected one tensor, with a row for each sentence, got {shown(memory)}; "
            "return the vectors alone, and compute the rest in decode"
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
