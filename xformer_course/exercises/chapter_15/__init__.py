"""Exercises of chapter 15: what next."""

from xformer_course.exercises.chapter_15 import adapters, language, layer, likely, norms, series, today, transfer, vision, windows
from xformer_course.exercises.exercise import Chapter

FIRST = transfer.EXERCISES + language.EXERCISES + vision.EXERCISES + series.EXERCISES + today.EXERCISES
LATER = norms.EXERCISES + windows.EXERCISES + adapters.EXERCISES + likely.EXERCISES + layer.EXERCISES

CHAPTER = Chapter(number=15, title="What next", slug="15_what_next", exercises=FIRST + LATER)
