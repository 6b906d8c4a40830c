"""`python -m xformer_course.exercises 3` prints the notebook cells of a chapter's exercises; `3.2` those of one."""

import sys

from xformer_course.exercises import registry
from xformer_course.exercises.authoring import code_cell, markdown_cell


def main(wanted: list[str]) -> int:
    """Prints the cells and returns an exit status."""
    known = {name for chapter in registry.chapters() for name in (str(chapter.number), *(one.id for one in chapter.exercises))}
    for name in wanted:
        if name not in known:
            print(f"exercise: expected a chapter such as 3 or an exercise such as 3.2, got {name}; {__doc__}", file=sys.stderr)
            return 2
    for chapter in registry.chapters():
        for exercise in chapter.exercises:
            if not wanted or exercise.id in wanted or str(chapter.number) in wanted:
                print(markdown_cell(chapter, exercise), "\n```python\n" + code_cell(exercise) + "\n```\n", sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
