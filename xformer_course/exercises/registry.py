"""Finding exercises by id; a chapter's module is imported when one of its exercises is asked for."""

import importlib
import json
import pkgutil
import re
from functools import cache
from pathlib import Path

import xformer_course.exercises as package
from xformer_course.exercises.exercise import Chapter, Exercise

PATTERN = re.compile(r"(\d{1,2})\.(\d{1,2})")


def chapter_numbers() -> list[int]:
    """Chapters that have a module `chapter_NN` here, in order."""
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return sorted(int(name[-2:]) for name in names if re.fullmatch(r"chapter_\d\d", name))


@cache
def chapter(number: int) -> Chapter | None:
    """The exercises of one chapter, or None when it has no module."""
    if number not in chapter_numbers():
        return None
    return _load(number)


def _load(number: int) -> Chapter:
    return importlib.import_module(f"xformer_course.exercises.chapter_{number:02d}").CHAPTER


def chapters() -> list[Chapter]:
    """Every chapter that has exercises."""
    return [_load(number) for number in chapter_numbers()]


@cache
def renumbered() -> dict[str, str]:
    """Today's number of each exercise that had another one in the first two editions, by its old number."""
    return json.loads(Path(__file__).with_name("renumbered.json").read_text(encoding="utf-8"))


def find(exercise_id: object) -> Exercise | str:
    """The exercise with this id, or a sentence that says which ids there are."""
    if type(exercise_id) is not str:
        return 'an id is written in quotes, such as check("3.1", answer)'
    parsed = PATTERN.fullmatch(exercise_id.strip())
    if parsed is None:
        return f'{exercise_id[:20]!r} is not an id; ids look like "3.1"'
    found = chapter(int(parsed[1]))
    if found is None:
        known = ", ".join(str(number) for number in chapter_numbers())
        return f"chapter {parsed[1]} has no exercises; chapters with exercises: {known}"
    for exercise in found.exercises:
        if exercise.id == exercise_id.strip():
            return exercise
    ids = ", ".join(exercise.id for exercise in found.exercises)
    return f"there is no exercise {parsed[0]}; chapter {parsed[1]} has {ids}"
