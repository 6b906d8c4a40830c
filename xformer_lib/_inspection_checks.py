"""What `inspection` refuses about heads and layers; the checks of maps stand in chapter 12b itself."""

from collections.abc import Collection, Sequence

from xformer_lib.nn.multi_head import MultiHeadAttention


def check_attends(model: object, layers: dict[str, MultiHeadAttention]) -> None:
    """Raise ValueError for a model without layers of attention."""
    if not layers:
        raise ValueError(f"model: expected one with layers of attention, got {type(model).__name__}; take a Transformer")


def check_heads(heads: Collection[tuple[str, int]], known: Sequence[tuple[str, int]]) -> None:
    """Raise ValueError for a head that is not among those of the model."""
    for head in heads:
        if head not in known:
            raise ValueError(f"heads: expected pairs from {known[0]} to {known[-1]}, got {head!r}; attention_heads(model) lists them all")


def check_editable(name: str, layers: dict[str, MultiHeadAttention]) -> None:
    """Raise ValueError unless weights times values are all that the layer of that name mixes."""
    if name not in layers:
        raise ValueError(f"edits: expected names of layers, {', '.join(layers)}; got {name!r}; choose among these")
    if hasattr(layers[name].positions, "value_table"):
        raise ValueError(f"{name}: expected a layer whose values depend on the key alone, got relative positions; edit its cross-attention")
