"""Every page in a browser that reaches no network: no error, maths with its fonts, nothing wider than a phone."""

import asyncio
import shutil

import pytest

from tests.book.browser import complaints, open_tab

pytestmark = pytest.mark.browser
WIDER = """
(() => {
  const limit = document.documentElement.clientWidth + 1;
  const scrolls = (e) => { for (; e && e !== document.body; e = e.parentElement)
    if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(e).overflowX)) return true; return false; };
  return [...document.querySelectorAll("article *")]
    .filter((e) => e.getBoundingClientRect().right > limit && !scrolls(e.parentElement))
    .map((e) => e.tagName + "." + e.className).slice(0, 5);
})()
"""
FONTS = "[...document.fonts].filter((f) => f.family.startsWith('KaTeX') && f.status === 'loaded').length"
CONTRAST = """
(() => {
  const part = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const numbers = (s) => s.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const behind = (e) => { for (; e; e = e.parentElement) {
    const c = numbers(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } };
  return [...document.querySelectorAll(".library-mark code, .library-mark-word, summary")].map((e) => {
    const [a, b] = [light(numbers(getComputedStyle(e).color)), light(behind(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }).reduce((a, b) => Math.min(a, b), 21);
})()
"""


def browse(chromium, work):
    """Run ``work(tab)`` in a fresh browser."""

    async def run():
        async with open_tab(chromium) as tab:
            return await work(tab)

    return asyncio.run(run())


def test_every_page_loads_from_the_disk_without_an_error(chromium, pages):
    async def work(tab):
        await tab.screen(1280, 900)
        problems = {}
        for page in pages.values():
            found = complaints(await tab.visit(page.path.as_uri()))
            if page.soup.select(".katex") and not await tab.evaluate(FONTS):
                found.append("no font for the formulas")
            if found:
                problems[page.name] = found
        return problems

    assert browse(chromium, work) == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pages_read_on_a_phone(chromium, articles, dark):
    """Nothing sticks out of a window 360 pixels wide, and our labels have contrast enough, in both modes."""

    async def work(tab):
        await tab.screen(360, 740, dark=dark)
        problems = {}
        for page in articles.values():
            await tab.visit(page.path.as_uri())
            wide, contrast = await tab.evaluate(WIDER), await tab.evaluate(CONTRAST)
            mode = await tab.evaluate("document.documentElement.dataset.theme")
            if wide or contrast < 4.5 or mode != ("dark" if dark else "light"):
                problems[page.name] = (wide, contrast, mode)
        return problems

    assert browse(chromium, work) == {}


def test_search_finds_a_word_from_the_disk(chromium, pages):
    search = next(page.path for page in pages.values() if page.name == "search")

    async def work(tab):
        events = await tab.visit(f"{search.as_uri()}?q=softmax")
        for _ in range(40):
            if hits := await tab.evaluate("document.querySelectorAll('#search-results li a').length"):
                break
            await asyncio.sleep(0.1)
        return hits, complaints([*events, *tab.events])

    hits, problems = browse(chromium, work)
    assert hits and problems == []


def test_a_broken_page_is_noticed(chromium, tmp_path):
    """The checks above can fail: a page with each kind of trouble is reported."""
    page = tmp_path / "broken.html"
    page.write_text(
        "<img src='https://example.org/x.png'><img src='missing.png'>"
        "<script>console.error('told'); throw new Error('thrown')</script>"
    )

    async def work(tab):
        return "\n".join(complaints(await tab.visit(page.as_uri())))

    found = browse(chromium, work)
    for sign in ("remote request: https://example.org", "ERR_FILE_NOT_FOUND", "told", "Error: thrown"):
        assert sign in found


def test_chromium_is_found():
    """Says on the test report whether pages were opened in a browser."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        pytest.skip("no Chromium on this machine: pages were parsed but not opened in a browser")
