"""Exercises of chapter 11: training."""

from xformer_course.exercises.chapter_11 import loss, run, step
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(number=11, title="Training", slug="11_training", exercises=loss.EXERCISES + step.EXERCISES + run.EXERCISES)
