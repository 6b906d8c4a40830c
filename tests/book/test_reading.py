"""What helps a reader along: notes on terms, and ticks for the pages that were read to their end."""

import asyncio
import json
from pathlib import Path

import nbformat
import pytest
from playwright.async_api import expect

from tests.book.browser import browse

ROOT = Path(__file__).resolve().parents[2]
CONTRAST = """
(() => {
  const part = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const light = (s) => { const [r, g, b] = s.match(/[\\d.]+/g).map(Number); return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const style = getComputedStyle(document.querySelector(".term-note"));
  const [a, b] = [light(style.color), light(style.backgroundColor)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); })()
"""
SHOWN = "[...document.querySelectorAll('.term-note')].filter((n) => getComputedStyle(n).display !== 'none').length"
FITS = """
document.querySelectorAll("details").forEach((fold) => { fold.open = true; }),
[...document.querySelectorAll(".term-note")].filter((note) => {
  note.style.display = "block";
  const box = note.getBoundingClientRect(), word = note.previousElementSibling.getBoundingClientRect();
  note.style.display = "";
  return box.left < 0 || box.right > innerWidth || box.top < word.top || box.top > word.bottom + 24 || box.width < 120; }).map((n) => n.id)
"""
# Without the glide, and as often as it takes: fonts that arrive late move the end, and on a busy machine an observer is late.
READ = """
() => {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  return document.querySelector("nav.bd-links .read-tick"); }
"""
# Where it was half a second ago, and near the upper edge.
RESTS_AT_THE_TOP = """
(id) => {
  const before = window.placeBefore, now = document.getElementById(id).getBoundingClientRect().top;
  window.placeBefore = now;
  return now === before && now >= 0 && now < 200; }
"""
TICKED = "nav.bd-links .read-tick"


def page_of(articles, name):
    return next(page for page in articles.values() if page.name == f"chapters/{name}")


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_note_shows_by_pointer_and_by_keyboard(chromium, articles, dark):
    page = page_of(articles, "04_self_attention")

    async def work(tab):
        await tab.screen(360, 740, dark=dark)
        await tab.visit(page.path.as_uri())
        seen = [await tab.evaluate(SHOWN)]
        await tab.locator("a.term:not(details *)").first.hover()
        seen.append(await tab.evaluate(SHOWN))
        contrast = await tab.evaluate(CONTRAST)
        await tab.keyboard.press("Escape")
        seen.append(await tab.evaluate(SHOWN))
        await tab.mouse.move(1, 1)
        await tab.keyboard.press("Tab")
        await tab.locator("a.term").nth(1).focus()
        seen.append(await tab.evaluate(SHOWN))
        return seen, contrast, await tab.evaluate(FITS)

    seen, contrast, sticking_out = browse(chromium, work)
    assert seen == [0, 1, 0, 1] and contrast >= 4.5 and sticking_out == []


@pytest.mark.browser
def test_pages_read_to_their_end_are_ticked_and_forgotten(chromium, articles):
    first, index = (page_of(articles, name).path.as_uri() for name in ("02_dictionary_lookup", "index"))
    ticks = "[...document.querySelectorAll('nav.bd-links .read-tick')].map((m) => m.closest('a').href.split('#')[0].split('/').pop() + m.textContent)"
    counts = "[...document.querySelectorAll('article .read-count')].map((c) => c.textContent)"

    async def work(tab):
        await tab.screen(1280, 900)
        await tab.visit(index)
        found = [await tab.evaluate(counts)]
        await tab.visit(first)
        await asyncio.sleep(0.3)
        found.append(await tab.evaluate(ticks))
        await tab.wait_for_function(READ, polling=500)
        found.append(await tab.evaluate(ticks))
        await tab.visit(index)
        found += [await tab.evaluate(counts), await tab.evaluate(ticks)]
        await tab.click("button.read-forget")
        return *found, await tab.evaluate(counts), await tab.evaluate(ticks), tab.complaints

    before, early, ticked, counted, still, forgotten, gone, problems = browse(chromium, work)
    assert problems == [] and before == [] and early == []
    assert ticked == still == ["02_dictionary_lookup.html\u00a0✓ (read)"]
    [plan] = [
        cell.source
        for cell in nbformat.read(ROOT / "chapters" / "index.ipynb", as_version=4).cells
        if cell.source.startswith("## The plan")
    ]
    pages = [part.count("\n| [") for part in plan.split("\n| **")[1:]]  # four parts and the workshop
    assert len(pages) == 5 and min(pages) > 1
    assert counted == [f" · {int(place == 0)} of {count} read" for place, count in enumerate(pages)]
    assert forgotten == [] and gone == []


@pytest.mark.browser
def test_a_link_to_a_section_leads_there(chromium, articles):
    """The heading stands at the top of the window, however long the page before it."""
    places = {"05_permutations": "three-facts-about-p", "09_encoder_decoder": "what-must-not-leak", "12_translation": "beam-search"}

    async def work(tab):
        await tab.screen(1280, 900)
        for name, place in places.items():
            await tab.visit(page_of(articles, name).path.as_uri() + f"#{place}")
            await tab.wait_for_function(RESTS_AT_THE_TOP, arg=place, polling=500)  # the page glides there
        await tab.visit(page_of(articles, "09_encoder_decoder").path.as_uri())
        await tab.click(".bd-sidebar-secondary a[href='#what-must-not-leak']")
        await tab.wait_for_function(RESTS_AT_THE_TOP, arg="what-must-not-leak", polling=500)

    browse(chromium, work)


@pytest.mark.browser
def test_what_was_kept_by_an_earlier_edition_moves_to_todays_numbers(chromium, pages):
    """Its 3.8 is today's 3.6, its 12.2 today's 13.1; once moved, it is not moved again."""
    index = next(page for page in pages.values() if page.name == "chapters/index")
    old = {
        "xformer-solved": {"3.8": True, "5.1": True, "12.2": True},
        "xformer-code": {"03_x": {"3.8": "def f(x):\n    return x\n\n\ncheck('3.8', f)", "x = 3.8": "x = 3.9"}},
    }
    more = {"xformer-solved": {"3.9": True}, "xformer-code": {"03_x": {"3.8": "later", "3.2": "new"}}}
    names = ("xformer-solved", "xformer-code", "xformer-done", "xformer-typed")

    async def work(tab):
        await tab.visit(index.path.as_uri())
        for key, value in old.items():
            await tab.evaluate("([key, value]) => localStorage.setItem(key, JSON.stringify(value))", [key, value])
        for _ in range(2):
            await tab.visit(index.path.as_uri())
        # A page of that edition, open all the while, keeps two more.
        for key, value in more.items():
            await tab.evaluate("([key, value]) => localStorage.setItem(key, JSON.stringify(value))", [key, value])
        await tab.visit(index.path.as_uri())
        return [await tab.evaluate("(key) => JSON.parse(localStorage.getItem(key))", key) for key in names], tab.complaints

    moved, complaints = browse(chromium, work)
    done = {"3.6": True, "3.7": True, "5.1": True, "13.1": True}
    typed = {"03_x": {"3.2": "new", "3.6": "def f(x):\n    return x\n\n\ncheck('3.6', f)", "x = 3.8": "x = 3.9"}}
    assert moved == [None, None, done, typed] and complaints == []


@pytest.mark.browser
def test_the_first_page_says_where_the_reader_is(chromium, pages):
    """Read, predicted, solved, by chapter; written to a file, forgotten, and taken back from it."""
    index = next(page for page in pages.values() if page.name == "chapters/index")
    first, second = (json.loads(fold["data-ask"])["key"] for fold in page_of(pages, "05_permutations").soup.select("[data-ask]")[:2])
    kept = {
        "xformer-read": ["05_permutations", "05a_how_much_order_is_left", "12c_what_each_part_is_worth", "w1_inputs_and_errors"],
        "xformer-predicted": {"05_permutations": {first: ["none", True], second: ["2, 2", False], "1": ["gone", True]}, "gone": {}},
        "xformer-done": {"5.1": True, "5.6": True, "9.4": True},
        "xformer-reviewed": {
            "read-an-order": {"due": "2026-01-02T03:04:05Z", "last_review": "2026-01-01T03:04:05Z", "stability": 2.3, "difficulty": 2.1}
            | {"scheduled_days": 1, "reps": 1, "lapses": 0, "state": 2}
        },
    }
    rows = "[...document.querySelectorAll('#your-progress tbody tr')].map((row) => [...row.cells].slice(1).map((cell) => cell.textContent))"

    async def work(tab):
        await tab.visit(index.path.as_uri())
        seen = {"empty": await tab.evaluate("document.getElementById('your-progress').textContent")}
        for key, value in kept.items():
            await tab.evaluate("([key, value]) => localStorage.setItem(key, JSON.stringify(value))", [key, value])
        await tab.visit(index.path.as_uri())
        seen["rows"] = await tab.evaluate(rows)
        seen["titles"] = await tab.evaluate(
            "[...document.querySelectorAll('#your-progress tbody tr')].map((row) => row.cells[0].textContent)"
        )
        async with tab.expect_download() as saved:
            await tab.get_by_role("button", name="Save to a file").click()
        file = await (await saved.value).path()
        seen["saved"] = json.loads(file.read_text(encoding="utf-8"))
        await tab.evaluate("localStorage.clear()")
        await tab.visit(index.path.as_uri())
        await tab.set_input_files("#your-progress input", file)
        await expect(tab.locator("#your-progress tbody tr")).to_have_count(4)
        seen["taken"] = await tab.evaluate(rows)
        # what another tab or another page kept in the meantime
        for read, news in (
            (["01_motivation"], "new StorageEvent('storage')"),
            ([], "new PageTransitionEvent('pageshow', {persisted: true})"),
        ):
            script = f"(read) => {{ localStorage.setItem('xformer-read', JSON.stringify(read)); dispatchEvent({news}); }}"
            await tab.evaluate(script, read)
            seen[len(read)] = [
                await tab.evaluate(f"document.querySelectorAll('{one}').length") for one in ("#your-progress tbody tr", TICKED)
            ]
        # a file of another shape, a browser that takes no more, and what such a file has left
        status = tab.locator("#your-progress .live-status")
        odd = {"name": "x.json", "mimeType": "application/json", "buffer": b'{"xformer-read": {"a": 1}}'}
        await tab.set_input_files("#your-progress input", odd)
        await expect(status).to_contain_text("This file is not one that the button beside it wrote")
        await tab.evaluate("localStorage.setItem('xformer-read', JSON.stringify({ a: 1 }))")
        await tab.visit(index.path.as_uri())
        await tab.evaluate("(() => { Storage.prototype.setItem = () => { throw new Error('refused'); }; })()")
        await tab.set_input_files("#your-progress input", file)
        await expect(status).to_have_text("It could not be taken: this browser keeps no more. Nothing was changed.")
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == [] and seen["empty"].startswith("Nothing yet")
    read = ["1", "0", "0", "0", "0"]
    assert seen["rows"] == [["2", "1 of 2", "2", "1", "1"], ["0", "0", "1", "0", "0"], read, read] == seen["taken"]
    assert seen["titles"] == ["5 · Permutations", "9 · The encoder–decoder", "12 · Translation", "w1 · Inputs and errors"]
    assert seen["saved"] == kept and seen[1] == [3, 3] and seen[0] == [2, 2]


# ---------------------------------------------------------------- closed sections, checks, covered outputs

CLOSED = "[...document.querySelectorAll('details.more')].map((one) => one.open)"


@pytest.mark.browser
def test_closed_sections_open_by_link_by_switch_and_on_paper(chromium, articles):
    page = next(page for page in articles.values() if page.soup.select("details.more section"))
    inner = page.soup.select_one("details.more section")["id"]

    async def work(tab):
        await tab.visit(page.path.as_uri())
        seen = [await tab.evaluate(CLOSED)]
        await tab.visit(f"{page.path.as_uri()}#{inner}")
        seen.append(await tab.evaluate(f"document.getElementById('{inner}').checkVisibility()"))
        await tab.evaluate("location.hash = ''")
        await tab.locator(".reach button").nth(1).click()
        await tab.visit(page.path.as_uri())
        seen.append(await tab.evaluate(CLOSED))
        await tab.locator(".reach button").nth(0).click()
        seen.append(await tab.evaluate(CLOSED))
        await tab.screen(1000, 800, media="print")
        seen.append(await tab.evaluate(f"document.getElementById('{inner}').getBoundingClientRect().height > 0"))
        return seen, tab.complaints

    (first, linked, everything, again, printed), complaints = browse(chromium, work)
    assert linked and printed and all(everything) and not any(first + again) and complaints == []


def test_the_contents_know_closed_sections(articles):
    sections = [one for page in articles.values() for one in page.soup.select("details.more")]
    assert len(sections) > 20
    for one in sections:
        assert one.summary.h2 and one.summary.select(".minutes") and one.parent.name == "section" and one.parent["id"]


@pytest.mark.browser
def test_checks_are_shown_when_asked_for(chromium, articles):
    shown = "[...document.querySelectorAll('details.claims')].filter((one) => one.checkVisibility()).length"

    async def work(tab):
        await tab.visit(page_of(articles, "03_scaled_dot_product_attention").path.as_uri())
        seen = [await tab.evaluate(shown)]
        await tab.locator("p.checked button").click()
        return [*seen, await tab.evaluate(shown)]

    before, after = browse(chromium, work)
    assert before == 0 and after > 3


@pytest.mark.browser
def test_an_output_that_gives_the_answer_away_is_covered(chromium, articles):
    first = "document.querySelector('.predict:has(+ .cell > .cell_output) + .cell > .cell_output')"
    seen_ = f"getComputedStyle({first}.querySelector('.output')).visibility"

    async def work(tab):
        await tab.visit(page_of(articles, "03_scaled_dot_product_attention").path.as_uri())
        seen = [await tab.evaluate(seen_)]
        await tab.evaluate(f"{first}.parentElement.previousElementSibling.querySelector('summary').click()")
        await tab.evaluate("new Promise((done) => setTimeout(done, 50))")
        return [*seen, await tab.evaluate(seen_)]

    assert browse(chromium, work) == ["hidden", "visible"]
