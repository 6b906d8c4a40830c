"""Chapter 13, efficiency: one module a topic."""

from xformer_course.exercises.chapter_13.cache import CACHE
from xformer_course.exercises.chapter_13.growth import BALANCE, CROSSING, SLOPES
from xformer_course.exercises.chapter_13.guessing import ACCEPT, AVERAGE
from xformer_course.exercises.chapter_13.pieces import BAND, MERGE
from xformer_course.exercises.chapter_13.rounding import ROWS
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=13, title="Efficiency", slug="13_efficiency", exercises=(CROSSING, SLOPES, BAND, MERGE, BALANCE, ROWS, ACCEPT, AVERAGE, CACHE)
)
