"""Exercises of chapter 05: permutations."""

from xformer_course.exercises.chapter_05 import attention, checking, counting, masks, matrices, pasts, positions, proof
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=5,
    title="Permutations",
    slug="05_permutations",
    exercises=(
        matrices.EXERCISES
        + checking.EXERCISES
        + attention.TOGETHER
        + (proof.FIRST_HALF,)
        + attention.POOLED
        + (masks.WHICH_MASK, pasts.PREFIX, positions.WHERE_IT_FAILS)
        + counting.EXERCISES
        + (proof.SECOND_HALF, pasts.TWICE, positions.WHAT_SURVIVES)
    ),
)
