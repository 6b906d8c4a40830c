from collections.abc import Callable

from torch import Tensor, nn

from xformer_lib.nn.attention import MultiHeadAttention
from xformer_lib.nn.checks import check_norm, check_share, check_sizes
from xformer_lib.shapes import Float

__all__ = ["PositionwiseFeedForward", "Residual", "EncoderLayer", "DecoderLayer"]


class PositionwiseFeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2 at every position; d_ff is the inner width."""

    def __init__(self, d_model: int, d_ff: int, *, dropout: float = 0.0):
        super().__init__()
        check_sizes(d_model=d_model, d_ff=d_ff)
        check_share("dropout", dropout)
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*b m"]) -> Float[Tensor, "*b m"]:
        return self.w_2(self.dropout(self.w_1(x).relu()))


class Residual(nn.Module):
    """Around a sublayer f: x + f(norm(x)) with norm="pre", norm(x + f(x)) with "post".

    "post" is the paper's order, "pre" that of Xiong et al. (2020). Dropout is on f(…).
    """

    def __init__(self, d_model: int, *, dropout: float = 0.0, norm: str = "pre"):
        super().__init__()
        check_norm(norm)
        check_share("dropout", dropout)
        self.norm_first = norm == "pre"
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "b i m"], sublayer: Callable) -> Float[Tensor, "b i m"]:
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward net, each in a residual; keeps (b s m).

    ``attention`` builds the attention: it is called with d_model, num_heads, positions.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, *, dropout: float = 0.0,
                 norm: str = "pre", attention: Callable = MultiHeadAttention,
                 positions: nn.Module | None = None):
        super().__init__()
        self.self_attention = attention(d_model, num_heads, positions=positions)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout=dropout)
        self.residuals = nn.ModuleList(
            Residual(d_model, dropout=dropout, norm=norm) for _ in range(2))

    def forward(self, x: Float[Tensor, "b s m"], *, mask: Tensor | None = None) -> Float[Tensor, "b s m"]:
        def look_around(x):
            return self.self_attention(x, x, x, mask=mask)[0]

        x = self.residuals[0](x, look_around)
        return self.residuals[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to a memory, feed-forward; residuals."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, *, dropout: float = 0.0,
                 norm: str = "pre", attention: Callable = MultiHeadAttention,
                 positions: nn.Module | None = None):
        super().__init__()
        self.self_attention = attention(d_model, num_heads, positions=positions)
        self.cross_attention = attention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout=dropout)
        self.residuals = nn.ModuleList(
            Residual(d_model, dropout=dropout, norm=norm) for _ in range(3))

    def forward(
        self, x: Float[Tensor, "b t m"], memory: Float[Tensor, "b s m"], *,
        mask: Tensor | None = None, memory_mask: Tensor | None = None,
    ) -> Float[Tensor, "b t m"]:
        def look_back(x):
            return self.self_attention(x, x, x, mask=mask)[0]

        def consult(x):
            return self.cross_attention(x, memory, memory, mask=memory_mask)[0]

        x = self.residuals[0](x, look_back)
        x = self.residuals[1](x, consult)
        return self.residuals[2](x, self.feed_forward)
