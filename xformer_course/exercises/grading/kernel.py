"""A kernel in a process group of its own, driven without trusting it: limits watched from outside, all of it killed."""

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field

from xformer_course.exercises import registry
from xformer_course.exercises.exercise import STATUSES, Exercise
from xformer_course.exercises.grading.limits import GIGABYTE, Limits, Workplace

START = 120.0  # seconds a kernel may take to come up, on a busy machine
GRACE = 5.0  # seconds it may take to obey an interrupt
WATCH = 0.3  # seconds between two looks at its processes
LARGEST = 2**22  # bytes in a reply; ours are far smaller
WAITING = 16  # replies that may stand in line; ours come one by one
LONGEST = 4000  # letters in a message
POSIX = os.name == "posix"


class NoKernel(OSError):
    """A kernel cannot be started here."""


class KernelDied(Exception):
    """The kernel is gone; the message says why, for the learner to read, and the status is that of its cell."""

    def __init__(self, reason: str, status: str = "crashed") -> None:
        super().__init__(reason)
        self.status = status


class Forged(Exception):
    """The kernel gave an answer that ours never gives; the message says so, for the learner to read."""

    def __init__(self) -> None:
        super().__init__("the notebook replaced a part of the kernel that grades it, so its checks prove nothing")


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
    token: str = field(default_factory=lambda: secrets.token_hex(16))

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
        file, there = write_connection_file(str(folder / f"{self.token[:8]}.json"), key=key, **place)
        settings = json.dumps({"limits": asdict(self.limits), "seed": self.seed, "chapters": self.chapters})
        with open(folder / "log.txt", "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "xformer_course.exercises.grading.launcher", settings, "-f", file],
                cwd=self.workplace.work,
                env=self.workplace.environment(self.token, self.limits.check_seconds),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=POSIX,
            )
        self.session = Session(key=key)
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.setsockopt(zmq.MAXMSGSIZE, LARGEST)
        self.socket.setsockopt(zmq.RCVHWM, WAITING)
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
            Forged: if the reply is none of ours.
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
        return reply_of(reply, late)

    def wait(self, request: str, until: float):
        """The content of the reply to a request, or None when the time is over."""
        looked = time.monotonic()
        while time.monotonic() < until:
            if self.stop.is_set():
                raise Stopped("the class was ended")
            if self.socket.poll(50):
                answered, content = self.receive()
                if answered == request:
                    return content
            elif self.process.poll() is not None and not self.socket.poll(200):
                raise KernelDied(ending(self.process.returncode))
            if time.monotonic() - looked > WATCH:
                self.watch()
                looked = time.monotonic()
        return None

    def receive(self) -> tuple[str, object]:
        """The request that the next message answers, and its content; two empty ones for any other message."""
        try:
            message = self.session.recv(self.socket)[1]
            if message["msg_type"] == "execute_reply":
                return message["parent_header"]["msg_id"], message["content"]
        except Exception:  # the notebook may send anything over this wire: what cannot be read is no reply
            pass
        return "", None

    def watch(self) -> None:
        """Looks at all processes of the session, and gives the kernel up when they are too many or fill too much."""
        members = self.members()
        reason = ""
        if len(members) > self.limits.processes:
            reason = f"it started more than {self.limits.processes} processes"
        elif sum(map(filled, members)) > self.limits.together * GIGABYTE:
            reason = f"its processes filled more than {self.limits.together:g} GB of memory"
        if reason:
            raise KernelDied(reason)

    def members(self) -> list:
        """The kernel's process and all that share its session (on Windows: its children)."""
        import psutil

        if not POSIX:
            try:
                process = psutil.Process(self.process.pid)
                return [process, *process.children(recursive=True)]
            except psutil.Error:
                return []
        return list(filter(None, (process_of(pid) for pid in psutil.pids() if session_of(pid) == self.process.pid)))

    def interrupt(self) -> None:
        """As Jupyter's stop button does; Windows has no such signal, and the kernel is killed after the grace."""
        if POSIX and self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGINT)
            except (ProcessLookupError, PermissionError):  # it has just ended
                pass

    def kill(self) -> None:
        """Ends the whole group at once, then whatever had left it."""
        import psutil

        for number in (signal.SIGSTOP, signal.SIGKILL) if POSIX else ():
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass
        for process in self.members() + self.strays():
            try:
                process.kill()
            except psutil.Error:
                continue
        self.process.kill()
        self.process.wait()

    def strays(self) -> list:
        """Processes that carry the kernel's token but left its session."""
        import psutil

        found = []
        for process in psutil.process_iter():
            try:
                if process.pid != os.getpid() and process.environ().get("XFORMER_GRADE") == self.token:
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    def close(self) -> None:
        """Kills everything and lets go of the sockets."""
        self.kill()
        self.socket.close()
        self.context.term()


def reply_of(content: object, late: bool) -> Reply:
    """A reply as plain data that has been looked at.

    Raises:
        Forged: if it is not what our kernel sends.
    """
    if not isinstance(content, dict) or not isinstance(content.get("verdicts"), list):
        raise Forged
    words = [content.get("ename"), content.get("evalue")]
    if not all(isinstance(one, str) for one in words) or not all(map(is_verdict, content["verdicts"])):
        raise Forged
    verdicts = tuple(one | {"message": one["message"][:LONGEST]} for one in content["verdicts"])
    return Reply(words[0][:LONGEST], words[1][:LONGEST], verdicts, late)


def is_verdict(one: object) -> bool:
    """Whether something is a verdict on an exercise of the catalogue, with nothing missing and nothing added."""
    if not isinstance(one, dict) or one.keys() != {"id", "status", "message", "misconception", "rechecked"}:
        return False
    texts = (one["id"], one["status"], one["message"], one["misconception"])
    if not all(isinstance(text, str) for text in texts) or not isinstance(one["rechecked"], bool):
        return False
    exercise = registry.find(one["id"])
    names = {known.name for known in misconceptions(exercise)} if not isinstance(exercise, str) else ()
    return (
        not isinstance(exercise, str)
        and exercise.id == one["id"]
        and one["status"] in (*STATUSES, "not verified")
        and one["misconception"] in ("", *names)
    )


def misconceptions(exercise: Exercise):
    """All that an exercise and its steps know."""
    yield from exercise.misconceptions
    for step in exercise.steps:
        yield from step.misconceptions


def session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return -1


def process_of(pid: int):
    """The process with this number, or None once it is gone."""
    import psutil

    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def filled(process) -> int:
    """The memory of a process in bytes, or 0 once it is gone."""
    import psutil

    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def ending(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"the kernel ended with exit status {status}, as after os._exit({status})"
    try:
        return f"the kernel was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"the kernel was ended by signal {-status}"
