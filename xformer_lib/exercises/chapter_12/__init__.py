"""Exercises of chapter 12: decoding and scores."""

from xformer_lib.exercises.chapter_12 import decoding, scores
from xformer_lib.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=12,
    title="Translation",
    slug="12_translation",
    exercises=decoding.EXERCISES + scores.EXERCISES,
)
