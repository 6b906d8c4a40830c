"""How long does the laboratory train in a reader's browser?

    PYTHONPATH=. python benchmarks/laboratory.py          → results/laboratory.json

Needs the built book (``make book``) and a Chromium, which opens page 9c from its folder, without a network. For both tasks, five seeds
each: the seconds of training until 80 and 99 of 100 held-out rows are right, tests on held-out rows included, and until the last step.
Apart from these: the seconds from nothing to a running Python, the bytes that it loads, and the memory of the page's process. Then one
seed of each task while the page's process may run for a quarter of the time.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

from tests.book.browser import browse
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "_build" / "html" / "chapters" / "09c_laboratory.html"
START = """
async () => {
  const began = performance.now();
  window.measured = new pagePython.Python("09b_without_pytorch");
  await measured.ready(() => {});
  window.asked = async (request) => (await measured.ask({ laboratory: JSON.stringify(request) })).answer;
  window.tasks = JSON.parse(document.querySelector("script.xf-data").textContent).tasks;
  return (performance.now() - began) / 1000;
}
"""
TRAIN = """
async ([task, seed]) => {
  await asked({ do: "begin", task, parts: tasks.find((one) => one.name === task).parts, seed, cells: null });
  const began = performance.now(), found = {};
  for (;;) {
    const state = await asked({ do: "train", seconds: 0.2 }), seconds = (performance.now() - began) / 1000;
    for (const share of [80, 99])
      if (!(share in found) && state.right.some(([, right]) => right > share / 100 - 1e-9)) found[share] = seconds;
    if (state.step === state.steps) return { found, whole: seconds, right: state.right.at(-1)[1] };
  }
}
"""


def page_process() -> tuple[int, int]:
    """The number of the largest process of a page, and its resident memory in megabytes."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if b"--type=renderer" in (status.parent / "cmdline").read_bytes():
                found += [
                    (int(line.split()[1]), int(status.parent.name)) for line in status.read_text().splitlines() if line.startswith("VmRSS")
                ]
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
    kilobytes, number = max(found)
    return number, round(kilobytes / 1024)


def slow_down(process: int, over: threading.Event) -> None:
    """Let a process run for 5 milliseconds of every 20."""
    while not over.wait(0.005):
        os.kill(process, signal.SIGSTOP)
        time.sleep(0.015)
        os.kill(process, signal.SIGCONT)


def measure(chromium: str, seeds: int, *, quarter: bool = False) -> dict:
    async def work(tab):
        await tab.visit(PAGE.as_uri())
        cold, runs, over = await tab.evaluate(START), [], threading.Event()
        slower = threading.Thread(target=slow_down, args=(page_process()[0], over))
        if quarter:
            slower.start()
        try:
            for task in ("backwards", "fragment"):
                for seed in range(seeds):
                    one = await tab.page.evaluate(TRAIN, [task, seed])  # slowed down it may need more than the tests' patience
                    seconds = {f"to_{share}": round(value, 1) for share, value in one["found"].items()}
                    runs.append({"task": task, "seed": seed, **seconds, "whole": round(one["whole"], 1), "right": one["right"]})
                    print(runs[-1], file=sys.stderr, flush=True)
        finally:
            over.set()
        return {"cold_seconds": round(cold, 1), "page_process_megabytes": page_process()[1], "runs": runs}

    return browse(chromium, work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "laboratory.json")
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None or not PAGE.exists():
        raise SystemExit("laboratory: expected a Chromium on the path and a built book; install one, run make book")
    loaded = sum(path.stat().st_size for path in (ROOT / "_build" / "html" / "_static" / "python").glob("*.js") if path.name != "editor.js")
    record = {
        "command": "PYTHONPATH=. python benchmarks/laboratory.py",
        "commit": git_commit(),
        "device": cpu_name(),
        "bytes_loaded": loaded,
        **measure(chromium, options.seeds),
        "at_a_quarter_of_the_speed": measure(chromium, 1, quarter=True)["runs"],
    }
    options.out.write_text(json_text(record), encoding="utf-8")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
