from functools import partial

from xformer_lib.nn.attention import MultiHeadAttention
from xformer_lib.nn.checks import head_width
from xformer_lib.nn.grouped import GroupedQueryAttention
from xformer_lib.nn.positions import attention_positions

__all__ = ["layer_options"]


def layer_options(config) -> dict:
    """What one encoder or decoder layer of this configuration is built with."""
    attention = partial(MultiHeadAttention, dropout=config.attention_dropout)
    if config.num_kv_heads not in (None, config.num_heads):
        attention = partial(GroupedQueryAttention, num_kv_heads=config.num_kv_heads, dropout=config.attention_dropout)
    d_head = head_width(config.d_model, config.num_heads)
    return {"d_model": config.d_model, "num_heads": config.num_heads, "d_ff": config.d_ff, "dropout": config.dropout,
            "norm": config.norm, "attention": attention,
            "positions": attention_positions(config.positions, d_head, config.max_offset)}
