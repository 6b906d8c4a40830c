"""Stopping an answer that never ends, where the system has an alarm clock for it.

The alarm is POSIX's `SIGALRM`, which reaches the main thread alone. On Windows, in another thread, or where somebody
else has set that alarm already, an answer may take as long as it likes.
"""

import math
import os
import signal
import threading
from contextlib import contextmanager

SECONDS = 60.0
VARIABLE = "XFORMER_CHECK_SECONDS"
AGAIN = 1.0  # a bare `except:` may swallow the first alarm


class TimeUp(KeyboardInterrupt):
    """The time is over; like an interrupt from the keyboard it passes through every guard."""


def seconds_allowed() -> float:
    """How long one check may take: `XFORMER_CHECK_SECONDS`, or a minute; 0 stands for no limit."""
    try:
        seconds = float(os.environ.get(VARIABLE, SECONDS))
    except ValueError:
        return SECONDS
    return seconds if math.isfinite(seconds) and seconds >= 0 else SECONDS


def is_free() -> bool:
    """Whether the alarm can be set here and nobody else is waiting for it."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )


@contextmanager
def limit(seconds: float):
    """Raises `TimeUp` inside the block once it has run for so long."""
    if seconds <= 0 or not is_free():
        yield
        return
    armed = [True]

    def ring(number, frame):
        if armed:
            raise TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
