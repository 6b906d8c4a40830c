"""Exercises of chapter 05: permutations."""

from xformer_course.exercises.chapter_05 import attention, checking, counting, masks, matrices, positions, proof
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=5,
    title="Permutations",
    slug="05_permutations",
    exercises=(
        matrices.EXERCISES
        + checking.EXERCISES
        + attention.TOGETHER
        + proof.EXERCISES
        + attention.POOLED
        + masks.EXERCISES
        + positions.EXERCISES
        + counting.EXERCISES
    ),
)
