"""The terms of ``book/glossary.yml``: a page that explains them and lists where they are used, and a note at the first use on other pages.

The note needs no script. The word is a link to the glossary, and its description is a line of text beside it that the style sheet
shows while the word has the pointer or the focus; a screen reader reads it as the link's description.
"""

import html
import re
from dataclasses import dataclass
from functools import cache

import nbformat
import yaml
from docutils import nodes

from .api import escaped
from .project import ROOT, notebooks

SOURCE = ROOT / "book" / "glossary.yml"
PAGE = "chapters/back/glossary"
NOTED = re.compile(r"chapters/(?:\d\d[a-z]?_\w+|w\d_\w+|solutions/\d\d_\w+|back/misconceptions)")
MOST = 12  # notes on one page
OFTEN = 4  # uses that put a page into the index
NOT_PROSE = (
    nodes.title,
    nodes.reference,
    nodes.literal,
    nodes.literal_block,
    nodes.raw,
    nodes.math,
    nodes.math_block,
    nodes.thead,
    nodes.caption,
    nodes.footnote_reference,
    nodes.citation_reference,
    nodes.doctest_block,
)


@dataclass(frozen=True)
class Entry:
    """One term."""

    term: str
    means: str
    where: str
    forms: tuple = ()
    exact: tuple = ()
    beware: str = ""
    hidden: bool = False

    @property
    def id(self):
        return nodes.make_id(f"term-{self.term}")

    @property
    def page(self):
        """The page that introduces it, without its section."""
        return self.where.split("#")[0]

    @property
    def link(self):
        page, _, section = self.where.partition("#")
        return f"{page}.ipynb" + (f"#{section}" if section else "")


@cache
def terms():
    """Every entry, in alphabetical order."""
    rows = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    found = [Entry(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}) for row in rows]
    return sorted(found, key=lambda entry: entry.term.lower())


@cache
def written():
    """A pattern for every form of every term, longest first, and the entry of each form."""
    loose, exact = {}, {}
    for entry in terms():
        for form in (*(() if entry.exact and entry.term in entry.exact else (entry.term,)), *entry.forms):
            loose[form.lower()] = entry
        exact.update({form: entry for form in entry.exact})
    parts = [(form, f"(?i:{re.escape(form)})") for form in loose] + [(form, re.escape(form)) for form in exact]
    pattern = "|".join(part for _, part in sorted(parts, key=lambda pair: -len(pair[0])))
    return re.compile(rf"(?<![\w–-])(?:{pattern})(?![\w–-])"), loose, exact


def found_in(text):
    """Every use of a term in some words: ``(entry, start, end)``."""
    pattern, loose, exact = written()
    for match in pattern.finditer(text):
        entry = exact.get(match[0]) or loose.get(match[0].lower())
        if entry:
            yield entry, match.start(), match.end()


# ---------------------------------------------------------------- the page


@cache
def reading_order():
    """The names of the course's pages: ``03_scaled_dot_product_attention`` and so on, and last those of the workshop."""
    return [name.split("/")[1].removesuffix(".ipynb") for name in notebooks() if re.fullmatch(r"chapters/(\d\d|w\d)\w*\.ipynb", name)]


def prose(path):
    """The words of a notebook's text cells, without headings, code, formulas and addresses."""
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"]
    text = re.sub(r"```.*?```|`[^`\n]*`|\$\$.+?\$\$|\$[^$\n]+\$|<[^>]+>|^#[^\n]*$", " ", "\n\n".join(cells), flags=re.S | re.M)
    return re.sub(r"\]\([^)]*\)|[*_]", "", text)


@cache
def uses():
    """For every term the pages that use it often, in reading order: ``{id: (page, …)}``."""
    found = {entry.id: [] for entry in terms()}
    for page in reading_order():
        counts = {}
        for entry, _, _ in found_in(prose(ROOT / "chapters" / f"{page}.ipynb")):
            counts[entry.id] = counts.get(entry.id, 0) + 1
        for key, number in counts.items():
            if number >= OFTEN:
                found[key].append(page)
    return {key: tuple(pages) for key, pages in found.items()}


def number(page):
    """``3`` of ``03_…``, ``12b`` of ``12b_…``, ``w2`` of ``w2_…``."""
    return page.split("_")[0].lstrip("0")


def entry_words(entry):
    links = [f"[{number(page)}](../{page}.ipynb)" for page in uses()[entry.id] if page != entry.page]
    lines = [
        f"({entry.id})=",
        "",
        f"**{entry.term}**",
        f": {escaped(entry.means)}",
        f"  Explained in [{number(entry.page)}](../{entry.link})" + (f"; used in {', '.join(links)}" if links else "") + ".",
    ]
    if entry.beware:
        lines.append(f"  Beware of [a misconception](misconceptions.ipynb#{entry.beware}).")
    return "\n".join(lines)


def entries():
    """The glossary as Markdown, letter by letter."""
    lines, letter = [], ""
    for entry in terms():
        if entry.term[0].upper() != letter:
            letter = entry.term[0].upper()
            lines += [f"## {letter}", ""]
        lines += [entry_words(entry), ""]
    return "\n".join(lines)


# ---------------------------------------------------------------- notes in the pages


class Term(nodes.inline):
    """A word with a note."""


def open_term(self, node):
    key = node["entry"].id.replace("term-", "note-")
    self.body.append(f'<a class="term" href="{html.escape(node["address"])}" aria-describedby="{key}">')


def close_term(self, node):
    entry = node["entry"]
    key = entry.id.replace("term-", "note-")
    self.body.append(
        f'</a><span class="term-note" id="{key}" role="tooltip"><b>{html.escape(entry.term)}</b>: {html.escape(entry.means)}</span>'
    )


def skip(self, node):
    """Other formats show the word alone."""


def in_prose(text):
    node = text.parent
    inside = False
    while node is not None:
        if isinstance(node, NOT_PROSE) or "library-mark" in node.get("classes", ()):
            return False
        inside = inside or isinstance(node, nodes.paragraph)
        node = node.parent
    return inside


def distance(entry, page):
    """How many pages away a term is introduced."""
    order = reading_order()
    here = page if page in order else order[-1]
    return abs(order.index(here) - order.index(entry.page))


def first_uses(doctree, page):
    """The first use of each term on a page that does not introduce it; of many, those introduced farthest away."""
    found = {}
    for text in doctree.findall(nodes.Text):
        if in_prose(text):
            for entry, start, end in found_in(text.astext()):
                if not entry.hidden and entry.page != page:
                    found.setdefault(entry, (text, start, end))
    kept = sorted(found, key=lambda entry: -distance(entry, page))[:MOST]
    return {entry: found[entry] for entry in kept}


def add_notes(app, doctree, docname):
    if app.builder.format != "html" or not NOTED.fullmatch(docname):
        return
    by_text = {}
    for entry, (text, start, end) in first_uses(doctree, docname.split("/")[-1]).items():
        by_text.setdefault(id(text), (text, []))[1].append((start, end, entry))
    for text, places in by_text.values():
        words, at, pieces = text.astext(), 0, []
        for start, end, entry in sorted(places, key=lambda place: place[0]):
            address = f"{app.builder.get_relative_uri(docname, PAGE)}#{entry.id}"
            pieces += [nodes.Text(words[at:start]), Term("", words[start:end], entry=entry, address=address)]
            at = end
        pieces.append(nodes.Text(words[at:]))
        text.parent.replace(text, [piece for piece in pieces if not isinstance(piece, nodes.Text) or piece.astext()])


def setup(app):
    app.add_node(Term, html=(open_term, close_term), latex=(skip, skip), text=(skip, skip))
    app.connect("doctree-resolved", add_notes)
