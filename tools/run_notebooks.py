"""Execute notebooks from top to bottom and store their outputs.

    python tools/run_notebooks.py chapters/03_*.ipynb
    python tools/run_notebooks.py --all

A notebook runs in its own folder with the repository's library first on the path, and with the corpora out of sight, so
that its outputs are those of a machine that has none. Timings are not recorded and metadata is reduced to what a reader
needs and the digest of `made_with.py`, so a second run of a notebook changes nothing in it. A run that ends in an error, or
leaves an un-run cell or a line on standard error, is reported and not stored.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from made_with import Sources
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
SECONDS_A_CELL = 900


def all_notebooks():
    """Every notebook of the book, in reading order."""
    chapters = ROOT / "chapters"
    return [p for folder in (".", "solutions", "back") for p in sorted((chapters / folder).glob("*.ipynb"))]


def tidy(notebook):
    """Drop what differs between two runs or two editors."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen = set()
    for index, cell in enumerate(notebook.cells):
        cell.source = cell.source.rstrip()
        for key in ("execution", "collapsed", "scrolled", "jupyter", "vscode", "colab", "cellView", "id", "outputId"):
            cell.metadata.pop(key, None)
        if {"bootstrap", "claims", "hide-input"} & {*cell.metadata.get("tags", [])}:  # Jupyter and Colab fold the source, too
            cell.metadata.update({"jupyter": {"source_hidden": True}, "cellView": "form"})
        if not cell.get("id") or cell.id in seen:
            cell.id = f"cell-{index}"
        seen.add(cell.id)
        for output in cell.get("outputs", []):
            output.get("metadata", {}).pop("needs_background", None)


def complaints(notebook):
    """What a stored notebook may not hold."""
    found = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        if cell.source.strip() and cell.execution_count is None:
            found.append(f"cell {index} was not run")
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                found.append(f"cell {index} writes to standard error: {output.text.strip().splitlines()[-1]}")
    return found


def out_of_sight(environment, empty):
    """The environment of what is stored or tested: no corpora, an empty cache, no way to download, and no patience with a broken claim."""
    hidden = {name: value for name, value in environment.items() if name != "XFORMER_DATA"}
    fonts = environment.get("MPLCONFIGDIR") or Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "matplotlib")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return {**hidden, **nowhere, "XDG_CACHE_HOME": str(empty), "XFORMER_CLAIMS": "strict", "MPLCONFIGDIR": str(fonts)}


def run(path):
    """Execute one notebook and store it; return the complaints."""
    with tempfile.TemporaryDirectory() as empty:
        return run_with(path, out_of_sight(os.environ, empty))


def run_with(path, environment):
    """The same in this environment."""
    notebook = nbformat.read(path, as_version=4)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment["PYTHONHASHSEED"] = "0"
    environment.pop("MPLBACKEND", None)  # another backend than the kernel's own would leave the figures out
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],  # each kernel would warn that it is reached without a cipher
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute(env=environment)
    except CellExecutionError as error:
        return [str(error).strip()]
    tidy(notebook)
    problems = complaints(notebook)
    stored = json.loads(nbformat.writes(notebook))
    notebook.metadata.xformer = {"made_with": Sources(ROOT).digest(stored)}
    text = nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"
    if not problems and text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8", newline="\n")
    return problems


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--all", action="store_true", help="every chapter, solution and back page")
    options = parser.parse_args(arguments)
    if bool(options.paths) == options.all:
        parser.error("name notebooks, or give --all")
    failed = False
    for path in all_notebooks() if options.all else [path.resolve() for path in options.paths]:
        began = time.perf_counter()
        problems = run(path)
        failed |= bool(problems)
        verdict = "not stored" if problems else "stored"
        print(f"{path.relative_to(ROOT)}: {verdict}, {time.perf_counter() - began:.1f} s", flush=True)
        for problem in problems:
            print(f"  {problem}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
