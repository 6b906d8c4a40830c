"""What a reader has done since the kernel started: results and hints, kept in one object."""

from dataclasses import dataclass, field

import numpy as np

from xformer_course.exercises.exercise import Chapter, Exercise, Result

LADDER = ("a question", "a pointer", "the key step")


@dataclass
class Session:
    """The state behind `check`, `hint` and `progress`."""

    results: dict[str, Result] = field(default_factory=dict)
    rungs: dict[str, int] = field(default_factory=dict)

    def generator(self, rng: np.random.Generator | None) -> np.random.Generator:
        """The source of a check's cases: the one given, or a fresh one."""
        return rng if rng is not None else np.random.default_rng()

    def record(self, result: Result) -> None:
        """Keeps the latest result; an exercise once passed stays passed."""
        if result.status == "not attempted" or self.passed(result.id):
            return
        self.results[result.id] = result

    def passed(self, exercise_id: str) -> bool:
        """Whether an exercise was solved in this session."""
        return exercise_id in self.results and self.results[exercise_id].passed

    def next_hint(self, exercise: Exercise, level: int | None) -> str:
        """The next rung of the ladder, or a given one; after the last it points to the solution."""
        last = len(exercise.hints)
        if level is None:
            level = self.rungs.get(exercise.id, 0) + 1
            self.rungs[exercise.id] = min(level, last)
        if level > last:
            return f"those were all {last} hints; the solution is linked under the exercise."
        level = max(1, int(level))
        return f"hint {level} of {last}, {LADDER[level - 1]}. {exercise.hints[level - 1]}"

    def table(self, chapters: list[Chapter]) -> str:
        """One line a chapter: passed, attempted, total, and the minutes of what is left."""
        lines = [f"{'chapter':<42}{'passed':>8}{'tried':>7}{'of':>5}{'minutes left':>14}"]
        for chapter in chapters:
            passed = sum(self.passed(e.id) for e in chapter.exercises)
            tried = sum(e.id in self.results for e in chapter.exercises)
            left = sum(e.minutes for e in chapter.exercises if not self.passed(e.id))
            title = f"{chapter.number} · {chapter.title}"
            lines.append(f"{title:<42}{passed:>8}{tried:>7}{len(chapter.exercises):>5}{left:>14}")
        return "\n".join(lines)
