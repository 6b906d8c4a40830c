"""Two kinds of cell get a look of their own.

Library cells: the export directive leaves the page, a label with the module's path takes its place. The cell that
installs the library on Colab: folded, since a reader of the page has no use for it.
"""

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

DIRECTIVE = re.compile(r"\A#\|\s*exporti?\s+(?P<module>[\w.]+)[ \t]*\n")


def module_path(module):
    return f"xformer_lib/{module.replace('.', '/')}.py"


class LibraryMark(SphinxTransform):
    """Replace ``#| export reference.attention`` by ``library · xformer_lib/reference/attention.py``."""

    default_priority = 900

    def apply(self, **_):
        for block in list(self.document.findall(nodes.literal_block)):
            found = DIRECTIVE.match(block.astext())
            if not found:
                continue
            source = block.astext()[found.end() :].lstrip("\n")
            block.rawsource = source
            block.children = []
            block += nodes.Text(source)
            path = module_path(found["module"])
            label = nodes.container(classes=["library-mark"])
            label += nodes.inline("", "library", classes=["library-mark-word"])
            label += nodes.Text(" · ")
            label += nodes.literal("", path)
            cell = block.parent
            cell.insert(cell.index(block), label)
            cell["classes"].append("library-cell")


class FoldSetUp(SphinxTransform):
    """Fold the cell tagged ``bootstrap``."""

    default_priority = 901

    def apply(self, **_):
        for cell in list(self.document.findall(nodes.container)):
            if "tag_bootstrap" in cell["classes"]:
                parent, place = cell.parent, cell.parent.index(cell)
                opening = '<details class="set-up"><summary>Set-up for Colab</summary>'
                parent.insert(place + 1, nodes.raw("", "</details>", format="html"))
                parent.insert(place, nodes.raw("", opening, format="html"))


def setup(app):
    app.add_transform(LibraryMark)
    app.add_transform(FoldSetUp)
