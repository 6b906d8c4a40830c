"""Print the whole built book into one PDF file, with bookmarks, running heads and a table of contents: ``make pdf``.

    python book/pdf.py             _build/html becomes _build/xformer-book.pdf

The pages' text is joined in the order of ``_toc.yml``: every id gets its page's name in front, every link inside the book leads to a place
in the file, what is folded is opened. The style is that of a printed page, ``static/print.css``, with ``static/bound.css`` for what only
a bound book has. A headless Chromium prints twice: the first tells on which page everything stands, the second the contents say so.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from lxml import html
from lxml.html import HtmlElement
from lxml.html import builder as E

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
MISSING = (
    "No Chromium found: install one (on Debian and Ubuntu: apt install chromium) or name its path in CHROMIUM, then run make pdf again."
)
HINT = (
    "This is the book as paper can hold it. Answers stand open below their questions. Left out are the cells that set a page up and the "
    "assertions that hold it to the truth; a figure that answers shows its first state. Notebooks and code: "
)
SCREEN_ONLY = {  # of a page: what is too long for paper, and the sentence that says so
    "chapters/back/results": (
        ".//details",
        "On paper stand the tables alone; every single number of a record is in the folder results of the repository.",
    )
}
# Nothing of these can be used on paper. The style hides them, too; without them the file is smaller and nothing of them is read aloud.
UNUSED = (
    "//script|//button|//input|//*[@class='xf-stage' or @class='xf-idle' or @class='term-note']|//a[@class='headerlink']"
    "|//details[contains(concat(' ', @class, ' '), ' claims ') or contains(concat(' ', @class, ' '), ' set-up ')"
    " or contains(concat(' ', @class, ' '), ' imports ')]"
)
NAMES_IDS = ("for", "headers", "aria-labelledby", "aria-describedby", "aria-controls", "aria-owns", "aria-details")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
WIDTH = round(178 * 96 / 25.4)  # pixels between the margins of A4, which bound.css sets
# What is wider than the paper becomes smaller, at most to a half; code and tables fold before.
FIT = """() => {
  for (const e of document.querySelectorAll(".math-display, article table, article svg, .xf-picture > *")) {
    const room = e.parentElement.clientWidth, wide = e.matches(".math-display") ? e.scrollWidth : e.offsetWidth || e.clientWidth;
    if (room && wide > room + 1) e.style.zoom = Math.max(0.5, room / wide);
  }
}"""
NUMBER = """(numbers) => {
  for (const link of document.querySelectorAll(".contents a")) link.lastElementChild.textContent = numbers[link.hash.slice(1)];
}"""


@dataclass(frozen=True)
class Leaf:
    """One page of the book: its address below the built HTML, how deep it stands, and the part that begins with it."""

    file: str
    depth: int
    part: str = ""

    @property
    def name(self) -> str:
        return self.file.removeprefix("chapters/").replace("/", "-")


def leaves(toc: dict) -> Iterator[Leaf]:
    """The pages in reading order."""
    yield Leaf(toc["root"], 1)
    for part in toc["parts"]:
        caption = part["caption"]
        for chapter in part["chapters"]:
            yield Leaf(chapter["file"], 2, caption)
            caption = ""
            yield from (Leaf(section["file"], 3) for section in chapter.get("sections", ()))


@dataclass
class Binding:
    """The file in the making: what its pages have in common, and what was seen so far."""

    folder: Path  # of the built HTML
    known: dict[str, Leaf]
    sheets: dict[str, None] = field(default_factory=dict)  # the style sheets' addresses, in order
    styles: set[str] = field(default_factory=set)

    def page(self, leaf: Leaf) -> HtmlElement:
        """One page's text as a section of the book."""
        source = self.folder / f"{leaf.file}.html"
        tree = html.parse(str(source), html.HTMLParser(encoding="utf-8")).getroot()
        for link in tree.iterfind(".//link[@rel='stylesheet']"):
            if link.get("media") != "print":
                self.sheets[self.address(link.get("href").split("?")[0], source)] = None
        article = tree.find(".//article")
        for element in article.xpath(f"({UNUSED})[ancestor::article]"):
            element.drop_tree()
        path, instead = SCREEN_ONLY.get(leaf.file, ("", ""))
        if path:
            for element in article.xpath(path):
                element.drop_tree()
            article.find(".//h1").addnext(E.P(E.EM(instead)))
        here = set(article.xpath(".//@id"))
        for element in article.iter(html.etree.Element):
            self.mend(element, leaf, source, here)
        article.set("id", leaf.name)
        article.set("style", f"page: p{list(self.known).index(leaf.file)}")
        if leaf.part:
            article.insert(0, E.H1(leaf.part, E.CLASS("part"), {"aria-level": "1"}))
        return article

    def mend(self, element: HtmlElement, leaf: Leaf, source: Path, here: set[str]) -> None:
        """Ids and what names them, addresses, folds and the level of headings."""
        attributes = element.attrib
        for key, value in tuple(attributes.items()):
            if key == "id":
                attributes[key] = f"{leaf.name}--{value}"
            elif key in NAMES_IDS:
                attributes[key] = " ".join(f"{leaf.name}--{name}" for name in value.split() if name in here)
                if not attributes[key]:
                    del attributes[key]
            elif "url(#" in value:
                attributes[key] = value.replace("url(#", f"url(#{leaf.name}--")
            elif key in ("href", "xlink:href"):
                attributes[key] = self.address(value, source)
                if not attributes[key]:
                    del attributes[key]
            elif key == "src":
                attributes[key] = self.address(value, source)
        if element.tag == "details":
            attributes["open"] = "open"
        elif element.tag in HEADINGS:
            attributes["aria-level"] = str(min(6, leaf.depth - 1 + int(element.tag[1])))
        elif element.tag == "style":
            if element.text in self.styles:
                element.text = ""
            self.styles.add(element.text)

    def address(self, address: str, source: Path) -> str:
        """Where a link or a picture of a page is to be found from the joined file; nothing, if it is no part of the book."""
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            return address
        target = Path(os.path.normpath(source.parent / unquote(parts.path))) if parts.path else source
        file = target.relative_to(self.folder).as_posix()
        leaf = self.known.get(file.removesuffix(".html"))
        if leaf:
            return f"#{leaf.name}--{unquote(parts.fragment)}" if parts.fragment else f"#{leaf.name}"
        return f"{self.folder.name}/{file}" if target.suffix in (".png", ".svg", ".css") else ""


def title(page: HtmlElement) -> str:
    """The heading of a page in plain words."""
    return " ".join(page.find(".//h1[@aria-level]" if page.find("h1") is None else "section//h1").text_content().split())


def contents(pages: dict[Leaf, HtmlElement]) -> HtmlElement:
    """The printed table of contents, with room for the numbers of pages."""
    rows = []
    for leaf, page in pages.items():
        if leaf.part:
            rows.append(E.LI(leaf.part, E.CLASS("contents-part")))
        rows.append(
            E.LI(
                E.A(E.SPAN(title(page)), E.SPAN("0000", E.CLASS("contents-number")), href=f"#{leaf.name}"),
                E.CLASS(f"contents-{leaf.depth}"),
            )
        )
    return E.ARTICLE(E.H1("Contents", {"aria-level": "1"}), E.UL(*rows, E.CLASS("contents")), E.CLASS("bd-article"), id="contents")


def heads(pages: dict[Leaf, HtmlElement]) -> str:
    """For each page of the book a kind of paper, which has its title on top."""
    rules = (
        f"@page p{i} {{ @top-left {{ content: {json.dumps(title(page), ensure_ascii=False)} }} }}" for i, page in enumerate(pages.values())
    )
    return "\n".join(rules)


def join(folder: Path, toc: dict, config: dict, version: str) -> HtmlElement:
    """The pages below ``folder`` as one document, which is to stand beside the folder."""
    order = list(leaves(toc))
    binding = Binding(folder, {leaf.file: leaf for leaf in order})
    pages = {leaf: binding.page(leaf) for leaf in order}
    front = E.DIV(
        E.P(config["title"], E.CLASS("front-title")),
        E.P(f"{config['author']}, version {version}"),
        E.P(HINT, E.A(config["repository"]["url"], href=config["repository"]["url"]), ".", E.CLASS("front-hint")),
        E.CLASS("front"),
    )
    own = "\n".join((ROOT / "book" / "static" / name).read_text(encoding="utf-8") for name in ("print.css", "bound.css"))
    links = [E.LINK(rel="stylesheet", href=address) for address in binding.sheets]
    head = E.HEAD(E.META(charset="utf-8"), E.TITLE(config["title"]), *links, E.STYLE(own + heads(pages)))
    return E.HTML(head, E.BODY(front, contents(pages), *pages.values()), {"lang": "en", "data-theme": "light"})


def find_chromium() -> str | None:
    """The path of a Chromium, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def page_numbers(pdf: Path) -> tuple[dict[str, int], int]:
    """On which page each name stands that a link leads to, and how many pages there are."""
    from pypdf import PdfReader

    reader = PdfReader(pdf)
    index = {page.indirect_reference.idnum: number for number, page in enumerate(reader.pages, 1)}
    places = {name.removeprefix("/"): index[place.page.idnum] for name, place in reader.named_destinations.items()}
    return places, len(reader.pages)


def write_pdf(chromium: str, document: Path, target: Path) -> int:
    """Let Chromium print a document, and again with the numbers of its pages in the contents; gives their number."""
    from playwright.sync_api import sync_playwright

    paper = {"path": target, "prefer_css_page_size": True, "print_background": True}
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"]) as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000})
        page.set_default_timeout(0)
        page.emulate_media(media="print")
        page.goto(document.as_uri())
        page.evaluate("() => document.fonts.ready.then(() => 1)")
        page.evaluate(FIT)
        page.pdf(**paper, tagged=False)
        numbers, count = page_numbers(target)
        page.evaluate(NUMBER, numbers)
        page.pdf(**paper, tagged=True, outline=True)
    return count


def bind(chromium: str, folder: Path, toc: dict, config: dict, version: str, target: Path) -> int:
    """Join the pages below ``folder``, and print them; gives the number of pages."""
    document = folder.parent / f"{target.stem}.html"
    document.write_bytes(html.tostring(join(folder, toc, config, version), encoding="utf-8", doctype="<!doctype html>"))
    return write_pdf(chromium, document, target)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args(arguments)
    chromium = find_chromium()
    if not chromium:
        print(MISSING)
        return 1
    if not (BUILD / "html" / "index.html").is_file():
        print("There is no built book: run make book first.")
        return 1
    from xformer_lib import __version__

    began, target = time.perf_counter(), BUILD / "xformer-book.pdf"
    toc, config = (yaml.safe_load((ROOT / name).read_text(encoding="utf-8")) for name in ("_toc.yml", "_config.yml"))
    count = bind(chromium, BUILD / "html", toc, config, __version__, target)
    size = target.stat().st_size / 2**20
    print(f"{target.relative_to(ROOT)}: {count} pages, {time.perf_counter() - began:.0f} seconds, {size:.1f} MiB.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
