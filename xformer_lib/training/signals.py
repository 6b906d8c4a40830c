"""Stop a run when Ctrl-C, SIGTERM or SIGHUP asks for it; page w2 explains it."""

import signal
import threading
import time
from contextlib import contextmanager

__all__ = ["Stopped"]


class Stopped(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP came; the step is done, all is saved. Says how to go on."""


@contextmanager
def stop_signals(patience: float = 0.0):
    """Collect the first Ctrl-C, SIGTERM or SIGHUP (the terminal was closed) in the list
    it gives; a second one, more than ``patience`` seconds later, is a KeyboardInterrupt.
    Ignored ones stay so."""
    asked: list[float] = []

    def note(number, frame):
        if asked and time.monotonic() - asked[0] >= patience:
            raise KeyboardInterrupt
        asked.append(time.monotonic())

    numbers = [
        number
        for name in ("SIGINT", "SIGTERM", "SIGHUP")
        if (number := getattr(signal, name, None)) is not None  # Windows lacks the last
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
