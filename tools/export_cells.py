"""Read the exported cells of a chapter, and refuse the ones that may not stand in a library."""

import ast
import builtins
import re
from collections import defaultdict
from dataclasses import dataclass

import nbformat

ROOMS = {
    "reference",
    "nn",
    "engine",
    "data",
    "training",
    "decoding",
    "lessons",
}  # packages that chapters may fill; lessons belong to the course
SINGLES = {"inspection", "speculation"}  # modules that chapters may fill at the top of the library
DIRECTIVES = {"export", "exporti"}
ALLOWED = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


class ExportError(Exception):
    """A cell, or a module, that may not be exported; the message says where and what to do."""


@dataclass
class Cell:
    """One exported cell and the place it comes from."""

    source: str  # without the directive
    tree: ast.Module
    public: bool  # whether its names are in __all__: #| export, not #| exporti
    notebook: str  # file name of the chapter
    number: str  # the chapter's number, as in its title
    chapter: str  # the chapter's title without the number
    section: str  # nearest heading above the cell

    @property
    def only_imports(self):
        return all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in self.tree.body)

    @property
    def names(self):
        """What the cell defines: values, then functions and classes."""
        assigned = [node for node in self.tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
        targets = [target for node in assigned for target in getattr(node, "targets", None) or [node.target]]
        parts = [part for target in targets for part in ast.walk(target)]
        values = [part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        return values + [node.name for node in self.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]


def read_directive(source, where):
    """``(directive, module)`` of a code cell, or None when the cell is not exported."""
    lines = source.splitlines()
    marked = [i for i, line in enumerate(lines) if re.match(r"\s*#\s*\|", line)]
    if not marked:
        return None
    if marked != [0]:
        raise ExportError(f"{where}: a directive must be the first line of its cell and stand alone there")
    words = lines[0].split("|", 1)[1].split()
    if not words or words[0] not in DIRECTIVES:
        raise ExportError(f"{where}: unknown directive {lines[0]!r}; use one of {sorted(DIRECTIVES)}")
    if len(words) != 2:
        raise ExportError(f"{where}: name exactly one module, as in '#| export reference.attention'; got {lines[0]!r}")
    return words[0], words[1]


def guard_module(name, where):
    """Refuse a module outside the rooms that chapters may fill."""
    parts = name.split(".")
    known = (len(parts) == 2 and parts[0] in ROOMS) or (len(parts) == 1 and parts[0] in SINGLES)
    if not known or not all(part.isidentifier() for part in parts) or parts[-1].startswith("_"):
        rooms = ", ".join(f"{room}.<name>" for room in sorted(ROOMS))
        raise ExportError(f"{where}: unknown module {name!r}; expected {rooms}, {', '.join(sorted(SINGLES))}")


def guard_cell(body, where):
    """The parsed cell, when everything in it may stand in a module."""
    try:
        tree = ast.parse(body)
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise ExportError(f"{where}: not plain Python ({error.msg}): {line!r}; magics cannot be exported") from None
    if not tree.body:
        raise ExportError(f"{where}: the exported cell is empty")
    for node in tree.body:
        if not isinstance(node, ALLOWED):
            raise ExportError(
                f"{where}: line {node.lineno + 1} is a {type(node).__name__} statement; an exported cell holds imports, "
                "definitions and assignments alone. Move the rest to a cell of its own"
            )
        if isinstance(node, ast.ImportFrom):
            guard_import(node, where)
    if "get_ipython" in body:
        raise ExportError(f"{where}: get_ipython is not there in a library")
    return tree


def guard_import(node, where):
    if node.level:
        raise ExportError(f"{where}: relative import; write 'from xformer_lib.… import …'")
    if node.module == "__future__":
        raise ExportError(f"{where}: 'from __future__' switches the shape checks off; leave it out")
    if any(alias.name == "*" for alias in node.names):
        raise ExportError(f"{where}: 'import *' hides where a name comes from; name what is needed")


def headings(text):
    """Heading lines ``(level, title)`` of a markdown cell, code fences and anchors left out."""
    plain = re.sub(r"^(```|~~~).*?^\1| <a id=\"[^\"]*\"></a>$", "", text, flags=re.M | re.S)
    return [(len(m[1]), m[2].strip()) for m in re.finditer(r"^(#{1,6})\s+(.+)$", plain, flags=re.M)]


def collect(path):
    """``{module: [Cell, …]}`` of one notebook, in the order of the page, each cell guarded."""
    notebook = nbformat.read(path, as_version=4)
    number, chapter, section, modules = "", path.stem, "", defaultdict(list)
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            for level, title in headings(cell.source):
                if level == 1:
                    head, dot, tail = title.partition("·")
                    number, chapter = (head.strip(), tail.strip()) if dot else ("", title)
                section = re.sub(r"^More · (.+) · \d+ min$", r"\1", title)
        elif cell.cell_type == "code":
            where = f"{path.name}, cell {index}"
            directive = read_directive(cell.source, where)
            if directive:
                word, module = directive
                guard_module(module, where)
                body = cell.source.partition("\n")[2]
                tree = guard_cell(body, where)
                modules[module].append(Cell(body.strip("\n"), tree, word == "export", path.name, number, chapter, section))
    return modules


def public_names(cells, where):
    """``__all__`` of a module; a name defined twice is an error."""
    seen = {}
    for cell in cells:
        for name in cell.names:
            if name in seen:
                raise ExportError(f"{where}: {name} is defined in {seen[name]} and again in {cell.notebook}")
            seen[name] = f"{cell.notebook} ({cell.section})"
    return [name for cell in cells if cell.public for name in cell.names if not name.startswith("_")]


def undefined_names(text):
    """Names that a module's text uses and nothing in it defines: an import left in the notebook, mostly."""
    tree, used = ast.parse(text), {}
    known = set(dir(builtins)) | {"__name__", "__file__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.setdefault(node.id, node.lineno)
        elif isinstance(node, ast.Name):
            known.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.alias):
            known.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
    return sorted(set(used) - known)
