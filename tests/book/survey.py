"""One walk through pages in a browser: what each loads, what it complains of, how it is laid out, what axe-core finds."""

import asyncio
import gzip
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).resolve().parent
AXE = HERE.parents[1] / "book" / "vendor" / "axe-core" / "axe.min.js"
DESKTOP, PHONE, WIDER_PHONE = (1280, 900), (360, 740), (390, 844)
LAYOUT = (HERE / "layout.js").read_text(encoding="utf-8")
THIN = (HERE / "thin.js").read_text(encoding="utf-8")
# Nothing fades while it is measured, and far sections are laid out like near ones.
STILL = """*, *::before, *::after { transition: none !important; animation: none !important; }
section { content-visibility: visible !important; }"""
RUN_AXE = """
axe.run(document, { resultTypes: ["violations"], preload: false, ...%s }).then((result) => result.violations.map((one) =>
  [one.id, one.nodes.length, one.nodes.slice(0, 3).map((node) => node.target.join(" ")
    + ": " + [...node.any, ...node.all, ...node.none].map((check) => check.message).join("; "))]))
"""
COLOURS = '{ runOnly: ["color-contrast", "link-in-text-block"] }'  # what another scheme changes in a page that stays as it is
FONTS = "[...document.fonts].filter((f) => f.family.startsWith('KaTeX') && f.status === 'loaded').length"
FORMULAS = "[...document.querySelectorAll('.katex')].filter((one) => one.checkVisibility()).length"  # none in a closed fold
RESIZED = 0.4  # seconds after which the theme has seen that the window has another size
PATIENCE = 20  # seconds for a page to take the scheme that the reader prefers
THEME = "document.documentElement.dataset.theme"


@dataclass
class Findings:
    """What was seen of one page; an empty list means nothing to complain of."""

    errors: list = field(default_factory=list)
    layout: dict = field(default_factory=dict)
    axe: dict = field(default_factory=dict)
    weight: dict = field(default_factory=dict)


@cache
def compressed(path):
    """Bytes of a file as a server sends it: text with gzip, fonts and pictures as they are."""
    content = path.read_bytes()
    return len(gzip.compress(content, 6)) if path.suffix in {".html", ".css", ".js", ".svg", ".json"} else len(content)


def weight(requests):
    """Compressed bytes of the files that a page fetched from the disk, by kind: Document, Stylesheet, Script, Font, Image, …"""
    addresses = {urlsplit(request.url): request.resource_type.capitalize() for request in requests}
    files = {Path(unquote(address.path)): kind for address, kind in addresses.items() if address.scheme == "file"}
    total = {}
    for path, kind in files.items():
        if path.is_file():
            total[kind] = total.get(kind, 0) + compressed(path)
    return total


def without_figures(sizes):
    return sum(size for kind, size in sizes.items() if kind not in ("Image", "Media"))


async def axe(tab, thin=True, options="{}"):
    """``[(rule, elements, examples)]`` that axe-core objects to."""
    if thin:
        await tab.evaluate(THIN)
    if not await tab.evaluate("'axe' in window"):
        await tab.add_script_tag(path=AXE)
    return [tuple(one) for one in await tab.evaluate(RUN_AXE % options)]


async def look(tab, path, *, whole=False):
    """All findings of one page, which is opened once: phones by night, and what changes on a desktop by day. ``whole`` audits all, without
    thinning, and a desktop by night, too: what stands there and on no phone, the columns at both sides, is alike on all pages.
    """
    seen = Findings()
    tab.requests.clear()
    tab.complaints.clear()
    await tab.screen(*DESKTOP)
    await tab.visit(path.as_uri())
    seen.weight = weight(tab.requests)
    await tab.add_style_tag(content=STILL)
    if await tab.evaluate(FORMULAS) and not await tab.evaluate(FONTS):
        seen.errors.append("no font for the formulas")
    seen.layout["desktop, light"] = await tab.evaluate(LAYOUT)
    for name, size in (("desktop, dark", DESKTOP), ("phone, dark", PHONE))[not whole :]:
        await tab.screen(*size, dark=True)
        seen.layout[name] = await settled(tab, "dark") or await tab.evaluate(LAYOUT)
    await tab.screen(*WIDER_PHONE, dark=True)
    seen.layout["wider phone"] = await tab.evaluate(LAYOUT)
    if AXE.is_file():
        await asyncio.sleep(RESIZED)
        seen.axe["phone, dark"] = await axe(tab, thin=not whole)
        for name, dark in (("desktop, dark", True), ("desktop, light", False))[not whole :]:
            await tab.screen(*DESKTOP, dark=dark)
            await asyncio.sleep(RESIZED)
            seen.axe[name] = await axe(tab, thin=False, options="{}" if whole and not dark else COLOURS)
    seen.errors += tab.complaints
    for kind in ("layout", "axe"):
        setattr(seen, kind, {when: found for when, found in getattr(seen, kind).items() if found})
    return seen


async def settled(tab, scheme):
    """Wait until the page has taken the reader's scheme; what went wrong, or nothing."""
    for _ in range(int(PATIENCE / 0.05)):
        if await tab.evaluate(THEME) == scheme:
            return []
        await asyncio.sleep(0.05)
    return [f"the page stays {await tab.evaluate(THEME)} where the reader prefers {scheme}"]
