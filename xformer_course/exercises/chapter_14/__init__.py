"""Exercises of chapter 14: scaling out."""

from xformer_course.exercises.chapter_14 import plans, sharing, splitting
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=14, title="Scaling out", slug="14_scaling_out", exercises=sharing.EXERCISES + plans.EXERCISES + splitting.EXERCISES
)
