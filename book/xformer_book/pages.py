"""Every page: its promise and what goes further are folded, a description of its own, nothing that a folder cannot open."""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

FONT_PRELOAD = re.compile(r'\s*<link rel="preload" as="font"[^>]*>')
PROMISES = ("By the end you will be able to", "You need", "Time")


class MarkPromise(SphinxTransform):
    """Fold what a page promises, needs and takes, so that the page itself begins on the first screen; its class is ``promise``."""

    default_priority = 902

    def apply(self, **_):
        promises = []
        for paragraph in self.document.findall(nodes.paragraph):
            first = next((child for child in paragraph.children if child.astext()), None)
            if isinstance(first, nodes.strong) and first.astext().rstrip(":") in PROMISES:
                paragraph["classes"].append("promise")
                promises.append(paragraph)
                after = paragraph.next_node(descend=False, siblings=True)
                if isinstance(after, nodes.bullet_list):
                    after["classes"].append("promise")
                    promises.append(after)
        if promises:
            first, last = promises[0], promises[-1]
            times = [one.astext().removeprefix("Time").strip() for one in promises if one.astext().startswith("Time")]
            minutes = "".join(f" · {escape(re.split('[;,.]| for ', time)[0])}" for time in times)
            summary = f'<details class="start"><summary>Before you start{minutes}</summary>'
            first.parent.insert(first.parent.index(first), nodes.raw("", summary, format="html"))
            last.parent.insert(last.parent.index(last) + 1, nodes.raw("", "</details>", format="html"))


class FoldMore(SphinxPostTransform):
    """Close the sections that go further, which `links` has marked: their titles open them, and links into them do (``reading.js``)."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_):
        for mark in list(self.document.findall(nodes.comment)):
            section = mark.parent
            if mark.astext().startswith("more ") and isinstance(section, nodes.section):
                minutes = f'<span class="minutes">{mark.astext().removeprefix("more ")} min</span></summary>'
                section.replace(mark, nodes.raw("", minutes, format="html"))
                section.insert(0, nodes.raw("", '<details class="more"><summary>', format="html"))
                section += nodes.raw("", "</details>", format="html")


def drop_thebe(app, config):
    """Take out sphinx-thebe, which jupyter-book always loads: its script names a remote address on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [one for one in listeners if not one.handler.__module__.startswith("sphinx_thebe")]
    registry = app.registry
    registry.css_files[:] = [entry for entry in registry.css_files if "thebe" not in str(entry[0])]


def describe(app, pagename, templatename, context, doctree):
    """The promise of a chapter, its first paragraph, as the page's description."""
    if doctree is None:
        return
    paragraph = next(doctree.findall(nodes.paragraph), None)
    if paragraph is not None:
        text = " ".join(paragraph.astext().split())
        if pagename.startswith("chapters/solutions/"):  # they all begin alike
            text = f"{next(doctree.findall(nodes.title)).astext()}. {text}"
        short = text if len(text) <= 200 else text[:199].rsplit(" ", 1)[0] + " …"
        context["metatags"] = f'{context.get("metatags", "")}\n<meta name="description" content="{escape(short)}" />'


def settle(app, config):
    """Stands in the page itself, since it must run before the browser lays the page out."""
    lines = (Path(__file__).resolve().parent / "settle.js").read_text(encoding="utf-8").splitlines()
    app.add_js_file(None, body="\n".join(line for line in lines if not line.startswith("//")), priority=610)


def drop_font_preloads(app, exception):
    """Take out the theme's preloads of icon fonts: browsers refuse them for file:// addresses, and icons are SVG."""
    if exception is None:
        for path in Path(app.outdir).rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            plain = FONT_PRELOAD.sub("", text)
            if plain != text:
                path.write_text(plain, encoding="utf-8")


def setup(app):
    app.add_transform(MarkPromise)
    app.add_post_transform(FoldMore)
    app.connect("config-inited", drop_thebe, priority=900)
    app.connect("config-inited", settle)
    app.connect("html-page-context", describe, priority=900)
    app.connect("build-finished", drop_font_preloads)
