"""Exercises of chapter 12: decoding, beam search, scores and their significance, drawing, what a part is worth."""

from xformer_course.exercises.chapter_12 import beam, decoding, drawing, scores, significance, worth
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=12,
    title="Translation",
    slug="12_translation",
    exercises=decoding.EXERCISES + beam.EXERCISES + scores.EXERCISES + significance.EXERCISES + drawing.EXERCISES + worth.EXERCISES,
)
