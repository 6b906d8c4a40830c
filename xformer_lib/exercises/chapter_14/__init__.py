"""Exercises of chapter 14: scaling out."""

from xformer_lib.exercises.chapter_14 import plans, sharing
from xformer_lib.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=14,
    title="Scaling out",
    slug="14_scaling_out",
    exercises=sharing.EXERCISES + plans.EXERCISES,
)
