"""`xformer key 4`: the answer key of a chapter for the teacher, as Markdown, from the catalogue that `check` uses.

For each exercise it has the statement, the solution and the misconceptions that the check knows by name. A wrong function is shown
by its source, found in the installed package, with the helpers of its module that it calls.
"""

import ast
import inspect
import pprint
import re
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from types import CodeType

from xformer_course.exercises import registry
from xformer_course.exercises.exercise import Chapter, Exercise
from xformer_course.exercises.printing import fitting
from xformer_lib.cli.files import check_output, write_text

WIDTH = 100


def run_key(options) -> int:
    """Writes the key of the chapters or exercises that the options name."""
    check_output("--output", options.output)
    wanted = [chosen(name) for name in options.what]
    text = "\n".join(chapter_key(chapter, exercises) for chapter, exercises in wanted)
    if options.output:
        write_text(options.output, text)
    else:
        sys.stdout.write(fitting(text, sys.stdout))
    return 0


def chosen(name: str) -> tuple[Chapter, list[Exercise]]:
    """A chapter with all its exercises by `4`, or with one of them by `4.1`.

    Raises:
        ValueError: if there is none of that name.
    """
    if re.fullmatch(r"\d{1,3}", name):
        chapter = registry.chapter(int(name))
        if chapter is None:
            known = ", ".join(map(str, registry.chapter_numbers()))
            raise ValueError(f"chapter: expected a chapter with exercises ({known}) or an exercise such as 3.2, got {name}; choose one")
        return chapter, list(chapter.exercises)
    found = registry.find(name)
    if isinstance(found, str):
        raise ValueError(f"chapter: expected a chapter such as 4 or an exercise such as 4.1, got {name!r}: {found}")
    return registry.chapter(found.chapter), [found]


# ---------------------------------------------------------------- the page


def chapter_key(chapter: Chapter, exercises: list[Exercise]) -> str:
    """The whole key, ending in a line of its own."""
    minutes = sum(exercise.minutes for exercise in exercises)
    many = "1 exercise" if len(exercises) == 1 else f"{len(exercises)} exercises"
    head = (
        f"# Answer key · Chapter {chapter.number}: {chapter.title}\n\n"
        f"{many}, {minutes} minutes. Any answer that does the same is right: the check runs it on fresh cases and does not compare its "
        f"words. NumPy is `np` throughout."
    )
    return "\n\n".join([head, *map(exercise_key, exercises)]) + "\n"


def exercise_key(exercise: Exercise) -> str:
    """One exercise: statement, answer, what goes wrong."""
    page = f" · page {exercise.page.split('_')[0]}" if exercise.page else ""
    unit = "minute" if exercise.minutes == 1 else "minutes"
    parts = [
        f"## {exercise.heading}",
        f"*{exercise.kind} · {exercise.minutes} {unit} · difficulty {exercise.difficulty} of 3{page}*",
        exercise.statement.strip(),
        "### Answer",
    ]
    board = Board()
    parts += [f"**{step.name}**: {step.claim}." for step in exercise.steps]
    parts.append(answer(exercise.solution))
    if exercise.alternatives:
        parts.append("Right as well: " + "; ".join(exercise.alternatives) + ".")
    wrong = [(f" (step *{step.name}*)", one) for step in exercise.steps for one in step.misconceptions]
    wrong += [("", one) for one in exercise.misconceptions]
    if wrong:
        parts.append("### What goes wrong")
    for where, one in wrong:
        parts += [f"**{one.name}**{where}. {one.diagnosis}", board.show(one.implementation, f"*{one.name}*")]
    return "\n\n".join(filter(None, parts))


def answer(solution: str) -> str:
    """A solution without the calls of `check`."""
    text = re.sub(r"\n*^check\(\.\.\.\)$", "", solution.strip(), flags=re.MULTILINE)
    return text.replace("```python claims", "```python")


def fenced(code: str) -> str:
    return f"```python\n{code.strip()}\n```"


def blocks(*parts: str) -> str:
    return "\n\n\n".join(filter(None, parts))


def value(answer: object) -> str:
    """A value as one would write it, with four digits where it has many."""
    text = pprint.pformat(answer, width=WIDTH, sort_dicts=False)
    return re.sub(r"-?\d+\.\d{5,}(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", text)


class Board:
    """What was written of one exercise so far: a helper is shown once, and a function made twice by its settings."""

    def __init__(self) -> None:
        self.helpers: set[str] = set()
        self.functions: dict[CodeType, tuple[str, dict[str, str]]] = {}

    def show(self, answer: object, name: str) -> str:
        """An answer as a block of Python, or as the difference from one that was shown."""
        if not callable(answer):
            return fenced(value(answer))
        settings = {name: setting(held) for name, held in nonlocals(answer).items()}
        helpers = [helper for helper in helpers_of(answer) if helper not in self.helpers]
        self.helpers.update(helpers)
        imports = "\n".join(helper for helper in helpers if helper.startswith(("from ", "import ")))
        others = [helper for helper in helpers if not helper.startswith(("from ", "import "))]
        if answer.__code__ in self.functions and settings:
            of, earlier = self.functions[answer.__code__]
            changed = [f"`{name} = {words}`" for name, words in settings.items() if words != earlier[name]]
            words = f"The code of {of}, with {', '.join(changed) or 'the same settings'}."
            return f"{words}\n\n{fenced(blocks(imports, *others))}" if helpers else words
        self.functions.setdefault(answer.__code__, (name, settings))
        made_with = "\n".join(f"{name} = {words}" for name, words in settings.items())
        return fenced(blocks(imports, *others, made_with, own_source(answer)))


# ---------------------------------------------------------------- the source of a function


def nonlocals(function: Callable) -> dict[str, object]:
    """What a function has from the one that made it."""
    return dict(inspect.getclosurevars(function).nonlocals)


def setting(held: object) -> str:
    """A value, the name of a function, or the whole of one without a name."""
    if not inspect.isfunction(held):
        return " ".join(value(held).split())
    return " ".join(own_source(held).split()) if held.__name__ == "<lambda>" else held.__name__


def own_source(function: Callable) -> str:
    text, tree = module_of(function)
    return segment(text, node_of(function, tree))


def helpers_of(function: Callable) -> list[str]:
    """The constants, functions and imports of its module that a function needs, in the order of the module."""
    text, tree = module_of(function)
    homes = {name: node for node in tree.body for name in names_of(node)}
    node = node_of(function, tree)
    held = [one for one in nonlocals(function).values() if inspect.isfunction(one) and one.__module__ == function.__module__]
    queue = [node, *(node_of(one, tree) for one in held)]
    needed = [one for one in queue[1:] if one in tree.body]
    while queue:
        for part in ast.walk(queue.pop()):
            helper = homes.get(part.id) if isinstance(part, ast.Name) else None
            if helper is not None and helper not in needed and not holds(helper, node):
                needed.append(helper)
                queue.append(helper)
    return [segment(text, one) for one in sorted(needed, key=lambda one: one.lineno)]


@cache
def module_text(name: str) -> tuple[str, ast.Module]:
    text = inspect.getsource(sys.modules[name])
    return text, ast.parse(text)


def module_of(function: Callable) -> tuple[str, ast.Module]:
    return module_text(function.__module__)


def segment(text: str, node: ast.AST) -> str:
    """The lines of a statement, moved to the left edge, or just the letters of a lambda, which stands within a line."""
    if isinstance(node, ast.Lambda):
        return textwrap.dedent(ast.get_source_segment(text, node, padded=True))
    return textwrap.dedent("\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno]))


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement of a module gives to constants and helpers, and to what it imports from the course or the library."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)]
    if isinstance(node, ast.ImportFrom | ast.Import) and node.names[0].name != "numpy":
        return [alias.asname or alias.name for alias in node.names]
    return []


def holds(node: ast.AST, part: ast.AST) -> bool:
    return any(one is part for one in ast.walk(node))


@cache
def functions_of(tree: ast.Module) -> list[ast.FunctionDef | ast.Lambda]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]


def node_of(function: Callable, tree: ast.Module) -> ast.AST:
    """Where a function stands in its module: of the definitions in its line with its arguments the smallest with all its instructions."""
    code = function.__code__
    places = [place for place in code.co_positions() if None not in place and place[2] < place[3]]
    found = [
        node
        for node in functions_of(tree)
        if node.lineno == code.co_firstlineno
        and [one.arg for one in (*node.args.posonlyargs, *node.args.args)] == [*code.co_varnames[: code.co_argcount]]
        and all((node.lineno, node.col_offset) <= (a, c) and (b, d) <= (node.end_lineno, node.end_col_offset) for a, b, c, d in places)
    ]
    return min(found, key=lambda node: (node.end_lineno, node.end_col_offset, -node.col_offset))
