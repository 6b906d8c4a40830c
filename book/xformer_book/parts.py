"""Parts of pages that are written when the book is built, from what the repository holds at that moment.

A page says ``<!-- part api: nn -->`` on a line of its own; before the page is parsed, Markdown takes that line's place. So nothing
that is generated is stored, and nothing that is stored can be out of step.
"""

import re

import yaml

from . import api, gallery, glossary, project, results, review, status

MARK = re.compile(r"^<!-- part (?P<name>[a-z]+)(?:: (?P<about>[\w/.-]+))? -->$", re.M)


def citation():
    """How to cite the course, from ``CITATION.cff``."""
    work = yaml.safe_load((project.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    names = ", ".join(author["name"] for author in work["authors"])
    return f"> {names}. *{work['title']}*. Version {work['version']}."


PARTS = {
    "api": api.package_page,
    "citation": citation,
    "command": api.command_help,
    "glossary": glossary.entries,
    "oldnames": api.old_names,
    "pictures": gallery.gallery,
    "results": results.every_record,
    "review": review.every_question,
    "status": status.table,
}


def expanded(text):
    """The text of a page with its parts written out."""

    def part(found):
        if found["name"] not in PARTS:
            raise ValueError(f"part: expected one of {', '.join(PARTS)}, got {found['name']!r}; see book/xformer_book/parts.py")
        return PARTS[found["name"]](*filter(None, [found["about"]]))

    return MARK.sub(part, text)


def expand(app, docname, source):
    if MARK.search(source[0]):
        source[0] = expanded(source[0])


def setup(app):
    app.connect("source-read", expand)
