"""Shapes in signatures: ``Float[np.ndarray, "*b i d"]``.

With jaxtyping installed (extra ``dev``) these are its types and a test run checks them. Without it they are
placeholders that accept any subscript and mean nothing at run time, so that the library needs NumPy alone.

The letters are the same everywhere: ``b`` batch, ``s`` source position, ``t`` target position, ``i`` query,
``j`` key, ``h`` head, ``d`` head width, ``m`` model width, ``f`` feed-forward width, ``v`` vocabulary.

>>> import numpy as np
>>> def centre(x: Float[np.ndarray, "i d"]) -> Float[np.ndarray, "i d"]:
...     return x - x.mean(axis=0)
>>> centre(np.array([[1.0, 2.0], [3.0, 6.0]]))
array([[-1., -2.],
       [ 1.,  2.]])
"""

from typing import TYPE_CHECKING

__all__ = ["Bool", "Float", "Int"]

if TYPE_CHECKING:  # to a type checker ``Float[np.ndarray, "i d"]`` is an array, with jaxtyping and without
    from typing import Annotated as Bool
    from typing import Annotated as Float
    from typing import Annotated as Int
else:
    try:
        from jaxtyping import Bool, Float, Int
    except ImportError:

        class _Placeholder:
            """A type that takes any subscript and then stands for the array type it was given."""

            def __class_getitem__(cls, item):
                return item[0] if isinstance(item, tuple) else item

        class Bool(_Placeholder):
            """A boolean array of the given shape."""

        class Float(_Placeholder):
            """A floating-point array of the given shape."""

        class Int(_Placeholder):
            """An integer array of the given shape."""
