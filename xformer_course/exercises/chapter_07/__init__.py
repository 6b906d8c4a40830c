"""Chapter 07, positional encoding: one module a topic."""

from xformer_course.exercises.chapter_07.rotary import MIXED_PAIRS, ROTARY
from xformer_course.exercises.chapter_07.shifts import SHIFT
from xformer_course.exercises.chapter_07.waves import CHOOSE_BASE, SINUSOIDAL, WAVELENGTHS
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=7,
    title="Positional encoding",
    slug="07_positional_encoding",
    exercises=(WAVELENGTHS, SINUSOIDAL, SHIFT, ROTARY, MIXED_PAIRS, CHOOSE_BASE),
)
