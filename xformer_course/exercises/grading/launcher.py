"""The kernel a notebook is graded in: `python -m xformer_course.exercises.grading.launcher SETTINGS -f CONNECTION`.

Sets the limits on itself before anything of the learner's runs. A reply to a cell carries the verdicts, under the
key "verdicts": nothing that a cell prints can be mistaken for one.
"""

import json
import random
import sys

import numpy as np

from xformer_course.exercises.grading.limits import Limits
from xformer_course.exercises.grading.recorder import Recorder

LONGEST = 200


def plain(status, name, words) -> dict:
    """The reply to a cell with no verdicts yet; half a surrogate pair is written as its escape, so that it can be sent."""
    name, words = (str(text)[:LONGEST].encode("utf-8", "backslashreplace").decode() for text in (name, words))
    return {"status": status, "ename": name, "evalue": words, "user_expressions": {}, "payload": [], "verdicts": []}


def kernel_class():
    """The kernel, made here so that this module can be read where ipykernel is missing."""
    from ipykernel.ipkernel import IPythonKernel

    class GradingKernel(IPythonKernel):
        """An IPython kernel that says after each cell what was checked in it."""

        recorder: Recorder

        async def do_execute(
            self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, *, cell_meta=None, cell_id=None
        ):
            self.shell.ask_exit = lambda: None  # exit() and quit() would end the kernel
            self.recorder.begin()
            try:
                reply = await super().do_execute(code, silent, store_history, {}, allow_stdin, cell_meta=cell_meta, cell_id=cell_id)
                attempts = (cell_meta or {}).get("attempts", [])
                short = plain(reply["status"], reply.get("ename", ""), reply.get("evalue", ""))
                short["verdicts"] = self.recorder.verdicts(attempts, self.shell.user_ns, reply["status"] == "ok")
            except BaseException as error:  # without a reply the cell would be waited for until its time is over
                short = plain("error", type(error).__name__, "the kernel could not finish the cell")
            return short

    return GradingKernel


def main(settings: str, arguments: list[str]) -> None:
    """Starts the kernel and serves until it is killed."""
    values = json.loads(settings)
    Limits(**values["limits"]).apply()
    random.seed(values["seed"])
    np.random.seed(values["seed"])
    kernel = kernel_class()
    kernel.recorder = Recorder(values["chapters"], values["seed"])
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(kernel_class=kernel, argv=[*arguments, "--HistoryManager.enabled=False"])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
