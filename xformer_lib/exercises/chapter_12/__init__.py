"""Exercises of chapter 12: decoding, beam search, scores and their significance."""

from xformer_lib.exercises.chapter_12 import beam, decoding, scores, significance
from xformer_lib.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=12,
    title="Translation",
    slug="12_translation",
    exercises=decoding.EXERCISES + beam.EXERCISES + scores.EXERCISES + significance.EXERCISES,
)
