"""Cells that run in the page: which cells of which page, and the files that a press on *Run* loads.

``book/live/runner.py`` says which cells the browser's Python can run. Here they get a class and a number, and Python, NumPy, the
parts of the course that need nothing else, the editor and the cells of each page are written to ``_static/python``. No page
loads any of it before a press.
"""

import ast
import gzip
import io
import json
import re
import sys
import tarfile
import zipfile
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

from .model_files import as_script, write_parts

BOOK = Path(__file__).resolve().parents[1]
ROOT, VENDOR = BOOK.parent, BOOK / "vendor"
sys.path[:0] = [str(BOOK / "live"), str(ROOT)]
import runner  # noqa: E402

from xformer_course.claims import MARK  # noqa: E402, F401

PAGE = re.compile(r"chapters/\d\d[a-z]?_\w+\Z")
NUMPY_PAGES = re.compile(r"chapters/(0[1-7][a-z]?|09b)_")  # of these every cell may run; of the others the exercises
RUNS_HERE = "runs-in-page"  # and cells with this tag
NOT_NEEDED = re.compile(
    r"/(tests|f2py|distutils|typing|_pyinstaller|testing/_private/extbuild\.py)(/|$)|\.pyi?c?\.?tmp$|\.pyi$|/lib/[^/]*\.a$"
)
OURS = (
    "xformer_lib/__init__.py",
    "xformer_lib/_*.py",
    "xformer_lib/shapes.py",
    "xformer_lib/reference/*.py",
    "xformer_lib/data/__init__.py",
    "xformer_lib/data/_grammar.py",
    "xformer_lib/data/fragment.py",
    "xformer_lib/data/*.json",
    "xformer_course/__init__.py",
    "xformer_course/claims.py",
    "xformer_course/lessons/__init__.py",
    "xformer_course/lessons/broken.py",
    "xformer_course/lessons/laboratory.py",
    "xformer_course/lessons/laboratory_parts.py",
    "xformer_course/exercises/*.py",
    "xformer_course/exercises/chapter_*/*.py",
)


@cache
def torch_exercises():
    """Ids of the exercises whose checks need torch, read from the catalogue's source."""
    found = set()
    for path in sorted((ROOT / "xformer_course" / "exercises").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Exercise":
                given = {word.arg: word.value for word in node.keywords}
                if "requires" in given and ast.literal_eval(given["requires"]):
                    found.add(ast.literal_eval(given["id"]))
    return frozenset(found)


def code_cells(notebook):
    """The code cells of a notebook as ``runner.prepare`` takes them, and for every cell its number among them."""
    cells, numbers = [], {}
    for place, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            numbers[place] = len(cells)
            cells.append({"source": "".join(cell["source"]), "tags": cell["metadata"].get("tags", [])})
    return cells, numbers


def live_numbers(name, cells):
    """``{number: kind}`` of the cells that run in the page of that name."""
    if not PAGE.match(name):
        return {}
    stories = NUMPY_PAGES.match(name)

    def is_live(cell, tags):
        if cell.kind == "exercise":
            return cell.exercise not in torch_exercises()
        return cell.kind == "story" and (stories or RUNS_HERE in tags)

    prepared = runner.prepare(cells)
    return {number: cell.kind for number, (cell, given) in enumerate(zip(prepared, cells)) if cell.runs and is_live(cell, given["tags"])}


@cache
def page_cells(name):
    """Cells, numbers and what runs, for a page of the book, or nothing."""
    path = ROOT / f"{name}.ipynb"
    if not PAGE.match(name) or not path.exists():
        return [], {}, {}
    cells, numbers = code_cells(json.loads(path.read_text(encoding="utf-8")))
    return cells, numbers, live_numbers(name, cells)


class MarkLiveCells(SphinxTransform):
    """``class="cell live live-7"`` for what runs in the page, with ``live-exercise`` for an exercise.

    Claims get ``live-8`` and the cells by which they stand or fall, for the fold around them.
    """

    default_priority = 890

    def apply(self, **_):
        cells, numbers, live = page_cells(self.env.docname)
        prepared = runner.prepare(cells) if live else []
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") != "cell_code":
                continue
            number = numbers.get(cell["cell_index"])
            if live and "tag_claims" in cell["classes"]:
                asks = [one for one in runner.asks(prepared, number) if one in live]
                cell["live_claims"] = f' data-number="{number}" data-asks="{" ".join(map(str, asks))}"' if asks else ""
            elif number in live:
                cell["classes"] += ["live", f"live-{number}", *(["live-exercise"] if live[number] == "exercise" else [])]


def repacked(archive):
    """NumPy's package as a zip of what a reader's cell can need."""
    made = io.BytesIO()
    with tarfile.open(archive) as files, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for member in sorted(files.getmembers(), key=lambda one: one.name):
            _, _, name = member.name.partition("site-packages/")
            if member.isfile() and name.startswith("numpy/") and not NOT_NEEDED.search(name):
                zipped.writestr(zipfile.ZipInfo(name), files.extractfile(member).read(), zipfile.ZIP_DEFLATED, 9)
    return made.getvalue()


def course():
    """The parts of the library and the course that need NumPy alone, and the runner, as a zip."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as zipped:
        for path in sorted({path for pattern in OURS for path in ROOT.glob(pattern)}):
            zipped.writestr(zipfile.ZipInfo(path.relative_to(ROOT).as_posix()), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
        zipped.writestr(zipfile.ZipInfo("runner.py"), (BOOK / "live" / "runner.py").read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return made.getvalue()


def patched(script):
    """Pyodide's script with one function more: NumPy asks for a ``backtrace`` before it reuses a large intermediate array, this build has
    none, and Python would end. Whoever gets 0 frames does not reuse."""
    table = b"wasmImports={"
    if script.count(table) != 1:
        raise ExtensionError("pyodide.asm.js: expected one table of functions named wasmImports; has Pyodide changed?")
    return script.replace(table, table + b"backtrace:()=>0,")


def python_files():
    """What the worker needs, by name; ``.gz`` is unpacked by the page."""
    pyodide = VENDOR / "pyodide"
    script = b"\n".join((patched((pyodide / "pyodide.asm.js").read_bytes()), (pyodide / "pyodide.js").read_bytes()))
    lock = {"info": json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["info"], "packages": {}}
    return {
        "python.js.gz": gzip.compress(script + b"\n" + (BOOK / "live" / "worker.js").read_bytes(), 9, mtime=0),
        "pyodide.asm.wasm.gz": gzip.compress((pyodide / "pyodide.asm.wasm").read_bytes(), 9, mtime=0),
        "python_stdlib.zip": (pyodide / "python_stdlib.zip").read_bytes(),
        "pyodide-lock.json": json.dumps(lock).encode(),
        "numpy.zip": repacked(VENDOR / "@emscripten-forge" / "numpy" / "numpy.tar.gz"),
        "course.zip": course(),
    }


def write_live_files(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "python"
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    for name in sorted(app.env.found_docs):
        cells, _, live = page_cells(name)
        if live:
            page = json.dumps(cells, ensure_ascii=True).encode()
            (folder / "pages" / f"{Path(name).name}.js").write_bytes(as_script(page))
    (folder / "editor.js").write_bytes((VENDOR / "editor" / "editor.js").read_bytes() + as_script(b""))  # it came whole
    write_parts(folder, python_files())


def setup(app):
    app.add_transform(MarkLiveCells)
    app.connect("build-finished", write_live_files)
