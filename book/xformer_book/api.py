"""The reference of the library, read from its source: signatures as they are written, docstrings as Markdown.

The library is parsed and not imported, so that the book is built without NumPy and torch.
"""

import ast
import contextlib
import io
import os
import re
import sys
import tokenize
from dataclasses import dataclass
from functools import cache

from docutils.nodes import make_id

from .project import ROOT, repository

PACKAGES = ("xformer_lib", "xformer_course")
WIDTH = 88
ELSEWHERE = {  # what a signature may name that is not ours
    r"\bnp\.ndarray\b": ("np.ndarray", "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html"),
    r"\bnp\.random\.Generator\b": ("np.random.Generator", "https://numpy.org/doc/stable/reference/random/generator.html"),
    r"(?<!\w)(?:torch\.)?Tensor\b": ("torch.Tensor", "https://docs.pytorch.org/docs/stable/tensors.html"),
    r"\bnn\.Module\b": ("nn.Module", "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"),
    r"\btorch\.Generator\b": ("torch.Generator", "https://docs.pytorch.org/docs/stable/generated/torch.Generator.html"),
    r"\btorch\.optim\.Optimizer\b": ("torch.optim.Optimizer", "https://docs.pytorch.org/docs/stable/optim.html"),
    r"\btorch\.autograd\.Function\b": (
        "torch.autograd.Function",
        "https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function",
    ),
    r"\bAxes\b": ("Axes", "https://matplotlib.org/stable/api/_as_gen/matplotlib.axes.Axes.html"),
}
SECTIONS = ("Args", "Attributes", "Returns", "Raises")


# ---------------------------------------------------------------- finding names


@dataclass(frozen=True)
class Name:
    """One public name and where it is defined."""

    name: str
    module: str  # "nn.multi_head"
    node: ast.stmt
    source: str  # of the whole module
    section: str  # heading of the chapter's section, as "chapter 8: Positions"; "" for a hand-written module

    @property
    def heading(self):
        if isinstance(self.node, ast.ClassDef):
            return f"class `{self.name}`"
        return f"`{self.name}()`" if isinstance(self.node, ast.FunctionDef) else f"`{self.name}`"

    @property
    def doc(self):
        return (ast.get_docstring(self.node) or "") if isinstance(self.node, (ast.ClassDef, ast.FunctionDef)) else ""


def path_of(module):
    """The file of ``nn.multi_head``, or of the package ``nn``."""
    parts = module.split(".")
    package = next(one for one in PACKAGES if (ROOT / one / parts[0]).exists() or (ROOT / one / f"{parts[0]}.py").exists())
    file = ROOT.joinpath(package, *parts).with_suffix(".py")
    return file if file.exists() else ROOT.joinpath(package, *parts, "__init__.py")


def inside(module):
    """``nn.multi_head`` for ``xformer_lib.nn.multi_head``; any other module as it is."""
    return re.sub(rf"^({'|'.join(PACKAGES)})\.", "", module or "")


def dotted(module):
    """``xformer_lib.nn.multi_head`` for ``nn.multi_head``."""
    return ".".join([path_of(module).relative_to(ROOT).parts[0], *module.split(".")])


@cache
def parsed(module):
    source = path_of(module).read_text(encoding="utf-8")
    return ast.parse(source), source


def homes(package):
    """Every public name of a package or module, with the module that defines it."""
    tree, _ = parsed(package)
    imported = {
        alias.asname or alias.name: inside(node.module) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    values = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if "_HOMES" in values:
        return {name: f"{package}.{module}" for name, module in ast.literal_eval(values["_HOMES"]).items()}
    if "__all__" in values:
        return {name: imported.get(name, package) for name in ast.literal_eval(values["__all__"])}
    return {node.name: package for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")}


def defined(node):
    """The names that a statement at the top of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    flat = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return [target.id for target in flat if isinstance(target, ast.Name)]


def find(name, module):
    tree, source = parsed(module)
    for node in tree.body:
        if name in defined(node):
            above = re.findall(r"^# %% ((?:chapter|page) .*)$", "\n".join(source.splitlines()[: node.lineno - 1]), re.M)
            return Name(name, module, node, source, above[-1] if above else "")
    raise LookupError(
        f"name: expected a definition of {name} in {path_of(module).relative_to(ROOT).as_posix()}, found none; "
        "does __all__ name what is not there?"
    )


def public_names(package):
    """Every public name of a package, module by module, in the order of the source."""
    found = [find(name, module) for name, module in homes(package).items()]
    order = list(dict.fromkeys(name.module for name in sorted(found, key=lambda n: n.module)))
    return sorted(found, key=lambda n: (order.index(n.module), n.node.lineno, defined(n.node).index(n.name)))


# ---------------------------------------------------------------- signatures


def first_line(node):
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def head(node, source):
    """A definition up to its body, as it is written."""
    lines = source.splitlines()[first_line(node) - 1 : node.body[0].lineno - 1]
    if node.body[0].lineno == node.lineno:  # the body stands on the same line
        lines = [source.splitlines()[node.lineno - 1].split(": ", 1)[0] + ":"]
    while lines and lines[-1].strip().startswith(("#", '"""')) or lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def line_of_bases(node, module):
    """``(classes of the library, from the class itself up; names of what stands above them and is not ours)``."""
    tree, _ = parsed(module)
    imported = {
        alias.asname or alias.name: (inside(inner.module), alias.name)
        for inner in tree.body
        if isinstance(inner, ast.ImportFrom) and inside(inner.module) != (inner.module or "")
        for alias in inner.names
    }
    ours, others = [(node, module)], []
    for base in node.bases:
        named = ast.unparse(base)
        home, name = imported.get(named, (module, named))
        found = next((one for one in parsed(home)[0].body if isinstance(one, ast.ClassDef) and one.name == name), None)
        above = line_of_bases(found, home) if found else ([], [named])
        ours += above[0]
        others += above[1]
    return ours, others


def is_record(classes, others):
    """Whether a class is built from its fields: a dataclass or a named tuple."""
    return "NamedTuple" in others or any("dataclass" in ast.unparse(one) for node, _ in classes for one in node.decorator_list)


def shown_members(node):
    return [
        part
        for part in node.body
        if isinstance(part, ast.FunctionDef) and (part.name in ("__init__", "__call__") or not part.name.startswith("_"))
    ]


def member(part, source):
    """A method up to its body, and its docstring."""
    lines = [head(part, source)]
    if doc := ast.get_docstring(part):
        quoted = f'"""{doc}"""' if "\n" not in doc else f'"""{doc}\n"""'
        lines.append("\n".join(f"        {line}".rstrip() for line in quoted.splitlines()))
    return "\n".join(lines)


def how_built(name, members, others):
    """What to call where a class has neither fields nor an ``__init__`` of ours."""
    if "torch.autograd.Function" in others:
        given = [argument.arg for argument in members["forward"][0].args.args[1:]]  # torch gives the first, ctx, itself
        return f"    # called as {name}.apply({', '.join(given)})"
    foreign = [other for other in others if other not in ("object", "nn.Module")]
    return f"    # built as {foreign[0]} is" if foreign else f"    # built as {name}()"


def interface(node, module):
    """A class without the bodies: how it is built, its fields, and its public methods with their docstrings, inherited ones at the end."""
    classes, others = line_of_bases(node, module)
    record, members, groups = is_record(classes, others), {}, []
    for owner, home in classes:
        for part in shown_members(owner):
            members.setdefault(part.name, (part, owner, parsed(home)[1]))
    for owner, home in reversed(classes) if record else classes[:1]:  # an inherited field comes first, as in the call
        lines = parsed(home)[1].splitlines()
        fields = ["\n".join(lines[part.lineno - 1 : part.end_lineno]) for part in owner.body if isinstance(part, ast.AnnAssign)]
        groups += ["\n".join([*[f"    # from {owner.name}"] * (owner is not node), *fields])] if fields else []
    if not record and "__init__" not in members:
        groups.append(how_built(node.name, members, others))
    first = members.get("__init__", (None, node, ""))[1]
    if first is not node:
        part, owner, source = members.pop("__init__")
        groups.append(f"    # from {owner.name}\n{member(part, source)}")
    for owner, _ in classes:
        texts = [member(part, source) for part, origin, source in members.values() if origin is owner]
        label = f"    # from {owner.name}\n" if owner is not node else "    # its own\n" if first is not node else ""
        groups += [label + "\n\n".join(texts)] if texts else []
    return "\n".join([head(node, parsed(module)[1]), "\n\n".join(groups)]).rstrip()


def comments(name):
    """Where a constant's statement begins with the comment above it, if any, and the words of its comments."""
    lines, start = name.source.splitlines(), name.node.lineno
    while start > 1 and lines[start - 2].startswith("# ") and not lines[start - 2].startswith("# %%"):
        start -= 1
    text = "\n".join(lines[start - 1 : name.node.end_lineno])
    return start, [
        token.string.lstrip("# ") for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline) if token.type == tokenize.COMMENT
    ]


def signature(name):
    if isinstance(name.node, ast.ClassDef):
        return interface(name.node, name.module)
    if isinstance(name.node, ast.FunctionDef):
        return head(name.node, name.source).removesuffix(":")
    return "\n".join(name.source.splitlines()[comments(name)[0] - 1 : name.node.end_lineno])


# ---------------------------------------------------------------- docstrings


def escaped(line):
    """Plain words of a docstring, safe in Markdown; code in backticks and *emphasis* stay."""
    pieces = re.split(r"(``.+?``|`[^`]+`|(?<![\w*])\*\w[^*()]*\w\*)", line)
    return "".join(piece if place % 2 else re.sub(r"([\\*_<>\[\]$|])", r"\\\1", piece) for place, piece in enumerate(pieces))


def plain_lines(lines):
    """Lines outside a section: examples become code blocks."""
    inside = False
    for line in lines:
        example = line.lstrip().startswith(">>>") or inside and line.strip()
        if example and not inside:
            yield from ("", "```pycon")
        elif inside and not example:
            yield from ("```", "")
        inside = bool(example)
        yield line if example or line.startswith("    ") else escaped(line)
    if inside:
        yield "```"


def markdown(doc):
    """A docstring with Google sections as Markdown."""
    lines, out, place = doc.splitlines(), [], 0
    while place < len(lines):
        found = re.fullmatch(rf"({'|'.join(SECTIONS)}):", lines[place])
        end = place + 1
        if not found:
            while end < len(lines) and not re.fullmatch(rf"({'|'.join(SECTIONS)}):", lines[end]):
                end += 1
            out += plain_lines(lines[place:end])
        else:
            while end < len(lines) and (not lines[end] or lines[end].startswith(" ")):
                end += 1
            out += ["", f"**{found[1]}**", "", *items(lines[place + 1 : end]), ""]
        place = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def items(lines):
    """The entries of a section: ``name: text`` with its further lines indented."""
    for line in lines:
        entry = re.fullmatch(r" {4}(?! )([\w.*, ]{1,40}?):(?: (.*))?", line)
        if entry:
            yield f"- `{entry[1]}`: {escaped(entry[2] or '')}"
        elif re.match(r" {4}(?! )", line) and line.strip():
            yield f"- {escaped(line.strip())}" if not line.startswith("     ") else f"  {escaped(line.strip())}"
        elif line.strip():
            yield f"  {escaped(line.strip())}"


def value_of(name):
    """The value of a constant in a few words: itself if it is short, else its keys or its first entries."""
    node, target = name.node.value, name.node.targets[0] if isinstance(name.node, ast.Assign) else name.node.target
    if isinstance(target, ast.Tuple) and isinstance(node, ast.Tuple):
        node = node.elts[[one.id for one in target.elts].index(name.name)]
    entries = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    words = [f"`{ast.get_source_segment(name.source, one)}`" for one in entries]
    whole = " ".join(ast.get_source_segment(name.source, node).split())
    if isinstance(node, ast.Dict):
        return "entries " + ", ".join(words)
    if len(whole) <= 75:
        return f"`{whole}`"
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "") if words else f"`{whole[:70]}…`"


def summary(name):
    """The first paragraph of a docstring, whole; of a constant its value and the comment beside it."""
    if isinstance(name.node, (ast.ClassDef, ast.FunctionDef)):
        return escaped(" ".join(name.doc.split("\n\n")[0].split()))
    said = "; ".join(comments(name)[1])
    return value_of(name) + (f" ({escaped(said)})" if said else "")


# ---------------------------------------------------------------- links


@cache
def chapter_file(number):
    """The notebook of ``9``, ``12b`` or ``w1``."""
    if number.startswith("w"):
        [path] = (ROOT / "chapters").glob(f"{number}_*.ipynb")
        return path.name
    digits, letter = re.fullmatch(r"(\d+)([a-z]?)", number).groups()
    [path] = (ROOT / "chapters").glob(f"{int(digits):02d}{letter}_*.ipynb")
    return path.name


def origin(name):
    """Where a name comes from: the section that exports it, and its line in the repository."""
    line = name.node.lineno
    source = f"{repository()}/{path_of(name.module).relative_to(ROOT).as_posix()}#L{line}"
    found = re.fullmatch(r"(chapter|page) (\w+): (.*)", name.section)
    if not found:
        return f"Hand-written: [source]({source})."
    kind, number, section = found.groups()
    plain = re.sub(r"[`$\\']", "", section)  # apostrophes curl on the page and leave its anchors
    place = "" if "$" in section or re.match(rf"{number} · ", section) else f"#{make_id(plain)}"
    return f"From {kind} {number}, [{escaped(section)}](../../{chapter_file(number)}{place}) · [source]({source})."


def types(text):
    """Links for the types of other libraries that a signature names."""
    found = {label: link for pattern, (label, link) in ELSEWHERE.items() if re.search(pattern, text)}
    return " Types: " + ", ".join(f"[`{label}`]({link})" for label, link in found.items()) + "." if found else ""


# ---------------------------------------------------------------- pages


def anchor(name):
    return make_id(name.heading.replace("`", ""))


def entry(name):
    text = signature(name)
    return "\n".join([f"### {name.heading}", "", "```python", text, "```", "", markdown(name.doc), "", origin(name) + types(text), ""])


def module_words(module):
    """What a hand-written module says of itself; of an exported one the chapters say it."""
    tree, source = parsed(module)
    doc = ast.get_docstring(tree) or ""
    return "" if source.startswith("# Generated by") else escaped(" ".join(doc.split("\n\n")[0].split()))


def package_page(package):
    """Everything public in one package: a list of names in the order of the source, then each with its signature, words and origin."""
    names, lines = public_names(package), []
    modules = list(dict.fromkeys(name.module for name in names))
    for module in modules:
        lines += ["", f"**{escaped(module)}**", ""] if len(names) >= 4 * len(modules) > 4 else []
        lines += [f"- [`{name.name}`](#{anchor(name)}): {summary(name)}" for name in names if name.module == module]
    for module in modules:
        lines += ["", f"## {escaped(module)}", "", module_words(module), ""]
        lines += [entry(name) for name in names if name.module == module]
    return "\n".join(lines)


def old_names():
    """The names that warn, and what to write instead, as a table."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from xformer_lib._old_names import IN_THEIR_MODULE, RENAMED

    rows = [f"| `{old}` | `{new}` |" for old, new in RENAMED.items()]
    for module, names in IN_THEIR_MODULE.items():
        listed = ", ".join(f"`{name}`" for name in names.split())
        rows.append(f"| {listed} of `{module.partition('.')[0]}` | the same, from `xformer_lib.{module}` |")
    return "\n".join(["| before | now |", "|---|---|", *rows])


def command_help():
    """What ``xformer`` and each of its commands print under ``--help``."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from xformer_lib.cli import build_parser

    lines = []
    before, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), str(WIDTH)
    try:
        for command in ("", "train", "evaluate", "translate", "grade", "key", "doctor"):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
                build_parser().parse_args([*command.split(), "--help"])
            title = f"xformer {command}".strip()
            lines += [f"## `{title}`", "", "```text", printed.getvalue().rstrip(), "```", ""]
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    return "\n".join(lines)
