"""A kernel in a process group of its own, driven without trusting it: limits watched from outside, all of it killed."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

from xformer_lib.exercises.grading.limits import GIGABYTE, Limits, Workplace

START = 120.0     # seconds a kernel may take to come up, on a busy machine
GRACE = 5.0       # seconds it may take to obey an interrupt
WATCH = 0.3       # seconds between two looks at its processes
LARGEST = 2**22   # bytes in a reply; ours are far smaller
POSIX = os.name == "posix"


class NoKernel(OSError):
    """A kernel cannot be started here."""


class KernelDied(Exception):
    """The kernel is gone; the message says why, for the learner to read, and the status is that of its cell."""

    def __init__(self, reason: str, status: str = "crashed") -> None:
        super().__init__(reason)
        self.status = status


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
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        try:
            import zmq
            from jupyter_client.connect import write_connection_file
            from jupyter_client.session import Session
        except ImportError as error:
            raise ImportError("grading needs ipykernel and what comes with it; "
                              "install it with pip install 'xformer-lib[grade]'") from error
        folder = self.workplace.kernel
        pipes = POSIX and len(str(folder)) < 80
        place = {"transport": "ipc", "ip": str(folder / "socket")} if pipes else {"transport": "tcp", "ip": "127.0.0.1"}
        key = secrets.token_bytes(32).hex().encode()
        file, there = write_connection_file(str(folder / f"{self.token[:8]}.json"), key=key, **place)
        settings = json.dumps({"limits": asdict(self.limits), "seed": self.seed, "chapters": self.chapters})
        with open(folder / "log.txt", "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "xformer_lib.exercises.grading.launcher", settings, "-f", file],
                cwd=self.workplace.work, env=self.workplace.environment(self.token, self.limits.check_seconds),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=POSIX)
        self.session = Session(key=key)
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.setsockopt(zmq.MAXMSGSIZE, LARGEST)
        between = "-" if pipes else ":"
        self.socket.connect(f"{there['transport']}://{there['ip']}{between}{there['shell_port']}")
        try:
            self.run("", [], START, START)
        except KernelDied:
            self.close()
            raise NoKernel(f"the kernel did not start: {self.last_words()}; try xformer doctor, "
                           "and a larger --memory") from None

    def last_words(self) -> str:
        """The end of what the kernel wrote to its standard error."""
        text = (self.workplace.kernel / "log.txt").read_bytes()[-2000:].decode(errors="replace").strip()
        return text.splitlines()[-1][:200] if text else f"exit status {self.process.poll()}"

    def run(self, code: str, attempts: list, seconds: float, grace: float = GRACE) -> Reply:
        """Runs a cell and waits for its reply; interrupts it when its time is over.

        Raises:
            KernelDied: if the kernel ended, or has to be closed.
        """
        content = {"code": code, "silent": not code, "store_history": bool(code), "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": False}
        asked = self.session.send(self.socket, "execute_request", content, metadata={"attempts": attempts})
        reply = self.wait(asked["header"]["msg_id"], time.monotonic() + seconds)
        late = reply is None
        if late:
            self.interrupt()
            reply = self.wait(asked["header"]["msg_id"], time.monotonic() + grace)
        if reply is None:
            raise KernelDied(f"it ran for {seconds:g} s and did not obey an interrupt", "timed out")
        return Reply(reply["ename"], reply["evalue"], tuple(reply["verdicts"]), late)

    def wait(self, request: str, until: float) -> dict | None:
        """The reply to a request, or None when the time is over."""
        looked = time.monotonic()
        while time.monotonic() < until:
            if self.socket.poll(50):
                message = self.receive()
                if message and message["parent_header"].get("msg_id") == request:
                    return message["content"]
            elif self.process.poll() is not None and not self.socket.poll(200):
                raise KernelDied(ending(self.process.returncode))
            if time.monotonic() - looked > WATCH:
                self.watch()
                looked = time.monotonic()
        return None

    def receive(self) -> dict | None:
        """The next reply to a cell, or None when it is something else or cannot be read."""
        try:
            message = self.session.recv(self.socket)[1]
        except (ValueError, TypeError, KeyError):
            return None
        return message if message and message["msg_type"] == "execute_reply" else None

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
            os.killpg(self.process.pid, signal.SIGINT)

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
