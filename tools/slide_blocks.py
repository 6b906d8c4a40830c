"""What a slide takes from a cell of a notebook: short blocks of HTML, each with the height that it will need.

A paragraph is cut to its first sentences, a Predict keeps its question and folds its answer, a figure keeps its caption. Code
stays where it is short; what is a claim, an exercise, set-up or a part of the library goes. ``slides.py`` lays the blocks out.
"""

import re
import struct
import sys
from base64 import b64decode
from dataclasses import dataclass
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from xformer_book.mathematics import KATEX  # noqa: E402
from xformer_book.roles import painted  # noqa: E402

WIDTH = 1168  # pixels of a line on a slide of 1280
WORDS = 42  # of a paragraph
CODE_LINES, OUTPUT_LINES, CODE_WIDTH = 12, 14, 94
LARGE_TYPE, SMALL_TYPE, TYPE_ROOM = 22, 18, 1840  # pixels of a letter of code; a line of 92 letters is 20 pixels high
TABLE_WIDTH, TALLEST_TABLE = 84, 480
SMALLEST, LARGEST = 260, 500  # height of a figure
LINES = {"text": (73, 43, 18), "small": (88, 34, 12)}  # letters a line, pixels a line, pixels between paragraphs
SPAN = re.compile(r"\$[^$]+\$|`[^`]+`|\[[^\]]*\]\([^)]*\)|\([^()]*\)|\*\*[^*]+\*\*|\*[^*]+\*|<[^>]+>")
SENTENCE = re.compile(r"(?<!\bal)(?<!\bcf)(?<!e\.g)(?<!i\.e)[.?!]+[\"”*]*\s+(?=[A-ZÀ-ÞX\"“‘])")
SHOWN_AS_WORDS = re.compile(r"\\[A-Za-z]+|[{}^_$*`\\&]|\]\([^)]*\)|<[^>]+>")


@dataclass(frozen=True)
class Block:
    """A piece of a slide. ``kind`` is text, formula, list, predict, answer, code, output, figure or live."""

    kind: str
    html: str
    height: int


def formula(latex: str, display: bool) -> str:
    html, error = KATEX.render(latex, display, painted(latex))
    if error:
        raise ValueError(f"formula: expected one that KaTeX reads, got {latex!r}: {error}")
    return html


def reader(render) -> MarkdownIt:
    """Markdown without links, which a slide cannot follow, and with formulas as ``render`` gives them."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    dollarmath_plugin(markdown, renderer=lambda latex, how: render(latex, how["display_mode"]))
    for name in ("link_open", "link_close", "html_inline", "html_block"):
        markdown.add_render_rule(name, lambda self, tokens, place, options, env: "")
    return markdown


SLIDE = reader(formula)
NOTE = reader(lambda latex, display: f"<code>{escape(latex)}</code>")  # the speaker's window has no style for formulas


# ---------------------------------------------------------------- text


def sentences(text: str) -> list[str]:
    """A paragraph cut into sentences; no formula, code, link or bracket is cut.

    >>> sentences("It asks (see p. 3. There). *Why?* Because. See [Vaswani et al. 2017](x).")
    ['It asks (see p. 3. There).', '*Why?*', 'Because.', 'See [Vaswani et al. 2017](x).']
    """
    masked = SPAN.sub(lambda found: "X" * (len(found[0]) - 1) + ("." if found[0].rstrip("*")[-1] in ".?!" else "X"), text)
    ends = [found.end() for found in SENTENCE.finditer(masked)]
    return [text[a:b].strip() for a, b in zip([0, *ends], [*ends, len(text)])]


def lead(text: str, words: int = WORDS) -> str:
    """The first sentences of a paragraph, one at least."""
    taken: list[str] = []
    for sentence in sentences(text):
        if taken and len(" ".join([*taken, sentence]).split()) > words:
            break
        taken.append(sentence)
    return " ".join(taken)


def height_of(text: str, style: str = "text") -> int:
    """Pixels of a paragraph, from what will be seen of its source."""
    letters, line, gap = LINES[style]
    seen = len(SHOWN_AS_WORDS.sub("", text))
    tall = 14 * len(re.findall(r"\\[dt]?frac|\\sum|\\int|\\under|\\over", text))
    return line * -(-max(seen, 1) // letters) + gap + tall


def paragraph(text: str, kind: str = "text", style: str = "text") -> Block:
    name = f' class="{style}"' if style != "text" else ""
    return Block(kind, f"<p{name}>{SLIDE.renderInline(text)}</p>", height_of(text, style))


def smaller(block: Block) -> Block:
    """A paragraph in small type."""
    plain = block.kind == "text" and block.html.startswith("<p>")
    return Block("text", block.html.replace("<p>", '<p class="small">'), round(0.7 * block.height)) if plain else block


def display(latex: str) -> Block:
    rows = latex.count(r"\\") + 1
    tall = any(word in latex for word in (r"\frac", r"\sum", r"\int", r"\under", r"\over", r"\begin", r"\prod"))
    longest = max(len(SHOWN_AS_WORDS.sub("", row).replace(" ", "")) for row in latex.split(r"\\"))
    wide = ' class="wide"' if longest > 62 else ""
    return Block("formula", f"<div{wide}>{formula(latex, True)}</div>", 36 + rows * (78 if tall else 50))


def listing(node: SyntaxTreeNode) -> Block:
    """A list with the first sentence of each point."""
    points = [next(one.content for one in point.walk() if one.type == "inline") for point in node.children]
    tag = "ol" if node.type == "ordered_list" else "ul"
    cut = [lead(point, 26) for point in points[:7]]
    html = "".join(f"<li>{SLIDE.renderInline(point)}</li>" for point in cut)
    return Block("list", f"<{tag}>{html}</{tag}>", 16 + sum(height_of("  " + point) - 8 for point in cut))


def rendered(node: SyntaxTreeNode) -> str:
    return SLIDE.renderer.render(node.to_tokens(), SLIDE.options, {})


def standing(node: SyntaxTreeNode) -> Block | None:
    """A block that is taken as it is: a formula, a list, a quotation, a table of a few rows."""
    if node.type == "math_block":
        return display(node.content.strip())
    if node.type in ("bullet_list", "ordered_list"):
        return listing(node)
    inner = " ".join(one.content for one in node.walk() if one.type == "inline")
    if node.type == "blockquote":
        return Block("text", rendered(node), height_of(inner) + 24)
    if node.type == "table":
        rows = [
            [len(SHOWN_AS_WORDS.sub("", one.content)) for one in row.walk() if one.type == "inline"]
            for row in node.walk()
            if row.type == "tr"
        ]
        room = [max(column) for column in zip(*rows)]
        share = max(1.0, sum(room) / TABLE_WIDTH)
        tall = 24 + sum(9 + 34 * max(-(-share * cell // most) for cell, most in zip(row, room)) for row in rows)
        return Block("text", f'<div class="table">{rendered(node)}</div>', round(tall)) if tall <= TALLEST_TABLE else None
    return None


def text_blocks(source: str) -> list[Block]:
    """The blocks of a text cell, its headings left out; a question is followed by its answer."""
    nodes, blocks, begun = SyntaxTreeNode(SLIDE.parse(source)).children, [], False
    asking = folded = False
    for place, node in enumerate(nodes):
        if node.type == "html_block":
            folded = (folded or "<details" in node.content) and "</details>" not in node.content
            asking = asking and folded
        elif node.type == "paragraph":
            text = node.children[0].content
            before_formula = place + 1 < len(nodes) and nodes[place + 1].type in ("math_block", "bullet_list", "ordered_list")
            if "**Predict" in text and not folded:
                asking = begun = True
                blocks.append(paragraph(text, "predict"))
            elif asking:
                blocks.append(
                    paragraph(text if folded else lead(text, 60), "answer" if folded else "predict", "small" if folded else "text")
                )
            elif not folded and not begun:
                begun, cut = True, lead(text)
                last = sentences(text)[-1]
                blocks.append(paragraph(cut if not before_formula or cut.endswith(last) else f"{cut} … {last}"))
            elif not folded and before_formula:
                blocks.append(paragraph(sentences(text)[-1]))
        elif not folded or asking:
            block = standing(node)
            if block is not None:
                blocks.append(Block("answer" if folded else "predict", block.html, block.height) if asking else block)
    return blocks


def heading_of(source: str) -> tuple[int, str, str] | None:
    """Level and words of the heading that a text cell begins with, and what stands below it."""
    found = re.match(r"(#{1,4}) (.*)\n?", source)
    return (len(found[1]), re.sub(r"<[^>]+>", "", found[2]).strip(), source[found.end() :]) if found else None


def note(source: str) -> str:
    """The whole text for the speaker, questions and answers included."""
    return NOTE.render(re.sub(r"^#+ .*\n?", "", source))


# ---------------------------------------------------------------- code and figures


def is_dropped(cell) -> bool:
    """Claims, set-up, exercises and the library's cells."""
    code, tags = cell.source, cell.metadata.get("tags", [])
    lines = [line for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    only_imports = all(
        re.match(r"(from|import|plots\.use_style|np\.set_printoptions|torch\.(manual_seed|set_\w+))\b|\s|\)", line) for line in lines
    )
    return (
        bool({"claims", "bootstrap"} & set(tags)) or "assert " in code or "check(" in code or code.startswith("#| export") or only_imports
    )


def code_blocks(cell, big: bool = True) -> list[Block]:
    """A short cell with what it printed, in large type if it may be; of a cell that draws the picture alone."""
    printed = "".join(out.text for out in cell.outputs if out.output_type == "stream").rstrip()
    figures = [figure_of(cell, out.data["image/png"]) for out in cell.outputs if "image/png" in out.get("data", {})]
    live = [live_of(out.data["text/html"]) for out in cell.outputs if "xf-stage" in out.get("data", {}).get("text/html", "")]
    if figures or live:
        return figures + live
    blocks, lines, rows = [], re.sub(r"\n\n\n+", "\n\n", cell.source.strip()).splitlines(), printed.splitlines()
    lines, rows = short(lines, CODE_LINES), short(rows, OUTPUT_LINES)
    longest = max(map(len, lines + rows), default=1)
    size = min(LARGE_TYPE if big else SMALL_TYPE, TYPE_ROOM // longest)
    line, style = round(1.47 * size), f'style="font-size: {size}px; line-height: {round(1.47 * size)}px"'
    if lines:
        html = highlight("\n".join(lines), PythonLexer(), HtmlFormatter(nowrap=True))
        blocks.append(Block("code", f"<pre {style}><code>{html.rstrip()}</code></pre>", 30 + line * len(lines)))
    if rows:
        blocks.append(Block("output", f'<pre class="output" {style}>{escape(printed)}</pre>', 24 + line * len(rows)))
    return blocks


def short(lines: list[str], most: int) -> list[str]:
    """Lines that a slide can show, or none of them."""
    return lines if len(lines) <= most and max(map(len, lines), default=0) <= CODE_WIDTH else []


def figure_of(cell, data: str) -> Block:
    """A picture with its caption; its height is that of the picture at its best size, and may shrink."""
    mystnb = cell.metadata.get("mystnb", {})
    caption = mystnb.get("figure", {}).get("caption", "")
    alt = mystnb.get("image", {}).get("alt", caption)
    width, height = struct.unpack(">II", b64decode(data[:64])[16:24])
    tall = min(LARGEST, round(1.6 * height), round(WIDTH * height / width))
    words = f"<figcaption>{SLIDE.renderInline(caption)}</figcaption>" if caption else ""
    image = f'<img src="data:image/png;base64,{"".join(data.split())}" alt="{escape(alt)}" style="height: {{height}}px">'
    return Block("figure", f"<figure>{image}{words}</figure>", tall + (height_of(caption, "small") if caption else 0))


def fitted(block: Block, room: int) -> Block:
    """A figure at the height that is left for it."""
    if block.kind != "figure":
        return block
    caption = re.search(r"<figcaption>(.*)</figcaption>", block.html, re.S)
    below = height_of(re.sub(r"<[^>]+>", "", caption[1]), "small") if caption else 0
    picture = min(block.height - below, room - below)
    return Block("figure", block.html.replace("{height}", str(picture)), picture + below)


def live_of(html: str) -> Block:
    """An interactive figure in a frame of its own: nothing of it is loaded, and its style stays inside."""
    page = f'<!doctype html><meta charset="utf-8"><body style="margin: 0; font: 16px/1.4 sans-serif">{html}'
    return Block("live", f'<iframe title="A figure to play with" srcdoc="{escape(page)}"></iframe>', 560)
