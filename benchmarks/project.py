"""What the project itself costs: an import, a notebook, the book.

    python benchmarks/project.py [--notebooks chapters/03_*.ipynb …] [--no-book] [--json results/bench-project.json]

Imports are timed in fresh processes, in turn, with their dependencies imported first in one of each pair: what is left is ours. A notebook
is run from top to bottom in a kernel of its own and nothing of it is stored; its processor time is that of the kernel and of what it
starts. The book is built from the stored outputs into a folder that is thrown away.
"""

import argparse
import importlib.util
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit

ROOT = Path(__file__).resolve().parent.parent
# what is timed: a statement, and the modules it stands on, which are not ours
IMPORTS = {
    "import xformer_lib": (),
    "from xformer_lib.reference import softmax": ("numpy", "jaxtyping"),
    "from xformer_lib.nn import Transformer": ("torch", "jaxtyping"),
    "from xformer_lib.training import train": ("torch", "jaxtyping", "numpy", "tqdm", "tokenizers", "safetensors.torch"),
    "import xformer_lib.cli": (),
}
TIMER = """
import importlib.util, time
for name in {before!r}:
    if importlib.util.find_spec(name):
        importlib.import_module(name)
cpu, wall = time.process_time(), time.perf_counter()
{statement}
print(time.process_time() - cpu, time.perf_counter() - wall)
"""
LAST_CELL = """
import resource as _resource, time as _time
print("SECONDS", _time.process_time() + sum(_resource.getrusage(_resource.RUSAGE_CHILDREN)[:2]))
"""


# ---------------------------------------------------------------- imports


def import_seconds(statement: str, before: tuple = ()) -> tuple[float, float]:
    """Processor time and wall clock of a statement in a fresh interpreter, after what it stands on (what is not installed is passed
    over).
    """
    code = TIMER.format(before=before, statement=statement)
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    cpu, wall = map(float, run.stdout.split())
    return cpu, wall


def bench_imports(rounds: int) -> list[dict]:
    """Each import in turn, ``rounds`` times."""
    found = {statement: [] for statement in IMPORTS}
    beneath = {statement: [] for statement in IMPORTS}
    for _ in range(rounds):
        for statement, before in IMPORTS.items():
            found[statement].append(import_seconds(statement, before))
            here = [name for name in before if importlib.util.find_spec(name)]
            beneath[statement].append(import_seconds(f"import {', '.join(here)}" if here else "pass"))
    milliseconds = lambda pairs, clock: round(1e3 * statistics.median(pair[clock] for pair in pairs), 1)
    return [
        {
            "statement": statement,
            "stands_on": list(IMPORTS[statement]),
            "ours_ms": milliseconds(found[statement], 0),
            "beneath_ms": milliseconds(beneath[statement], 0),
            "ours_wall_ms": milliseconds(found[statement], 1),
            "samples_ms": [round(1e3 * cpu, 1) for cpu, _ in found[statement]],
        }
        for statement in IMPORTS
    ]


def environment() -> dict:
    """One thread, the repository's library first, no bytecode left behind; caches are those of a second run."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    found = dict(os.environ, PYTHONPATH=path, OMP_NUM_THREADS="1", PYTHONHASHSEED="0", XFORMER_CLAIMS="strict")
    found.pop("MPLBACKEND", None)
    return found


# ---------------------------------------------------------------- notebooks


def notebook_seconds(path: Path) -> dict:
    """Run one notebook in a kernel of its own; nothing is stored."""
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells.append(nbformat.v4.new_code_cell(LAST_CELL))
    began = time.perf_counter()
    NotebookClient(
        notebook, timeout=900, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(path.parent)}}
    ).execute(env=environment())
    wall = time.perf_counter() - began
    [line] = [line for output in notebook.cells[-1].outputs for line in output.get("text", "").splitlines() if line.startswith("SECONDS")]
    return {
        "notebook": path.relative_to(ROOT).as_posix(),
        "code_cells": len(cells),
        "cpu_seconds": round(float(line.split()[1]), 1),
        "wall_seconds": round(wall, 1),
    }


def bench_notebooks(paths: list[Path]) -> list[dict]:
    rows = []
    for path in paths:
        rows.append(notebook_seconds(path))
        print(
            f"  {rows[-1]['notebook']}: {rows[-1]['cpu_seconds']} s of a processor, {rows[-1]['wall_seconds']} s on the clock", flush=True
        )
    return rows


# ---------------------------------------------------------------- the book


def bench_book() -> dict:
    """Seconds to build a copy of the pages from their stored outputs, and what comes out."""
    subprocess.run([sys.executable, "book/fetch.py"], cwd=ROOT, check=True)  # once a checkout; not part of the time
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "book"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", "_build", "runs", ".hypothesis", "__pycache__"))
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, "book/build.py"], cwd=copy, env=environment(), capture_output=True, text=True, check=True)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        html = copy / "_build" / "html"
        pages = list((html / "chapters").rglob("*.html")) + [html / "index.html"]
        size = sum(file.stat().st_size for file in html.rglob("*") if file.is_file())
        return {
            "pages": len(pages),
            "megabytes": round(size / 2**20, 1),
            "wall_seconds": round(wall, 1),
            "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        }


# ---------------------------------------------------------------- the command


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notebooks", nargs="*", type=Path, help="these (default: every chapter and solution)")
    parser.add_argument("--no-book", action="store_true")
    parser.add_argument("--rounds", type=int, default=9, help="of imports (default: 9)")
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    paths = options.notebooks
    if paths is None:
        paths = [path for folder in ("chapters", "chapters/solutions") for path in sorted((ROOT / folder).glob("*.ipynb"))]
    began = time.perf_counter()
    record = {
        "command": "python benchmarks/project.py",
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": 1,
        "python": platform.python_version(),
        "imports": bench_imports(options.rounds),
    }
    for row in record["imports"]:
        print(f"  {row['statement']}: {row['ours_ms']} ms; before it {row['beneath_ms']} ms for {', '.join(row['stands_on']) or 'nothing'}")
    record["notebooks"] = bench_notebooks([path.resolve() for path in paths])
    record["book"] = None if options.no_book else bench_book()
    if record["book"]:
        print(f"  the book: {record['book']}")
    record["minutes"] = round((time.perf_counter() - began) / 60, 1)
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")
    return record


if __name__ == "__main__":
    main()
