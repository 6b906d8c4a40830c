"""Exercises of chapter 10: corpora, pieces and batches."""

from xformer_course.exercises.chapter_10 import batches, corpora, pieces
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(number=10, title="Data", slug="10_data", exercises=corpora.EXERCISES + pieces.EXERCISES + batches.EXERCISES)
