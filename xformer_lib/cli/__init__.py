"""The command ``xformer``: train, evaluate, translate, export, grade, key, doctor.

A mistake of the user ends in one line on standard error, after the usage where argparse does not understand the call, and with exit
status 2; ``XFORMER_TRACEBACK=1`` shows where it arose. Ctrl-C ends with exit status 130, and a training run with a checkpoint.
"""

import errno
import io
import os
import re
import sys
from argparse import Namespace

from xformer_lib import _needs
from xformer_lib.cli.parser import build_parser, say
from xformer_lib.cli.threads import use_threads

__all__ = ["main"]

MISTAKES = (ValueError, TypeError, OSError, ImportError, FloatingPointError)  # ours: they say what to do
OF_OTHERS = (RuntimeError, MemoryError, ArithmeticError)  # torch's and Python's
NO_MEMORY = re.compile("can't allocate memory|out of memory|not enough memory")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    guard_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):  # Windows would give a pipe or a file another encoding
        sys.stdout.reconfigure(encoding=None if sys.stdout.isatty() else "utf-8", errors="backslashreplace")
    options = build_parser().parse_args(arguments)
    try:
        check_stdout(options)
        _needs.check(_needs.COMMANDS.get(options.command, ()))
        use_threads(getattr(options, "threads", None))
        status: int = options.run(options)
        print(end="", flush=True)
        return status
    except BrokenPipeError:  # the reader of our output, such as head, has gone
        discard_output()
        return 0
    except (*MISTAKES, *OF_OTHERS) as error:
        if os.environ.get("XFORMER_TRACEBACK"):
            raise
        say(options, in_words(error))
        discard_output()
        return 2
    except KeyboardInterrupt as error:
        say(options, str(error) or "stopped at once")
        return 130


def guard_streams() -> None:
    """Where a standard stream is closed, keep its number from the next file that is opened, into which messages would go.

    What is written to standard error then is lost; what is read from input or written to output is an error, by any name.
    """
    for number, way in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, way), True)  # takes the lowest number that is free
    if sys.stderr is None:  # which `print` would take for standard output
        sys.stderr = open(os.devnull, "w", encoding="utf-8")


def check_stdout(options: Namespace) -> None:
    """Raise OSError before the work of a command whose result nobody would get, as standard output is closed."""
    files = [getattr(options, name, None) for name in ("output", "json", "csv")]
    to_files = options.command in ("train", "export") or options.command != "grade" and any(files) and "-" not in files
    if sys.stdout is None and not to_files:
        raise OSError("standard output: expected an open one, got a closed one; name a file that takes the result, or open it")


def in_words(error: Exception) -> str:
    """Return what an error says. Ours are sentences already; those of torch and Python are named."""
    if isinstance(error, MemoryError) or isinstance(error, RuntimeError) and NO_MEMORY.search(str(error)):
        return "memory: expected enough for the model and a batch, got too little; take a smaller beam, batch or model"
    if isinstance(error, OSError) and error.filename is not None:  # the system's own words
        return f"{error.filename}: {error.strerror}; name another file or folder, or let this one be used"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO):
        return f"standard output: could not be written ({error.strerror}); make room, or name another file"
    if isinstance(error, MISTAKES):
        return str(error)
    first = (str(error).strip() or "without words").splitlines()[0]
    return f"{type(error).__name__}: {first}; if nothing here explains it, XFORMER_TRACEBACK=1 shows where it arose"


def discard_output() -> None:
    """Give up what standard output could not take, so that Python does not try again when it ends."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
