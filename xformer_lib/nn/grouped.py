from torch import nn

from xformer_lib.nn.attention import MultiHeadAttention
from xformer_lib.nn.checks import key_heads

__all__ = ["GroupedQueryAttention"]


class GroupedQueryAttention(MultiHeadAttention):
    """Fewer heads of keys and values, each serving several of queries; Ainslie et al. (2023).

    With ``num_kv_heads=1`` it is multi-query attention, Shazeer (2019).
    """

    def __init__(self, d_model: int, num_heads: int, *, num_kv_heads: int, bias: bool = True, **options):
        super().__init__(d_model, num_heads, bias=bias, **options)
        self.num_kv_heads = key_heads(num_heads, num_kv_heads)
        self.w_k = nn.Linear(d_model, num_kv_heads * self.d_head, bias=bias)
        self.w_v = nn.Linear(d_model, num_kv_heads * self.d_value, bias=bias)
        self.initialize(self.w_k, self.w_v)

    def attend(self, q, k, v, *, mask, dropout):
        served = self.num_heads // self.num_kv_heads
        k, v = k.repeat_interleave(served, dim=1), v.repeat_interleave(served, dim=1)
        return super().attend(q, k, v, mask=mask, dropout=dropout)
