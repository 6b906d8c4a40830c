"""What a learner's notebook may use, and the surroundings it runs in."""

import math
import os
import secrets
import shutil
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import xformer_lib
from xformer_course.exercises.grading.copying import copy_results

GIGABYTE = 2**30
LONGEST_CHECK = 30.0
ADDRESS_SPACE = 64 * GIGABYTE  # libraries for GPUs map much that they never fill
THREADS = 1024
KEPT = (
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "XFORMER_DATA",
    "XFORMER_SOURCE",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "PATHEXT",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
)


@dataclass(frozen=True)
class Limits:
    """What one notebook may use.

    Attributes:
        seconds: For the whole notebook, restarts included.
        cell_seconds: For one cell; a check inside it gets half, at most half a minute.
        memory: Gigabytes that a process may fill; all of them together, half as many again.
        processes: How many processes may run at once.
        file_size: Gigabytes in one file.
        restarts: How often the kernel is started anew after it died.
    """

    seconds: float = 600.0
    cell_seconds: float = 60.0
    memory: float = 4.0
    processes: int = 64
    file_size: float = 0.25
    restarts: int = 5

    def __post_init__(self) -> None:
        for option, value in (("--timeout", self.seconds), ("--cell-timeout", self.cell_seconds)):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{option}: expected seconds above 0, got {value:g}; for example {option} 60")
        if not (math.isfinite(self.memory) and self.memory >= 0.5):
            raise ValueError(f"--memory: expected gigabytes, 0.5 or more, got {self.memory:g}; for example --memory 4")

    @property
    def together(self) -> float:
        """Gigabytes for all processes."""
        return 1.5 * self.memory

    @property
    def check_seconds(self) -> float:
        return min(self.cell_seconds / 2, LONGEST_CHECK)

    def apply(self) -> None:
        """Sets the limits on the current process, where the system has them. For the kernel, before it starts."""
        try:
            import resource
        except ImportError:  # Windows
            return
        cpu = int(self.seconds * (os.cpu_count() or 1)) + 60
        memory = int(self.memory * GIGABYTE)
        wanted = {
            "RLIMIT_CORE": 0,
            "RLIMIT_CPU": cpu,
            "RLIMIT_FSIZE": int(self.file_size * GIGABYTE),
            "RLIMIT_DATA": memory,
            "RLIMIT_AS": memory + ADDRESS_SPACE,
            "RLIMIT_NPROC": threads_now() + THREADS,
        }
        for name, value in wanted.items():
            kind = getattr(resource, name, None)
            if kind is not None:
                hard = resource.getrlimit(kind)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                try:
                    resource.setrlimit(kind, (value, value))
                except (ValueError, OSError):  # a system may refuse one kind; the watch in kernel.py stays
                    continue


def threads_now() -> int:
    """How many threads this user has: the system counts them all against its limit on processes."""
    import psutil

    total = 0
    for process in psutil.process_iter():
        try:
            if process.uids().real == os.getuid():
                total += process.num_threads()
        except psutil.Error:
            continue
    return total


class Workplace:
    """A temporary folder with `home`, the notebook's own working directory, and what the kernel needs.

    A folder `results` beside the notebook's folder is copied, so that a chapter finds `../results`. Nothing else is:
    what a notebook deletes or overwrites by a relative path are copies. `left_out` says what was not copied of it.
    """

    def __init__(self, notebook: Path) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="xformer-grade-"))
        self.work, self.home, self.kernel = (self.root / name for name in ("notebook", "home", "kernel"))
        for folder in (self.work, self.home, self.kernel, self.home / "tmp"):
            folder.mkdir()
        beside = notebook.parent.resolve().parent  # a link to a notebook brings nothing from where it leads
        self.left_out = copy_results(beside / "results", self.root / "results")

    def environment(self, token: str, check_seconds: float) -> dict[str, str]:
        """The variables a kernel sees: few, with every cache in the temporary home."""
        from xformer_lib.data._download import CorpusUnavailable, cache_folder

        library = str(Path(xformer_lib.__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        with suppress(CorpusUnavailable):  # where there is no home, there is no cache
            if "XFORMER_DATA" not in kept and cache_folder().is_dir():
                kept["XFORMER_DATA"] = str(cache_folder().resolve())
        if "XFORMER_DATA" in kept:
            kept["XFORMER_DATA"] = str(Path(kept["XFORMER_DATA"]).resolve())
        home, temporary, parent = str(self.home), str(self.home / "tmp"), str(os.getpid())
        self.bring_fonts()
        return kept | {
            "HOME": home,
            "USERPROFILE": home,
            "XDG_CACHE_HOME": f"{home}/.cache",
            "XDG_CONFIG_HOME": f"{home}/.config",
            "IPYTHONDIR": f"{home}/.ipython",
            "JUPYTER_CONFIG_DIR": f"{home}/.jupyter",
            "MPLCONFIGDIR": f"{home}/.mpl",
            "TMPDIR": temporary,
            "TEMP": temporary,
            "TMP": temporary,
            "PYTHONPATH": path,
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "JPY_PARENT_PID": parent,
            "XFORMER_GRADE": token,
            "XFORMER_CHECK_SECONDS": f"{check_seconds:g}",
        }

    def bring_fonts(self) -> None:
        """Copies matplotlib's list of fonts, which takes seconds to make."""
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
        folder = Path(os.environ.get("MPLCONFIGDIR") or Path(cache) / "matplotlib")
        (self.home / ".mpl").mkdir(exist_ok=True)
        for file in folder.glob("fontlist-*.json"):
            shutil.copy(file, self.home / ".mpl")

    def remove(self) -> None:
        """Deletes everything, also what was made unreadable; links are removed and never followed.

        Each folder is lifted to the top before it is emptied: no path grows too long, and nothing is as deep as it was.
        """
        mark, waiting = secrets.token_hex(8), [self.root]
        for number, folder in enumerate(waiting):  # grows while it is worked through
            try:
                os.chmod(folder, 0o700)
                entries = list(os.scandir(folder))
            except OSError:
                continue
            for place, entry in enumerate(entries):
                try:
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)
                        continue
                    os.chmod(entry.path, 0o700)
                    lifted = self.root / f"{mark}-{number}-{place}"
                    os.rename(entry.path, lifted)
                    waiting.append(lifted)
                except OSError:
                    continue
            if folder != self.root:
                with suppress(OSError):
                    folder.rmdir()
        shutil.rmtree(self.root, ignore_errors=True)
