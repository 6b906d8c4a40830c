"""What a page needs to teach: exercises with their checks, figures, and the props of single lessons.

It stands on ``xformer_lib`` and nothing in the library knows it. ``import xformer_course`` loads neither torch nor
matplotlib; each part is imported when it is used.

>>> import xformer_course
>>> xformer_course.exercises.check.__name__
'check'
"""

import sys
from typing import TYPE_CHECKING

from xformer_lib._lazy import import_part

_PARTS = ("exercises", "explorables", "lessons", "pictures", "plots")

__all__ = [*_PARTS, "start"]

if TYPE_CHECKING:  # what an editor and a type checker see
    from xformer_course import exercises as exercises
    from xformer_course import explorables as explorables
    from xformer_course import lessons as lessons
    from xformer_course import pictures as pictures
    from xformer_course import plots as plots
else:

    def __getattr__(name):
        if name not in _PARTS:
            raise AttributeError(f"module 'xformer_course' has no attribute {name!r}; its parts are {', '.join(_PARTS)}")
        return import_part(f"xformer_course.{name}")


def start():
    """Have the notebook go on, with a line that says so, where a reader's own numbers break a claim about the book's."""
    import_part("xformer_course.claims").start()


def __dir__():
    return sorted(set(vars(sys.modules[__name__])) | set(__all__))
