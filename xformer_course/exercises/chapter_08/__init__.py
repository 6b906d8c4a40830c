"""Chapter 08, layers: one module a topic."""

from xformer_course.exercises.chapter_08.parts import DROPOUT, NORM, PARAMETERS, SPLIT
from xformer_course.exercises.chapter_08.places import RELATIVE_BIAS, STEP
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(number=8, title="Layers", slug="08_layers", exercises=(SPLIT, NORM, DROPOUT, PARAMETERS, RELATIVE_BIAS, STEP))
