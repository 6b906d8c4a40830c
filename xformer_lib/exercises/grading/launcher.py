"""The kernel a notebook is graded in: `python -m xformer_lib.exercises.grading.launcher SETTINGS -f CONNECTION`.

Sets the limits on itself before anything of the learner's runs. A reply to a cell carries the verdicts, under the
key "verdicts": nothing that a cell prints can be mistaken for one.
"""

import json
import os
import random
import sys

import numpy as np

from xformer_lib.exercises.grading.limits import Limits
from xformer_lib.exercises.grading.recorder import Recorder

LONGEST = 200


def kernel_class():
    """The kernel, made here so that this module can be read where ipykernel is missing."""
    from ipykernel.ipkernel import IPythonKernel

    class GradingKernel(IPythonKernel):
        """An IPython kernel that says after each cell what was checked in it."""

        recorder: Recorder
        folder: str

        async def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, *,
                             cell_meta=None, cell_id=None):
            process = os.getpid()
            self.shell.ask_exit = lambda: None  # exit() and quit() would end the kernel
            self.stand_somewhere()
            self.recorder.begin()
            reply = await super().do_execute(code, silent, store_history, {}, allow_stdin,
                                             cell_meta=cell_meta, cell_id=cell_id)
            if os.getpid() != process:  # a fork of the learner's that came back here
                os._exit(0)
            attempts = (cell_meta or {}).get("attempts", [])
            short = {"status": reply["status"], "ename": str(reply.get("ename", ""))[:LONGEST],
                     "evalue": str(reply.get("evalue", ""))[:LONGEST], "user_expressions": {}, "payload": []}
            try:
                short["verdicts"] = self.recorder.verdicts(attempts, self.shell.user_ns, reply["status"] == "ok")
            except KeyboardInterrupt:
                short |= {"status": "error", "ename": "KeyboardInterrupt", "verdicts": []}
            return short

        def stand_somewhere(self):
            """A working directory that was deleted is made again."""
            try:
                os.getcwd()
            except OSError:
                os.makedirs(self.folder, exist_ok=True)
                os.chdir(self.folder)

    return GradingKernel


def main(settings: str, arguments: list[str]) -> None:
    """Starts the kernel and serves until it is killed."""
    values = json.loads(settings)
    Limits(**values["limits"]).apply()
    random.seed(values["seed"])
    np.random.seed(values["seed"])
    kernel = kernel_class()
    kernel.recorder, kernel.folder = Recorder(values["chapters"], values["seed"]), os.getcwd()
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(kernel_class=kernel, argv=[*arguments, "--HistoryManager.enabled=False"])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
