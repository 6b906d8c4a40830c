"""Interactive figures, one function each; what it returns shows itself at the end of a notebook cell.

>>> from xformer_course import explorables
>>> explorables.soft_lookup()
Explorable('soft-lookup')
"""

from typing import TYPE_CHECKING

from xformer_lib._lazy import lazy_names

_HOMES = {
    "Explorable": "explorable",
    "beam": "beam_tree",
    "heads": "several_heads",
    "laboratory": "laboratory_page",
    "learning": "training_run",
    "looks": "where_it_looks",
    "positions": "places",
    "permutations": "reordering",
    "masks": "masking",
    "scaled_dot_product": "dot_product",
    "soft_lookup": "lookup",
    "translator": "translator",
}
__all__ = list(_HOMES)

if TYPE_CHECKING:  # what an editor and a type checker see
    from xformer_course.explorables.beam_tree import beam as beam
    from xformer_course.explorables.dot_product import scaled_dot_product as scaled_dot_product
    from xformer_course.explorables.explorable import Explorable as Explorable
    from xformer_course.explorables.laboratory_page import laboratory as laboratory
    from xformer_course.explorables.lookup import soft_lookup as soft_lookup
    from xformer_course.explorables.masking import masks as masks
    from xformer_course.explorables.places import positions as positions
    from xformer_course.explorables.reordering import permutations as permutations
    from xformer_course.explorables.several_heads import heads as heads
    from xformer_course.explorables.training_run import learning as learning
    from xformer_course.explorables.translator import translator as translator
    from xformer_course.explorables.where_it_looks import looks as looks
else:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
