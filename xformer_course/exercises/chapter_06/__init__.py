"""Exercises of chapter 06: several heads, how they are cut and joined, and what each adds."""

from xformer_course.exercises.chapter_06 import heads, output, slices
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=6, title="Multi-head attention", slug="06_multi_head_attention", exercises=heads.EXERCISES + slices.EXERCISES + output.EXERCISES
)
