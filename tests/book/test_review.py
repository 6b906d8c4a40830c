"""Questions that come back: what they may hold, how a page asks them, when they are due, and the deck for Anki."""

import json
import sqlite3
import sys
import zipfile

import pytest
from playwright.sync_api import sync_playwright

from tests.book.browser import FLAGS, NOWHERE
from tests.book.conftest import HTML, ROOT

sys.path.insert(0, str(ROOT / "book"))
from xformer_book import review  # noqa: E402

QUESTIONS = review.questions()
PAGE = "chapters/03_scaled_dot_product_attention.html"


def test_an_id_stands_for_one_question(tmp_path, monkeypatch):
    (tmp_path / "review.yml").write_text("a: [{id: one, ask: x, say: y}]\nb: [{id: one, ask: z, say: w}]\n")
    monkeypatch.setattr(review, "BOOK", tmp_path)
    with pytest.raises(ValueError, match="an id that is not used yet, got 'one'"):
        review.questions.__wrapped__()


def test_the_deck(articles, tmp_path):
    """What is offered is an Anki package with every question, its formulas in the form that Anki draws."""
    with zipfile.ZipFile(HTML / "_static" / review.DECK) as package:
        package.extract("collection.anki2", tmp_path)
    with sqlite3.connect(tmp_path / "collection.anki2") as base:
        notes = dict(base.execute("select guid, flds from notes"))
        decks = [deck["name"] for deck in json.loads(base.execute("select decks from col").fetchone()[0]).values()]
    assert len(notes) == sum(map(len, QUESTIONS.values()))
    note = notes[review.genanki.guid_for(review.TITLE, "size-of-a-score")].split("\x1f")
    assert r"\(\sqrt{100}\)" in note[1] and note[2] == "3 · Scaled dot-product attention" and "$" not in note[1]
    assert not [fields for fields in notes.values() if "< " in fields], "a sign in a formula that reads as a tag"
    assert f"{review.TITLE}::5 Permutations" in decks
    link = next(page for page in articles.values() if page.name.endswith("back/review")).soup.select_one("a[download]")
    assert link["href"].endswith(f"_static/{review.DECK}")


@pytest.fixture(scope="module")
def browser(chromium, pages):
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=chromium, args=FLAGS, proxy=NOWHERE) as made:
        yield made


@pytest.fixture
def page(browser):
    with browser.new_context() as context:
        context.clock.install(time="2026-03-05T10:00:00")
        made = context.new_page()
        made.problems = []
        made.on("pageerror", lambda error: made.problems.append(str(error)))
        yield made


def answer(page, *knew):
    for known in knew:
        page.get_by_role("button", name="Show the answer").click()
        page.get_by_role("button", name="I knew it" if known else "Not yet").click()


@pytest.mark.browser
def test_what_was_not_known_comes_back_tomorrow(page):
    """Asked at the end of the page, then on the page Review when it is due: first what was not known, later what was, at growing distances."""
    loaded = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto((HTML / PAGE).as_uri())
    assert not any("schedule.js" in address for address in loaded)
    count = len(QUESTIONS["03_scaled_dot_product_attention"])
    page.get_by_role("button", name=f"Ask me {count} questions").click()
    assert page.locator(".review-question").inner_text().startswith("Six queries and nine keys")
    assert page.locator(".review-answer").count() == 0
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the answer
    assert "(6, 4)" in page.locator(".review-answer").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # it was known
    answer(page, False)
    page.get_by_role("button", name="Take the last one back").click()
    assert len(page.evaluate("JSON.parse(localStorage['xformer-reviewed'])")) == 1
    answer(page, *([False, True] * 5)[: count - 1])
    stage = page.locator(".review-stage")
    page.get_by_role("button", name="Take the last one back").click()  # also after the last question
    answer(page, True)
    assert stage.inner_text().startswith("You knew 6 of 11. The next one is due on Friday 6 March.")
    page.goto((HTML / "chapters/back/review.html").as_uri())
    assert "Nothing is due before Friday 6 March." in page.locator("#review-due").inner_text()
    page.clock.set_system_time("2026-03-06T09:00:00")
    page.reload()
    assert page.locator("#review-due").inner_text().startswith("5 questions are due.")
    page.get_by_role("button", name="Ask what is due").click()
    answer(page, True, True, False, True, True)
    assert "You knew 4 of 5. Nothing is due before Saturday 7 March." in page.locator("#review-due").inner_text()
    kept = page.evaluate("JSON.parse(localStorage['xformer-reviewed'])")
    days = {id: card["scheduled_days"] for id, card in kept.items()}
    assert len(kept) == count and min(days.values()) == 1 and max(days.values()) == 3
    page.clock.set_system_time("2026-03-08T09:00:00")
    page.reload()
    assert page.locator("#review-due").inner_text().startswith(f"{1 + 6} questions are due.")
    page.get_by_role("button", name="Ask what is due").click()
    answer(page, *[True] * 7)
    assert max(card["scheduled_days"] for card in page.evaluate("JSON.parse(localStorage['xformer-reviewed'])").values()) > 9
    assert page.problems == []


@pytest.mark.browser
def test_new_questions_of_what_was_read(page):
    page.goto((HTML / "chapters/back/review.html").as_uri())
    assert "Nothing was asked yet" in page.locator("#review-due").inner_text() and page.locator("#review-due button").count() == 0
    page.evaluate("localStorage['xformer-read'] = JSON.stringify(['05_permutations'])")
    page.reload()
    count = len(QUESTIONS["05_permutations"])
    page.get_by_role("button", name=f"Ask {count} new ones").click()
    answer(page, True)
    page.get_by_role("button", name="Enough for now").click()
    assert page.locator("#review-due").inner_text().startswith("You knew 1 of 1.")
    assert page.get_by_role("button", name=f"Ask {count - 1} new ones").count() == 1 and page.problems == []


@pytest.mark.browser
def test_the_contents_show_what_was_begun(page):
    page.goto((HTML / PAGE).as_uri())
    page.evaluate(
        "localStorage['xformer-done'] = JSON.stringify({'3.1': true, '3.2': true});"
        "const [name, gone] = ['03_scaled_dot_product_attention', 'of the last edition'];"
        "localStorage['xformer-predicted'] = JSON.stringify({[name]: {[window.bookTotals[name][0][2]]: ['x', true], [gone]: ['x', true]}});"
        "localStorage['xformer-reviewed'] = JSON.stringify({'which-axis-sums': {due: '2026-03-09T10:00:00Z'}})"
    )
    page.reload()
    mark = page.locator("nav.bd-links .read-tick")
    assert mark.count() == 1
    assert mark.get_attribute("title") == "1 of 6 predictions said, 2 of 9 exercises solved here, 1 of 11 questions answered"
    assert mark.locator(".read-part").count() == 3
