"""An answer that never ends is stopped, and the alarm clock is left as it was found."""

import re
import signal
import threading
import time

import pytest

from xformer_course.exercises import check, time_limit

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no SIGALRM")


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setenv(time_limit.VARIABLE, "0.2")


def endless(scores, axis=-1):
    number = 0
    while True:
        number += 1


def test_an_endless_loop_is_stopped_with_one_sentence(capsys):
    result = check("3.2", endless)
    assert result.status == "timed out" and not result
    assert re.fullmatch(
        r"Exercise 3\.2: still running after 0\.2 s: it was stopped in line [34] of your function\. "
        r"Is there a loop that never ends\?",
        result.message,
    )
    assert "Traceback" not in capsys.readouterr().out
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL and signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_an_instruction_without_a_line_is_named_by_the_line_before_it(capsys):
    """The jump back at the end of such a loop stands in no line, and there the alarm is heard."""

    def far_too_many_rows(scores, axis=-1):
        found = []
        for row in range(10**12):
            if row < 0:
                found.append(row)
        return found

    result = check("3.2", far_too_many_rows)
    assert result.status == "timed out"
    assert re.search(r"0\.2 s: it was stopped in line [345] of your function\. Is", result.message)


def test_the_step_of_a_proof_is_stopped_too():
    steps = {"product": lambda a, b: a * b, "total": lambda v, d: [0 for _ in iter(int, 1)], "score": 1, "divisor": 1}
    assert "stopped in line 1 of your function" in check("3.5", steps).message


def test_an_object_that_never_answers_is_stopped():
    class Silent:
        def __call__(self, scores, axis=-1):
            return endless(scores)

    assert "0.2 s: your answer was stopped. Is" in check("3.2", Silent()).message


def test_an_answer_that_swallows_every_error_meets_the_alarm_again():
    def stubborn(scores, axis=-1):
        try:
            endless(scores)
        except BaseException:
            return endless(scores)

    assert check("3.2", stubborn).status == "timed out"


def test_nothing_is_stopped_where_no_alarm_may_be_set(monkeypatch):
    def slow(scores, axis=-1):
        time.sleep(0.05)
        return scores

    done = []
    thread = threading.Thread(target=lambda: done.append(check("3.2", slow).status))
    thread.start()
    thread.join()
    assert done == ["wrong"]
    monkeypatch.setenv(time_limit.VARIABLE, "0")
    assert check("3.2", slow).status == "wrong"


def test_an_alarm_of_somebody_else_stays_theirs():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert not time_limit.is_free()
        check("3.2", lambda scores, axis=-1: time.sleep(0.15))
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("text", "seconds"), [("2.5", 2.5), ("0", 0), ("soon", 60), ("-1", 60), ("inf", 60)])
def test_the_time_can_be_set(text, seconds, monkeypatch):
    monkeypatch.setenv(time_limit.VARIABLE, text)
    assert time_limit.seconds_allowed() == seconds
