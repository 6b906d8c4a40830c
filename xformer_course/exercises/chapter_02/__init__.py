"""Exercises of chapter 02, one module a topic."""

from xformer_course.exercises.chapter_02 import hull, lookup, regression
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=2, title="Dictionary lookup", slug="02_dictionary_lookup", exercises=lookup.EXERCISES + hull.EXERCISES + regression.EXERCISES
)
