"""Predictions that are answered: every entry fits its page, and the page judges what was said before it shows the answer."""

import json
import sys

import pytest
import yaml

from tests.book.browser import browse
from tests.book.conftest import HTML, ROOT

sys.path.insert(0, str(ROOT / "book"))
from xformer_book import predictions  # noqa: E402

ENTRIES = yaml.safe_load((ROOT / "book" / "predictions.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_every_question_stands_on_its_page(articles, name):
    page = next(page for page in articles.values() if page.name == f"chapters/{name}")
    entries = {predictions.key(entry): entry for entry in ENTRIES[name]}
    folds = [json.loads(fold["data-ask"]) for fold in page.soup.select("details[data-ask]")]
    assert sorted(fold["key"] for fold in folds) == sorted(entries) and len(entries) == len(ENTRIES[name])
    for fold in folds:
        entry = entries[fold["key"]]
        assert (
            fold["right"] == [entry["right"]]
            if "choices" in entry
            else fold["right"] == [str(entry.get("number"))] or fold["right"] == entry["text"]
        )


def test_an_entry_that_fits_no_question_is_told():
    texts = ["**Predict.** At how many of these steps?\n\n<details><summary>Answer</summary>\n\nOne.\n\n</details>"]
    complaints = []
    made = predictions.with_questions("02_dictionary_lookup", texts, complaints.append)
    assert "<details data-ask=" in made[0] and len(complaints) == len(ENTRIES["02_dictionary_lookup"]) - 1
    assert predictions.with_questions("no_such_page", texts, complaints.append) == texts


@pytest.mark.browser
def test_a_prediction_is_said_then_shown_and_kept(chromium, pages):
    address = (HTML / "chapters" / "05_permutations.html").as_uri()

    async def work(tab):
        await tab.visit(address)
        seen = {"closed": await tab.evaluate("[...document.querySelectorAll('details[data-ask]')].every((fold) => !fold.open)")}
        forms = tab.locator(".predict-form")
        await forms.nth(0).locator("button").first.click()
        await forms.nth(1).locator("input").fill("(3,1)")
        await forms.nth(1).locator("button").click()
        await forms.nth(0).locator("button").nth(2).click()
        seen["said"] = await tab.evaluate("[...document.querySelectorAll('.predict-verdict')].slice(0, 2).map((one) => one.textContent)")
        seen["open"] = await tab.evaluate("[...document.querySelectorAll('details[data-ask]')].map((fold) => fold.open).slice(0, 3)")
        seen["kept"] = json.loads(await tab.evaluate("localStorage.getItem('xformer-predicted')"))
        await tab.visit(address)
        seen["again"] = await tab.evaluate("[...document.querySelectorAll('.predict-verdict')].slice(0, 3).map((one) => one.textContent)")
        return seen

    seen = browse(chromium, work)
    assert seen["closed"] and seen["open"] == [True, True, False]
    assert seen["said"] == ["You said none of them. So it is.", "You said (3,1). So it is."]
    first, second = (predictions.key(entry) for entry in ENTRIES["05_permutations"][:2])
    assert seen["kept"] == {"05_permutations": {first: ["none of them", False], second: ["(3,1)", True]}}  # the first word counts
    assert seen["again"] == [*seen["said"], ""]


def test_what_was_said_of_another_question_is_not_shown():
    """An entry's key is its own, and another one where its question, its choices or what is right changes."""
    entry = {"question": "Which?", "choices": ["a", "b"], "right": "a"}
    others = [entry | change for change in ({"question": "What?"}, {"choices": ["a", "c"]}, {"right": "b"})]
    assert len({predictions.key(one) for one in (entry, dict(entry), *others)}) == 4


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "begins", "right", "wrong"),
    [
        ("05_permutations", "In `s` below", ["row 3, column 1", "(3,1)", "3 and 1"], ["1, 3", "3", "31"]),
        ("14_scaling_out", "With four stages", ["3/7", "0.4286", "about 43 %", ".43"], ["0.4", "4/7", "3"]),
        ("07_positional_encoding", "Which two neighbours", ["7, 8", "7–8", "7-8", "7 - 8"], ["7, -8", "-7, 8"]),
    ],
)
def test_a_number_may_be_written_in_many_ways(chromium, pages, name, begins, right, wrong):
    """Each said anew, on a page that remembers nothing."""
    address = (HTML / "chapters" / f"{name}.html").as_uri()
    key = next(predictions.key(entry) for entry in ENTRIES[name] if entry["question"].startswith(begins))
    script = """
    (() => { const fold = [...document.querySelectorAll('details[data-ask]')].find((one) => JSON.parse(one.dataset.ask).key === '%s');
      const form = fold.previousElementSibling; form.querySelector('input').value = %s; form.requestSubmit();
      return form.querySelector('.predict-verdict').textContent; })()
    """

    async def work(tab):
        await tab.visit(address)
        return [[await tab.evaluate(script % (key, json.dumps(said))) for said in some] for some in (right, wrong)]

    good, bad = browse(chromium, work)
    assert all(text.endswith("So it is.") for text in good), good
    assert not any(text.endswith("So it is.") for text in bad), bad
