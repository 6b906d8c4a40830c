"""Grading one notebook: every cell in order, a new kernel where one died, and one verdict for each exercise."""

import re
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from xformer_course.exercises.exercise import Exercise
from xformer_course.exercises.grading.kernel import Kernel, KernelDied, NoKernel
from xformer_course.exercises.grading.limits import Limits, Workplace
from xformer_course.exercises.grading.report import Grade, NotebookGrade, one_line, printable
from xformer_course.exercises.grading.source import Cell, Notebook, in_order, known, read_notebook

NOTES = 20
RAISED = re.compile(r"your function raised (\w+)")


def grade_notebook(path: Path, limits: Limits, *, seed: int = 0, name: str = "", stop: threading.Event | None = None) -> NotebookGrade:
    """Runs a notebook in a fresh kernel and gives a verdict on every exercise in it.

    Args:
        path: The notebook.
        limits: What it may use.
        seed: For the cases of the checks.
        name: What the report calls it.
        stop: Set from another thread, it ends the run.

    Raises:
        OSError, ValueError: if the file cannot be read as a notebook, or no kernel can be started.
        Stopped: if `stop` was set.
    """
    notebook = read_notebook(path)
    began = time.monotonic()
    run = Run(path, notebook, limits, seed, began + limits.seconds, stop or threading.Event())
    try:
        run.all_cells()
    finally:
        run.close()
    seconds = round(time.monotonic() - began, 1)
    return NotebookGrade(one_line(name or path.name), run.grades(), seconds, tuple(run.notes))


@dataclass
class Run:
    """The state of one grading: what was run, what was left out, and the verdicts so far."""

    path: Path
    notebook: Notebook
    limits: Limits
    seed: int
    until: float
    stop: threading.Event = field(default_factory=threading.Event)
    workplace: Workplace | None = None
    kernel: Kernel | None = None
    verdicts: dict[str, Grade] = field(default_factory=dict)
    deaths: int = 0
    left_out: set[int] = field(default_factory=set)  # cells that no restarted kernel runs again
    notes: list[str] = field(default_factory=list)
    hopeless: str = ""  # why no further kernel could be started

    def all_cells(self) -> None:
        """Runs the cells in order; one that killed its kernel is left out when the others are run again."""
        if self.notebook.earlier:
            self.notes.append("numbered as in an earlier edition; its exercises have today's numbers here")
        for number, cell in enumerate(self.notebook.cells):
            while True:
                status, reason = self.obstacle()
                if reason:
                    self.miss(cell, status, reason)
                elif self.kernel is None:
                    self.restart(number)
                    continue  # the time may be over by now, or an earlier cell may have killed this kernel, too
                else:
                    self.step(cell, number)
                break

    def obstacle(self) -> tuple[str, str]:
        """Why no further cell can be run: a status and a reason, or nothing."""
        if time.monotonic() >= self.until:
            return "timed out", f"the {self.limits.seconds:g} s of the notebook were over before this cell was reached"
        if self.hopeless:
            return "crashed", f"this cell was not reached: {self.hopeless}"
        if self.deaths > self.limits.restarts:
            return "crashed", f"this cell was not reached: the notebook had ended its kernel {self.deaths} times"
        return "", ""

    def restart(self, number: int) -> None:
        """A fresh kernel, brought to where the notebook was, without the cells that cost one; none if it died."""
        self.workplace = Workplace(self.path)
        if self.workplace.left_out and not self.deaths:
            self.notes.append(self.workplace.left_out)
        try:
            self.kernel = Kernel(self.workplace, self.limits, self.chapters(), self.seed, self.stop)
        except NoKernel as error:
            if not self.deaths:
                raise
            self.hopeless = str(error)
            self.close()
            return
        for earlier, cell in enumerate(self.notebook.cells[:number]):
            if earlier not in self.left_out and time.monotonic() < self.until:
                try:
                    self.kernel.run(cell.code, [], self.seconds_left())
                except KernelDied as death:
                    self.bury(cell, earlier, str(death))
                    return

    def step(self, cell: Cell, number: int) -> None:
        """Runs one cell and takes down what it checked, and what it should have checked."""
        seconds = self.seconds_left()
        try:
            reply = self.kernel.run(cell.code, [(one.id, one.name) for one in cell.attempts], seconds)
        except KernelDied as death:
            self.miss(cell, death.status, str(death))
            self.bury(cell, number, str(death))
            return
        for verdict in reply.verdicts:
            raised = RAISED.search(verdict["message"]) if verdict["status"] == "crashed" else None
            self.take(Grade(**verdict, cell=cell.place, error=raised[1] if raised else ""))
        if reply.late or any(verdict["status"] == "timed out" for verdict in reply.verdicts):
            self.left_out.add(number)
        if reply.late:
            self.note(cell, f"stopped after {seconds:g} s")
            self.miss(cell, "timed out", f"the cell was stopped after {seconds:g} s, before its check was done", reply.verdicts)
        elif reply.error:
            words = f"{reply.error}: {reply.words}".removesuffix(": ")
            self.note(cell, f"stopped with {words}")
            self.miss(cell, "crashed", f"the cell stopped before its check with {words}", reply.verdicts, reply.error)

    def chapters(self) -> tuple[int, ...]:
        return tuple(sorted({exercise.chapter for exercise in self.notebook.exercises}))

    def seconds_left(self) -> float:
        return round(max(1.0, min(self.limits.cell_seconds, self.until - time.monotonic())), 1)

    def take(self, grade: Grade) -> None:
        """The last attempt counts, and a stub is none."""
        if grade.status != "not attempted" or grade.id not in self.verdicts:
            self.verdicts[grade.id] = replace(grade, message=printable(grade.message))

    def miss(self, cell: Cell, status: str, reason: str, made: tuple[dict, ...] = (), error: str = "") -> None:
        """A verdict for everything that a cell should have checked and did not."""
        heard = {verdict["id"] for verdict in made}
        for attempt in cell.attempts:
            if attempt.id not in heard:
                self.take(Grade(attempt.id, status, f"Exercise {attempt.id}: {reason}.", cell=cell.place, error=error))

    def note(self, cell: Cell, words: str) -> None:
        if len(self.notes) < NOTES:
            self.notes.append(one_line(f"{cell.words} {words}"))

    def bury(self, cell: Cell, number: int, reason: str) -> None:
        """Remembers which cell killed the kernel, so that the next one is spared it."""
        self.deaths += 1
        self.left_out.add(number)
        self.note(cell, f"killed its kernel: {reason}")
        self.close()

    def close(self) -> None:
        if self.kernel is not None:
            self.kernel.close()
        if self.workplace is not None:
            self.workplace.remove()
        self.kernel = self.workplace = None

    def grades(self) -> tuple[Grade, ...]:
        """One for each exercise the notebook contains, in the catalogue's order."""
        heard = [known(id) for id in self.verdicts]
        contained = {exercise.id: exercise for exercise in [*self.notebook.exercises, *filter(None, heard)]}
        return tuple(self.titled(exercise) for exercise in sorted(contained.values(), key=in_order))

    def titled(self, exercise: Exercise) -> Grade:
        silent = Grade(exercise.id, "not attempted", f"Exercise {exercise.id}: no cell answers it.")
        return replace(self.verdicts.get(exercise.id, silent), title=exercise.title)
