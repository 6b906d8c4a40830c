"""The laboratory in the built book: a reader trains, stops, goes on, compares two runs, changes the code; from a folder and from a server."""

import json
import re

import pytest
from playwright.async_api import expect

from tests.book.browser import browse
from tests.book.conftest import HTML
from tests.book.test_live import server  # noqa: F401
from tests.ci import continuous

PAGE = "chapters/09c_laboratory.html"
FIGURE = "document.querySelector('figure.xf').explorable"
FOCUS = "document.activeElement.textContent"
LOADED = "performance.getEntriesByType('resource').filter((one) => /_static\\/python/.test(one.name)).length"
pytestmark = pytest.mark.browser


async def read(tab):
    return await tab.evaluate(f"{FIGURE}.read()")


async def opened(tab, address):
    """The page, with its settings unfolded."""
    await tab.visit(address)
    await tab.locator(".xf-lab-settings summary").click()


async def trained(tab):
    """What the figure has once nothing runs any more."""
    await expect(tab.get_by_role("button", name="Stop", exact=True)).to_be_hidden(timeout=120_000)
    return await read(tab)


async def steps(tab, number):
    await tab.get_by_label("Steps", exact=True).select_option(str(number))


async def train(tab, name=re.compile("^Train")):
    await tab.get_by_role("button", name=name).click()
    return await trained(tab)


@pytest.mark.parametrize("place", ["folder", pytest.param("server", marks=continuous)])
def test_two_runs_a_stop_and_a_sentence(chromium, pages, server, place):  # noqa: F811
    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri() if place == "folder" else server + PAGE)
        seen = {"before a press": await tab.evaluate(LOADED)}
        await tab.get_by_role("button", name="Load Python (9 MB) and train").press("Enter")
        seen["focus while it trains"] = await tab.evaluate(FOCUS)
        seen["honest"] = await trained(tab)
        seen["focus afterwards"] = await tab.evaluate(FOCUS)
        await tab.get_by_label("Experiment").select_option(label="a decoder that peeks")
        await tab.get_by_role("button", name="Train again").click()
        await tab.wait_for_function(f"{FIGURE}.read().runs.at(-1).losses.length > 50")
        await tab.get_by_role("button", name="Stop", exact=True).press("Enter")
        seen["stopped"] = await trained(tab)
        seen["focus after a stop"] = await tab.evaluate(FOCUS)
        seen["gone on"] = await train(tab, "Go on")
        seen["said"] = await tab.locator("figure.xf .xf-say").inner_text()
        await tab.get_by_role("button", name="English → French").click()
        await steps(tab, 200)
        await tab.get_by_label("A sentence").fill("The elephant sleeps")
        seen["french"] = await train(tab)
        seen["refused"] = await tab.locator(".xf-lab-unread").inner_text()
        await tab.get_by_label("A sentence").fill("She does not see the small birds")
        await expect(tab.locator(".xf-lab-moments li")).not_to_have_count(0)
        seen["written"] = await tab.locator(".xf-lab-moments").inner_text()
        await tab.get_by_role("button", name="Train again").click()
        await tab.wait_for_function(f"{FIGURE}.read().runs.at(-1).losses.length > 5")
        await tab.get_by_role("button", name="words backwards").click()  # while it trains
        await expect(tab.get_by_role("button", name="Train again")).to_be_enabled()
        seen["back"] = await read(tab)
        seen["complaint"] = await tab.locator(".xf-lab-refused, .xf-lab-unread").all_inner_texts()
        await steps(tab, 200)
        seen["once more"] = await train(tab)
        return seen, tab.complaints

    seen, problems = browse(chromium, work, this_machine=place == "server")
    assert problems == [] and seen["before a press"] == 0
    (honest,) = seen["honest"]["runs"]
    assert honest["words"] == "everything in place" and len(honest["losses"]) == 800 and honest["right"][-1][1] > 0.95
    assert seen["honest"]["moments"][-1][1] == "reenigne"
    assert 50 < len(seen["stopped"]["runs"][1]["losses"]) < 800 and seen["focus after a stop"] == "Go on"
    assert (seen["focus while it trains"], seen["focus afterwards"]) == ("Stop", "Train again")
    before, peeking = seen["gone on"]["runs"]
    assert before["words"] == "everything in place" and peeking["words"] == "no causal mask"
    assert sum(peeking["losses"][150:200]) < sum(honest["losses"][150:200]) / 3 and peeking["right"][-1][1] < 0.05
    assert seen["said"].startswith("Step 800 of 800: loss 0.0")
    assert "“elephant”" in seen["refused"]
    assert len(seen["french"]["runs"]) == 1 and seen["french"]["runs"][0]["losses"][-1] < 3
    assert seen["written"].startswith("from step 200: ")
    assert [run["words"] for run in seen["back"]["runs"]] == ["everything in place", "no causal mask"]
    assert seen["complaint"][0] == "" and seen["complaint"][1].startswith("Python no longer has the model of this run")
    assert seen["once more"]["runs"][-1]["words"] == "200 steps" and seen["once more"]["moments"]


def test_the_readers_code_is_trained_there_and_on_page_9b(chromium, pages):
    """A line of FeedForward, an error in it, and a loop that never ends; then all as in the book."""

    async def put(tab, old, new):
        text = await tab.evaluate(f"{FIGURE}.code()")
        assert old in text
        await tab.locator(".xf-lab-code .cm-content").focus()
        await tab.keyboard.press("Control+A")
        await tab.keyboard.insert_text(text.replace(old, new))

    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri())
        await steps(tab, 200)
        await tab.locator(".xf-lab-code summary").click()
        await tab.get_by_label("Code of", exact=True).select_option(label="FeedForward")
        seen = {"book": await train(tab, "Load Python (9 MB) and train")}
        await put(tab, "np.maximum(0, self.w_1.forward(x))", "np.tanh(self.w_1.forward(x))")
        seen["mine"] = await train(tab)
        seen["kept"] = await tab.evaluate("localStorage.getItem('xformer-typed')")
        await put(tab, "np.tanh(", "print(1 / 2); np.tanhh(")
        await train(tab)
        seen["error"] = await tab.locator(".xf-lab-refused").inner_text()
        seen["after the error"] = await read(tab)
        seen["printed"] = await tab.locator(".xf-lab-printed").inner_text()
        await tab.locator(".xf-lab-code .cm-content").focus()
        await tab.keyboard.press("Control+End")
        await tab.keyboard.type("  # 1/2")
        seen["a slash"] = (await tab.evaluate(f"{FIGURE}.code()"))[-8:], await tab.evaluate("document.activeElement.className")
        await put(tab, "self.hidden = print(1 / 2); np.tanhh(self.w_1.forward(x))", "while True: pass")
        await tab.get_by_role("button", name="Train again").click()
        await expect(tab.locator(".xf-lab-progress")).to_contain_text("No answer for eight seconds", timeout=20_000)
        await tab.get_by_role("button", name="Stop", exact=True).click()
        await expect(tab.locator(".xf-lab-refused")).to_contain_text("Stopped. Python begins again")
        await tab.reload()
        await tab.locator(".xf-lab-settings summary").click()
        await steps(tab, 200)
        seen["a later visit"] = await tab.locator(".xf-lab-mine").inner_text()
        await tab.get_by_role("button", name="All as in the book").click()
        await expect(tab.locator(".xf-lab-mine")).to_be_hidden()
        seen["again"] = await train(tab, "Load Python (9 MB) and train")
        seen["forgotten"] = await tab.evaluate("localStorage.getItem('xformer-typed')")
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == []
    book, mine = (seen[name]["runs"][-1] for name in ("book", "mine"))
    assert mine["words"].startswith("200 steps, your FeedForward (self.hidden = np.tanh(")
    assert mine["words"].endswith("gradients wrong in FeedForward.w_1.w") and mine["losses"] != book["losses"] and mine["losses"][-1] < 3
    assert seen["a later visit"].startswith("Train uses your own code: FeedForward.")
    (text,) = json.loads(seen["kept"])["09b_without_pytorch"].values()
    assert "np.tanh(" in text
    assert [len(run["losses"]) for run in seen["after the error"]["runs"]] == [200, 200] and seen["printed"].startswith("0.5")
    assert seen["a slash"][0].endswith("# 1/2") and "cm-content" in seen["a slash"][1]
    assert seen["error"].startswith("AttributeError: ") and "(the cell of FeedForward, line 9)" in seen["error"]
    assert seen["again"]["runs"][-1]["losses"] == book["losses"] and json.loads(seen["forgotten"]) == {"09b_without_pytorch": {}}


@continuous
def test_a_loss_that_is_no_number_ends_the_run_in_words(chromium, pages):
    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri())
        await steps(tab, 200)
        await tab.get_by_label("Layers", exact=True).select_option("3")
        await tab.get_by_label("Width", exact=True).select_option("32")
        await tab.get_by_label("Rate", exact=True).select_option("0.04")
        await tab.get_by_role("button", name="none", exact=True).click()
        await tab.get_by_role("button", name="Warm-up", exact=True).click()
        seen = {"run": await train(tab, "Load Python (9 MB) and train")}
        seen["go on"] = await tab.get_by_role("button", name="Go on").is_visible()
        seen["complaint"] = await tab.locator(".xf-lab-refused").inner_text()
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == [] and seen["complaint"] == "" and not seen["go on"]
    assert seen["run"]["progress"].startswith("Diverged: after ") and len(seen["run"]["runs"][0]["losses"]) < 200


@continuous
def test_a_failed_download_is_tried_again(chromium, pages, server):  # noqa: F811
    """Also on the page of the cells: a Python that could not begin is over."""

    async def work(tab):
        await opened(tab, server + PAGE)
        await steps(tab, 200)
        refuse = True

        async def once(route):
            nonlocal refuse
            first, refuse = refuse, False
            await (route.abort() if first else route.continue_())

        await tab.route(re.compile("_static/python/.*part|_static/python/[^/]*[.]js"), once)
        go = tab.get_by_role("button", name=re.compile("^(Load|Train)"))
        await go.click()
        await expect(tab.locator(".xf-lab-refused")).to_contain_text("Press again when you are online")
        await go.click()
        return await trained(tab)

    seen = browse(chromium, work, this_machine=True)
    assert len(seen["runs"][0]["losses"]) == 200


@continuous
def test_edits_that_a_switch_replaces_tabs_and_gradients(chromium, pages):
    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri())
        await steps(tab, 200)
        await tab.get_by_label("Seed", exact=True).select_option("1")
        await tab.locator(".xf-lab-code summary").click()
        await tab.get_by_label("Code of", exact=True).select_option(label="Residual, EncoderLayer")
        seen = {"before": await tab.evaluate(f"{FIGURE}.code()")}
        await tab.locator(".xf-lab-code .cm-content").focus()
        await tab.keyboard.press("Tab")  # through the page: changes nothing
        seen["after"] = await tab.evaluate(f"{FIGURE}.code()")
        await tab.locator(".xf-lab-code .cm-content").focus()
        await tab.keyboard.press("Control+A")
        await tab.keyboard.insert_text(seen["before"].replace("return d_y + self.norm", "return self.norm"))
        await tab.get_by_role("button", name="Check my gradients").click()
        await trained(tab)
        seen["verdict"] = await tab.locator(".xf-lab-verdict").inner_text()
        await tab.get_by_role("button", name="after the sum").click()
        seen["run"] = await train(tab)
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == [] and seen["after"] == seen["before"]
    assert "Residual, input: backward" in seen["verdict"]
    words = seen["run"]["runs"][-1]["words"]
    assert "not your Residual, which a switch replaces" in words and "seed 1" in words


@pytest.mark.parametrize("width, height", [(1280, 900), (390, 844)])
def test_charts_and_the_button_are_in_the_first_screen(chromium, pages, width, height):
    async def work(tab):
        await tab.screen(width, height)
        await tab.visit((HTML / PAGE).as_uri())
        places = "[...document.querySelectorAll('.xf-lab-charts svg, .xf-lab-go')].map((one) => one.getBoundingClientRect().bottom)"
        return await tab.evaluate(places)

    bottoms = browse(chromium, work)
    assert len(bottoms) == 3 and max(bottoms) <= height
