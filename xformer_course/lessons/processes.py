"""Two processes started from a page: each runs one and the same function of the page, and what it returns comes back.

A process that is started anew knows nothing of a notebook's cells, so it is handed the source of the function and of its helpers, through
the store where the processes meet. They are started once, since each has to import torch, and end with the page.
"""

import atexit
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

__all__ = ["together"]

PROGRAM = """\
import datetime, os, sys, traceback
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), timeout=datetime.timedelta(hours=12))
dist.init_process_group("gloo", store=dist.PrefixStore("group", store), rank=rank, world_size=world, timeout=datetime.timedelta(minutes=10))
turn = 0
while True:
    turn += 1
    try:
        source, name, file = (store.get(f"{part} {turn}").decode() for part in ("source", "name", "file"))
    except Exception:
        break  # the page has ended, and the store with it
    here = {"torch": torch, "dist": dist, "nn": nn, "F": F}
    try:
        exec(compile(source, "the page", "exec"), here)
        torch.save(here[name](rank), f"{file}{rank}")
        said = "well"
    except Exception:
        said = traceback.format_exc()
    store.set(f"said {turn} {rank}", said)
    if said != "well":
        break
"""


class Processes:
    """``world`` processes that wait for functions."""

    def __init__(self, world: int):
        self.world, self.turn = world, 0
        self.folder = tempfile.TemporaryDirectory()
        self.store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(minutes=10))
        self.started = []
        for rank in range(world):
            variables = {"MASTER_PORT": self.store.port, "WORLD_SIZE": world, "RANK": rank, "OMP_NUM_THREADS": 1}
            environment = os.environ | {name: str(value) for name, value in variables.items()}
            quiet = subprocess.DEVNULL
            self.started.append(subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=quiet, stderr=quiet))
        atexit.register(self.end)

    def run(self, source: str, name: str) -> list:
        """Execute ``source`` in every process and call its function ``name`` with the rank."""
        self.turn += 1
        file = str(Path(self.folder.name, f"{self.turn}-"))
        for part, value in {"source": source, "name": name, "file": file}.items():
            self.store.set(f"{part} {self.turn}", value)
        said = [self.store.get(f"said {self.turn} {rank}").decode() for rank in range(self.world)]
        causes = sorted((text for text in said if text != "well"), key=lambda text: "gloo" in text)  # lost connections come last
        if causes:
            raise RuntimeError(f"processes: one of {self.world} failed; what it said:\n{causes[0]}")
        return [torch.load(f"{file}{rank}") for rank in range(self.world)]

    def end(self) -> None:
        """Nobody outlives the page."""
        for process in self.started:
            process.kill()
            process.wait()
        self.folder.cleanup()


running = cache(Processes)


def together(work: Callable[[int], Any], *helpers: Callable, world: int = 2) -> list:
    """Run ``work(rank)`` in ``world`` processes at once; what each of them returned, in the order of their ranks.

    The function and its ``helpers`` may use ``torch``, ``dist`` (torch.distributed), ``nn`` and ``F``, and what they import themselves.
    They return tensors, numbers, strings, or lists, tuples and dicts of these. Where a process fails, all are ended, and what
    it said is raised as a `RuntimeError`.
    """
    try:
        return running(world).run("\n\n".join(inspect.getsource(one) for one in (*helpers, work)), work.__name__)
    except Exception:
        running(world).end()
        running.cache_clear()
        raise
