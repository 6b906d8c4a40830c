"""Exercises of chapter 03: scaled dot-product attention in NumPy and torch."""

from xformer_course.exercises.chapter_03 import additive, attention, batch, masks, scaling, softmax
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=3,
    title="Scaled dot-product attention",
    slug="03_scaled_dot_product_attention",
    exercises=softmax.EXERCISES + scaling.EXERCISES + attention.EXERCISES + masks.EXERCISES + additive.EXERCISES + batch.EXERCISES,
)
