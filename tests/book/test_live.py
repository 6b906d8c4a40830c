"""Cells that run in the page: in a browser without a network, from a folder and from a server; and the verdicts of its Python."""

import functools
import http.server
import importlib.util
import json
import re
import threading

import pytest
from playwright.async_api import Error, expect

from tests.book.browser import browse
from tests.book.conftest import HTML, ROOT
from tests.extent import continuous, extent
from xformer_course.exercises.grading.limits import Limits
from xformer_course.exercises.grading.run import grade_notebook

PAGE = "chapters/05_permutations.html"


@pytest.fixture(scope="module")
def server():
    """The built book over http, on this machine alone."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *given):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(HTML))) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/"
        made.shutdown()


async def press(tab, number, text):
    await tab.locator(f".live-{number} .live-bar").get_by_role("button", name=text, exact=True).click()


async def answer(tab, number):
    """What a cell says once it has come to an end."""
    box = tab.locator(f".live-{number}")
    await expect(box).not_to_have_class(re.compile("live-busy"), timeout=90_000)
    out, status = box.locator(".live-out"), box.locator(".live-status")
    right = "said-passed" in await out.get_attribute("class")
    return {"out": await out.inner_text(), "status": await status.inner_text(), "right": right}


async def write(tab, number, text):
    """Type a text in the place of what stands in a cell's editor."""
    editor = tab.locator(f".live-{number} .cm-content")
    if not await editor.count():
        await press(tab, number, "Write your answer")
    await editor.focus()
    await tab.keyboard.press("Control+A")
    await tab.keyboard.insert_text(text)


def exercise(name, id):
    """The number of the cell with that check."""
    cells = [cell for cell in json.loads((ROOT / "chapters" / name).read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    return next(number for number, cell in enumerate(cells) if f'check("{id}"' in "".join(cell["source"]))


@pytest.mark.browser
@pytest.mark.parametrize("place", ["folder", pytest.param("server", marks=continuous)])
def test_an_exercise_is_answered_in_the_page(chromium, pages, server, tmp_path, place):
    """Wrong, then right; saved as a notebook that passes; a hint; a loop that never ends, stopped; kept over a new visit, and forgotten."""
    number = exercise("05_permutations.ipynb", "5.1")
    address = (HTML / PAGE).as_uri() if place == "folder" else server + PAGE
    wrong = "def there_and_back(order):\n    p = np.eye(len(order))[:, list(order)]\n    return p, order\n\ncheck('5.1', there_and_back)"
    right = "def there_and_back(order):\n    p = np.eye(len(order))[list(order)]\n    return p, np.argsort(order)\n\ncheck('5.1', there_and_back)"

    async def work(tab):
        seen = {}
        await tab.visit(address)
        seen["loaded before a press"] = await tab.evaluate(
            "performance.getEntriesByType('resource').filter((one) => /_static\\/python/.test(one.name)).length"
        )
        for name, text in (("wrong", wrong), ("right", right)):
            await write(tab, number, text)
            await press(tab, number, "Check")
            seen[name] = await answer(tab, number)
        async with tab.expect_download() as saved:
            await press(tab, number, "Save as notebook")
        await (await saved.value).save_as(tmp_path / "answered.ipynb")
        await tab.visit(address)
        await press(tab, number, "Hint")
        seen["hint"] = await answer(tab, number)
        await write(tab, number, "while True:\n    pass")
        await press(tab, number, "Check")
        await expect(tab.locator(f".live-{number} .live-status")).to_have_text("Running …", timeout=90_000)
        await press(tab, number, "Stop")
        seen["stopped"] = await answer(tab, number)
        await write(tab, number, "print(6 * 7)")
        await press(tab, number, "Check")
        seen["after"] = await answer(tab, number)
        await tab.visit(address)
        seen["kept"] = await tab.evaluate("localStorage.getItem('xformer-code')")
        await press(tab, number, "Reset")
        seen["forgotten"] = await tab.evaluate("localStorage.getItem('xformer-code')")
        return seen, tab.complaints

    seen, problems = browse(chromium, work, this_machine=place == "server")
    assert problems == [] and seen["loaded before a press"] == 0
    assert seen["wrong"]["out"].startswith("Exercise 5.1: not yet") and not seen["wrong"]["right"]
    assert seen["right"]["out"].startswith("Exercise 5.1: correct") and seen["right"]["right"]
    assert seen["hint"]["out"].startswith("Exercise 5.1: hint 1 of 3")
    graded = grade_notebook(tmp_path / "answered.ipynb", Limits())
    assert [grade.status for grade in graded.exercises if grade.id == "5.1"] == ["passed"] and not graded.error
    assert seen["stopped"]["status"].startswith("Stopped") and seen["stopped"]["out"] == ""
    assert seen["after"]["out"] == "42"
    assert "print(6 * 7)" in seen["kept"] and seen["forgotten"] == "{}"


@pytest.mark.browser
def test_stopped_while_python_loads_and_ended_by_a_fault_it_begins_again(chromium, pages):
    number = exercise("05_permutations.ipynb", "5.1")
    fault = "import js\nmade = js.eval('self.runner = { run() { throw new Error(`out of memory`); } }')"
    busy = f"document.querySelector('.live-{number}').classList.contains('live-busy')"

    async def work(tab):
        seen = {}
        await tab.visit((HTML / PAGE).as_uri())
        await press(tab, number, "Check")
        seen["loading"] = await tab.evaluate(busy)
        await press(tab, number, "Stop")
        seen["stopped"] = (await answer(tab, number))["status"]
        await write(tab, number, fault)
        await press(tab, number, "Check")
        seen["before"] = await answer(tab, number)
        await write(tab, number, "print(6 * 7)")
        for name in ("fault", "after"):
            await press(tab, number, "Check")
            seen[name] = await answer(tab, number)
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert seen["loading"] and seen["stopped"].startswith("Stopped")
    assert seen["before"]["out"] == "It ran, and printed nothing."
    assert seen["fault"]["status"] == "out of memory" and seen["after"]["out"] == "42" and problems == []


@pytest.mark.browser
def test_a_cell_says_in_the_page_what_the_notebook_stored(chromium, pages):
    """Every cell of a page that runs there, the last one first, so that each fetches what it needs."""
    page = next(page for page in pages.values() if page.name.startswith("chapters/04_"))
    boxes = page.soup.select("div.cell.live:not(.live-exercise)")
    stored = {}
    for box in boxes:
        number = int(next(name[5:] for name in box["class"] if name.startswith("live-") and name[5:].isdigit()))
        stored[number] = "\n".join(pre.get_text().rstrip("\n") for pre in box.select(".cell_output pre"))

    async def work(tab):
        await tab.visit(page.path.as_uri())
        found = {}
        for number in sorted(stored, reverse=True):
            await press(tab, number, "Run")
            found[number] = (await answer(tab, number))["out"]
        return found

    found = browse(chromium, work)
    assert len(found) > 15
    for number, text in found.items():
        assert text == (stored[number] or "It ran, and printed nothing."), number


@pytest.mark.browser
def test_no_server_is_reached_unless_it_may_be(chromium, pages, server):
    with pytest.raises(Error, match="ERR_PROXY_CONNECTION_FAILED"):
        browse(chromium, lambda tab: tab.visit(server + PAGE))


def test_pages_mark_what_runs(articles):
    """Every exercise whose check needs NumPy alone can be answered in its page; no other cell of a later chapter runs."""
    from xformer_course.exercises import registry

    wanted = {one.id for chapter in registry.chapters() for one in chapter.exercises if not one.requires}
    found = set()
    for page in articles.values():
        for box in page.soup.select("div.cell.live"):
            kind = "live-exercise" in box["class"]
            assert kind or page.name.split("/")[1][:2] in ("01", "02", "03", "04", "05", "06", "07")
            if kind:
                text = box.select_one("pre").get_text()
                found.add(text.split('check("')[1].split('"')[0])
    assert found <= wanted and len(found) > 105
    assert sorted(wanted - found) == []


def test_the_pages_python_gives_the_same_verdicts():
    """Each known answer to each exercise: model answers, other right ones, stubs, misconceptions. Two chapters' outside the continuous integration."""
    if not (ROOT / "book" / "vendor" / "pyodide" / "version").is_file():
        pytest.fail("the page's Python is not in place: run 'python book/fetch.py' first")
    spec = importlib.util.spec_from_file_location("live_verdicts", ROOT / "tools" / "live_verdicts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import verdicts

    chapters = extent([], [2, 5])
    here, there = verdicts.verdicts(chapters), module.in_the_page(chapters)
    assert len(here) > extent(1200, 100) and here == there
