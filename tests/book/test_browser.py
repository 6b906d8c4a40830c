"""Every page in a browser that reaches no network: no error, nothing cut off, readable by all, light enough, printable.

One walk visits every page as a desktop shows it by day and phones by night; the tests then ask what it found. That
each check can fail is shown on pages made for it.
"""

import pytest

from tests.book import survey
from tests.book.browser import browse
from tests.book.conftest import HTML
from tests.ci import in_ci

pytestmark = pytest.mark.browser
BUDGET = 600_000  # bytes a page may load, compressed, pictures left out
WHOLE = "chapters/05_permutations"  # audited without thinning
FEW = ("chapters/index", "chapters/05_permutations", "chapters/back/glossary", "search")
SHOWN = "[...document.querySelectorAll('%s')].filter((e) => e.checkVisibility() && e.getBoundingClientRect().height > 1).length"


def leads_elsewhere(page):
    """The first page of the folder only sends on to the first page of the book."""
    return 'http-equiv="Refresh"' in page.path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def findings(chromium, pages):
    """What one walk through the pages found, by page name: through all with CI=true, else through a few."""
    those = [page for page in pages.values() if in_ci(not leads_elsewhere(page), page.name in FEW)]

    async def walk(tab):
        return {page.name: await survey.look(tab, page.path, whole=in_ci(page.name == WHOLE, False)) for page in those}

    return browse(chromium, walk)


def test_every_page_loads_from_the_disk_without_an_error(findings):
    """No console error, no failed and no remote request, no formula without its fonts, on a desktop and on a phone."""
    assert {name: seen.errors for name, seen in findings.items() if seen.errors} == {}


def test_nothing_is_cut_off_and_nothing_overlaps(findings):
    """No sideways scroll, no figure, table or drawing outside of its place or over its neighbours, all folds open."""
    assert {name: seen.layout for name, seen in findings.items() if seen.layout} == {}


def test_axe_core_objects_to_nothing(findings):
    if not survey.AXE.is_file():
        pytest.skip("axe-core is not installed (npm could not bring it): run 'python book/fetch.py --tests' with a network")
    assert {name: seen.axe for name, seen in findings.items() if seen.axe} == {}


def test_every_page_is_light(findings):
    """What a page loads, without pictures, compressed: HTML, styles, scripts and fonts."""
    sizes = {name: survey.without_figures(seen.weight) for name, seen in findings.items()}
    assert min(sizes.values()) > 20_000, "the weights were not measured"
    assert {name: size for name, size in sizes.items() if size > BUDGET} == {}


def chapter(articles, number):
    return next(page for page in articles.values() if page.name.startswith(f"chapters/{number:02d}_"))


def test_what_works_without_a_network(chromium, pages, articles):
    """From a folder, with the network cut: links, formulas, search, copying, folds, the theme switch."""
    page = chapter(articles, 3)
    search = next(other.path for other in pages.values() if other.name == "search")

    async def work(tab):
        await tab.screen(*survey.DESKTOP)
        await tab.visit(page.path.as_uri())
        works = {}
        works["formulas"] = await tab.evaluate(survey.FONTS) > 0
        works["pictures"] = await tab.evaluate(
            "[...document.querySelectorAll('article img')].every((image) => image.complete && image.naturalWidth > 0)"
        )
        fold = tab.locator("article details:visible").first
        await fold.locator("summary").first.click()
        works["folds"] = await fold.evaluate("(fold) => fold.open")
        before = await tab.evaluate("document.documentElement.dataset.mode")
        await tab.click(".theme-switch-button:visible")
        works["theme switch"] = await tab.evaluate("document.documentElement.dataset.mode") != before
        await tab.context.grant_permissions(["clipboard-read"])
        await tab.click(".cell_input:visible button.copybtn")
        copied, code = await tab.evaluate("navigator.clipboard.readText()"), tab.locator(".cell_input:visible pre").first
        works["copying"] = copied.strip() == (await code.inner_text()).strip() and await tab.locator("button.copybtn").count() > 10
        async with tab.expect_event("load"):
            await tab.click("a.right-next")
        works["links"] = "/03a_" in tab.url
        await tab.visit(f"{search.as_uri()}?q=softmax")
        await tab.locator("#search-results li a").first.wait_for()
        works["search"] = await tab.locator("#search-results li a").count() > 0
        return works, tab.complaints

    works, problems = browse(chromium, work)
    assert [what for what, does in works.items() if not does] == [] and problems == []


def test_on_paper_stays_what_paper_can_show(chromium, articles):
    """Printed: no side column, no button, no launch link; answers open, code broken into lines, black on white."""

    async def work(tab):
        problems = {}
        for number in in_ci((3, 9), (9,)):
            page = chapter(articles, number)
            await tab.screen(700, 990, dark=True, media="print")
            await tab.visit(page.path.as_uri())
            hidden = ".bd-sidebar-primary, .bd-sidebar-secondary, .bd-header-article, .prev-next-footer, .bd-footer button"
            hidden += ", button, a.headerlink, .xf-stage, #pst-back-to-top, .search-button__wrapper"
            found = [f"{name} is shown" for name in hidden.split(", ") if await tab.evaluate(SHOWN % name)]
            if not await tab.evaluate(SHOWN % "article p") or not await tab.evaluate(SHOWN % "article img"):
                found.append("text or pictures are missing")
            folds = "article details:not([class])"
            if await tab.evaluate(f"document.querySelectorAll('{folds}').length") != await tab.evaluate(SHOWN % f"{folds} > :last-child"):
                found.append("an answer is folded")
            if await tab.evaluate(
                "[...document.querySelectorAll('figure.xf')].some((e) => !e.querySelector('.xf-picture').checkVisibility())"
            ):
                found.append("an explorable without its picture")
            wide = await tab.evaluate(
                "[...document.querySelectorAll('article pre')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
            )
            if wide:
                found.append(f"{wide} pieces of code are cut off")
            ink = await tab.evaluate("getComputedStyle(document.querySelector('article p')).color")
            ground = await tab.evaluate("getComputedStyle(document.body).backgroundColor")
            if (ink, ground) != ("rgb(0, 0, 0)", "rgb(255, 255, 255)"):
                found.append(f"{ink} on {ground}")
            dim = await tab.evaluate("[...document.querySelectorAll('article img')].some((e) => getComputedStyle(e).filter !== 'none')")
            dark = "[...document.querySelectorAll('.cell_input, .library-mark')].some((e) => getComputedStyle(e).backgroundColor !== 'rgb(255, 255, 255)')"
            if dim or await tab.evaluate(dark):
                found.append("pictures or code as the dark screen shows them")
            whole = await tab.evaluate(
                "[...document.querySelectorAll('article figure')].every((e) => getComputedStyle(e).breakInside === 'avoid')"
            )
            if not whole:
                found.append("a figure may be split")
            if found:
                problems[page.name] = found
        return problems

    assert browse(chromium, work) == {}


def test_a_first_screen_shows_its_picture_whole(chromium, articles):
    """The first page and five chapters, on a desk and on a phone: what opens the page is seen without scrolling."""
    drawing = "document.querySelector('article figure.xp svg, article figure.xf svg').getBoundingClientRect()"

    async def look(tab):
        cut = {}
        for width, height in ((1280, 900), (390, 844)):
            await tab.screen(width, height)
            for name, page in {
                "index": articles[HTML / "chapters/index.html"],
                **{n: chapter(articles, n) for n in (1, 2, 4, 7, 9)},
            }.items():
                await tab.visit(page.path.as_uri())
                bottom = await tab.evaluate(f"{drawing}.bottom + scrollY")
                if bottom > height:
                    cut[name, width] = bottom
        return cut

    assert browse(chromium, look) == {}


BROKEN = """<!doctype html><html><head><title></title><style>article { width: 300px; } svg { overflow: visible; }</style></head>
<body><article>
<img src='https://example.org/x.png' width=40 height=40><img src='missing.png'>
<p style='width: 2000px'>wide</p>
<div style='width: 80px; overflow: hidden; white-space: nowrap'>these words are longer than their box is wide</div>
<p style='height: 10px'>above</p><svg width=100 height=50 style='margin-top: -20px'><text x=60 y=20>leaves the picture</text></svg>
<table style='position: absolute; left: 0; top: 0; width: 200px'><tr><td>lies over all</td></tr></table>
<p style='color: #aaa; background: #fff'>grey on white</p>
<script>console.error('told'); throw new Error('thrown')</script></article></body></html>"""


def test_a_broken_page_is_noticed(chromium, tmp_path, monkeypatch):
    """The checks above can fail: a page with each kind of trouble is reported."""
    page = tmp_path / "broken.html"
    page.write_text(BROKEN)
    monkeypatch.setattr(survey, "PATIENCE", 1)
    found = browse(chromium, lambda tab: survey.look(tab, page, whole=True))
    errors, layout = "\n".join(found.errors), "\n".join(found.layout["wider phone"])
    for sign in (
        "remote request: https://example.org/x.png",
        "failed request: net::ERR_FILE_NOT_FOUND file:",
        "console: told ",
        "exception: Error: thrown",
    ):
        assert sign in errors
    for sign in (
        "the page scrolls sideways",
        "is cut off",
        "is not loaded: missing.png",
        '"leaves the picture"',
        "overlap by",
        "leaves the window",
    ):
        assert sign in layout, sign
    assert "the page stays" in "\n".join(found.layout["desktop, dark"])
    if survey.AXE.is_file():
        rules = {rule for rule, *_ in found.axe["desktop, light"]}
        assert {"color-contrast", "html-has-lang", "image-alt", "document-title"} <= rules
        assert {rule for rule, *_ in found.axe["desktop, dark"]} == {"color-contrast"}
