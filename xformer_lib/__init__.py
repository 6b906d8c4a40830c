"""Attention and the Transformer, from the definition to a trained translator.

``import xformer_lib`` is cheap: it loads neither torch nor matplotlib. Each part is imported when it is used.

>>> import numpy as np
>>> import xformer_lib
>>> xformer_lib.reference.softmax(np.array([0.0, 0.0]))
array([0.5, 0.5])
"""

import sys
from typing import TYPE_CHECKING

from xformer_lib._lazy import import_part

__version__ = "0.9.0"

_PARTS = ("data", "decoding", "engine", "evaluation", "export", "inspection", "nn", "pretrained", "reference", "speculation", "training")

__all__ = ["__version__", "load_pretrained", *_PARTS]

if TYPE_CHECKING:  # what an editor and a type checker see
    from xformer_lib import data as data
    from xformer_lib import decoding as decoding
    from xformer_lib import engine as engine
    from xformer_lib import evaluation as evaluation
    from xformer_lib import export as export
    from xformer_lib import inspection as inspection
    from xformer_lib import nn as nn
    from xformer_lib import pretrained as pretrained
    from xformer_lib import reference as reference
    from xformer_lib import speculation as speculation
    from xformer_lib import training as training
    from xformer_lib.pretrained import load_pretrained as load_pretrained
else:

    def __getattr__(name):
        if name == "load_pretrained":
            return import_part("xformer_lib.pretrained").load_pretrained
        if name not in _PARTS:
            raise AttributeError(f"module 'xformer_lib' has no attribute {name!r}; its parts are {', '.join(_PARTS)}")
        return import_part(f"xformer_lib.{name}")


def __dir__():
    return sorted(set(vars(sys.modules[__name__])) | set(__all__))
