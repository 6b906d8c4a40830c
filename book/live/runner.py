"""The cells of a page, run in the page: which of them can run there, what each needs from above, what it says.

The browser's Python has NumPy and the parts of the course that need nothing else. `prepare` looks at the cells of a notebook
and takes out, statement by statement, what needs more (torch, matplotlib, a figure); it serves the build of the book, which
marks the cells that run whole, and the page, which runs them. `Page.run` runs one cell: first, once and without a word, the
cells above that it needs, as the reader left them, then the text as it stands in the editor.
"""

import ast
import builtins
import io
import json
import sys
import traceback
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace

from xformer_course import claims

OURS = ("xformer_lib", "xformer_course")
OURS_HERE = (
    "xformer_lib._checks",
    "xformer_lib.data.fragment",
    "xformer_lib.reference",
    "xformer_lib.shapes",
    "xformer_course.exercises",
    "xformer_course.lessons.broken",
    "xformer_course.lessons.laboratory",
    "xformer_course.lessons.laboratory_parts",
)
NOT_HERE = ("multiprocessing", "socket", "subprocess", "threading", "tkinter", "webbrowser")
QUIET = ("claims", "bootstrap")  # cells that no other cell asks for a name
LINES, CHARACTERS, VERDICTS = 1_000, 50_000, 100  # as much of one cell as a page shows
CUT = f"… cut here, after {LINES:,} lines or {CHARACTERS:,} characters; what came then is lost: print less, say every thousandth time\n"


def is_here(module: str) -> bool:
    """Whether the browser's Python can import it."""
    root = module.split(".")[0]
    if root in OURS:
        return any(module == name or module.startswith(name + ".") for name in OURS_HERE)
    return root == "numpy" or (root in sys.stdlib_module_names and root not in NOT_HERE)


class Said(io.StringIO):
    """What a cell prints. A page cannot show it without end, so what is too much is dropped here, before it is kept or sent."""

    lines, left = LINES, CHARACTERS

    def write(self, text: str) -> int:
        """Keeps the text, or as much as there is room for."""
        kept = "".join(text[: self.left].splitlines(keepends=True)[: self.lines])
        self.left -= len(kept)
        self.lines -= kept.count("\n")
        super().write(kept)
        if len(kept) < len(text):
            super().write(CUT if self.getvalue()[-1:] in ("", "\n") else f"\n{CUT}")
            self.write = len  # from now on nothing is kept, and print is as fast as it can be
        return len(text)


class Nobody(io.TextIOBase):
    """A standard input at which nobody sits."""

    def readline(self, *_):
        """Ends the cell with the advice."""
        raise EOFError(
            "input: nobody can be asked while a cell runs in the page; write the value into the code, such as word = 'river', "
            "or open the notebook in Jupyter"
        )

    read = readline


class Absent:
    """Stands last among the finders of modules: says what to do without the one that is not here."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Refuses what is not of this page's Python."""
        if not is_here(name):
            raise ModuleNotFoundError(
                f"{name} is not in this page's Python, which has NumPy alone and Python's own modules; an exercise with a Check button "
                "needs no more, and for everything else open the notebook in Jupyter",
                name=name,
            )


def shortened(text: str) -> str:
    """The beginning and the end of a text that is too long for a page."""
    return text if len(text) <= 20_000 else f"{text[:10_000]}\n… {len(text) - 20_000:,} characters are cut here …\n{text[-10_000:]}"


def targets(node: ast.AST) -> set[str]:
    """Names that a statement binds in the cell; those inside of functions, classes and comprehensions are their own."""
    found: set[str] = set()
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return {walrus.target.id for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr)}
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        found.add(node.id)
    if isinstance(node, ast.ExceptHandler) and node.name:
        found.add(node.name)
    for child in ast.iter_child_nodes(node):
        found |= targets(child)
    return found


def loads(node: ast.AST) -> set[str]:
    """Names that a statement asks for from outside of itself; what a function binds inside is its own."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        arguments = node.args
        taken = [a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg) if a]
        own = {a.arg for a in taken}
        body = node.body if isinstance(node.body, list) else [node.body]
        inner = set().union(*(loads(part) for part in body)) - own - set().union(*(targets(part) for part in body))
        outer = [*arguments.defaults, *filter(None, arguments.kw_defaults), *getattr(node, "decorator_list", [])]
        outer += filter(None, [getattr(node, "returns", None), *(a.annotation for a in taken)])
        return inner | set().union(set(), *(loads(part) for part in outer))
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        own = set().union(*(targets(part.target) for part in node.generators))
        return set().union(*(loads(child) for child in ast.iter_child_nodes(node))) - own
    found = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, ast.AugAssign):
        found |= targets(node.target)
    for child in ast.iter_child_nodes(node):
        found |= loads(child)
    return found


def base(node: ast.AST) -> str | None:
    """The name at the root of ``name.part[3].more``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def changes(node: ast.AST) -> set[str]:
    """Names whose object a statement may change: stored into, or asked to do something (``rng.normal()``)."""
    found = set()
    for part in ast.walk(node):
        stored = isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, (ast.Store, ast.Del))
        asked = isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
        if stored or asked:
            found.add(base(part))
    return found - {None}


@dataclass
class Cell:
    """What is known of one cell before anything runs."""

    source: str
    kind: str  # "story", "exercise", "claims" or "bootstrap"
    exercise: str = ""
    runs: bool = False  # whole, with nothing left out but imports
    checks: bool = False  # whole, with nothing left out at all: claims that can be checked here
    kept: str = ""  # what other cells may need of it
    always: bool = False  # sets something up: imports, or how arrays are printed
    binds: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    touches: set[str] = field(default_factory=set)


def exercise_in(tree: ast.Module) -> str:
    """The id in a cell's ``check("3.2", …)``, or ""."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check" and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                return first.value
    return ""


def prepare(cells: list[dict]) -> list[Cell]:
    """Cells of a notebook, ``{"source": …, "tags": […]}`` in their order, as the browser's Python meets them."""
    gone: set[str] = set()  # names that stand for something that is not here
    modules: set[str] = set()
    known: set[str] = set()
    draws: dict[str, set[str]] = {}  # a generator of random numbers, or a function that asks one: which it moves on
    made = []
    for given in cells:
        tags, source = given.get("tags", []), given["source"]
        kind = next((tag for tag in QUIET if tag in tags), "story")
        cell = Cell(source, kind)
        made.append(cell)
        if kind == "bootstrap":
            continue
        tree = ast.parse(source)
        cell.exercise = exercise_in(tree)
        kept, dropped, whole = [], False, True
        for statement in tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                stays = _importable(statement, gone, known)
                modules |= targets(statement)
                whole = whole and is_here(getattr(statement, "module", None) or statement.names[0].name)
                if stays is not None:
                    kept.append(stays)
                    cell.always = True
                continue
            binds, uses, touches = targets(statement), loads(statement), changes(statement) - modules
            touches |= set().union(*(draws[name] for name in uses & set(draws)))
            if "default_rng" in ast.unparse(statement):
                draws |= {name: {name} for name in binds}
            elif isinstance(statement, ast.FunctionDef) and touches & set(draws):
                draws[statement.name] = touches & set(draws)
            if uses & gone or not uses <= known | binds | set(dir(builtins)):
                dropped = dropped or not _sets_up_plots(statement)
                gone |= binds | touches
                known -= binds
                continue
            kept.append(statement)
            known |= binds
            gone -= binds
            cell.binds |= binds
            cell.uses |= uses
            cell.touches |= touches
            cell.always = cell.always or _prints_arrays(statement)
        cell.kept = "\n".join(ast.unparse(statement) for statement in kept)
        only_imports = all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in tree.body)
        cell.runs = not dropped and not only_imports and not (cell.always and not cell.binds and not cell.exercise)
        if cell.exercise:
            cell.kind, cell.kept, cell.binds = "exercise", "", set()
        if kind == "claims":  # they count where they move a generator on
            cell.touches &= set(draws)
            cell.checks = whole and not dropped
            cell.runs, cell.always, cell.binds, cell.kept = False, False, set(), cell.kept if cell.touches else ""
    return made


def _importable(statement, gone, known):
    """The part of an import that works here, or None; the other names are gone."""
    if isinstance(statement, ast.ImportFrom):
        whole = is_here(statement.module or "")
        stay = [alias for alias in statement.names if whole or is_here(f"{statement.module}.{alias.name}")]
    else:
        stay = [alias for alias in statement.names if is_here(alias.name)]
    for alias in statement.names:
        name = (alias.asname or alias.name).split(".")[0]
        (known if alias in stay else gone).add(name)
        (gone if alias in stay else known).discard(name)
    if not stay:
        return None
    if isinstance(statement, ast.ImportFrom):
        return ast.ImportFrom(statement.module, stay, 0)
    return ast.Import(stay)


def _sets_up_plots(statement):
    return isinstance(statement, ast.Expr) and ast.unparse(statement) == "plots.use_style()"


def _prints_arrays(statement):
    return isinstance(statement, ast.Expr) and "set_printoptions" in ast.unparse(statement)


def needed(cells: list[Cell], number: int, names: set[str]) -> list[int]:
    """The cells above ``number`` that must have run before something may ask for ``names``."""
    names, found = set(names), []
    for above in range(number - 1, -1, -1):
        cell = cells[above]
        if cell.kept and (cell.always or (cell.binds | cell.touches) & names):
            found.append(above)
            names |= cell.uses
    return found[::-1]


def claims_below(cells: list[Cell], number: int) -> list[int]:
    """The cells of claims between a cell and the next that is open."""
    found = []
    for below in range(number + 1, len(cells)):
        if cells[below].kind != "claims":
            break
        found.append(below)
    return found


def asks(cells: list[Cell], number: int) -> list[int]:
    """The cells with which a cell of claims may stand or fall: of one that cannot be checked here all above it."""
    above = [one for one in range(number) if cells[one].kind == "story"]
    return sorted({*needed(cells, number, cells[number].uses), *above[-1:]}) if cells[number].checks else above


def with_typed(cells: list[Cell], typed: dict[int, str]) -> list[Cell]:
    """The cells with the reader's texts in their places."""
    made, taught = [], set()
    for number, cell in enumerate(cells):
        made.append(_edited(cell, typed[number], taught) if number in typed else cell)
        taught |= made[-1].binds if cell.kind != "exercise" else set()
    return made


def _edited(cell, text, taught):
    """Nothing is left out of what a reader typed but the check of an answer, and an answer gives no name that the lesson has given."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # told to the cell that needs what stood here
        return replace(cell, source=text, kept=text)
    binds, uses, touches = targets(tree), loads(tree), changes(tree) & taught | cell.touches & loads(tree)
    if cell.kind == "exercise":
        tree.body = [part for part in tree.body if not isinstance(part, ast.Expr) or base(part.value) not in ("check", "hint")]
        binds, touches = binds - taught, set()
    return replace(cell, source=text, kept=ast.unparse(tree), binds=binds, uses=uses, touches=touches)


class Page:
    """The names of one page and the cells that have run."""

    def __init__(self, cells: list[dict]):
        self.cells = prepare(cells)
        self.spoken: list[str] = []  # by a check or a hint
        self.begin()

    def speak(self, words: str) -> None:
        """Takes what a check or a hint says, a page's worth of it."""
        if len(self.spoken) < VERDICTS:
            self.spoken.append(shortened(words))

    def begin(self) -> None:
        """Forget what has run."""
        self.names = {"__name__": "__main__", "__builtins__": builtins}
        self.done: dict[int, str] = {}  # the text of each cell that has run

    def run(self, number: int, source: str, typed: dict[int, str] | None = None) -> dict:
        """Runs a cell as it is typed: ``{"text", "spoken", "error", "trace", "status"}``, what there is of them.

        ``typed`` has the texts of the cells that the reader changed. A cell finds what the cells above it make: where one below has
        run, or one above has another text by now, they run anew.
        """
        said, status = Said(), ""
        self.spoken.clear()
        try:
            tree = ast.parse(source, "your cell")
            cells = with_typed(self.cells, typed or {})
            above = needed(cells, number, loads(tree))
            self._prepare(number, above, cells)
            with redirect_stdout(said), redirect_stderr(said), self._place(number, cells) as names:
                status = self._say(tree, names)
            self.done[number] = source if cells[number].kind == "exercise" else cells[number].source  # a hint is no answer
        except BaseException as error:
            return {"text": said.getvalue(), "spoken": list(self.spoken), **_told(error)}
        return {"text": said.getvalue(), "spoken": list(self.spoken), "error": "", "trace": "", "status": status}

    def check(self, number: int, typed: dict[int, str]) -> list[str]:
        """A line for each claim of a cell that does not hold with what the reader typed."""
        cells = with_typed(self.cells, typed)
        cell = cells[number]
        if number in self.done:
            self.begin()  # it has moved a generator on
        try:
            self._prepare(number, needed(cells, number, cell.uses), cells)
            names = dict(self.names)  # what it binds is its own
            with redirect_stdout(Said()), redirect_stderr(Said()):
                lines = claims.check(cell.source, names)
        except Exception as error:  # of a cell above
            return [_told(error)["error"]]
        if cell.touches:
            self.done[number] = cell.source
        return lines

    def _prepare(self, number, above, cells):
        """Runs the cells above that have not run."""
        self._go_back(number, above, cells)
        for one in above:
            if one not in self.done:
                forgiven = suppress(Exception if cells[one].kind == "exercise" else ())  # an answer may be half of one
                with forgiven, redirect_stdout(Said()), redirect_stderr(Said()), self._place(one, cells) as names:
                    if cells[one].kind == "claims":  # those that the reader's numbers break stop nobody
                        claims.check(cells[one].kept, names)
                    else:
                        exec(compile(cells[one].kept, "a cell above", "exec"), names)
                self.done[one] = cells[one].source
        self.spoken.clear()

    def _go_back(self, number, above, cells):
        """Forgets what has run if it is not what stands above a cell."""
        last = max(self.done, default=-1)
        late = last > number or any(one < last for one in above if one not in self.done)
        if late or any(self.done[one] != cells[one].source for one in self.done if one != number):
            self.begin()

    @contextmanager
    def _place(self, number, cells):
        """The names that a cell works on. An answer leaves those alone that the lesson above it has given."""
        self.done[number] = ""  # until it has come to its end
        self.names.pop("__warningregistry__", None)  # a warning is given again
        if cells[number].kind != "exercise":
            yield self.names
            return
        taught = set().union(*(cell.binds for cell in cells[:number] if cell.kind != "exercise"))
        own = dict(self.names)
        yield own
        self.names |= {name: value for name, value in own.items() if name not in taught}

    def _say(self, tree, names):
        """Runs the statements and shows the value of a last expression, as a notebook does."""
        last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(ast.Module(tree.body[:-1] if last else tree.body, []), "your cell", "exec"), names)
        if last is None:
            return ""
        value = eval(compile(ast.Expression(last.value), "your cell", "eval"), names)
        if hasattr(value, "_ipython_display_"):
            return getattr(value, "status", "")
        if value is not None:
            print(repr(value))
        return ""


def _told(error):
    """An error in one line, with its place in the reader's cell, and the whole story."""
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename, error.lineno))
    line = next((line for name, line in reversed(places) if name == "your cell"), None)
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    place = f" (line {line})" if line else " (in a cell above)" if "a cell above" in dict(places) else ""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"error": shortened(f"{type(error).__name__}: {words}") + place, "trace": shortened(trace), "status": "error"}


page: Page | None = None


def start(cells: str) -> None:
    """Open a page: its cells as JSON. What needs more than it has says so."""
    global page
    from xformer_course.exercises import api

    page = Page(json.loads(cells))
    api._say = page.speak  # the page breaks the lines, and tells a verdict from what a cell prints
    sys.stdin = Nobody()
    sys.meta_path.append(Absent)


def run(number: int, source: str, typed: str) -> str:
    """The answer of one cell as JSON; ``typed`` has the texts of the changed cells, by their numbers.

    With it comes, for each cell of claims right below that these may break, what does not hold.
    """
    texts = {int(one): text for one, text in json.loads(typed).items()}
    said = page.run(number, source, texts)
    below = [] if said["error"] or not texts else claims_below(page.cells, number)
    said["claims"] = {one: page.check(one, texts) for one in below if page.cells[one].checks and set(asks(page.cells, one)) & set(texts)}
    return json.dumps(said)
