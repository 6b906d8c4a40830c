"""The last hand on every built page: icons without a script, names for what has none, nothing loaded that is not used.

The theme draws its icons with a script of 1.5 MB. Here each icon becomes the outline itself, read at build time from
that very script, which the pages then no longer load. A few of the theme's elements lack what a screen reader needs;
they get it here. Every rule is counted: one that finds nothing to mend ends the build, because the theme has
changed under it.
"""

import re
import shutil
from collections import Counter
from html import escape
from pathlib import Path

from sphinx.errors import ExtensionError

ICON = re.compile(
    r'<(?P<tag>i|span) class="(?P<classes>[^"]*\bfa[srb]?(?:-solid|-brands|-regular)? fa-(?P<name>[a-z-]+)[^"]*)"'
    r"(?P<rest>[^>]*)></(?P=tag)>"
)
TOKEN = re.compile(r'<span class="(\w{1,3})">([^<]*)</span>')
CODE = re.compile(r'(<div class="highlight"><pre>)(.*?)(</pre>)', re.S)
SUMMARY = re.compile(r"(>(?P<title>[^<>]+)</a><details[^>]*>)<summary>(?=<span class=\"toctree-toggle\")")
CLOSED = re.compile(  # parts of the contents that are closed until asked for, so that the chapters are seen whole
    r'<p(?P<role>[^>]*) class="caption"[^>]*><span class="caption-text">(?P<title>Solutions|Back matter)</span></p>\s*'
    r'(?P<pages><ul class="(?P<classes>[^"]*)nav bd-sidenav">.*?</ul>)\s*(?=<p |</div>)',
    re.S,
)
TABLE = re.compile(r'<table class="(?P<classes>(?:[^"]* )?(?:table|docutils|dataframe)(?: [^"]*)?)"(?P<row>[^>]*>.*?</tr>)', re.S)
PICTURE = re.compile(r'<figure class="xp".*?</figure>', re.S)
EMPTY_HEADING = re.compile(r"<th\b[^>]*>(?:\s|<p>\s*</p>)*</th>")  # the corner of a table heads nothing
# Left out of the pages on which nothing needs them: a piece of the address, and a sign in the HTML that it is needed.
ONLY_WHERE_USED = {
    "sphinx-design.min.css": r'class="(?:[^"]* )?sd-',
    "design-tabs.js": r'class="(?:[^"]* )?sd-tab',
    "togglebutton.": r'class="(?:[^"]* )?(?:toggle|dropdown admonition|admonition dropdown|tag_hide-\w+)[ "]',
    "clipboard.min.js": r'<div class="highlight"',
    "copybutton.": r'<div class="highlight"',
    "katex.min.css": r'class="katex',
    "live.css": r'class="cell live |data-xf="laboratory"|<details data-ask=|id="your-progress"|class="review-set"',
    "predict.js": r"<details data-ask=",
    "progress.js": r'id="your-progress"',
    "review.js": r'class="review-set"',
    "loader.js": r'class="cell live |id="search-results"|data-xf="laboratory"',
    "page_python.js": r'class="cell live |data-xf="laboratory"',
    "search.js": r'id="search-results"',
    "live.js": r'class="cell live ',
}
# The theme's scripts that keep something. A browser that refuses would end each of them, so they ask ``store.js`` instead.
KEEPING = ("sphinx_highlight.js", "searchtools.js", "design-tabs.js", "scripts/pydata-sphinx-theme.js")
STORAGE = re.compile(r"(?:window\.)?\b(local|session)Storage\b")
STORE = "\n".join(
    line for line in (Path(__file__).parent / "store.js").read_text(encoding="utf-8").splitlines() if not line.startswith("//")
)


def with_store(text):
    return STORAGE.sub(r"bookStore.\1", text)


# (what, pattern, replacement): words of a theme that speaks to eyes only.
MENDED = (
    ("search button", r'(search-button-field search-button__button") title="Search" aria-label="Search"', r"\1"),
    (
        "sidebar",
        r'<div class="bd-sidebar-primary bd-sidebar">',
        '<div class="bd-sidebar-primary bd-sidebar" role="complementary" aria-label="Book">',
    ),
    (
        "theme switch",
        r'title="light/dark" aria-label="light/dark"',
        'title="Light, dark or as the system" aria-label="Light, dark or as the system"',
    ),
    ("hidden code", r'<summary aria-label="Toggle hidden content">', "<summary>"),
    ("references", r' role="doc-biblioentry"', ' role="listitem"'),
    ("table of contents", r'<nav class="bd-toc-nav page-toc">', '<nav class="bd-toc-nav page-toc" aria-label="On this page">'),
    ("icon fonts", r'\s*<link[^>]*href="[^"]*vendor/fontawesome/[^"]*"[^>]*>', ""),
    ("icon script", r'\s*<script[^>]*src="[^"]*vendor/fontawesome/[^"]*"[^>]*></script>', ""),
    ("storage", r'(<script data-cfasync="false">)((?:.|\n)*?</script>)', lambda m: f"{m[1]}\n{STORE}{with_store(m[2])}"),
    ("second viewport", r'(<meta name="viewport"[^>]*>)<meta name="viewport"[^>]*>', r"\1"),
)


class Icons:
    """Outlines by name, read from the theme's script."""

    def __init__(self, script):
        self.text = script.read_text(encoding="utf-8")
        # The script holds three tables: brands, then regular, then solid. The last of a name is its solid form.
        self.known = {}

    def outline(self, name):
        """``(width, height, path)``; raises KeyError for a name the theme does not draw."""
        if name not in self.known:
            entry = rf'[{{,]"?{re.escape(name)}"?:\[(\d+),(\d+),\[[^\]]*\],"[0-9a-f]+","([^"]+)"\]'
            found = re.findall(entry, self.text)
            if not found:
                raise KeyError(name)
            self.known[name] = found[-1]
        return self.known[name]

    def draw(self, match):
        width, height, path = self.outline(match["name"])
        classes = f"svg-inline--fa {match['classes']}"
        return (
            f'<svg class="{classes}" aria-hidden="true" focusable="false"{match["rest"]} viewBox="0 0 {width} {height}">'
            f'<path fill="currentColor" d="{path}"></path></svg>'
        )


def styled_tokens(sheet):
    """The classes of code tokens that the colour scheme treats differently from plain text."""
    return set(re.findall(r"\.highlight \.(\w+)", sheet.read_text(encoding="utf-8")))


def lighter_code(text, styled):
    """Code without the marks that change nothing: a third of a page's elements."""

    def token(match):
        return match[0] if match[1] in styled else match[2]

    return CODE.sub(lambda block: block[1] + TOKEN.sub(token, block[2]) + block[3], text)


def leave_out_unused(text):
    for address, sign in ONLY_WHERE_USED.items():
        body = text[text.index("</head>") :] if "</head>" in text else text
        if not re.search(sign, body):
            name = re.escape(address)
            text = re.sub(rf'\s*<link[^>]*href="[^"]*/{name}[^"]*"[^>]*>', "", text)
            text = re.sub(rf'\s*<script[^>]*src="[^"]*/{name}[^"]*"[^>]*></script>', "", text)
    return text


def close_parts(match):
    """A part of the contents behind its title; open on its own pages."""
    title = f'<span class="caption-text" role="heading" aria-level="2">{match["title"]}</span>'
    opened = " open" if "current" in match["classes"] else ""
    return f'<details class="contents-part"{opened}><summary class="caption">{title}</summary>\n{match["pages"]}</details>\n'


def reach_wide_parts(text):
    """What may scroll sideways on a phone is reached by keyboard: figures of class ``scrolls``, tables of two columns or more."""

    def reach(match):
        wide = len(re.findall(r"<t[hd]\b", match["row"])) >= 2 and "tabindex" not in match["row"].split(">", 1)[0]
        stop = ' tabindex="0"' if wide else ""
        return f'<table class="{match["classes"]}"{stop}{match["row"]}'

    text = re.sub(r'<figure(?= class="[^"]*\bscrolls\b)', '<figure tabindex="0"', text)
    # The still picture of an explorable scrolls in a box; its script makes boxes that see to this themselves.
    return TABLE.sub(reach, text).replace('<div class="xf-scroll">', '<div class="xf-scroll" tabindex="0">')


def share_between_pictures(text):
    """What every picture brings along for a notebook stands on a page once: the style with the first, the script with the last."""
    pictures = list(PICTURE.finditer(text))
    for count, picture in reversed(list(enumerate(pictures))):
        alone = picture[0] if count == 0 else re.sub(r"<style>.*?</style>\n", "", picture[0], flags=re.S)
        alone = alone if count == len(pictures) - 1 else re.sub(r"<script>.*?</script>\n", "", alone, flags=re.S)
        text = text[: picture.start()] + alone + text[picture.end() :]
    return text


def run_scripts_later(text):
    """Scripts run in their order when the page stands, except on the search page, whose own lines wait for them."""
    if "searchtools.js" in text:
        return text
    return re.sub(r'<script (?=[^>]*src="(?![^"]*documentation_options))(?![^>]*\bdefer\b)', "<script defer ", text)


def finish(text, icons, styled, done):
    """One page, mended; ``done`` counts what was."""
    text, done["icons"] = ICON.subn(icons.draw, text)[0], done["icons"] + len(ICON.findall(text))
    for what, pattern, replacement in MENDED:
        text, times = re.subn(pattern, replacement, text)
        done[what] += times
    text, times = SUMMARY.subn(lambda m: f'{m[1]}<summary aria-label="Pages below {escape(m["title"].strip())}">', text)
    done["pages below"] += times
    text, times = CLOSED.subn(close_parts, text)
    done["parts of the contents"] += times
    text = reach_wide_parts(EMPTY_HEADING.sub("<td></td>", text))
    text = share_between_pictures(text)
    return run_scripts_later(leave_out_unused(lighter_code(text, styled)))


def finish_pages(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    fonts = static / "vendor" / "fontawesome"
    scripts = sorted(fonts.rglob("all.min.js"))
    if not scripts:
        return  # a build on top of an earlier one: its pages are finished
    icons, styled, done = Icons(scripts[0]), styled_tokens(static / "pygments.css"), Counter()
    for path in sorted(Path(app.outdir).rglob("*.html")):
        if static not in path.parents:
            text = path.read_text(encoding="utf-8")
            path.write_text(finish(text, icons, styled, done), encoding="utf-8")
    for name in KEEPING:
        text = (static / name).read_text(encoding="utf-8")
        done[name] = len(STORAGE.findall(text))
        (static / name).write_text(with_store(text), encoding="utf-8")
    for what in ("icons", "pages below", *KEEPING, *(rule[0] for rule in MENDED), "parts of the contents"):
        if not done[what]:
            raise ExtensionError(f"{what}: expected something to mend on some page, found none; has the theme changed?")
    for folder in ("css", "js", "webfonts"):
        shutil.rmtree(scripts[0].parents[1] / folder, ignore_errors=True)


def setup(app):
    app.connect("build-finished", finish_pages, priority=900)
