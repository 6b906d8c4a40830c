"""What the outputs of a stored notebook were made with, as one short digest; and which notebooks `make test` need not run again.

`run_notebooks.py` stores the digest with the outputs, as `metadata.xformer.made_with`. It is taken over

- the notebook's code cells and their outputs, so that an output edited by hand does not fit either;
- every module of this repository that they import, directly or through another, with the `__init__.py` of its packages. A name
  of a lazy package (`from xformer_lib.nn import Transformer`) leads to the module that has it, `check("4.6", …)` to chapter 4's;
- modules and files that code names in a string: `show_source("training.loop", …)`, a record of `results/`, a figure's script,
  the folder of a shipped model. What an f-string leaves open may be anything: `f"multi30k-{name}.json"` names all of these;
- NumPy and torch as `requirements.lock` pins them.

It does not see other packages, Python, the processor, variables of the environment, a name that code puts together in another way
than an f-string, and programs that a cell writes into a file. Therefore `CI=true make test` runs every notebook, and every commit a fifth.
"""

import ast
import hashlib
import json
import re
import shutil
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("xformer_lib", "xformer_course")
DATA = ("results", "results/pages", "xformer_lib/data", "xformer_lib/pretrained")  # besides the folder of the module that names a file
ENDINGS = ("", ".json", ".js")
CHAPTER = "xformer_course.exercises.chapter_"
REGISTRY = "xformer_course/exercises/registry.py"  # it imports the chapter that it is asked for
SHARE = 5  # one notebook in so many is run though its digest fits


class Sources:
    """The files of a repository, and which of them a piece of code names."""

    def __init__(self, root):
        self.root = root
        there = [path for top in (*PACKAGES, "results") for path in (root / top).rglob("*") if path.is_file()]
        self.files = {path.relative_to(root).as_posix() for path in there if "__pycache__" not in path.parts}
        self.folders = {file.rpartition("/")[0] for file in self.files}
        lock = root / "requirements.lock"
        self.pins = re.findall(r"(?m)^(?:numpy|torch)==\S+", lock.read_text(encoding="utf-8"))
        self.named_by, self.lazy, self.sha = cache(self._named_by), cache(self._lazy), cache(self._sha)

    def digest(self, notebook):
        """The digest of a notebook, as its file has it in JSON."""
        ran = [["".join(cell["source"]), cell["outputs"]] for cell in notebook["cells"] if cell["cell_type"] == "code"]
        files = [(file, self.sha(file)) for file in self.reached([source for source, _ in ran])]
        return hashlib.sha256(json.dumps([ran, self.pins, files], sort_keys=True).encode()).hexdigest()[:16]

    def reached(self, sources):
        """The files of this repository that code cells name, directly or through a module."""
        text = "\n".join(re.sub(r"(?m)^[%!].*$", "pass", source) for source in sources)
        found, ahead = set(), list(self.named_in(ast.parse(text)))
        if REGISTRY in ahead:
            ahead += self.modules_like(f"{CHAPTER}*")
        while ahead:
            file = ahead.pop()
            if file not in found:
                found.add(file)
                ahead += self.named_by(file) if file.endswith(".py") else ()
        return sorted(found)

    def _sha(self, file):
        return hashlib.sha256((self.root / file).read_bytes()).hexdigest()

    def _named_by(self, file):
        return self.named_in(ast.parse((self.root / file).read_bytes()), file)

    def named_in(self, tree, file=None):
        """The files that code names; ``file`` is its own, None for the cells of a notebook."""
        nodes, names, found = list(executed(tree)), {}, set()
        for node in nodes:
            if isinstance(node, ast.Import):
                for one in node.names:
                    names[one.asname or one.name.partition(".")[0]] = one.name if one.asname else one.name.partition(".")[0]
                    found |= self.module(one.name)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for one in node.names:
                    names[one.asname or one.name] = f"{node.module}.{one.name}"
                    found |= self.name(node.module, one.name)
        for node in nodes:
            if isinstance(node, ast.Attribute) and (owner := dotted(node.value, names)):
                found |= self.name(owner, node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= self.string(node.value, file)
            elif isinstance(node, ast.JoinedStr) and file != REGISTRY:
                pattern = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
                found |= self.modules_like(pattern) if re.match(r"xformer_\w+\.\w+\.", pattern) else set()
                if re.match(r"\w{3}.*\.\w+$", pattern):
                    folders = beside(file) if file else ["results"]
                    found |= {one for one in self.files for folder in folders if fnmatch(one, f"{folder}/{pattern}")}
        return found

    def module(self, name):
        """The file of a module and those of the packages around it; none for a module from elsewhere."""
        parts = name.split(".")
        if parts[0] not in PACKAGES:
            return set()
        paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        return self.files & {file for path in paths for file in (f"{path}.py", f"{path}/__init__.py")}

    def name(self, module, name):
        """The files behind a module's attribute: a module, or what a lazy package takes from one of its modules."""
        package = f"{module.replace('.', '/')}/__init__.py"
        home = self.lazy(package).get(name) if package in self.files else None
        return self.module(f"{module}.{name}") | (self.name(*home) if home and home != (module, name) else set())

    def _lazy(self, package):
        """Where a package's names come from: its imports for type checkers."""
        blocks = [node for node in ast.parse((self.root / package).read_bytes()).body if for_types(node)]
        lines = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
        return {one.asname or one.name: (line.module, one.name) for line in lines for one in line.names}

    def string(self, text, file):
        """The modules and other files that a string names."""
        if not re.fullmatch(r"[\w-][\w./-]+", text, re.ASCII):
            return set()
        if text.startswith(PACKAGES):
            return self.module(text)
        found = set()
        if file is None:  # on a page: show_source, and the number of an exercise
            found |= {one for one in self.module(f"xformer_lib.{text}") if one != "xformer_lib/__init__.py"}
            chapter = re.fullmatch(r"(\d+)\.\d+", text)
            found |= self.module(f"{CHAPTER}{int(chapter[1]):02d}") if chapter else set()
        for folder in (*DATA, *(beside(file) if file else ())):
            if f"{folder}/{text}" in self.folders and (file is None or folder.endswith("pretrained")):
                found |= {one for one in self.files if one.startswith(f"{folder}/{text}/")}
            found |= self.files & {f"{folder}/{one}{ending}" for one in (text, text.replace("-", "_")) for ending in ENDINGS}
        return found

    def modules_like(self, pattern):
        """The modules whose dotted name fits a pattern."""
        path = pattern.replace(".", "/")
        return {one for one in self.files if one.endswith(".py") and fnmatch(one.removesuffix(".py").removesuffix("/__init__"), path)}


def beside(file):
    """Where a module has its own files."""
    folder = file.rpartition("/")[0]
    return folder, f"{folder}/assets"


def for_types(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def executed(tree):
    """The nodes of a tree without docstrings, imports for type checkers, and how a lazy package does the same."""
    ahead = [tree]
    while ahead:
        node = ahead.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            lazy = isinstance(child, ast.FunctionDef) and child.name == "__getattr__" and isinstance(node, ast.If)
            if not (docstring or lazy or for_types(node) and child in node.body):
                ahead.append(child)


def dotted(node, names):
    """The dotted name that an expression such as ``nn.masks`` stands for, or an empty text."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value, names)
        return owner and f"{owner}.{node.attr}"
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""


def stored_digest(notebook):
    return notebook["metadata"].get("xformer", {}).get("made_with")


def left_out(paths, root=ROOT, commit=None):
    """Those of a book's notebooks that need not run at a commit: their digest fits, and the commit does not draw them.

    A commit draws a fifth, so that other commits run other ones; without one (no checkout of git) all are run.
    """
    if not commit:
        return set()
    drawn = sorted(paths, key=lambda path: hashlib.sha256(f"{commit} {path.name}".encode()).digest())[: -(-len(paths) // SHARE)]
    sources, fit = Sources(root), set()
    for path in set(paths) - set(drawn):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        if (stored := stored_digest(notebook)) and stored == sources.digest(notebook):
            fit.add(path)
    return fit


def commit_of(root=ROOT):
    """The commit that is checked out, or None."""
    if not shutil.which("git"):
        return None
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True)
    return said.stdout.strip() if said.returncode == 0 else None
