"""The page in browsers that refuse, forget, differ or are left behind: refused storage and workers, two tabs, a night of 23 hours, a reader's own
colours, endless output, odd files. One browser for all of it; each case has a profile of its own."""

import json
import re

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.book.browser import FLAGS, NOWHERE
from tests.book.conftest import HTML
from tests.book.test_live import exercise
from tests.ci import in_ci

pytestmark = pytest.mark.browser
SITE = "http://book.test/"
LESSON, REVIEW, INDEX, SEARCH = (
    f"{SITE}{name}.html" for name in ("chapters/05_permutations", "chapters/back/review", "chapters/index", "search")
)
ANSWER = exercise("05_permutations.ipynb", "5.1")
REFUSED = {
    "the getter throws": "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('refused', 'SecurityError'); } });",
    "setItem throws": "Storage.prototype.setItem = () => { throw new DOMException('refused', 'SecurityError'); };",
    "it is full": "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };",
}
CARD = {
    "due": "2026-01-02",
    "last_review": "2026-01-01",
    "stability": 2.3,
    "difficulty": 2.1,
    "scheduled_days": 1,
    "reps": 1,
    "lapses": 0,
    "state": 2,
}


@pytest.fixture(scope="module")
def browser(chromium, pages):
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=chromium, args=FLAGS, proxy=NOWHERE) as made:
        yield made


@pytest.fixture
def profile(browser):
    """A fresh profile; the book lies at an address of its own, without a server. ``headers`` are sent with each page."""
    made = []

    def fresh(headers=None, script="", **options):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        context.set_default_timeout(90_000)
        context.problems = []
        context.on("weberror", lambda error: context.problems.append(str(error.error)))

        def answer(route):
            path = HTML / route.request.url.removeprefix(SITE).split("?")[0].split("#")[0]
            page = path.suffix == ".html"
            route.fulfill(path=path, headers={"Content-Type": "text/html", **(headers or {})} if page else None)

        context.route(f"{SITE}**", answer)
        if script:
            context.add_init_script(script)
        made.append(context)
        return context

    yield fresh
    for context in made:
        context.close()


def opened(context, address):
    tab = context.new_page()
    tab.goto(address)
    return tab


def cell(tab, name, text=None, number=ANSWER):
    """Type a text, press a button; gives the box of the cell."""
    box = tab.locator(f".live-{number}")
    if text is not None:
        if not box.locator(".cm-content").count():
            box.get_by_role("button", name=re.compile("Write your answer|Edit")).click()
        box.locator(".cm-content").focus()
        tab.keyboard.press("Control+A")
        tab.keyboard.insert_text(text)
    if name:
        box.get_by_role("button", name=name, exact=True).click()
    return box


def ended(box):
    expect(box).not_to_have_class(re.compile("live-busy"), timeout=90_000)
    return box.locator(".live-out").inner_text()


# ---------------------------------------------------------------- storage


@pytest.mark.parametrize("kind", in_ci(REFUSED, ["the getter throws"]))
def test_nothing_breaks_where_nothing_can_be_kept_and_it_is_said_once(profile, kind):
    context = profile(script=REFUSED[kind])
    tab = opened(context, LESSON)
    note, mode = tab.locator(".book-note"), tab.evaluate("document.documentElement.dataset.mode")
    assert note.count() == 0, "nothing was lost yet"
    tab.locator(".theme-switch-button:visible").click()
    assert tab.evaluate("document.documentElement.dataset.mode") != mode
    expect(note).to_contain_text("storage is full" if kind == "it is full" else "does not let the book keep anything")
    note.get_by_role("button", name="Close").click()
    assert note.count() == 0 and tab.evaluate("document.activeElement.matches('.theme-switch-button')")
    tab.locator(".predict-choice").first.click()
    assert tab.locator(".predict-verdict").first.inner_text().startswith("You said ")
    tab.get_by_role("button", name="Ask me 12 questions").click()
    tab.get_by_role("button", name="Show the answer").click()
    tab.get_by_role("button", name="I knew it").click()
    assert tab.locator(".review-count").inner_text() == "Question 2 of 12"
    assert "1 of 12 questions answered" in tab.locator("nav.bd-links .read-tick").first.get_attribute("title")
    box = cell(tab, None, "x = 2")
    assert box.locator(".live-status").inner_text() == "This browser keeps nothing: save your text as a notebook."
    assert note.count() == 0, "it was said"
    tab.goto(f"{SEARCH}?q=softmax")
    tab.locator("#search-results li a").first.wait_for()
    tab.goto(INDEX)
    tab.get_by_role("button", name="Take from a file").wait_for()
    assert context.problems == []


# ---------------------------------------------------------------- two tabs


def test_two_tabs_agree(profile):
    context = profile()
    here, there, start, review = (opened(context, address) for address in (LESSON, LESSON, INDEX, REVIEW))
    review.clock.install()
    here.locator(".predict-choice").first.click()
    verdict = here.locator(".predict-verdict").first.inner_text()
    expect(there.locator(".predict-verdict").first).to_have_text(verdict)
    expect(there.locator(".predict-choice").first).to_have_attribute("aria-pressed", "true")
    expect(start.locator("#your-progress tbody tr")).to_have_count(1)
    cell(here, None, "def f():\n    return 7")
    box = there.locator(f".live-{ANSWER}")
    expect(box.locator("pre").first).to_have_text("def f():\n    return 7")
    expect(box.locator(".live-status")).to_have_text("This is your text from another tab.")
    cell(there, None, "x = 11")
    expect(here.locator(f".live-{ANSWER} .cm-content")).to_have_text("x = 11")
    here.evaluate("localStorage.setItem('xformer-done', JSON.stringify({ '5.1': true }))")
    expect(box.locator(".live-status")).to_contain_text("Solved before.")
    # a question that one tab has answered is not asked in the other, nor is one counted as new
    for tab in (here, there):
        tab.get_by_role("button", name="Ask me 12 questions").click()
        tab.locator(".review-question").wait_for()
    asked = there.locator(".review-question").inner_text()
    here.get_by_role("button", name="Show the answer").click()
    here.get_by_role("button", name="Not yet").click()
    expect(there.locator(".review-question")).not_to_have_text(asked)
    expect(there.locator(".review-count")).to_have_text("Question 1 of 11")
    expect(review.locator("#review-due p")).to_contain_text("Nothing is due before")
    # a step back shows the page as it was left
    here.evaluate("localStorage.clear()")
    there.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(there.locator(".predict-verdict").first).to_have_text("")
    assert there.locator(".predict-choice[aria-pressed=true]").count() == 0 and context.problems == []


# ---------------------------------------------------------------- days


@pytest.mark.parametrize(
    ("zone", "now", "knew", "due", "next_day"),
    [
        ("Europe/Berlin", "2026-03-28T23:45:00+01:00", False, "2026-03-29", "2026-03-29T00:15:00+01:00"),  # a night of 23 hours
        ("Pacific/Pago_Pago", "2026-05-01T23:50:00-11:00", True, "2026-05-04", "2026-05-04T00:01:00-11:00"),
    ],
)
def test_a_question_is_due_on_a_day_of_the_readers_calendar(profile, zone, now, knew, due, next_day):
    context = profile(timezone_id=zone)
    context.clock.install(time=now)
    tab = opened(context, LESSON)
    tab.get_by_role("button", name="Ask me 12 questions").click()
    tab.get_by_role("button", name="Show the answer").click()
    tab.get_by_role("button", name="I knew it" if knew else "Not yet").click()
    [card] = tab.evaluate("Object.values(JSON.parse(localStorage['xformer-reviewed']))")
    assert card["due"] == due and card["last_review"] == now[:10]
    tab.goto(REVIEW)
    assert "Nothing is due before" in tab.locator("#review-due").inner_text()
    tab.clock.set_system_time(next_day)
    tab.reload()
    assert "1 question is due." in tab.locator("#review-due").inner_text()
    tab.goto(INDEX)
    assert tab.locator("#your-progress tbody td").last.text_content() == "1" and context.problems == []


def test_what_was_kept_to_the_millisecond_goes_on_and_a_clock_set_back_stops_nobody(profile):
    context = profile(timezone_id="Europe/Berlin")
    context.clock.install(time="2026-03-30T09:00:00+02:00")
    tab = opened(context, LESSON)
    kept = CARD | {"due": "2026-03-29T22:45:00.000Z", "last_review": "2026-03-28T22:45:00.000Z"}  # the 30th, in Berlin
    broken = {"due": "2026-03-01"}
    tab.evaluate("(kept) => localStorage.setItem('xformer-reviewed', JSON.stringify(kept))", {"read-an-order": kept, "what-p-does": broken})
    tab.goto(REVIEW)
    tab.get_by_role("button", name="Ask what is due").click()
    tab.locator(".review-question").wait_for()
    tab.clock.set_system_time("2026-03-20T09:00:00+01:00")
    tab.get_by_role("button", name="Show the answer").click()
    tab.get_by_role("button", name="I knew it").click()
    assert tab.locator("#review-due").inner_text().startswith("You knew 1 of 1.") and context.problems == []
    assert tab.evaluate("JSON.parse(localStorage['xformer-reviewed'])['read-an-order'].last_review") == "2026-03-28"


# ---------------------------------------------------------------- a reader's own colours, and the focus


def test_the_focus_goes_somewhere_when_its_button_goes(profile):
    context = profile()
    tab = opened(context, LESSON)

    def focused(selector):
        return tab.evaluate("(selector) => document.activeElement.matches(selector)", selector)

    tab.locator(".predict-choice").first.focus()
    tab.keyboard.press("Enter")
    assert focused(".predict-choice[aria-pressed=true]")
    tab.get_by_role("button", name="Ask me 12 questions").focus()
    tab.keyboard.press("Enter")
    tab.locator(".review-question").wait_for()
    assert focused(".review-question")
    for name, place in (("Show the answer", ".review-answer"), ("I knew it", ".review-question"), ("Enough for now", ".review-stage *")):
        tab.get_by_role("button", name=name).focus()
        tab.keyboard.press("Enter")
        assert focused(place), name
    box = tab.locator(f".live-{ANSWER}")
    box.get_by_role("button", name="Check").focus()
    tab.keyboard.press("Enter")
    assert focused(".live-button") and tab.evaluate("document.activeElement.textContent") == "Check"
    box.get_by_role("button", name="Stop").focus()
    tab.keyboard.press("Enter")
    ended(box)
    assert tab.evaluate("document.activeElement.textContent") == "Check"
    cell(tab, None, "x = 3")
    box.get_by_role("button", name="Reset").focus()
    tab.keyboard.press("Enter")
    assert focused(".cm-content")
    tab.evaluate("localStorage.setItem('xformer-read', JSON.stringify(['05_permutations']))")
    tab.goto(INDEX)
    tab.get_by_role("button", name="Forget what I have read").focus()
    tab.keyboard.press("Enter")
    assert focused("table") and tab.locator(".read-forget").count() == 0
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Forget everything").focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("#your-progress .live-status")).to_have_text("Forgotten.")
    assert focused(".live-button") and context.problems == []


# ---------------------------------------------------------------- cells


def test_a_cell_without_end_is_cut_and_what_it_cannot_do_is_said(profile):
    context = profile()
    tab = opened(context, LESSON)
    box = cell(tab, "Check", "for n in range(5_000_000):\n    print(n)")
    expect(box.locator(".live-status")).to_have_text("Running …", timeout=90_000)
    slow = tab.evaluate(
        """() => new Promise((resolve) => { let last = performance.now(), most = 0; const box = document.querySelector(".live-busy");
        const tick = () => { const now = performance.now(); most = Math.max(most, now - last); last = now;
          box.classList.contains("live-busy") ? setTimeout(tick, 10) : resolve(most); }; tick(); })"""
    )
    said = ended(box)
    assert slow < 3_000 and "\n999\n" in said and "cut here" in said.splitlines()[-1] and len(said) < 10_000
    for source, words in (
        ("x = input('word? ')", "write the value into the code"),
        ("import torch", "torch is not in this page's Python, which has NumPy alone"),
        ("import pandas", "pandas is not in this page's Python, which has NumPy alone"),
        ("def there_and_back(order):\n    import torch\n\ncheck('5.1', there_and_back)", "which has NumPy alone"),
    ):
        assert words in ended(cell(tab, "Check", source)), source
    assert context.problems == []


# ---------------------------------------------------------------- frames and rules


NO_WORKER = "window.Worker = class { constructor() { throw new DOMException('', 'SecurityError'); } };"


@pytest.mark.parametrize(
    ("headers", "script", "sandbox", "words"),
    [
        ({}, NO_WORKER, True, "sandbox without allow-same-origin"),
        ({"Content-Security-Policy": "worker-src 'none'"}, "", False, "worker-src of its Content-Security-Policy"),
    ],
)
def test_a_page_that_may_not_run_python_says_why(profile, headers, script, sandbox, words):
    context = profile(headers, script)
    tab = context.new_page()
    frame = f"<iframe sandbox='allow-scripts' src='{LESSON}' width=1000 height=700></iframe>"
    context.route("http://other.test/", lambda route: route.fulfill(content_type="text/html", body=frame))
    tab.goto("http://other.test/" if sandbox else LESSON)
    page = tab.frame_locator("iframe") if sandbox else tab
    box = page.locator(f".live-{ANSWER}")
    box.get_by_role("button", name="Check").click()
    expect(box.locator(".live-status")).to_contain_text(words, timeout=90_000)
    if sandbox:
        page.locator(".predict-choice").first.click()
        expect(page.locator(".book-note")).to_contain_text("does not let the book keep anything")
    assert context.problems == []


# ---------------------------------------------------------------- search


OWN_SENTENCES = ("train it on your own sentences", "my own data", "custom dataset", "tsv", "fine-tune")  # all lead to page 12h


@pytest.mark.parametrize("place", in_ci(["folder", "server"], ["folder"]))
def test_the_search_page_finds(profile, place):
    """Titles before mentions, in the order of the book; words around a hit; a proposal; no word that ends it."""
    context = profile()
    tab = context.new_page()
    home = (HTML / "search.html").as_uri() if place == "folder" else SEARCH
    found = {}
    for query in (
        "softmax",
        "constructor",
        "__proto__",
        "toString",
        "temprature",
        "softmax temprature",
        "positional encoding",
        "relative_attention",
        *OWN_SENTENCES,
    ):
        tab.goto(f"{home}?q={query}")
        expect(tab.locator("#search-results h2")).to_have_text("Search Results")
        if query == "softmax":
            expect(tab.locator("#search-results li").last.locator("p.context")).not_to_be_empty()
            found["excerpts"] = tab.locator("#search-results li:nth-child(-n+12) p.context").all_inner_texts()
        found[query] = tab.locator("#search-results li a").all_inner_texts()
        if not found[query] and "temp" in query:
            found[query] = tab.locator(".search-proposal a").inner_text(), tab.locator(".search-proposal a").get_attribute("href")
    first = found["softmax"][:5]
    chapters = [int(number[0]) for title in first if (number := re.match(r"\d+", title))]
    assert all("softmax" in title.lower() for title in first) and len(chapters) > 2 and chapters == sorted(chapters), first
    named = ["softmax" in title.lower() for title in found["softmax"]]
    assert named == sorted(named, reverse=True) and sum(named) > 5, "whoever has it in a title comes first"
    assert (
        found["positional encoding"][0] == "7 · Positional encoding"
        and found["relative_attention"][0] == "xformer_lib.reference > relative_attention()"
    )
    assert all(any(title.startswith("12h · ") for title in found[query][:3]) for query in OWN_SENTENCES), found
    assert found["constructor"] == found["__proto__"] == found["toString"] == []
    assert found["temprature"] == ("temperature", "?q=temperature") and found["softmax temprature"][0] == "softmax temperature"
    assert len(found["excerpts"]) == 12 and sum("softmax" in text.lower() for text in found["excerpts"]) > 5
    assert tab.locator("#search-results .highlighted").count() and context.problems == []
    beside = tab.evaluate(
        """() => { const form = document.querySelector("form.bd-search"), input = form.querySelector("input"), style = getComputedStyle(input);
        return input.getBoundingClientRect().left + parseFloat(style.paddingLeft) - form.querySelector("svg").getBoundingClientRect().right; }"""
    )
    assert beside >= 2, "the glass lies on the first letter"


# ---------------------------------------------------------------- a file of one's progress


def test_an_odd_file_changes_nothing(profile):
    """A file in which something is missing or of another type is refused as a whole, with its name."""
    context = profile()
    tab = opened(context, INDEX)
    before = {"xformer-read": ["01_motivation"], "xformer-reviewed": {"read-an-order": CARD}}
    tab.evaluate("(kept) => { for (const [key, value] of Object.entries(kept)) localStorage.setItem(key, JSON.stringify(value)); }", before)
    tab.reload()
    status, held = (
        tab.locator("#your-progress .live-status"),
        "Object.fromEntries(Object.entries(localStorage).filter(([key]) => key.startsWith('xformer-')).map(([key, value]) => [key, JSON.parse(value)]))",
    )
    cards = [{field: value for field, value in CARD.items() if field != lacking} for lacking in CARD]
    cards += [CARD | odd for odd in ({"due": "soon"}, {"due": 5}, {"stability": "2.3"}, {"difficulty": 0}, {"reps": None}, {"state": -1})]
    odd = [("xformer-reviewed", {"good": CARD, "odd": card}) for card in cards]
    odd += [
        ("xformer-reviewed", [CARD]),
        ("xformer-read", {"a": 1}),
        ("xformer-read", [5]),
        ("xformer-predicted", {"05_permutations": {"key": ["none"]}}),
    ]
    odd += [
        ("xformer-predicted", {"05_permutations": {"key": ["none", "yes"]}}),
        ("xformer-done", {"5.1": "yes"}),
        ("xformer-typed", {"05_permutations": {"5.1": 7}}),
        ("xformer-laboratory", {"a": 1}),
        ("xformer-laboratory", [{"n": 1}]),
    ]
    for key, value in odd:
        file = json.dumps({"xformer-read": ["02_dictionary_lookup"], key: value}).encode()
        tab.set_input_files("#your-progress input", {"name": "x.json", "mimeType": "application/json", "buffer": file})
        expect(status).to_have_text(re.compile(f"({key} .*)Nothing was changed"))
        assert tab.evaluate(held) == before, (key, value)
        tab.evaluate("document.querySelector('#your-progress .live-status').textContent = ''")
    for text in (b"[]", b"{", b'{"__proto__": {}}'):
        tab.set_input_files("#your-progress input", {"name": "x.json", "mimeType": "application/json", "buffer": text})
        expect(status).to_have_text(re.compile("Nothing was changed"))
        tab.evaluate("document.querySelector('#your-progress .live-status').textContent = ''")
    # all of it or nothing, where the browser takes a part
    tab.evaluate(
        "(() => { const set = Storage.prototype.setItem; Storage.prototype.setItem = function (key, value) { if (key === 'xformer-done') throw new DOMException('', 'QuotaExceededError'); set.call(this, key, value); }; })()"
    )
    whole = json.dumps({"xformer-read": ["02_dictionary_lookup"], "xformer-done": {"5.1": True}}).encode()
    tab.set_input_files("#your-progress input", {"name": "x.json", "mimeType": "application/json", "buffer": whole})
    expect(status).to_have_text(re.compile("keeps no more. Nothing was changed"))
    assert tab.evaluate(held) == before and context.problems == []
