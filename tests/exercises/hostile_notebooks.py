"""A class of hostile hand-ins: what a notebook may do to a grader, and an honest answer before and after it.

`PLAYS` are cells, `FILES` are files that are no notebook or a strange one.
"""

import json
import os
import random
import socket
from pathlib import Path

START = "import os, sys, threading, time\nimport numpy as np\nfrom xformer_course.exercises import check, hint"
BEFORE = 'weights = [0.25] * 4\ncheck("3.1", weights)'
AFTER = """def recent_mask(length, window):
    gap = np.arange(length)[:, None] - np.arange(length)
    return (gap >= 0) & (gap <= window)


check("3.7", recent_mask)"""
KERNEL = "get_ipython().kernel"

PLAYS = {
    # time and space
    "endless loop": "while True:\n    pass",
    "endless loop in a check": 'check("3.2", lambda scores, axis=-1: [None for _ in iter(int, 1)])',
    "ignores the interrupt": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    time.sleep(1)",
    "swallows every error": "while True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass",
    "memory": "hoard = []\nwhile True:\n    hoard.append(np.ones(10**7))",
    "huge string": "text = 'x' * 10**12",
    "forks": "for _ in range(3):\n    os.fork()",
    "many processes": "import subprocess\nfor _ in range(40):\n    subprocess.Popen(['sleep', '60'])\ntime.sleep(30)",
    "threads left behind": "for _ in range(9):\n    threading.Thread(target=lambda: [time.sleep(1) for _ in iter(int, 1)]).start()",
    "a thread that ends the kernel": "threading.Timer(0.5, os._exit, [3]).start()\ntime.sleep(2)",
    "big file": "with open('big', 'wb') as file:\n    while True:\n        file.write(bytes(10**6))",
    "many files": "for number in range(3000):\n    open(f'{number}', 'w').close()",
    # ways to leave
    "exit": "exit()",
    "sys.exit": "sys.exit(3)",
    "os._exit": "os._exit(0)",
    "kills itself": "import signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "kills its group": "import signal\nos.killpg(0, signal.SIGKILL)",
    "segmentation fault": "import ctypes\nctypes.string_at(0)",
    "aborts": "os.abort()",
    "stops itself": "import signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "shuts the kernel down": f"{KERNEL}.do_shutdown(False)\n{KERNEL}.io_loop.stop()",
    "replaces its program": "os.execvp('true', ['true'])",
    "a new session": "if os.fork() == 0:\n    os.setsid()\n    time.sleep(60)",
    # output
    "huge output": "print('x' * 10**8)",
    "binary output": "sys.stdout.buffer.write(bytes(range(256)) * 1000) "
    "if hasattr(sys.stdout, 'buffer') else os.write(1, bytes(range(256)))",
    "rich output": "from IPython.display import HTML, display\ndisplay(HTML('<b>' * 10**6))",
    "control characters": "print('\\x1b]0;title\\x07\\x1b[2J\\r\\n\\0')",
    "huge error": "raise ValueError('z' * 10**7)",
    "error with half a character": "raise ValueError('\\ud800 and \\udfff')",
    "error without words": "class Odd(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise Odd",
    "error with a changed name": "raise type('\\ud800', (Exception,), {})('=1')",
    "prints a verdict": "print('Exercise 3.7: correct (8 fresh cases).')",
    "closes its streams": "sys.stdout.close()\nsys.stderr.close()",
    "closes descriptors 0 to 2": "for number in range(3):\n    os.close(number)",
    "closes every descriptor": "os.closerange(0, 4096)",
    "no standard output": "sys.stdout = sys.stderr = None",
    # surroundings
    "another working directory": "os.chdir('/')",
    "deletes its folder": "import shutil\nshutil.rmtree(os.getcwd())",
    "deletes its workplace": "import shutil\nshutil.rmtree(os.path.dirname(os.getcwd()), ignore_errors=True)",
    "locks its folder": "os.chmod(os.getcwd(), 0)",
    "a deep folder": "for _ in range(2000):\n    os.mkdir('deep')\n    os.chdir('deep')",
    "links in its folder": "os.symlink('/', 'root')\nos.symlink('/dev/zero', 'zeros')\nos.mkfifo('pipe')",
    "empties its environment": "os.environ.clear()",
    "another recursion limit": "sys.setrecursionlimit(50)",
    "a tracer": "sys.settrace(lambda *anything: 1 / 0)",
    "an alarm": "import signal\nsignal.signal(signal.SIGALRM, lambda *anything: 1 / 0)\nsignal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)",
    "no garbage is collected": "import gc\ngc.disable()\ngc.set_threshold(0)",
    "warnings are errors": "import warnings\nwarnings.simplefilter('error')\nnp.seterr(all='raise')",
    # the checks
    "another check": "def check(*anything):\n    return True",
    "no check": "del check",
    "another registry": "from xformer_course.exercises import registry\nregistry.find = lambda wanted: None",
    "another judge": "from xformer_course.exercises import checks, functions\nchecks.judge = lambda *anything: functions.Verdict('passed')",
    "another session": "from xformer_course.exercises import api\napi.SESSION = None",
    "a cleared engine": "from xformer_course.exercises import api\nvars(api).clear()",
    "a changed exercise": "from xformer_course.exercises import registry\nobject.__setattr__(registry.find('3.7'), 'kind', 'essay')",
    "an unloaded library": "for name in [name for name in sys.modules if name.startswith('xformer_lib')]:\n    del sys.modules[name]",
    "another json": "import json\njson.dumps = lambda *anything, **more: '{}'\njson.loads = lambda *anything, **more: {}",
    "broken builtins": "import builtins\nbuiltins.isinstance = lambda *anything: 1 / 0",
    "another len": "import builtins\nbuiltins.len = lambda *anything: 0",
    "another numpy": "np.isclose = np.asarray = np.array = lambda *anything, **more: 1",
    "no numpy": "sys.modules['numpy'] = None\nnp = None",
    "a lying answer": "class Lie:\n    __eq__ = __bool__ = lambda *anything: True\n    __array__ = __len__ = None\ncheck('3.1', Lie())",
    "half a character as an answer": "check('3.3', {'add 5': '\\ud800', 'times 5': '\\udfff'})",
    "half a character as a key": "check('3.3', {'\\ud800': 'same'})",
    "half a character in the source": "check('3.3', '\ud800')",
    "an answer of a million": "check('3.1', [0.25] * 10**6)",
    "a hundred checks": "for number in range(100):\n    check(f'{number % 15}.{number % 9}', '\\ud800' * 10**4)",
    # the kernel
    "do_execute that says nothing": f"{KERNEL}.do_execute = lambda *anything, **more: None",
    "do_execute without verdicts": f"async def reply(*anything, **more):\n    return {{'status': 'ok'}}\n{KERNEL}.do_execute = reply",
    "do_execute with a word": "async def reply(*anything, **more):\n    return {'status': 'ok', 'ename': '', 'evalue': '', "
    f"'verdicts': ['passed']}}\n{KERNEL}.do_execute = reply",
    "do_execute with a strange verdict": "async def reply(*anything, **more):\n    return {'status': 'ok', 'ename': '', 'evalue': '', "
    f"'verdicts': [{{'id': '3.7', 'status': 'best', 'more': 1}}]}}\n{KERNEL}.do_execute = reply",
    "do_execute with half a character": "async def reply(*anything, **more):\n    return {'status': 'ok', 'ename': '\\ud800', "
    "'evalue': '', "
    f"'verdicts': []}}\n{KERNEL}.do_execute = reply",
    "do_execute with a deep reply": "deep = []\nfor _ in range(900):\n    deep = [deep]\nasync def reply(*anything, **more):\n    return "
    f"{{'status': 'ok', 'ename': deep, 'evalue': '', 'verdicts': deep}}\n{KERNEL}.do_execute = reply",
    "do_execute with a huge reply": "async def reply(*anything, **more):\n    return {'status': 'ok', 'ename': 'x' * 10**8, 'evalue': '', "
    f"'verdicts': []}}\n{KERNEL}.do_execute = reply",
    "do_execute of the class": f"type({KERNEL}).do_execute = None",
    "another recorder": f"{KERNEL}.recorder = None",
    "a recorder of everything": "class All(dict):\n    def verdicts(self, *anything):\n        return [{'id': '3.7'}] * 10**5\n    "
    f"begin = lambda self: None\n{KERNEL}.recorder = All()",
    "another shell": f"{KERNEL}.shell.run_cell = {KERNEL}.shell.run_cell_async = lambda *anything, **more: None",
    "another session of messages": f"{KERNEL}.session.key = b'another'",
    "a session that sends nothing": f"{KERNEL}.session.send = lambda *anything, **more: None",
    "a flood of replies": "for _ in range(2000):\n"
    f"    {KERNEL}.session.send({KERNEL}.shell_stream if hasattr({KERNEL}, 'shell_stream') else None, "
    "'execute_reply', content={'status': 'ok'})",
    "magics": "%reset -f\n!sleep 0.1\n%%time",
    "an input hook": "get_ipython().ast_transformers.append(None)\nget_ipython().input_transformers_cleanup.append(lambda lines: 1 / 0)",
    "a hook after cells": "get_ipython().events.register('post_run_cell', lambda *anything: os._exit(4))",
    "deep nesting": "-" * 20_000 + "1",
    "deep brackets": "[" * 20_000,
    "a null in the source": "x = 1\0",
    "another encoding": "# -*- coding: utf-7 -*-\nx = 1",
    "input": "name = input('who? ')",
    "recursion": "def f():\n    return f()\nf()",
}


def notebook(cells, **more):
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        **more,
        "cells": [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in cells],
    }


def played(*names):
    return notebook([START, BEFORE, *(PLAYS[name] for name in names), AFTER])


def write_text(text, encoding="utf-8"):
    return lambda path: path.write_bytes(text.encode(encoding, "surrogatepass"))


def write_json(data):
    return write_text(json.dumps(data))


def socket_at(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket may have about a hundred letters
    try:
        with socket.socket(socket.AF_UNIX) as ear:
            ear.bind(path.name)
    finally:
        os.chdir(here)


def locked(path):
    path.write_text(json.dumps(notebook([BEFORE])))
    path.chmod(0)


HONEST = notebook([START, BEFORE, AFTER])
FILES = {
    "empty": write_text(""),
    "torn": write_text(json.dumps(HONEST)[:-9]),
    "a list": write_text("[1, 2]"),
    "a number": write_text("1e999"),
    "null": write_text("null"),
    "a huge number": write_text("9" * 10**5),
    "deep": write_text("[" * 10**5),
    "bytes": lambda path: path.write_bytes(bytes(range(256)) * 99),
    "UTF-16": write_text(json.dumps(HONEST), "utf-16"),
    "zeros": lambda path: path.write_bytes(bytes(10**6)),
    "a hole": lambda path: (path.touch(), os.truncate(path, 10**11)),
    "a folder": Path.mkdir,
    "a pipe": lambda path: os.mkfifo(path),  # found out late: not every system has it
    "a socket": socket_at,
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to zeros": lambda path: path.symlink_to("/dev/zero"),
    "a link to a folder": lambda path: path.symlink_to("/usr"),
    "unreadable": locked,
    "format 3": write_json({"nbformat": 3, "worksheets": [{"cells": []}]}),
    "cells that are none": write_json({**HONEST, "cells": [1, "two"]}),
    "cells in a dict": write_json({"cells": {"a": 1}}),
    "too many cells": write_json(notebook(["1"] * 10_001)),
    "strange sources": write_json({**HONEST, "cells": [{"cell_type": 3, "source": {"a": [None]}}, {}, {"source": 1e9}]}),
    "half a character": write_json(notebook([START, "x = '\ud800'\n# \udfff", BEFORE, "\ud800", AFTER])),
    "format of a word": write_json(notebook([BEFORE], nbformat="four", metadata=[[]])),
    "unknown exercises": write_json(notebook([START, 'check("99.9", 1)\ncheck("3.1 ", [0.25] * 4)\ncheck("\ud800", 1)'])),
    "only output": write_json({**HONEST, "cells": [{"cell_type": "code", "source": "", "outputs": ["x" * 10**6] * 9}]}),
    "a large cell": write_json(notebook([START, BEFORE, "x = 1\n" * 300_000, AFTER])),
    "blank lines": write_json(notebook([START, BEFORE, "\n" * 300_000, AFTER])),
}


def make_class(folder, chosen):
    """Writes hand-ins, each named after what it does, and an honest one that comes last."""
    for place, what in enumerate(chosen):
        path = folder / f"{place:03} {' and '.join(what)}.ipynb"
        FILES[what[0]](path) if what[0] in FILES else path.write_text(json.dumps(played(*what)))
    (folder / "honest.ipynb").write_text(json.dumps(HONEST))


def choose(number, seed=0):
    """So many hand-ins: every file and every play by itself, then plays in pairs, which play depends on the seed."""
    draw = random.Random(seed)
    alone = [(name,) for name in (*FILES, *PLAYS)]
    draw.shuffle(alone)
    pairs = [tuple(draw.sample(list(PLAYS), 2)) for _ in range(number - len(alone))]
    return (alone + pairs)[:number]
