"""Inside the learner's kernel: hears every check, and makes those itself that a notebook left out or replaced."""

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xformer_course.exercises import api, registry
from xformer_course.exercises.exercise import Result
from xformer_course.exercises.session import Session

LONGEST = 4000


def engine() -> dict[str, Any]:
    """Everything in the modules of the exercises, by name."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("xformer_course.exercises")}
    return {f"{module}.{name}": value for module in modules for name, value in vars(modules[module]).items()}


class Seal:
    """Notices when a part of the checks, or an exercise of these chapters, is no longer what it was."""

    def __init__(self, chapters: list[int]) -> None:
        for number in chapters:
            registry.chapter(number)  # imports its module
        self.before, self.broken = engine(), ""

    def look(self) -> str:
        """The first thing that was replaced, or "". Once broken, a seal stays broken."""
        if not self.broken:
            now = engine()
            self.broken = next((name for name, value in self.before.items() if now.get(name, self) is not value), "")
        return self.broken


@dataclass
class GradingSession(Session):
    """Draws the same cases for everybody, and keeps the last attempt at each exercise in a cell."""

    seed: int = 0
    seal: Seal | None = None
    heard: dict[str, Result] = field(default_factory=dict)

    def generator(self, rng: Any) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def record(self, result: Result) -> None:
        super().record(result)
        if result.status != "not attempted" or result.id not in self.heard:
            self.heard[result.id] = result
        self.seal.look()


class Recorder:
    """What the kernel knows about the exercises."""

    def __init__(self, chapters: list[int], seed: int) -> None:
        self.session = api.SESSION = GradingSession(seed=seed)
        self.session.seal = Seal(chapters)

    def begin(self) -> None:
        self.session.heard.clear()

    def verdicts(self, attempts: list, namespace: dict, finished: bool) -> list[dict]:
        """What the cell that just ran did, as plain data.

        Args:
            attempts: Pairs of an exercise's id and the variable with the answer: what the cell should have checked.
            namespace: The notebook's variables.
            finished: Whether the cell reached its end.
        """
        found = [self.plain(result) for result in self.session.heard.values()]
        for id, name in attempts:
            if finished and id not in self.session.heard:
                found.append(self.examine(id, name, namespace))
        return found

    def examine(self, id: str, name: str, namespace: dict) -> dict:
        """Makes the check that the cell did not make."""
        if name not in namespace:
            return {
                "id": id,
                "status": "not verified",
                "misconception": "",
                "rechecked": True,
                "message": f"Exercise {id}: the course's check was not called, and there is no variable {name} to check.",
            }
        result = api.examine(registry.find(id), namespace[name], self.session.generator(None))
        return self.plain(result) | {"rechecked": True}

    def plain(self, result: Result) -> dict:
        changed = self.session.seal.look()
        if changed and result.status != "not attempted":
            return {
                "id": result.id,
                "status": "not verified",
                "misconception": "",
                "rechecked": False,
                "message": f"Exercise {result.id}: the notebook replaced {changed}, so its checks prove nothing.",
            }
        return {
            "id": result.id,
            "status": result.status,
            "misconception": result.misconception,
            "rechecked": False,
            "message": result.message[:LONGEST].encode("utf-8", "backslashreplace").decode(),
        }
