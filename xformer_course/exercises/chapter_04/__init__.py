"""Exercises of chapter 04: self-attention and cross-attention in NumPy."""

from xformer_course.exercises.chapter_04 import costs, projections, two_sequences, windows
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=4,
    title="Self-attention",
    slug="04_self_attention",
    exercises=projections.EXERCISES + two_sequences.EXERCISES + windows.EXERCISES + costs.EXERCISES,
)
