"""Exercises of chapter 12: decoding, beam search, scores, significance, drawing; those of pages 12a, 12b, 12c and 12i."""

from xformer_course.exercises.chapter_12 import beam, decoding, drawing, heads, memories, scores, significance, worth
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=12,
    title="Translation",
    slug="12_translation",
    exercises=(
        decoding.EXERCISES
        + beam.EXERCISES
        + scores.EXERCISES
        + significance.EXERCISES
        + drawing.EXERCISES
        + memories.EXERCISES
        + heads.EXERCISES
        + worth.EXERCISES
    ),
)
