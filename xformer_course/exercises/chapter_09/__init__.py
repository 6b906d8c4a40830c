"""Exercises of chapter 09: the encoder–decoder."""

from xformer_course.exercises.chapter_09 import backward, broken, embedding, leaks, longer, masks, retype, target
from xformer_course.exercises.exercise import Chapter

CHAPTER = Chapter(
    number=9,
    title="The encoder–decoder",
    slug="09_encoder_decoder",
    exercises=embedding.EXERCISES
    + target.EXERCISES
    + masks.EXERCISES
    + leaks.EXERCISES
    + retype.EXERCISES
    + longer.EXERCISES
    + backward.EXERCISES
    + broken.EXERCISES,
)
