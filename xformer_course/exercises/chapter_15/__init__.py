"""Exercises of chapter 15: what next."""

from xformer_course.exercises.chapter_15 import language, series, today, transfer, vision
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=15,
    title="What next",
    slug="15_what_next",
    exercises=transfer.EXERCISES + language.EXERCISES + vision.EXERCISES + series.EXERCISES + today.EXERCISES,
)
