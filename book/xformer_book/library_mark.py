"""Three kinds of cell get a look of their own.

Library cells: the export directive leaves the page, a label with the module's path takes its place. What `show_source` prints gets
the same label. Cells that only import or set up: folded to one line at the end of the page. The cell that installs the library on Colab:
left out, since a reader of the page has no use for it. Cells of claims: folded to one line that counts them, which shows where a reader's
numbers break one, or at a press on the last line of the page.
"""

import ast
import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

from .live import MARK

DIRECTIVE = re.compile(r"\A#\|\s*exporti?\s+(?P<module>[\w.]+)[ \t]*\n")


SHOWN = re.compile(r"\A# (?P<path>xformer_lib/[\w/]+\.py)\n")  # the first line that `xformer_course.source` prints


def module_path(module):
    package = "xformer_course" if module.startswith("lessons.") else "xformer_lib"
    return f"{package}/{module.replace('.', '/')}.py"


SET_UP = {"plots.use_style", "np.set_printoptions", "torch.set_printoptions", "torch.manual_seed"}


def only_set_up(source):
    """Whether a cell imports, sets how numbers and figures look, and does nothing else."""

    def is_set_up(node):
        called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func)
        return isinstance(node, (ast.Import, ast.ImportFrom)) or called in SET_UP

    return all(is_set_up(node) for node in ast.parse(source).body)


def fold(cell, opening):
    """Put a cell into ``<details>``."""
    parent, place = cell.parent, cell.parent.index(cell)
    parent.insert(place + 1, nodes.raw("", "</details>", format="html"))
    parent.insert(place, nodes.raw("", opening, format="html"))


def framed(block):
    """Put the block of an output into the frame of an input, and return the frame."""
    frame, output = nodes.container(classes=["cell_input"]), block.parent
    output.replace(block, frame)
    frame += block
    return frame


def retype(block, source):
    block.rawsource = source
    block.children = []
    block += nodes.Text(source)


class LibraryMark(SphinxTransform):
    """Replace ``#| export reference.attention``, and the path above a shown source, by ``library · xformer_lib/….py``."""

    default_priority = 900

    def apply(self, **_):
        for block in list(self.document.findall(nodes.literal_block)):
            found = DIRECTIVE.match(block.astext()) or SHOWN.match(block.astext())
            if not found:
                continue
            source = block.astext()[found.end() :].lstrip("\n")
            retype(block, source)
            exported = found.re is DIRECTIVE
            path = module_path(found["module"]) if exported else found["path"]
            label = nodes.container(classes=["library-mark"])
            label += nodes.inline("", "library", classes=["library-mark-word"])
            label += nodes.Text(" · ")
            label += nodes.literal("", path)
            cell = block.parent if exported else framed(block)
            cell.insert(cell.index(block), label)
            cell["classes"].append("library-cell")
            if exported and only_set_up(source):
                fold(cell.parent, f'<details class="imports"><summary>Imports of <code>{path}</code></summary>')


def number_of_claims(source):
    """How many assertions stand in a cell, those of ``torch.testing`` among them; one in a loop counts once."""
    tree = list(ast.walk(ast.parse(source)))
    called = [node for node in tree if isinstance(node, ast.Call) and getattr(node.func, "attr", "").startswith("assert_")]
    return len(called) + sum(isinstance(node, ast.Assert) for node in tree)


def is_plain_set_up(cell):
    """Whether this is a cell of a notebook, not of the library, without output, that only imports and sets up."""
    if "cell" not in cell["classes"] or "tag_claims" in cell["classes"] or len(cell.children) != 1:
        return False
    blocks = list(cell.findall(nodes.literal_block))
    return (
        len(blocks) == 1
        and "library-cell" not in (inside := cell.children[0]["classes"])
        and "cell_input" in inside
        and only_set_up(blocks[0].astext())
    )


def is_folded_at_the_top(cell, page):
    """Whether this is a folded cell without output that stands before the page's first section."""
    if "tag_hide-input" not in cell["classes"] or len(cell.children) != 1:
        return False
    return "cell_input" in cell.children[0]["classes"] and cell.parent is page


class FoldSetUpAndClaims(SphinxTransform):
    """Leave out the cells tagged ``bootstrap``; fold those that only import, and those tagged ``claims``."""

    default_priority = 901

    def apply(self, **_):
        checks, page = 0, next(self.document.findall(nodes.section), None)
        for cell in list(self.document.findall(nodes.container)):
            if "tag_bootstrap" in cell["classes"]:
                cell.parent.remove(cell)
            elif is_plain_set_up(cell) or is_folded_at_the_top(cell, page):
                cell["classes"] = [name for name in cell["classes"] if name != "tag_hide-input"]
                cell.parent.remove(cell)
                page.append(cell)  # below all, since the page itself comes first
                fold(cell, '<details class="imports"><summary>Set-up</summary>')
            elif "tag_claims" in cell["classes"]:
                block = next(cell.findall(nodes.literal_block))
                retype(block, block.astext().removeprefix(f"{MARK}\n"))
                number, asks = number_of_claims(block.astext()), cell.get("live_claims", "")
                checks += 1
                fold(cell, f'<details class="claims"{asks}><summary>✓ {number} claim{"s hold" if number > 1 else " holds"}</summary>')
        if checks:
            words = "The numbers of this page are checked by code whenever the book is built."
            page.append(nodes.paragraph("", words, classes=["checked"]))


def setup(app):
    app.add_transform(LibraryMark)
    app.add_transform(FoldSetUpAndClaims)
