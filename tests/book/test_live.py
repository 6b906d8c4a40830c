"""Cells that run in the page: in a browser without a network, from a folder and from a server; and the verdicts of its Python."""

import asyncio
import functools
import http.server
import importlib.util
import json
import threading

import pytest

from tests.book.browser import complaints
from tests.book.conftest import HTML, ROOT
from tests.book.test_browser import browse
from xformer_course.exercises.grading.limits import Limits
from xformer_course.exercises.grading.run import grade_notebook

PAGE = "chapters/05_permutations.html"
WAIT = """
(async () => {
  const box = document.querySelector('.live-%d');
  for (let n = 0; n < 1800; n++) {
    await new Promise((done) => setTimeout(done, 50));
    if (n > 2 && !box.classList.contains('live-busy')) break;
  }
  return JSON.stringify({ out: box.querySelector('.live-out').innerText, status: box.querySelector('.live-status').textContent,
    right: box.querySelector('.live-out').classList.contains('said-passed') });
})()
"""
PRESS = "[...document.querySelectorAll('.live-%d .live-bar button')].find((one) => one.textContent === %s).click(); 1"


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
    await tab.evaluate(PRESS % (number, json.dumps(text)))


async def answer(tab, number):
    return json.loads(await tab.evaluate(WAIT % number))


async def write(tab, number, text):
    """Type a text in the place of what stands in a cell's editor."""
    if not await tab.evaluate(f"!!document.querySelector('.live-{number} .cm-content')"):
        await press(tab, number, "Write your answer")
        for _ in range(100):
            if await tab.evaluate(f"!!document.querySelector('.live-{number} .cm-content')"):
                break
            await asyncio.sleep(0.1)
    await tab.evaluate(f"document.querySelector('.live-{number} .cm-content').focus(); 1")
    await tab.send(
        "Input.dispatchKeyEvent", type="keyDown", key="a", code="KeyA", windowsVirtualKeyCode=65, modifiers=2, commands=["selectAll"]
    )
    await tab.send("Input.insertText", text=text)


def exercise(name, id):
    """The number of the cell with that check."""
    cells = [cell for cell in json.loads((ROOT / "chapters" / name).read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    return next(number for number, cell in enumerate(cells) if f'check("{id}"' in "".join(cell["source"]))


@pytest.mark.browser
@pytest.mark.parametrize("place", ["folder", "server"])
def test_an_exercise_is_answered_in_the_page(chromium, pages, server, tmp_path, place):
    """Wrong, then right; saved as a notebook that passes; a hint; a loop that never ends, stopped; kept over a new visit, and forgotten."""
    number = exercise("05_permutations.ipynb", "5.1")
    address = (HTML / PAGE).as_uri() if place == "folder" else server + PAGE
    wrong = "def there_and_back(order):\n    p = np.eye(len(order))[:, list(order)]\n    return p, order\n\ncheck('5.1', there_and_back)"
    right = "def there_and_back(order):\n    p = np.eye(len(order))[list(order)]\n    return p, np.argsort(order)\n\ncheck('5.1', there_and_back)"

    async def work(tab):
        seen, events = {}, list(await tab.visit(address))
        seen["loaded before a press"] = await tab.evaluate(
            "performance.getEntriesByType('resource').filter((one) => /_static\\/python/.test(one.name)).length"
        )
        for name, text in (("wrong", wrong), ("right", right)):
            await write(tab, number, text)
            await press(tab, number, "Check")
            seen[name] = await answer(tab, number)
        await tab.evaluate(
            "window.saved = ''; URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; }; 1"
        )
        await press(tab, number, "Save as notebook")
        for _ in range(50):
            if seen.setdefault("notebook", "") == "":
                seen["notebook"] = await tab.evaluate("window.saved")
                await asyncio.sleep(0.1)
        events += [*tab.events, *await tab.visit(address)]
        await press(tab, number, "Hint")
        seen["hint"] = await answer(tab, number)
        await write(tab, number, "while True:\n    pass")
        await press(tab, number, "Check")
        await asyncio.sleep(0.5)
        await press(tab, number, "Stop")
        seen["stopped"] = await answer(tab, number)
        await write(tab, number, "print(6 * 7)")
        await press(tab, number, "Check")
        seen["after"] = await answer(tab, number)
        events += [*tab.events, *await tab.visit(address)]
        seen["kept"] = await tab.evaluate("localStorage.getItem('xformer-code')")
        await press(tab, number, "Reset")
        seen["forgotten"] = await tab.evaluate("localStorage.getItem('xformer-code')")
        return seen, complaints(events)

    seen, problems = browse(chromium, work, this_machine=place == "server")
    assert problems == [] and seen["loaded before a press"] == 0
    assert seen["wrong"]["out"].startswith("Exercise 5.1: not yet") and not seen["wrong"]["right"]
    assert seen["right"]["out"].startswith("Exercise 5.1: correct") and seen["right"]["right"]
    assert seen["hint"]["out"].startswith("Exercise 5.1: hint 1 of 3")
    (tmp_path / "answered.ipynb").write_text(seen["notebook"], encoding="utf-8")
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
        seen, events = {}, list(await tab.visit((HTML / PAGE).as_uri()))
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
        return seen, complaints([*events, *tab.events])

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
    """Each known answer to each exercise: model answers, other right ones, stubs, misconceptions."""
    if not (ROOT / "book" / "vendor" / "pyodide" / "version").is_file():
        pytest.fail("the page's Python is not in place: run 'python book/fetch.py' first")
    spec = importlib.util.spec_from_file_location("live_verdicts", ROOT / "tools" / "live_verdicts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import verdicts

    here, there = verdicts.verdicts(), module.in_the_page()
    assert len(here) > 1200 and here == there
