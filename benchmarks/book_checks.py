"""What the checks of the built pages say in numbers: axe-core by kind of page, Lighthouse's scores, weights.

    python -m benchmarks.book_checks [--html _build/html] [--label after] [--commit …] [--tries 3] [--json results/book-checks.json]

One page of each kind is opened as a desktop shows it, light and dark, and on a phone in the dark; counted are the elements
that axe-core objects to, by rule. The file keeps what stands in it under other labels, so that two builds can be compared.
Needs a Chromium, and what ``python book/fetch.py --tests`` brings.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.book import lighthouse, survey
from tests.book.browser import browse
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit

ROOT = Path(__file__).resolve().parent.parent
KINDS = {
    "first page": "chapters/index",
    "chapter, maths and code": "chapters/03_scaled_dot_product_attention",
    "chapter, figures": "chapters/09_encoder_decoder",
    "solutions": "chapters/solutions/03_scaled_dot_product_attention",
    "back matter": "chapters/back/bibliography",
    "search": "search",
    "index": "genindex",
}
SCORED = ("first page", "chapter, maths and code", "chapter, figures")


async def walk(tab, html):
    """By kind of page: objections by rule in each view, and weights."""
    rows = {}
    for kind, name in KINDS.items():
        seen = await survey.look(tab, html / f"{name}.html")
        rows[kind] = {
            "page": name,
            "axe": {view: {rule: count for rule, count, _ in found} for view, found in seen.axe.items()},
            "bytes": seen.weight,
            "bytes_without_pictures": survey.without_figures(seen.weight),
        }
        print(
            f"{kind}: {sum(sum(found.values()) for found in rows[kind]['axe'].values())} objections, "
            f"{rows[kind]['bytes_without_pictures']:,} bytes",
            flush=True,
        )
    return rows


def score(chromium, html, tries):
    """By kind of page: every run of Lighthouse with the machine's speed at that moment."""
    rows = {}
    with lighthouse.served(html) as address:
        for kind in SCORED:
            runs = lighthouse.best_of(f"{address}/{KINDS[kind]}.html", chromium, tries=tries)
            rows[kind] = [{"scores": run.scores, "faults": run.faults, "benchmark_index": round(run.machine)} for run in runs]
            print(f"{kind}: {runs[-1].scores}, machine {runs[-1].machine:.0f}", flush=True)
    return rows


def chromium_path():
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not found:
        raise SystemExit("chromium: expected one on the path or in CHROMIUM, got none; install Debian's package chromium")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", type=Path, default=ROOT / "_build" / "html", help="the folder of a built book")
    parser.add_argument("--label", default="after", help="under which name the numbers are stored")
    parser.add_argument("--commit", help="what was built (default: this checkout)")
    parser.add_argument("--tries", type=int, default=3, help="runs of Lighthouse a page at most (default: 3)")
    parser.add_argument("--json", type=Path, help="the file to write")
    options = parser.parse_args(arguments)
    for path in (survey.AXE, lighthouse.COMMAND_LINE):
        if not path.is_file():
            raise SystemExit(f"{path.name}: expected it below {path.parent}, got nothing; run 'python book/fetch.py --tests'")
    chromium, html, began = chromium_path(), options.html.resolve(), time.perf_counter()
    pages = browse(chromium, lambda tab: walk(tab, html))
    scores = score(chromium, html, options.tries)
    version = subprocess.run([chromium, "--version"], capture_output=True, text=True).stdout.split(" built")[0].strip()
    record = {
        "command": f"python -m benchmarks.book_checks --label {options.label} --json results/book-checks.json",
        "commit": options.commit or git_commit(),
        "device": cpu_name(),
        "minutes": round((time.perf_counter() - began) / 60, 1),
        "versions": {"browser": version, "axe-core": (survey.AXE.parent / "version").read_text(), "lighthouse": lighthouse.version()},
        "pages": pages,
        "lighthouse": scores,
    }
    if options.json:
        kept = json.loads(options.json.read_text(encoding="utf-8")) if options.json.is_file() else {}
        options.json.write_text(json_text(kept | {options.label: record}), encoding="utf-8")
        print(f"written: {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
