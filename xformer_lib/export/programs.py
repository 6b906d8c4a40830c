"""A Transformer as programs without Python: encoder, one step of decoding, decoder; for ONNX Runtime or for torch alone."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from xformer_lib import _needs
from xformer_lib._checks import shown
from xformer_lib.engine.decode import INT8, CachedSteps, is_known
from xformer_lib.engine.modules import accelerate
from xformer_lib.nn._trees import second_tree
from xformer_lib.nn.masks import padding_mask
from xformer_lib.nn.transformer import Transformer
from xformer_lib.shapes import Float, Int

__all__ = ["OPSET", "export_onnx", "export_torch", "ready_for_export"]

OPSET = 18  # the operators' version; ONNX Runtime 1.14 and newer read it
Kept = Float[Tensor, "l b h j d"]  # keys or values of every layer


class EncoderProgram(nn.Module):
    """``source`` (b s) → memory (b s m), and what each decoder layer will read of it: keys and values (l b h s d)."""

    def __init__(self, model: Transformer):
        super().__init__()
        self.model = second_tree(model)
        for layer in self.model.decoder.layers:  # so that no file holds what it does not read
            del layer.self_attention, layer.feed_forward, layer.residuals

    def forward(self, source: Int[Tensor, "b s"]) -> tuple[Float[Tensor, "b s m"], Kept, Kept]:
        memory = self.model.encode(source)
        layers: list[Any] = [layer.cross_attention for layer in self.model.decoder.layers]
        keys = [layer.split(layer.w_k(memory), layer.d_head) for layer in layers]
        values = [layer.split(layer.w_v(memory), layer.d_value) for layer in layers]
        return memory, torch.stack(keys), torch.stack(values)


class GivenCache:
    """What `engine.cache.KeyValueCache` is to attention, with keys and values that are handed in and never written to."""

    def __init__(self, k: Float[Tensor, "b h j d"], v: Float[Tensor, "b h j d"], *, grows: bool):
        self.k, self.v, self.grows = k, v, grows
        self.length, self.ready = k.shape[2], not grows

    def update(self, k, v):
        self.k, self.v = torch.cat([self.k, k], dim=2), torch.cat([self.v, v], dim=2)
        return self.k, self.v


class GivenSteps(CachedSteps):
    """`engine.decode.CachedSteps` that has read its source in another program."""

    def __init__(self, model: Transformer, source: Int[Tensor, "b s"], caches: list):
        self.model, self.layers, self.caches = model, model.decoder.layers, caches
        self.mask = padding_mask(source, model.config.pad_id)
        self.memory = model.embedding(source)  # its shape alone is looked at: its keys and values are given


class StepProgram(nn.Module):
    """One new word per sentence → logits of the next (b v), and keys and values of all words so far (l b h t+1 d).

    ``keys`` and ``values`` (l b h t d) are those of the last step; before the first one t is 0. No word is padding.
    """

    def __init__(self, model: Transformer):
        super().__init__()
        self.model = accelerate(model, path="explicit")  # the path that asks no size
        del self.model.encoder

    def forward(
        self, token: Int[Tensor, "b 1"], source: Int[Tensor, "b s"], cross_keys: Kept, cross_values: Kept, keys: Kept, values: Kept
    ) -> tuple[Float[Tensor, "b v"], Kept, Kept]:
        model, layers = self.model, range(len(self.model.decoder.layers))
        own = [GivenCache(keys[n], values[n], grows=True) for n in layers]
        read = [GivenCache(cross_keys[n], cross_values[n], grows=False) for n in layers]
        steps = GivenSteps(model, source, list(zip(own, read)))
        x = model.positions(model.embedding(token), keys.shape[3])
        for number in layers:
            x = steps.run_layer(number, x, None)
        logits = model.embedding.logits(model.decoder.norm(x))[:, 0]
        return logits, torch.stack([cache.k for cache in own]), torch.stack([cache.v for cache in own])


class DecoderProgram(nn.Module):
    """``target_in`` (b t), memory (b s m), ``source`` (b s) → logits (b t v), to score translations."""

    def __init__(self, model: Transformer):
        super().__init__()
        self.model = model

    def forward(self, target_in, memory, source):
        return self.model.decode(target_in, memory, source)


def ready_for_export(model: Any) -> Transformer:
    """Return a plain copy of a model in float32, without dropout or gradients.

    Raises:
        ValueError: for anything but a Transformer whose parts are those that its settings name, fast or plain.
    """
    if not (isinstance(model, Transformer) and is_known(model)) or {type(part) for part in model.modules()} & set(INT8.values()):
        raise ValueError(
            f"model: expected a Transformer without hooks, whose parts are those of its settings, got {shown(model)}; "
            "take it as load_model or load_pretrained give it, not through quantize_int8"
        )
    plain = Transformer(model.config)
    plain.load_state_dict(model.state_dict())
    return plain.eval().requires_grad_(False)


def check_torch() -> None:
    """Raise ImportError where torch cannot yet leave the sizes open that these programs need."""
    if "prefer_deferred_runtime_asserts_over_guards" not in signature(torch.export.export).parameters:
        raise ImportError(f"torch: expected a newer one to export programs, got {torch.__version__}; pip install --upgrade torch")


def programs(model: Transformer) -> dict[str, tuple[nn.Module, dict[str, tuple[Tensor, dict]], list[str]]]:
    """Return for each program its module, its inputs by name (an example, the axes that are open), and its outputs' names."""
    config = model.config
    heads, d_head = config.num_kv_heads or config.num_heads, config.d_model // config.num_heads
    batch, source_len, target_len = Dim("batch"), Dim("source_len", max=config.max_len), Dim("target_len", max=config.max_len)
    kept_len = Dim("kept_len", min=0, max=config.max_len - 1)

    def ids(length):  # an example's size is neither 0 nor 1, which would become constants
        return torch.full((2, length), config.eos_id)

    def kept(length, open_len):
        return torch.zeros(config.num_decoder_layers, 2, heads, length, d_head), {1: batch, 3: open_len}

    source = (ids(3), {0: batch, 1: source_len})
    memory = (torch.zeros(2, 3, config.d_model), {0: batch, 1: source_len})
    step = {"token": (ids(1), {0: batch}), "source": source}  # a tensor given twice would be one input of the program
    step |= {name: kept(3, source_len) for name in ("cross_keys", "cross_values")}
    step |= {name: kept(4, kept_len) for name in ("keys", "values")}
    decoder = {"target_in": (ids(4), {0: batch, 1: target_len}), "memory": memory, "source": source}
    return {
        "encoder": (EncoderProgram(model), {"source": source}, ["memory", "cross_keys", "cross_values"]),
        "step": (StepProgram(model), step, ["logits", "grown_keys", "grown_values"]),
        "decoder": (DecoderProgram(model), decoder, ["logits"]),
    }


@contextmanager
def without_remarks() -> Iterator[None]:
    """A block in which an exporter does not speak of packages that it could use and of names that it gives."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def export_onnx(model: Transformer, folder: str | Path) -> None:
    """Write ``encoder.onnx``, ``step.onnx`` and ``decoder.onnx`` for ONNX Runtime, opset 18, batch and lengths open.

    Encoder: source (b s) → memory (b s m), cross_keys, cross_values (l b h s d). Step: token (b 1), source, cross_keys,
    cross_values, keys, values (l b h t d), t = 0 at first → logits (b v), grown_keys, grown_values (l b h t+1 d).
    Decoder: target_in (b t), memory, source → logits (b t v). Ids are int64, the rest float32; l layers, h heads of keys.

    Raises:
        ImportError: without onnx or onnxscript, or where torch is too old.
        ValueError: for anything but a `Transformer`, see `ready_for_export`.
    """
    _needs.check(("onnx", "onnxscript"))
    check_torch()
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, (module, inputs, outputs) in programs(ready_for_export(model)).items():
        examples, axes = zip(*inputs.values())
        with without_remarks():
            torch.onnx.export(
                module.eval(),
                examples,
                Path(folder) / f"{name}.onnx",
                input_names=list(inputs),
                output_names=outputs,
                opset_version=OPSET,
                dynamo=True,
                dynamic_shapes=axes,
                external_data=False,
                verbose=False,
            )


def export_torch(model: Transformer, folder: str | Path) -> None:
    """Write ``encoder.pt2`` and ``step.pt2``, programs that ``torch.export.load`` reads without this library.

    Inputs and outputs are those of `export_onnx`, in its order.

    Raises:
        ImportError: where torch is too old.
        ValueError: for anything but a `Transformer`, see `ready_for_export`.
    """
    check_torch()
    parts = programs(ready_for_export(model))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in ("encoder", "step"):
        module, inputs, _ = parts[name]
        examples, axes = zip(*inputs.values())
        # relative positions with grouped heads have a condition on sizes that always holds and that torch cannot prove
        program = torch.export.export(module.eval(), examples, dynamic_shapes=axes, prefer_deferred_runtime_asserts_over_guards=True)
        torch.export.save(program, Path(folder) / f"{name}.pt2")
