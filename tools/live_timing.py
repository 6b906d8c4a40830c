"""How long a reader waits for the first verdict in a page, and for the next; what is loaded, and the memory it takes.

    python tools/live_timing.py [--rounds 5]    prints a table and writes results/live-timing.json

The built book is opened from its folder in a headless Chromium that was just started, chapter 5's first exercise answered and
checked, twice.
"""

import argparse
import asyncio
import json
import shutil
import statistics
import sys
from pathlib import Path

from xformer_lib._json import json_text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PAGE = ROOT / "_build" / "html" / "chapters" / "05_permutations.html"
CHECK = """
(async () => {
  const box = [...document.querySelectorAll('.live-exercise')][0], began = performance.now();
  box.querySelector('.live-out').replaceChildren();
  box.querySelector('.live-button').click();
  while (!box.querySelector('.live-out').textContent) await new Promise((done) => setTimeout(done, 5));
  return performance.now() - began;
})()
"""


async def once(tab):
    await tab.visit(PAGE.as_uri())
    await asyncio.sleep(1)
    first, second = [await tab.evaluate(CHECK) / 1000 for _ in range(2)]
    heap = await tab.evaluate("performance.memory.usedJSHeapSize")
    return first, second, heap


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    from tests.book.browser import browse
    from xformer_lib.cli.provenance import cpu_name, git_commit

    rounds = [browse(shutil.which("chromium"), once) for _ in range(options.rounds)]
    first, second, heap = ([one[n] for one in rounds] for n in range(3))
    folder = PAGE.parents[1] / "_static" / "python"
    record = {
        "command": "python tools/live_timing.py",
        "commit": git_commit(),
        "device": cpu_name(),
        "seconds_to_the_first_verdict": [round(value, 2) for value in first],
        "seconds_to_the_next": [round(value, 3) for value in second],
        "bytes_loaded": sum(path.stat().st_size for path in folder.glob("part-*.js")),
        "bytes_on_disk": sum(path.stat().st_size for path in folder.rglob("*.js")),
        "page_heap_bytes": int(statistics.median(heap)),
    }
    print(json.dumps(record, indent=1))
    (ROOT / "results" / "live-timing.json").write_text(json_text(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
