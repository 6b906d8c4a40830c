import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer_lib.engine.products import Linear, product
from xformer_lib.nn._edges import in_full_precision, is_transformed
from xformer_lib.nn.attention import MultiHeadAttention, masked_softmax
from xformer_lib.nn.checks import check_attention, check_choice, check_ids
from xformer_lib.nn.grouped import GroupedQueryAttention
from xformer_lib.nn.masks import padding_mask, target_mask
from xformer_lib.nn.positions import AttentionPositions
from xformer_lib.nn.transformer import TokenEmbedding, Transformer
from xformer_lib.shapes import Float

__all__ = ["explicit_attention", "fused_attention", "attend", "accelerate"]


def matmul(a: Float[Tensor, "*b i n"], b: Float[Tensor, "*g n m"]) -> Tensor:
    """a @ b; where b has fewer heads, each of them serves several of a's in a row."""
    if a.ndim < 4 or a.shape[1] <= b.shape[1]:
        return a @ b
    height = a.shape[1] // b.shape[1] * a.shape[2]  # their rows, one below the other
    rows = a.reshape(*b.shape[:2], height, a.shape[-1])
    return (rows @ b).reshape(*a.shape[:-1], b.shape[-1])


def scaled_products(q: Float[Tensor, "*b i d"], k: Float[Tensor, "*g j d"]) -> Tensor:
    """q kᵀ / √d; in float32 where q is float16, for scores may pass its end at 65,504."""
    if q.dtype != torch.float16:
        return matmul(q / math.sqrt(q.shape[-1]), k.transpose(-2, -1))
    with in_full_precision(q):
        return scaled_products(q.float(), k.float())


def explicit_attention(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*g j d"], v: Float[Tensor, "*g j e"],
    *, mask: Tensor | None = None, dropout: float = 0.0, bias: Tensor | None = None,
    value_bias: Float[Tensor, "i j e"] | None = None,
) -> tuple[Float[Tensor, "*b i e"], Float[Tensor, "*b i j"]]:
    """`nn.attention.attention` with fewer heads in ``k`` and ``v`` than in ``q``, a
    ``bias`` on the scores, and ``value_bias``: query i reads v_j + value_bias_ij."""
    scores = scaled_products(q, k)
    if bias is not None:
        scores = scores + bias
    weights = masked_softmax(scores, mask)
    mixing = F.dropout(weights, dropout).to(v.dtype)
    output = matmul(mixing, v)
    if value_bias is not None:
        output = output + torch.einsum("...ij,ije->...ie", mixing, value_bias)
    return output, weights


def fused_attention(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*g j d"], v: Float[Tensor, "*g j e"],
    *, mask: Tensor | None = None, dropout: float = 0.0, bias: Tensor | None = None,
) -> Float[Tensor, "*b i e"]:
    """The same output from PyTorch's one kernel, which never stores the weights.

    Rows that may attend to nothing are opened for the kernel and closed after it,
    so that neither the output nor a gradient can become NaN.
    """
    if is_transformed(q, k, v):  # torch.func asks for derivatives that no kernel has
        return explicit_attention(q, k, v, mask=mask, dropout=dropout, bias=bias)[0]
    kernel = F.scaled_dot_product_attention
    if q.ndim == 4 and k.shape[1] < q.shape[1]:  # the kernel wants a key for each head
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    if mask is None:
        return kernel(q, k, v, attn_mask=bias, dropout_p=dropout)
    open_rows = mask.any(dim=-1, keepdim=True)
    allowed = mask | ~open_rows
    if bias is not None:  # the kernel takes one of the two: hide by -inf in the bias
        allowed = torch.where(allowed, bias, -math.inf)
    output = kernel(q, k, v, attn_mask=allowed, dropout_p=dropout)
    return output.masked_fill(~open_rows, 0.0)


PATHS = ("auto", "explicit", "fused")
FUSED_FROM = 128  # keys; from here on benchmarks/attention_paths.py favours the fused path


def attend(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None,
    need_weights: bool = False, dropout: float = 0.0, path: str = "auto",
    bias: Tensor | None = None, value_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Attention by the path asked for; only the explicit one has weights at hand.

    "auto": explicit for short keys on a CPU, else fused, as for one query alone.
    ``need_weights`` and ``value_bias`` need the weights: they take the explicit path.
    """
    if path == "auto":
        is_one = q.shape[0] * q.shape[-2] == 1
        is_short = q.device.type == "cpu" and k.shape[-2] < FUSED_FROM and not is_one
        path = "explicit" if is_short else "fused"
    if need_weights or value_bias is not None or path == "explicit":
        output, weights = explicit_attention(
            q, k, v, mask=mask, dropout=dropout, bias=bias, value_bias=value_bias)
        return output, weights if need_weights else None
    return fused_attention(q, k, v, mask=mask, dropout=dropout, bias=bias), None


def is_own(scheme: nn.Module | None) -> bool:
    """Whether `attend` can do what a scheme does: ``forward`` is the library's, and no hook looks on."""
    return scheme is None or (type(scheme).forward is AttentionPositions.forward
                              and not (scheme._forward_hooks or scheme._forward_pre_hooks))


class FastAttention(MultiHeadAttention):
    """A `MultiHeadAttention` by `attend`, and with a cache; with a scheme of a reader's own, the plain one.

    ``cache``: a KeyValueCache; what it holds is not projected again.
    """

    def forward(self, query, key, value, *, mask=None, need_weights=False, cache=None):
        if not is_own(self.positions):
            return super().forward(query, key, value, mask=mask, need_weights=need_weights)
        start = cache.length if cache is not None and cache.grows else 0
        mask = check_attention(self, query, key, value, mask, kept=start)
        q, scheme = self.split(self.w_q(query), self.d_head), self.positions
        if cache is not None and cache.ready:
            k, v = cache.k, cache.v
        else:
            k, v = self.split(self.w_k(key), self.d_head), self.split(self.w_v(value), self.d_value)
            if scheme is not None:
                q, k = scheme.turn(q, start), scheme.turn(k, start)
            if cache is not None:
                k, v = cache.update(k, v)
        terms = (None, None) if scheme is None else scheme.terms(q, k.shape[-2], start)
        output, weights = attend(
            q, k, v, mask=mask, bias=terms[0], value_bias=terms[1], path=self.path,
            dropout=self.dropout * self.training, need_weights=need_weights)
        return self.w_o(output.transpose(1, 2).flatten(2)), weights


class FastGroupedAttention(FastAttention, GroupedQueryAttention):
    """The same for a `GroupedQueryAttention`, without a copy of keys and values for each query head."""


class Dropout(nn.Dropout):
    """Zeroes elements with probability p in training; scales the rest by 1 / (1 - p).

    PyTorch's own generator draws one element at a time on a CPU; here one 64-bit draw
    serves eight elements, so p is rounded to a multiple of 1/256. Within 1/16 of 0 and
    of 1, where that would be coarse, PyTorch draws, to full precision.
    """

    def forward(self, x: Float[Tensor, "*b m"]) -> Float[Tensor, "*b m"]:
        if not self.training or self.p == 0.0:
            return x
        if x.device.type != "cpu" or not 1 / 16 < self.p < 15 / 16 or is_transformed(x):
            return F.dropout(x, self.p)
        draws = torch.empty(x.numel() // 8 + 1, dtype=torch.int64).random_(-2**63, None)
        bytes_ = draws.view(torch.uint8)[:x.numel()].view(x.shape)
        dropped = round(self.p * 256)
        return x * (bytes_ >= dropped).to(x.dtype).mul_(256 / (256 - dropped))


class FastEmbedding(TokenEmbedding):
    """A TokenEmbedding whose logits are computed by `product`."""

    def logits(self, x: Float[Tensor, "b t m"]) -> Float[Tensor, "b t v"]:
        return product(x, self.weight)


def needed(mask: Tensor) -> Tensor | None:
    """The mask; on a CPU None where it hides nothing, which saves work in every layer."""
    look = mask.device.type == "cpu" and not is_transformed(mask)
    return None if look and bool(mask.all()) else mask


class FastTransformer(Transformer):
    """A Transformer that leaves out a mask which hides nothing."""

    def encode(self, source):
        check_ids("source", source, self.config)
        mask = needed(padding_mask(source, self.config.pad_id))
        return self.encoder(self.embed(source), mask=mask)

    def states(self, target_in, memory, source):
        check_ids("target_in", target_in, self.config)
        mask = target_mask(target_in, self.config.pad_id)
        memory_mask = needed(padding_mask(source, self.config.pad_id))
        return self.decoder(self.embed(target_in), memory, mask=mask, memory_mask=memory_mask)


FAST = {nn.Linear: Linear, nn.Dropout: Dropout, TokenEmbedding: FastEmbedding, MultiHeadAttention: FastAttention,
        GroupedQueryAttention: FastGroupedAttention, Transformer: FastTransformer}


def accelerate(model: nn.Module, *, path: str = "auto") -> nn.Module:
    """The same model, computed in less time: another tree of modules over the same parameters.

    What trains in one is trained in the other; hooks are shared, too. Each has its own ``training``.
    A class that is not known here stays as it is. ``path``: of `attend`.
    """
    check_choice("path", path, PATHS, '"auto" takes the faster')
    if type(model) is FastTransformer and path == "auto":
        return model
    swapped = object.__new__(FAST.get(type(model), type(model)))
    swapped.__dict__ = {**vars(model), "_modules": {
        name: part if part is None else accelerate(part, path=path) for name, part in model._modules.items()}}
    if isinstance(swapped, FastAttention):
        swapped.path = path
    return swapped
