"""What batching refuses."""

import numpy as np

from xformer_lib.shapes import Int

__all__: list[str] = []  # for the library itself


def checked_lengths(pairs, max_tokens: int) -> Int[np.ndarray, "n 2"]:
    """Source and target lengths with the special id; a pair over the budget is an error."""
    lengths = np.array([tuple(map(len, pair)) for pair in pairs], dtype=np.int64)
    lengths = lengths.reshape(-1, 2) + 1
    too_long = np.flatnonzero(lengths.max(axis=1) > max_tokens)
    if len(too_long):
        source, target = lengths[too_long[0]]
        raise ValueError(
            f"pairs: expected at most max_tokens={max_tokens} ids a side, "
            f"got {source} and {target} (special ids counted) in pair "
            f"{too_long[0]} and {len(too_long)} such pairs in all; raise "
            "max_tokens or leave them out"
        )
    return lengths
