"""A kernel in a process group of its own: a cell that runs too long is interrupted, and all that was started is killed at the end."""

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from xformer_course.exercises.grading.limits import Limits, Workplace

START = 120.0  # seconds a kernel may take to come up, on a busy machine
GRACE = 5.0  # seconds it may take to obey an interrupt
POSIX = os.name == "posix"


class NoKernel(OSError):
    """A kernel cannot be started here."""


class KernelDied(Exception):
    """The kernel is gone; the message says why, for the learner to read, and the status is that of its cell."""

    def __init__(self, reason: str, status: str = "crashed") -> None:
        super().__init__(reason)
        self.status = status


class Stopped(Exception):
    """The whole class is being ended."""


@dataclass(frozen=True)
class Reply:
    """What became of a cell: its error's name and words, or "", and the verdicts; `late` when it was interrupted."""

    error: str = ""
    words: str = ""
    verdicts: tuple[dict, ...] = ()
    late: bool = False


@dataclass
class Kernel:
    """One kernel. Nothing it prints or shows is received: its messages have no other listener than its replies."""

    workplace: Workplace
    limits: Limits
    chapters: tuple[int, ...] = ()
    seed: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        try:
            import zmq
            from jupyter_client.connect import write_connection_file
            from jupyter_client.session import Session
        except ImportError as error:
            raise ImportError("grading needs ipykernel and what comes with it; install it with pip install 'xformer-lib[grade]'") from error
        folder = self.workplace.kernel
        pipes = POSIX and len(str(folder)) < 80
        place = {"transport": "ipc", "ip": str(folder / "socket")} if pipes else {"transport": "tcp", "ip": "127.0.0.1"}
        key = secrets.token_bytes(32).hex().encode()
        file, there = write_connection_file(str(folder / "connection.json"), key=key, **place)
        settings = json.dumps({"limits": asdict(self.limits), "seed": self.seed, "chapters": self.chapters})
        with open(folder / "log.txt", "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "xformer_course.exercises.grading.launcher", settings, "-f", file],
                cwd=self.workplace.work,
                env=self.workplace.environment(self.limits.check_seconds),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=POSIX,
            )
        self.session = Session(key=key)
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        between = "-" if pipes else ":"
        self.socket.connect(f"{there['transport']}://{there['ip']}{between}{there['shell_port']}")
        try:
            self.run("", [], START, START)
        except KernelDied:
            self.close()
            raise NoKernel(f"the kernel did not start: {self.last_words()}; try xformer doctor, and a larger --memory") from None
        except BaseException:
            self.close()
            raise

    def last_words(self) -> str:
        """The end of what the kernel wrote to its standard error."""
        with open(self.workplace.kernel / "log.txt", "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 2000))
            text = log.read(2000).decode(errors="replace").strip()
        return text.splitlines()[-1][:200] if text else f"exit status {self.process.poll()}"

    def run(self, code: str, attempts: list, seconds: float, grace: float = GRACE) -> Reply:
        """Runs a cell and waits for its reply; interrupts it when its time is over.

        Raises:
            KernelDied: if the kernel ended, or has to be closed.
            Stopped: if the class is being ended.
        """
        content = {
            "code": code,
            "silent": not code,
            "store_history": bool(code),
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        asked = self.session.send(self.socket, "execute_request", content, metadata={"attempts": attempts})
        reply = self.wait(asked["header"]["msg_id"], time.monotonic() + seconds)
        late = reply is None
        if late:
            self.interrupt()
            reply = self.wait(asked["header"]["msg_id"], time.monotonic() + grace)
        if reply is None:
            raise KernelDied(f"it ran for {seconds:g} s and did not obey an interrupt", "timed out")
        return Reply(reply["ename"], reply["evalue"], tuple(reply["verdicts"]), late)

    def wait(self, request: str, until: float):
        """The content of the reply to a request, or None when the time is over."""
        while time.monotonic() < until:
            if self.stop.is_set():
                raise Stopped("the class was ended")
            if self.socket.poll(50):
                answered, content = self.receive()
                if answered == request:
                    return content
            elif self.process.poll() is not None and not self.socket.poll(200):
                raise KernelDied(ending(self.process.returncode))
        return None

    def receive(self) -> tuple[str, dict]:
        """The request that the next message answers, and its content; two empty ones for a message of another kind."""
        message = self.session.recv(self.socket)[1]
        if message["msg_type"] != "execute_reply":
            return "", {}
        return message["parent_header"]["msg_id"], message["content"]

    def interrupt(self) -> None:
        """As Jupyter's stop button does; Windows has no such signal, and the kernel is killed after the grace."""
        if POSIX and self.process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):  # it has just ended
                os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """Ends the kernel, what it started, and what else is in its group."""
        import psutil

        try:
            members = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:  # it has ended
            members = []
        if POSIX:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        for process in members:
            with suppress(psutil.Error):
                process.kill()
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Kills everything and lets go of the sockets."""
        self.kill()
        self.socket.close()
        self.context.term()


def ending(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"the kernel ended with exit status {status}, as after os._exit({status})"
    try:
        return f"the kernel was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"the kernel was ended by signal {-status}"
