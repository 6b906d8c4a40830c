"""How many threads torch computes with, and how they wait; decided before torch is loaded."""

import os
import sys

__all__ = ["use_threads"]

MOST = 256  # beyond, systems refuse to make them


def use_threads(number: int | None) -> None:
    """Take so many threads, or as many as torch takes by itself.

    A thread that waits for the others sleeps, unless the environment says otherwise. By default it spins, and where another program
    wants the core, it keeps the very thread from running that it waits for.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if number is None:
        return
    if not 1 <= number <= MOST:
        raise ValueError(f"--threads: expected a whole number from 1 to {MOST}, got {number}; 1 is quickest where other programs run")
    os.environ["OMP_NUM_THREADS"] = str(number)
    if "torch" in sys.modules:  # as under torchrun: it has read the environment already
        sys.modules["torch"].set_num_threads(number)
