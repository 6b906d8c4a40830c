"""Claims about the book's numbers, checked beside a reader's own.

A cell that begins with `MARK` holds assertions about the numbers that the book prints. A reader who changes a number upstream breaks
some of them, which is no mistake. `start` has IPython say so in one line for each claim, and go on; `check` does it for a page.
With XFORMER_CLAIMS=strict in the environment, as in the tests, a broken claim stops its cell.
"""

import ast
import itertools
import math
import os
import reprlib
import sys
from typing import Any

MARK = "#@title Claims about the book's numbers"  # Colab shows the words after "@title" in the place of the folded code
LONGEST = 120
FEW = 6  # numbers that a line shows
COUNT = itertools.count()  # a function of one cell may be called in another


class Claims:
    """What became of the claims of one cell: a line for each that does not hold. The softened cell asks it by its name."""

    def __init__(self, source, say=None):
        self.source, self.say, self.name = source, say, f"__claims_{next(COUNT)}__"
        self.seen: dict[int, Any] = {}  # sides of the comparison that is looked at, by their number
        self.last: tuple[int, Any, dict[int, Any]] | None = None  # comparison, its value, its sides
        self.texts, self.leaves, self.parts = [], [], []  # of claims, of the comparisons in them, of the sides of those
        self.lines_of: list[int] = []  # where each claim ends
        self.lines, self.told = [], set()

    # ------------------------------------------------------------ before it runs

    def soften(self, tree):
        """The tree with a guard around the whole and around each claim, in which the sides of a comparison are looked at."""
        body = [_Softener(self).visit(statement) for statement in tree.body]
        tree.body = [self.guard(None, body)] if body else []
        return ast.fix_missing_locations(tree)

    def guard(self, number, body):
        call = ast.Call(ast.Name(self.name, ast.Load()), [ast.Constant(number)], [])
        return ast.With([ast.withitem(call)], body)

    def text(self, node):
        return " ".join((ast.get_source_segment(self.source, node) or ast.unparse(node)).split())

    def watched(self, test, whole):
        """The test of an assertion, in which every comparison says what it has seen."""
        if isinstance(test, ast.BoolOp):
            both = isinstance(test.op, ast.And) and test is whole
            test.values = [self.watched(value, value if both else whole) for value in test.values]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.watched(test.operand, whole)
        elif _is_call(test, ast.Name, ("all", "any")) and len(test.args) == 1 and isinstance(test.args[0], ast.GeneratorExp):
            test.args[0].elt = self.watched(test.args[0].elt, whole)
        elif _is_call(test, ast.Attribute, ("all", "any")) and isinstance(test.func.value, ast.Compare):
            test.func.value = self.watched(test.func.value, whole)
        else:
            return self._leaf(test, whole)
        return test

    def _leaf(self, test, whole):
        number = len(self.leaves)
        self.leaves.append(self.text(whole))
        if isinstance(test, ast.Compare):
            test.left = self._part(test.left, number)
            test.comparators = [self._part(side, number) for side in test.comparators]
        elif isinstance(test, ast.Call):
            test.args = [self._part(argument, number) for argument in test.args]
        return self._ask("leaf", ast.Constant(number), test)

    def _part(self, node, leaf):
        if isinstance(node, (ast.Starred, ast.GeneratorExp)) or not any(isinstance(one, ast.Name) for one in ast.walk(node)):
            return node  # the claim itself says what it is, or looking would use it up
        self.parts.append((leaf, self.text(node)))
        return self._ask("part", ast.Constant(len(self.parts) - 1), node)

    def _ask(self, method, *arguments):
        return ast.Call(ast.Attribute(ast.Name(self.name, ast.Load()), method, ast.Load()), list(arguments), [])

    # ------------------------------------------------------------ while it runs

    def part(self, number, value):
        """Take down one side of a comparison."""
        self.seen[number] = value
        return value

    def leaf(self, number, value):
        """Take down which comparison was the last, and what it saw."""
        self.last = number, value, {part: self.seen[part] for part in self.seen if self.parts[part][0] == number}
        self.seen = {}
        return value

    def __call__(self, number):
        self.seen, self.last = {}, None
        return _Guard(self, number)

    def broken(self, number, error, line):
        """Say once what no longer holds: a claim, or after an error in this line of the cell all that follow."""
        if number in self.told:
            return
        self.told.add(number)
        held, now = self._stop(error, line) if number is None else (short_text(self._claim(number, error)), self._now(error))
        line = f"Held with the book's numbers: {held}. Now: {now}."
        self.lines.append(line)
        if self.say:
            self.say(line)

    def _stop(self, error, line):
        """What is between two claims cannot be computed, so those below it cannot be checked."""
        below = [text for end, text in zip(self.lines_of, self.texts) if end > line] or ["what this cell computes"]
        more = f", and {len(below) - 1} more below it" if below[1:] else ""
        return f"{short_text(below[0])}{more}", f"{short_text(self.source.splitlines()[line - 1].strip())} stops with {_words(error)}"

    def _claim(self, number, error):
        own = isinstance(error, AssertionError) and not _is_deeper(error)
        text = self.leaves[self.last[0]] if own and self.last else self.texts[number]
        return f"{error.args[0]}: {text}" if own and error.args else text

    def _now(self, error):
        if not isinstance(error, AssertionError) or _is_deeper(error):
            return f"it stops with {_words(error)}"
        if not self.last:
            return "it does not"
        _, value, seen = self.last
        place = telling_place(value, list(seen.values()))
        if place is not None:
            seen = {part: one[place] if _large(one) else one for part, one in seen.items()}
        for digits in (4, 17):
            texts = [shown(one, digits) for one in seen.values()]
            if len(set(texts)) == len(texts):
                break
        sides = " and ".join(f"{short_text(self.parts[part][1])} is {text}" for part, text in zip(seen, texts))
        return (f"at {list(place)}, " if place else "") + (sides or f"it is {shown(value)}")


class _Guard:
    """Lets no exception out of its block, and says what held before."""

    def __init__(self, claims, number):
        self.claims, self.number = claims, number

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        if not isinstance(error, Exception):
            return False  # Ctrl-C, say
        self.claims.broken(self.number, error, trace.tb_lineno)
        return True


class _Softener(ast.NodeTransformer):
    """Puts a guard around each assertion and each call of an ``assert_…``."""

    def __init__(self, claims):
        self.claims = claims

    def visit_Assert(self, node):
        return self._claim(node, node.test)

    def visit_Expr(self, node):
        asserts = isinstance(node.value, ast.Call) and getattr(node.value.func, "attr", "").startswith("assert_")
        return self._claim(node, node.value) if asserts else node

    def _claim(self, node, test):
        self.claims.texts.append(self.claims.text(test))
        self.claims.lines_of.append(node.end_lineno)
        if isinstance(node, ast.Assert):
            node.test = self.claims.watched(test, test)
        return self.claims.guard(len(self.claims.texts) - 1, [node])


def _is_call(node, kind, names):
    return isinstance(node, ast.Call) and isinstance(node.func, kind) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names


def _words(error):
    words = short_text(" ".join(str(error).split())).rstrip(".")
    return f"{type(error).__name__}{': ' * bool(words)}{words}"


def short_text(text):
    """A text that fits into a line."""
    return text if len(text) <= LONGEST else text[: LONGEST - 2].rstrip() + " …"


def shown(value, digits=4):
    """A value in a few signs; of an array with more than a few numbers the shape and the range.

    >>> shown(1 / 3), shown([1, 2.5]), shown("a" * 99)
    ('0.3333', '[1, 2.5]', "'aaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaa'")
    """
    if _large(value):
        numbers = value.reshape(-1).tolist()
        ends = f", from {shown(min(numbers))} to {shown(max(numbers))}" if _numbers(*numbers) else ""
        return f"of shape {tuple(value.shape)}{ends}"
    if hasattr(value, "shape") and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    if isinstance(value, (list, tuple)) and 0 < len(value) <= FEW:
        inside = ", ".join(shown(one, digits) for one in value)
        return short_text(f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})")
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = 40
    return " ".join(brief.repr(value).split())


def _large(value):
    """Whether a value is an array of more numbers than a line holds."""
    return hasattr(value, "shape") and hasattr(value, "tolist") and math.prod(value.shape) > FEW


def _numbers(*values):
    return all(isinstance(value, (int, float)) for value in values)


def telling_place(holds, sides):
    """Where arrays of one shape show best that a comparison fails: at its first False, or where two of them are furthest apart."""
    shapes = {tuple(side.shape) for side in sides if _large(side)}
    if len(shapes) != 1:
        return None
    [shape] = shapes
    if tuple(getattr(holds, "shape", ())) == shape:
        apart = [not one for one in holds.reshape(-1).tolist()]
    elif len(sides) == 2 and all(map(_large, sides)):
        pairs = list(zip(*(side.reshape(-1).tolist() for side in sides)))
        apart = [abs(one - other) if _numbers(one, other) and one != other else one != other for one, other in pairs]
    else:
        return None
    number = max(range(len(apart)), key=lambda at: (apart[at] != apart[at], apart[at]))  # not a number comes first
    place: list[int] = []
    for size in reversed(shape):
        number, at = divmod(number, size)
        place.insert(0, at)
    return tuple(place)


def check(source, names):
    """Run a cell of claims among these names, and return a line for each claim that does not hold.

    >>> check("assert sum(x) == 1 and len(x) < 4", {"x": [0.5, 0.75]})
    ["Held with the book's numbers: sum(x) == 1. Now: sum(x) is 1.25."]
    """
    claims = Claims(source)
    code = compile(claims.soften(ast.parse(source)), "claims", "exec")
    names[claims.name] = claims
    exec(code, names)
    return claims.lines


def _is_deeper(error):
    """Whether an error arose in something that the claim called, not in the claim itself."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is not None


class _InNotebooks:
    """Softens the marked cells of a notebook: first it reads the text of a cell, then it gets the tree."""

    source = ""
    shell: Any = None  # the notebook's, once it has started

    def read(self, lines):
        self.source = "".join(lines)
        return lines

    def visit(self, tree):
        if not self.source.startswith(MARK):
            return tree
        claims = Claims(self.source, say=print)
        self.shell.user_ns[claims.name] = claims
        return claims.soften(tree)


_in_notebooks = _InNotebooks()


def start():
    """From now on this notebook's marked cells say what no longer holds, and the notebook goes on. Elsewhere it does nothing."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or os.environ.get("XFORMER_CLAIMS") == "strict" or _in_notebooks in shell.ast_transformers:
        return
    _in_notebooks.shell = shell
    shell.input_transformers_post.append(_in_notebooks.read)
    shell.ast_transformers.append(_in_notebooks)
