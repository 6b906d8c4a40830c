"""What the search page shows of a hit, and the words that it proposes for a near miss.

Each page's text is written to ``_static/text`` section by section, as a script, since a browser refuses ``fetch`` in a folder; ``words.js``
has the book's words, the most frequent first. ``static/search.js`` loads them after a search.
"""

import json
import re
from collections import Counter
from pathlib import Path

from docutils import nodes

from .model_files import as_script

CODE = nodes.literal_block
LEFT_OUT = (nodes.raw, nodes.math_block, nodes.comment, nodes.image, nodes.section, nodes.title)
WORD = re.compile(r"[^\W\d_]{4,}")
RARE = 3  # a word that stands there less often may be a slip or a name in code


def text_of(node, code=False):
    """The prose of a node, or its code, without its sections, its formulas and what is HTML already."""
    if isinstance(node, CODE):
        return node.astext() if code else ""
    if isinstance(node, LEFT_OUT) or (code and isinstance(node, nodes.TextElement)):
        return ""
    if isinstance(node, nodes.Text):
        return str(node)
    if isinstance(node, nodes.math):
        return "…" if "\\" in node.astext() else node.astext()
    glue = "" if isinstance(node, nodes.TextElement) else " "
    return glue.join(text_of(child, code) for child in node.children)


def sections(doctree):
    """``[[id, text], …]`` of a page, its sections in their order: of each the prose before the code."""
    made = []
    for section in doctree.findall(nodes.section):
        texts = [text_of(child, code) for code in (False, True) for child in section.children]
        made.append([section["ids"][0], " ".join(" ".join(texts).split())])
    return made


def write_text(app, pagename, templatename, context, doctree):
    if doctree is None or app.builder.format != "html":
        return
    path = Path(app.outdir) / "_static" / "text" / f"{pagename}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_script(json.dumps(sections(doctree)).encode()))


def frequent_words(texts):
    """The words of the texts in small letters, the most frequent first."""
    found = Counter(word for text in texts for word in WORD.findall(text.lower()))
    return [word for word, times in found.most_common() if times >= RARE]


def write_words(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    texts = (text for name in sorted(app.env.found_docs) for _, text in sections(app.env.get_doctree(name)))
    (Path(app.outdir) / "_static" / "text" / "words.js").write_bytes(as_script(json.dumps(frequent_words(texts)).encode()))


def setup(app):
    app.connect("html-page-context", write_text)
    app.connect("build-finished", write_words)
