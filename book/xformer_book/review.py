"""Questions that come back: ``book/review.yml`` holds them, each page ends with its own, and the page *Review* has all of them.

Here they become Markdown, a question and a folded answer each, which reads without a script; ``static/review.js`` asks them one at a
time. The same questions are offered as a deck for Anki.
"""

import re
from functools import cache
from html import escape
from pathlib import Path

import genanki
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from . import project

BOOK = Path(__file__).resolve().parents[1]
DECK = "attention-and-the-transformer.apkg"
TITLE = "Attention and the Transformer"
MODEL = genanki.Model(1763800016, TITLE, [{"name": "Question"}, {"name": "Answer"}, {"name": "Page"}], [
    {"name": "Card", "qfmt": "{{Question}}", "afmt": "{{FrontSide}}<hr id=answer>{{Answer}}<p><small>{{Page}}</small></p>"}
])  # fmt: skip
INTRODUCTION = """## Questions that come back

Say your answer before you look at ours. What you did not know comes back tomorrow, the rest a few days later, on the page
[Review](back/review.md)."""


@cache
def questions():
    """``{page: [{id, ask, say}, …]}``; a question has an id of its own and both of its texts, and may name a closed section, ``more``."""
    pages = yaml.safe_load((BOOK / "review.yml").read_text(encoding="utf-8"))
    seen = set()
    for name, entries in pages.items():
        for entry in entries:
            if set(entry) - {"more"} != {"id", "ask", "say"}:
                raise ValueError(f"review.yml, {name}: expected id, ask and say, got {sorted(entry)}")
            if entry["id"] in seen:
                raise ValueError(f"review.yml, {name}: expected an id that is not used yet, got {entry['id']!r}")
            seen.add(entry["id"])
    return pages


@cache
def title(name):
    """The title of a page, ``7 · Positional encoding``."""
    return re.search(r"# (.*?)(?:\\n)?\"", (project.ROOT / "chapters" / f"{name}.ipynb").read_text(encoding="utf-8"))[1]


def cards(name, folder=None):
    """The questions of a page as Markdown, for the page itself or for another one, from which its folder is ``folder``."""
    where = "" if folder is None else f"{folder}{name}.ipynb"
    made = [f'<div class="review-set" data-page="{name}">']
    for entry in questions()[name]:
        made += [f'<div class="review-card" data-id="{entry["id"]}">', entry["ask"]]
        made += [f"*From [a closed section]({where}#{entry['more']}).*"] if "more" in entry else []
        made += ['<details class="review-fold"><summary>Answer</summary>', entry["say"], "</details>", "</div>"]
    return "\n\n".join([*made, "</div>"])


def closing(name):
    """What a chapter ends with in the book, or nothing."""
    return f"{INTRODUCTION}\n\n{cards(name)}" if name in questions() else ""


def every_question():
    """The body of the page *Review*."""
    count = sum(map(len, questions().values()))
    offer = f'<p><a href="../../_static/{DECK}" download>All {count} questions as a deck for Anki</a></p>'
    return "\n\n".join([offer, *(f"## {title(name)}\n\n{cards(name, '../')}" for name in questions())])


def deck():
    """The questions for Anki, a deck for each page; a card keeps its history when its words change, since its id stays."""
    html = MarkdownIt("commonmark").use(dollarmath_plugin, renderer=lambda formula, _: rf"\({escape(formula)}\)")
    decks = []
    for number, (name, entries) in enumerate(questions().items()):
        made = genanki.Deck(1763800100 + number, f"{TITLE}::{title(name).replace(' · ', ' ')}")
        for entry in entries:
            fields = [html.render(entry["ask"]), html.render(entry["say"]), title(name)]
            made.add_note(genanki.Note(MODEL, fields, guid=genanki.guid_for(TITLE, entry["id"]), tags=[name.split("_")[0]]))
        decks.append(made)
    return genanki.Package(decks)


def write_files(app, exception):
    """The deck, and the schedule that ``review.js`` loads at the first press."""
    if exception is None and app.builder.format == "html":
        deck().write_to_file(Path(app.outdir) / "_static" / DECK)
        (Path(app.outdir) / "_static" / "schedule.js").write_bytes((BOOK / "vendor" / "editor" / "schedule.js").read_bytes())


def setup(app):
    app.connect("build-finished", write_files)
