"""Processes that take turns: each works only when it is asked, and says how long it took."""

import multiprocessing
import os
import resource
import time
import traceback
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What a call gave, and its seconds: ``cpu`` summed over the worker's threads, ``wall`` on the clock."""

    value: object
    cpu: float
    wall: float


def serve(pipe, make, arguments) -> None:
    """Inside the worker: make the object, then call what is asked for until the pipe closes."""
    subject, failure = None, None
    try:
        subject = make(*arguments)
    except Exception:
        failure = traceback.format_exc()
    pipe.send((failure, None))
    while failure is None:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        try:
            cpu, wall = time.process_time(), time.perf_counter()
            value = peak_memory() if name == "peak_memory" else getattr(subject, name)(*arguments)
            pipe.send((None, Answer(value, time.process_time() - cpu, time.perf_counter() - wall)))
        except Exception:
            pipe.send((traceback.format_exc(), None))


def peak_memory() -> float:
    """The most memory that this process ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Worker:
    """A process with one object in it; ``ask`` calls a method there and waits."""

    def __init__(self, make, *arguments, threads: int = 1):
        os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)  # what a spawned process inherits
        context = multiprocessing.get_context("spawn")
        self.name = getattr(make, "name", make.__name__)
        self.pipe, far_end = context.Pipe()
        self.process = context.Process(target=serve, args=(far_end, make, arguments), daemon=True)
        self.process.start()
        far_end.close()
        self.receive("start")

    def receive(self, method: str):
        try:
            failure, answer = self.pipe.recv()
        except EOFError:
            raise RuntimeError(f"{self.name}: the process ended during {method}; run it alone to see why") from None
        if failure:
            raise RuntimeError(f"{self.name}: {method} failed in its process:\n{failure}")
        return answer

    def ask(self, method: str, *arguments) -> Answer:
        self.pipe.send((method, arguments))
        return self.receive(method)

    def close(self) -> None:
        self.pipe.close()
        self.process.join(timeout=10)
        if self.process.is_alive():
            self.process.terminate()


def in_turn(workers: dict, number: int):
    """The workers of round ``number``, each round beginning with another one."""
    names = list(workers)
    shift = number % len(names)
    return [(name, workers[name]) for name in names[shift:] + names[:shift]]
