"""What a learner's notebook may use, and the folder it runs in."""

import math
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import xformer_lib

GIGABYTE = 2**30
LONGEST_CHECK = 30.0


@dataclass(frozen=True)
class Limits:
    """What one notebook may use.

    Attributes:
        seconds: For the whole notebook, restarts included.
        cell_seconds: For one cell; a check inside it gets half, at most half a minute.
        memory: Gigabytes that a process may fill.
        restarts: How often the kernel is started anew after it died.
    """

    seconds: float = 600.0
    cell_seconds: float = 60.0
    memory: float = 4.0
    restarts: int = 5

    def __post_init__(self) -> None:
        for option, value in (("--timeout", self.seconds), ("--cell-timeout", self.cell_seconds)):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{option}: expected seconds above 0, got {value:g}; for example {option} 60")
        if not (math.isfinite(self.memory) and self.memory >= 0.5):
            raise ValueError(f"--memory: expected gigabytes, 0.5 or more, got {self.memory:g}; for example --memory 4")

    @property
    def check_seconds(self) -> float:
        return min(self.cell_seconds / 2, LONGEST_CHECK)

    def apply(self) -> None:
        """Sets the memory of the current process, where the system has such a limit. For the kernel, before it starts."""
        with suppress(ImportError, ValueError, OSError):  # Windows has none, and a system may refuse it
            import resource

            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            memory = int(self.memory * GIGABYTE)
            memory = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


class Workplace:
    """A temporary folder with the notebook's own working directory, and what the kernel needs.

    A folder `results` beside the notebook's folder is copied, so that a chapter finds `../results`. Nothing else is:
    what a notebook deletes or overwrites by a relative path are copies. `left_out` says why `results` could not be copied.
    """

    def __init__(self, notebook: Path) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="xformer-grade-"))
        self.work, self.kernel, self.temporary = (self.root / name for name in ("notebook", "kernel", "tmp"))
        for folder in (self.work, self.kernel, self.temporary):
            folder.mkdir()
        results, self.left_out = notebook.parent.resolve().parent / "results", ""
        if results.is_dir():
            try:
                shutil.copytree(results, self.root / "results", symlinks=True)
            except OSError as error:
                self.left_out = f"results: not all of it could be copied ({str(error)[:200]})"

    def environment(self, check_seconds: float) -> dict[str, str]:
        """The variables of the kernel: those of the grader, and some of its own."""
        library = str(Path(xformer_lib.__file__).resolve().parent.parent)
        folders = {name: str(self.temporary) for name in ("TMPDIR", "TEMP", "TMP", "IPYTHONDIR")}
        if "XFORMER_DATA" in os.environ:
            folders["XFORMER_DATA"] = str(Path(os.environ["XFORMER_DATA"]).resolve())
        return (
            os.environ
            | folders
            | {
                "PYTHONPATH": os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")])),
                "PYTHONHASHSEED": "0",
                "PYTHONSTARTUP": "",
                "MPLBACKEND": "",
                "CUDA_VISIBLE_DEVICES": "",
                "JPY_PARENT_PID": str(os.getpid()),
                "XFORMER_CHECK_SECONDS": f"{check_seconds:g}",
            }
        )

    def remove(self) -> None:
        """Deletes the folder with everything in it."""
        shutil.rmtree(self.root, ignore_errors=True)
