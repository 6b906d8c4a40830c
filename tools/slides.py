"""Slides of a chapter, made from its notebook: for a lecture beside the page, not in its place.

    python tools/slides.py          a deck for every chapter, in _build/slides
    python tools/slides.py 3 4      those of two chapters

A deck shows the chapter's headings, first sentences, formulas, figures and short code; each Predict stands alone, and its answer
comes with the next press. The page's whole text stands in the speaker's notes (press S). The folder holds all that it loads.
"""

import argparse
import re
import shutil
import sys
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import nbformat
from pygments.formatters import HtmlFormatter
from slide_blocks import (
    KATEX,
    ROOT,
    SMALLEST,
    Block,
    code_blocks,
    fitted,
    heading_of,
    is_dropped,
    lead,
    note,
    paragraph,
    smaller,
    text_blocks,
)

VENDOR = ROOT / "book" / "vendor"
OUT = ROOT / "_build" / "slides"
ROOM = 585  # pixels below the heading
FEWEST = 13  # words of a remark that is worth a slide
EXERCISE = re.compile(r"### Exercise (\d+\.\d+) · ([^<\n]*)[^\n]*\n+\*[^*]*?(\d+) minutes?")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="reveal/reset.css">
<link rel="stylesheet" href="reveal/reveal.css">
<link rel="stylesheet" href="katex/katex.min.css">
<link rel="stylesheet" href="slides.css">
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script src="reveal/reveal.js"></script>
<script src="reveal/notes.js"></script>
<script>
Reveal.initialize({{ width: 1280, height: 720, margin: 0, center: false, hash: true, slideNumber: "c/t", controls: false,
  transition: "none", pdfSeparateFragments: false, plugins: [RevealNotes] }});
</script>
</body>
</html>
"""


@dataclass
class Slide:
    """One slide: what stands above the line, the blocks below it, and what the speaker reads."""

    title: str
    above: str = ""
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def html(self) -> str:
        kicker = f"<small>{words(self.above)}</small>" if self.above else ""
        body, answers = [], []
        for block in self.blocks:
            (answers if block.kind == "answer" else body).append(boxed(block))
        if answers:
            body.append(f'<div class="fragment answer">{"".join(answers)}</div>')
        notes = f'<aside class="notes">{"".join(self.notes)}</aside>' if self.notes else ""
        return f"<section><h2>{kicker}{words(self.title)}</h2>\n" + "\n".join(body) + f"{notes}</section>"


def used(blocks: list[Block]) -> int:
    """Pixels."""
    return sum(block.height for block in blocks)


def boxed(block: Block) -> str:
    return f'<div class="formula">{block.html}</div>' if "katex-display" in block.html and block.html.startswith("<div") else block.html


def words(heading: str) -> str:
    """A heading's Markdown as HTML."""
    return re.sub(r"^<p>|</p>$", "", paragraph(heading).html)


class Deck:
    """The slides of a chapter, as its cells come."""

    def __init__(self, number: str) -> None:
        self.number, self.title, self.promise = number, "", ""
        self.slides: list[Slide] = []
        self.section = self.heading = ""
        self.waiting: list[Block] = []
        self.notes: list[str] = []
        self.exercises: list[tuple[str, str, str]] = []
        self.in_exercise = self.in_depth = False

    def read(self, notebook) -> None:
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                self.read_text(cell.source)
            elif not self.in_exercise and not self.in_depth and not is_dropped(cell):
                self.add_cell(cell)
            elif cell.source.startswith("#| export"):
                self.waiting = []  # it spoke of what is left out
            elif any("image/png" in out.get("data", {}) for out in cell.outputs):
                self.add_cell(cell)
        self.close()
        self.last()

    def read_text(self, source: str) -> None:
        found = heading_of(source)
        if found:
            level, heading, source = found
            opens = level == 3 and not self.in_exercise and self.is_opening()
            if not opens:  # the first words of a section go with its first part
                self.close()
            exercise = EXERCISE.match("### " + heading + "\n" + source)
            self.in_exercise = bool(exercise)
            if exercise:
                self.exercises.append(exercise.groups())
                return
            if level == 1:
                self.begin(heading, source)
                return
            if level == 2:
                self.section, self.in_depth = heading, heading.startswith(("Deeper", "In the library"))
            self.heading = heading
        if self.in_depth:
            self.notes.append(note(source))
        elif not self.in_exercise:
            self.notes.append(note(source))
            for asks, group in runs(text_blocks(source)):
                if asks:
                    if used(self.waiting) + used(group) <= self.room and all(block.kind == "text" for block in self.waiting):
                        group, self.waiting = [*self.waiting, *group], []
                    self.close()
                    self.put(group)
                else:
                    self.waiting += group

    def begin(self, heading: str, source: str) -> None:
        """The title and its promise; what students can do afterwards."""
        self.title = self.section = heading
        blocks = text_blocks(source)
        self.promise = lead(source.strip().split("\n\n")[0], 60)
        self.heading = "By the end you will be able to"
        self.put([block for block in blocks if block.kind == "list"][:1])

    def add_cell(self, cell) -> None:
        """A cell in large type where that has room beside the text that waits for it, in small type otherwise."""
        large = code_blocks(cell)
        self.add(large if used(self.waiting) + used(large) <= self.room else code_blocks(cell, big=False))

    def add(self, blocks: list[Block]) -> None:
        """Code, output or figures behind the text that waits for them, on one slide where there is room."""
        for block in blocks:
            if block.kind == "figure":
                self.waiting = [smaller(one) for one in self.waiting]
                if used(self.waiting) > self.room - 0.75 * block.height:
                    self.waiting = []  # the caption says it, and the notes
            needed = min(block.height, SMALLEST + 60) if block.kind == "figure" else block.height
            if self.waiting and used(self.waiting) + needed > self.room:
                self.close()
            self.waiting.append(fitted(block, self.room - used(self.waiting)))
            if block.kind in ("figure", "live", "output"):
                self.close()
        if blocks:
            self.close()

    def close(self) -> None:
        """Lays out what waits, as many slides as it takes."""
        blocks, self.waiting = self.waiting, []
        for remark in (blocks, [smaller(block) for block in blocks]):
            if self.is_remark(remark):
                self.slides[-1].blocks += remark
                self.slides[-1].notes += self.notes
                blocks, self.notes = [], []
                break
        if self.slides and all(block.kind == "text" for block in blocks) and len(" ".join(block.html for block in blocks).split()) < FEWEST:
            return
        while blocks:
            taken = [blocks.pop(0)]
            while blocks and used(taken) + blocks[0].height <= self.room:
                taken.append(blocks.pop(0))
            if blocks and blocks[0].kind in ("formula", "list") and len(taken) > 1 and taken[-1].kind == "text":
                blocks.insert(0, taken.pop())  # a formula stays with the words that lead to it
            self.put(taken)

    def is_opening(self) -> bool:
        """Whether a few words wait, and no slide of their section has been made."""
        begun = self.slides and self.slides[-1].title == self.heading
        return not begun and all(block.kind == "text" for block in self.waiting) and used(self.waiting) < ROOM / 3

    @property
    def room(self) -> int:
        """Pixels for the blocks of a slide: less where the section's name stands above the heading."""
        return ROOM - 26 if self.above() else ROOM

    def above(self) -> str:
        return self.section if self.section not in (self.heading, self.title) else ""

    def is_remark(self, blocks: list[Block]) -> bool:
        """Whether blocks are a few words on what the slide before shows, and find room there."""
        if not self.slides or not blocks or any(block.kind != "text" for block in blocks):
            return False
        before = self.slides[-1]
        asked = any(block.kind in ("answer", "live") for block in before.blocks)
        return before.title == self.heading and not asked and used(before.blocks) + used(blocks) <= self.room

    def put(self, blocks: list[Block]) -> None:
        """One slide; of a question whose answer has no room, as much of the answer as there is room for."""
        kept = blocks[:1]
        for block in blocks[1:]:
            if used(kept) + block.height > self.room:
                break
            kept.append(block)
        if kept:
            self.slides.append(Slide(self.heading, self.above(), kept, self.notes))
            self.notes = []

    def last(self) -> None:
        """What to do at home."""
        if self.exercises:
            minutes = sum(int(minutes) for _, _, minutes in self.exercises)
            points = "".join(f"<li>{id} {words(title)} ({minutes} min)</li>" for id, title, minutes in self.exercises)
            html = f'<ul class="two">{points}</ul><p class="small">{minutes} minutes in all.</p>'
            self.section, self.heading = self.title, "Exercises"
            self.put([Block("list", html, 480)])

    def html(self) -> str:
        number, _, name = self.title.partition(" · ")
        kind = "Chapter" if number.isdigit() else "Page"
        first = f'<section class="first"><p>{kind} {number}</p><h1>{words(name)}</h1><p class="promise">{words(self.promise)}</p></section>'
        return PAGE.format(title=escape(self.title), slides="\n".join([first, *(slide.html() for slide in self.slides)]))


def runs(blocks: list[Block]) -> list[tuple[bool, list[Block]]]:
    """Blocks in groups: each question with its answer, and what stands between them."""
    groups: list[tuple[bool, list[Block]]] = []
    for block in blocks:
        asks = block.kind in ("predict", "answer")
        begins = block.kind == "predict" and "<strong>Predict" in block.html
        if not groups or groups[-1][0] != asks or begins:
            groups.append((asks, []))
        groups[-1][1].append(block)
    return groups


def chapters(wanted: list[str]) -> list[Path]:
    """The notebooks of the chapters, by number, or of their pages, such as 4a; without any, all chapters.

    Raises:
        SystemExit: if there is none with such a number.
    """
    found = {path.name.split("_")[0].lstrip("0"): path for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))}
    whole = [number for number in found if number.isdigit()]
    numbers = [name.lstrip("0") for name in wanted] or whole
    unknown = [name for name in numbers if name not in found]
    if unknown:
        raise SystemExit(
            f"slides: expected chapters from 1 to {len(whole)}, or their pages (4a), got {', '.join(unknown)}; leave them out for all"
        )
    return [found[name] for name in numbers]


def deck_of(path: Path) -> Deck:
    deck = Deck(path.name.split("_")[0])
    deck.read(nbformat.read(path, as_version=4))
    return deck


def furnish(out: Path) -> None:
    """The scripts, styles and fonts beside the decks."""
    if not (VENDOR / "reveal.js" / "reveal.js").exists():
        raise SystemExit("slides: reveal.js is missing; run 'make slides', or python book/fetch.py --slides")
    shutil.copytree(VENDOR / "reveal.js", out / "reveal", dirs_exist_ok=True)
    shutil.copytree(VENDOR / "katex" / "static" / "katex", out / "katex", dirs_exist_ok=True)
    style = (ROOT / "book" / "slides" / "slides.css").read_text(encoding="utf-8")
    (out / "slides.css").write_text(style + HtmlFormatter(style="xcode").get_style_defs(".reveal pre") + "\n", encoding="utf-8")


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter", nargs="*", help="numbers of chapters, or of pages, such as 4a (default: all chapters)")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder (default: _build/slides)")
    options = parser.parse_args(arguments)
    paths = chapters(options.chapter)
    options.out.mkdir(parents=True, exist_ok=True)
    furnish(options.out)
    try:
        for path in paths:
            deck = deck_of(path)
            (options.out / f"{deck.number}.html").write_text(deck.html(), encoding="utf-8")
            print(f"{deck.number}.html  {len(deck.slides) + 1:3} slides  {deck.title}")
    finally:
        KATEX.stop()
    print(f"The slides lie in {options.out.resolve().as_uri()}; open one in a browser, and press S for the notes.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
