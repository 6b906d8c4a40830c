import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer_lib.nn.checks import check_attention, check_share, head_sizes
from xformer_lib.shapes import Float

__all__ = ["masked_softmax", "attention", "MultiHeadAttention"]


def masked_softmax(scores: Float[Tensor, "*b i j"], mask: Tensor | None = None) -> Float[Tensor, "*b i j"]:
    """Softmax over the keys that ``mask`` allows; a row that may attend to nothing is zeros."""
    if mask is None:
        return scores.softmax(dim=-1)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def attention(
    q: Float[Tensor, "*b i d"], k: Float[Tensor, "*b j d"], v: Float[Tensor, "*b j e"],
    *, mask: Tensor | None = None, dropout: float = 0.0,
) -> tuple[Float[Tensor, "*b i e"], Float[Tensor, "*b i j"]]:
    """softmax(q kᵀ / √d) v, Vaswani et al. (2017), 3.2.1; returns (output, weights).

    ``mask`` is boolean, True = may attend, and broadcasts to (*b i j). ``dropout`` acts
    on the weights that mix the values; the returned ones are whole.
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = masked_softmax(scores, mask)
    return F.dropout(weights, dropout) @ v, weights


class MultiHeadAttention(nn.Module):
    """concat(head_1 … head_h) W_O, head_n = attention(Q W_Q,n, K W_K,n, V W_V,n).

    Vaswani et al. (2017), 3.2.2. ``d_head`` and ``d_value`` are a head's columns of W_Q
    and W_K, and of W_V; d_model / num_heads if not given. ``positions`` may take the
    place of `attention`: see `nn.positions`. Called with query (b i m), key and value
    (b j m), a mask (i j), (b i j) or (b h i j); gives output (b i m), weights or None.
    """

    def __init__(self, d_model: int, num_heads: int, *, d_head: int | None = None,
                 d_value: int | None = None, dropout: float = 0.0, bias: bool = True,
                 positions: nn.Module | None = None):
        super().__init__()
        check_share("dropout", dropout)
        self.d_head, self.d_value = head_sizes(d_model, num_heads, d_head, d_value)
        self.d_model, self.num_heads = d_model, num_heads
        self.dropout, self.positions = dropout, positions

        self.w_q = nn.Linear(d_model, num_heads * self.d_head, bias=bias)
        self.w_k = nn.Linear(d_model, num_heads * self.d_head, bias=bias)
        self.w_v = nn.Linear(d_model, num_heads * self.d_value, bias=bias)
        self.w_o = nn.Linear(num_heads * self.d_value, d_model, bias=bias)
        self.initialize(self.w_q, self.w_k, self.w_v, self.w_o)

    @staticmethod
    def initialize(*matrices: nn.Linear) -> None:
        for matrix in matrices:
            nn.init.xavier_uniform_(matrix.weight)
            if matrix.bias is not None:
                nn.init.zeros_(matrix.bias)

    def forward(self, query, key, value, *, mask=None, need_weights=False):
        mask = check_attention(self, query, key, value, mask)
        q = self.split(self.w_q(query), self.d_head)
        k = self.split(self.w_k(key), self.d_head)
        v = self.split(self.w_v(value), self.d_value)

        dropout = self.dropout if self.training else 0.0
        output, weights = self.attend(q, k, v, mask=mask, dropout=dropout)

        output = output.transpose(1, 2).flatten(2)  # the heads side by side again
        return self.w_o(output), weights if need_weights else None

    def split(self, x: Float[Tensor, "b i hd"], width: int) -> Float[Tensor, "b h i d"]:
        """Give the heads an axis of their own: ``width`` columns each."""
        return x.unflatten(-1, (-1, width)).transpose(1, 2)

    def attend(self, q, k, v, *, mask, dropout):
        """`attention`, or what the positions make of it."""
        inside = attention if self.positions is None else self.positions
        return inside(q, k, v, mask=mask, dropout=dropout)
