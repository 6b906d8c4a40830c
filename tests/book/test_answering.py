"""What a reader opens by answering is as readable as the page before it: axe-core objects to nothing, by day and by night."""

import pytest

from tests.book import survey
from tests.book.browser import browse
from tests.book.conftest import HTML
from tests.ci import continuous

pytestmark = pytest.mark.browser
LIVE = "article .live-exercise"


async def predict(tab):
    form = tab.locator(".predict-form").first
    await form.locator("button").first.click()


async def review(tab):
    await tab.get_by_role("button", name="Ask me 12 questions").click()
    await tab.get_by_role("button", name="Show the answer").click()


async def solve(tab):
    """A text that raises an error, in the editor."""
    cell = tab.locator(LIVE).first
    await cell.get_by_role("button", name="Write your answer").click()
    await cell.locator(".cm-content").focus()
    await tab.keyboard.press("Control+A")
    await tab.keyboard.insert_text("print(undefined)")
    await cell.get_by_role("button", name="Check").click()
    await cell.locator(".live-error").wait_for()


@pytest.mark.parametrize("dark", [pytest.param(False, id="light"), pytest.param(True, id="dark", marks=continuous)])
def test_answers_can_be_read_by_all(chromium, pages, dark):
    if not survey.AXE.is_file():
        pytest.skip("axe-core is not installed (npm could not bring it): run 'python book/fetch.py --tests' with a network")

    async def work(tab):
        await tab.screen(*survey.WIDER_PHONE, dark=dark)
        await tab.visit((HTML / "chapters/05_permutations.html").as_uri())
        for act in (predict, review, solve):
            await act(tab)
        await tab.add_style_tag(content=survey.STILL)
        return await survey.axe(tab), await tab.evaluate("document.documentElement.scrollWidth - innerWidth"), tab.complaints

    found, wider, complaints = browse(chromium, work)
    assert found == [] and wider <= 0 and complaints == []
