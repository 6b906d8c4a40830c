"""Links as a notebook writes them, so that they work in Jupyter and on Colab, and what the book makes of them.

JupyterLab does not follow a link to a heading whose text has a sign beyond ASCII, as "Exercise 12.1 · Word after word" has, and Colab
follows none. So a heading to which a link leads ends in an anchor, ``### Where it looks <a id="where-it-looks"></a>``. Its id is the one
that the section has in the book, where the anchor itself is left out. A closed section, ``## More · Why the root? · 4 min``, has the
title *Why the root?* there, and ``pages.py`` closes it. A work is cited by a plain link to it, labelled with its authors
and year: ``[Cho et al. (2014)](https://…)`` in a sentence, ``([Cho et al., 2014](https://…); …)`` beside one. The address is that of
``references.bib``; a work that has none is linked to that file. The book turns these links into citations.
"""

import json
import re
from functools import cache

from docutils.nodes import make_id
from markdown_it import MarkdownIt
from pybtex.database import parse_file

from .project import ROOT

ADDRESS = r"[^()\s]+(?:\([^()\s]*\)[^()\s]*)*"  # with pairs of brackets in it, as in a heading
LINK = re.compile(rf"\[(?P<label>[^][]+)\]\((?P<address>{ADDRESS})\)")
ANCHOR = re.compile(r'^(?P<heading>#{1,4} .*?) <a id="(?P<id>[^"]*)"></a>$', re.M)
MORE = re.compile(r"^## More · (?P<question>.+) · (?P<minutes>\d+) min$", re.M)
STRAY = re.compile(r"<a id=")
FRAGMENT = re.compile(r"\]\((?P<file>[^()\s#:]+\.ipynb)?#(?P<id>[^()\s]+)\)")
YEAR = r"(?:1[89]|20)\d\d"
IN_A_SENTENCE = re.compile(rf"(?P<names>.+) \((?P<year>{YEAR})\)")
BESIDE_IT = re.compile(rf"(?P<names>.+), (?P<year>{YEAR})")
ONE = rf"\[[^][]+\]\({ADDRESS}\)"
GROUP = re.compile(rf"\((?P<links>{ONE}(?:; {ONE})*)\)")


# ---------------------------------------------------------------- headings


def section_id(heading):
    """The id of a section of the book, from its heading's Markdown; the book's apostrophes are typographic."""
    inline = MarkdownIt().parse(MORE.sub(r"## \g<question>", heading))[1]
    shown = "".join(token.content for token in inline.children if token.type in ("text", "code_inline"))
    return make_id(shown.replace("'", "’"))


def text_cells(path):
    """The sources of a notebook's text cells."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def anchors(path):
    """The ids that a notebook gives to its headings, from top to bottom."""
    return [found["id"] for text in text_cells(path) for found in ANCHOR.finditer(text)]


def unanchored(text, complain):
    """Markdown without its anchors; `complain` hears of one that is not its heading's, and of one that ends no heading."""
    for found in ANCHOR.finditer(text):
        if section_id(found["heading"]) != found["id"]:
            complain(f"anchor: expected {section_id(found['heading'])!r} at {found['heading']!r}, got {found['id']!r}")
    plain = ANCHOR.sub(r"\g<heading>", text)
    if STRAY.search(plain):
        complain(f"anchor: expected it at the end of a heading, got {plain[STRAY.search(plain).start() :][:60]!r}")
    return plain


# ---------------------------------------------------------------- works


@cache
def works():
    """Every entry of ``references.bib`` by its key."""
    return parse_file(str(ROOT / "references.bib")).entries


def names(key):
    """The authors as a sentence has them: A; A and B; A et al."""
    people = [" ".join(map(str, [*one.rich_prelast_names, *one.rich_last_names])) for one in works()[key].persons["author"]]
    if len(people) > 2:
        return f"{people[0]} et al."
    return " and ".join(people)


def label(key, beside=False):
    """``Cho et al. (2014)``, or ``Cho et al., 2014`` beside a sentence."""
    year = works()[key].fields["year"]
    return f"{names(key)}, {year}" if beside else f"{names(key)} ({year})"


def address(key, up):
    """Where the work can be read, or its entry in ``references.bib``, which lies ``up`` from the page."""
    fields = works()[key].fields
    if "url" in fields:
        return fields["url"]
    return f"https://doi.org/{fields['doi']}" if "doi" in fields else f"{up}references.bib#{key}"


@cache
def keys():
    """The key of every address."""
    return {address(key, ""): key for key in works()}


def key_of(link):
    """The work that an address leads to, or None."""
    return keys().get(re.sub(r"^(\.\./)+(?=references\.bib#)", "", link))


# ---------------------------------------------------------------- what the book reads


def cited(text, complain):
    """Markdown with its links to works as citations; `complain` hears of a label that names another work."""

    def role(links, form, kind):
        found = []
        for link in LINK.finditer(links):
            key = key_of(link["address"])
            if key is None or not form.fullmatch(link["label"]):
                return None
            if link["label"] != label(key, beside=kind == "p"):
                complain(f"{link['label']!r}: expected {label(key, beside=kind == 'p')!r} for the work at {link['address']}")
            found.append(key)
        return f"{{cite:{kind}}}`{','.join(found)}`"

    text = GROUP.sub(lambda m: role(m["links"], BESIDE_IT, "p") or m[0], text)
    return LINK.sub(lambda m: role(m[0], IN_A_SENTENCE, "t") or m[0], text)


def booklike(text, complain):
    """Markdown of a notebook as the book reads it."""
    return cited(MORE.sub(r"## \g<question>\n\n% more \g<minutes>", unanchored(text, complain)), complain)
