"""Processes that take turns: what they say, how long it took, and what happens when one fails."""

import time

import pytest

from benchmarks.turns import Worker, in_turn


class Clock:
    """Works or waits."""

    name = "clock"

    def __init__(self, factor):
        self.factor = factor

    def times(self, number):
        return self.factor * number

    def sleep(self, seconds):
        time.sleep(seconds)

    def work(self, seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    def fail(self):
        raise KeyError("no such page")


@pytest.fixture(scope="module")
def worker():
    worker = Worker(Clock, 7)
    yield worker
    worker.close()


def test_a_value_comes_back(worker):
    assert worker.ask("times", 11).value == 77


def test_a_failure_names_the_worker_and_the_worker_lives_on(worker):
    with pytest.raises(RuntimeError, match="(?s)clock: fail failed in its process.*no such page"):
        worker.ask("fail")
    assert worker.ask("times", 3).value == 21


def test_each_round_begins_with_another():
    workers = {"a": 2, "b": 3, "c": 5}
    assert [[name for name, _ in in_turn(workers, number)] for number in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]
