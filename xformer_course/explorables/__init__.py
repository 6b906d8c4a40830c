"""Interactive figures, one function each; what it returns shows itself at the end of a notebook cell.

>>> from xformer_course import explorables
>>> explorables.soft_lookup()
Explorable('soft-lookup')
"""

from xformer_lib._lazy import lazy_names

_HOMES = {
    "Explorable": "explorable",
    "architecture": "stations",
    "beam": "beam_tree",
    "heads": "several_heads",
    "positions": "places",
    "permutations": "reordering",
    "masks": "masking",
    "scaled_dot_product": "dot_product",
    "soft_lookup": "lookup",
    "translator": "translator",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
