"""The laboratory in the built book: a reader trains, stops, goes on, compares two runs, changes the code; from a folder and from a server."""

import base64
import json
import re
from dataclasses import asdict

import numpy as np
import pytest
from playwright.async_api import expect

from tests.book.browser import browse
from tests.book.conftest import HTML
from tests.book.test_live import server  # noqa: F401
from tests.ci import continuous
from tests.explorables.gestures import drag, middle
from xformer_course.lessons.laboratory import Parts, Run

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


async def train(tab, name=re.compile("^(Load Python|Train)")):
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
        await tab.wait_for_function(f"{FIGURE}.read().rows.at(-1).runs[0].step > 50")
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
        await expect(tab.locator(".xf-lab-moments li")).not_to_have_count(0, timeout=60_000)
        seen["written"] = await tab.locator(".xf-lab-moments").inner_text()
        await tab.get_by_role("button", name="Train again").click()
        await tab.wait_for_function(f"{FIGURE}.read().rows.at(-1).runs[0].step > 5")
        await tab.get_by_role("button", name="words backwards").click()  # while it trains
        await expect(tab.get_by_role("button", name="Train again")).to_be_enabled()
        seen["listed"] = await tab.locator(".xf-lab-runs tbody tr:first-child td:nth-child(2)").all_inner_texts()
        seen["complaint"] = await tab.locator(".xf-lab-refused, .xf-lab-unread").all_inner_texts()
        await steps(tab, 200)
        seen["once more"] = await train(tab)
        return seen, tab.complaints

    seen, problems = browse(chromium, work, this_machine=place == "server")
    assert problems == [] and seen["before a press"] == 0
    (honest,) = seen["honest"]["rows"]
    (run,) = honest["runs"]
    assert run["step"] == 800 and run["right"][-1][1] > 0.95 and run["last"] < 0.01
    assert seen["honest"]["moments"][-1][1] == "reenigne"
    assert 50 < seen["stopped"]["rows"][1]["runs"][0]["step"] < 800 and seen["focus after a stop"] == "Go on"
    assert (seen["focus while it trains"], seen["focus afterwards"]) == ("Stop", "Train again")
    peeking = seen["gone on"]["rows"][1]["runs"][0]
    assert peeking["step"] == 800 and peeking["right"][-1][1] < 0.05

    def at_200(run):
        return next(loss for step, loss in run["loss"] if step >= 200)

    assert at_200(peeking) < at_200(run) / 3
    assert seen["said"].startswith("Step 800 of 800: loss 0.0")
    assert "“elephant”" in seen["refused"]
    french = seen["french"]["rows"][-1]
    assert (french["task"], len(seen["french"]["rows"])) == ("fragment", 3) and french["runs"][0]["last"] < 3
    assert seen["written"].startswith("from step 200: ")
    assert [line.split(",")[0] for line in seen["listed"]] == ["no causal mask", "everything in place"]
    assert seen["complaint"][0] == "" and seen["complaint"][1].startswith("Python no longer has the model of this run")
    assert seen["once more"]["rows"][-1]["runs"][0]["step"] == 200 and seen["once more"]["moments"]


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
    book, mine = (seen[name]["rows"][-1] for name in ("book", "mine"))
    assert mine["edits"][0]["come"][0].strip().startswith("self.hidden = np.tanh(") and mine["edits"][0]["cell"] == "FeedForward"
    assert mine["notes"] == ["gradients wrong in FeedForward.w_1.w"]
    assert mine["runs"][0]["loss"] != book["runs"][0]["loss"] and mine["runs"][0]["last"] < 3
    assert seen["a later visit"].startswith("Train uses your own code: FeedForward.")
    (text,) = json.loads(seen["kept"])["09b_without_pytorch"].values()
    assert "np.tanh(" in text
    assert [row["runs"][0]["step"] for row in seen["after the error"]["rows"]] == [200, 200] and seen["printed"].startswith("0.5")
    assert seen["a slash"][0].endswith("# 1/2") and "cm-content" in seen["a slash"][1]
    assert seen["error"].startswith("AttributeError: ") and "(the cell of FeedForward, line 9)" in seen["error"]
    assert seen["again"]["rows"][-1]["runs"][0]["loss"] == book["runs"][0]["loss"] and json.loads(seen["forgotten"]) == {
        "09b_without_pytorch": {}
    }


@continuous
def test_a_loss_that_is_no_number_ends_the_run_in_words(chromium, pages):
    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri())
        await steps(tab, 200)
        await tab.get_by_label("Layers", exact=True).select_option("3")
        await tab.get_by_label("Width", exact=True).select_option("32")
        await tab.get_by_label("Rate", exact=True).select_option("0.04")
        await tab.get_by_role("figure").get_by_role("button", name="none", exact=True).click()
        await tab.get_by_role("button", name="Warm-up", exact=True).click()
        seen = {"run": await train(tab, "Load Python (9 MB) and train")}
        seen["go on"] = await tab.get_by_role("button", name="Go on").is_visible()
        seen["complaint"] = await tab.locator(".xf-lab-refused").inner_text()
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == [] and seen["complaint"] == "" and not seen["go on"]
    assert seen["run"]["progress"].startswith("Diverged: after ") and seen["run"]["rows"][0]["runs"][0]["step"] < 200


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
    assert seen["rows"][0]["runs"][0]["step"] == 200


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
    row = seen["run"]["rows"][-1]
    assert "not your Residual, which a switch replaces" in row["notes"] and row["seeds"] == [1]


@pytest.mark.parametrize("width, height", [(1280, 900), (390, 844)])
def test_charts_and_the_button_are_in_the_first_screen(chromium, pages, width, height):
    async def work(tab):
        await tab.screen(width, height)
        await tab.visit((HTML / PAGE).as_uri())
        places = "[...document.querySelectorAll('.xf-lab-charts svg, .xf-lab-go')].map((one) => one.getBoundingClientRect().bottom)"
        return await tab.evaluate(places)

    bottoms = browse(chromium, work)
    assert len(bottoms) == 3 and max(bottoms) <= height


async def typed_in(tab, cell, old, new):
    """Change a line of a cell in the editor."""
    if not await tab.locator(".xf-lab-code .cm-content").is_visible():
        await tab.locator(".xf-lab-code summary").click()
    await tab.get_by_label("Code of", exact=True).select_option(label=cell)
    text = await tab.evaluate(f"{FIGURE}.code()")
    assert old in text
    await tab.locator(".xf-lab-code .cm-content").focus()
    await tab.keyboard.press("Control+A")
    await tab.keyboard.insert_text(text.replace(old, new))


COPIED = "new Promise((done) => { navigator.clipboard.writeText = async (text) => done(text); %s.click(); })"
BUTTON = "[...document.querySelectorAll('figure.xf button')].find((one) => one.textContent === '%s')"
CURVES = "[...document.querySelectorAll('.xf-lab-charts svg')].map((one) => one.querySelectorAll('polyline').length)"
TANH = ("FeedForward", "np.maximum(0, self.w_1.forward(x))", "np.tanh(self.w_1.forward(x))")


def test_the_bench_keeps_its_rows_and_three_seeds_are_one(chromium, pages):
    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri())
        await steps(tab, 200)
        seen = {"one": await train(tab)}
        await typed_in(tab, *TANH)
        await tab.get_by_label("Seed", exact=True).select_option("4")
        seen["three"] = await train(tab, "Run seeds 0, 1 and 2")
        await train(tab)  # a third row: the first one leaves the chart
        seen["curves"] = [await tab.evaluate(CURVES)]
        await tab.get_by_label("Run 1 in the chart").check()
        seen["curves"].append(await tab.evaluate(CURVES))
        seen["csv"] = await tab.evaluate(COPIED % (BUTTON % "Copy as CSV"))
        async with tab.expect_download() as download:
            await tab.get_by_role("button", name="Download CSV").click()
        seen["downloaded"] = (await (await download.value).path()).read_text(encoding="utf-8")
        seen["before"] = await tab.locator(".xf-lab-runs").inner_text()
        # a row of another edition, or of a file that somebody else wrote, is none
        await tab.evaluate(
            "(() => { const rows = JSON.parse(localStorage['xformer-laboratory']); localStorage['xformer-laboratory'] ="
            " JSON.stringify([{ ...rows[0], parts: { ...rows[0].parts, norm: '<b>' } }, { id: 'x' }, null, ...rows]); })()"
        )
        await tab.reload()
        seen["after"], seen["boxes"] = await tab.locator(".xf-lab-runs").inner_text(), await tab.evaluate(CURVES)
        seen["settings"] = await tab.locator(".xf-lab-settings summary").inner_text()
        await tab.screen(1000, 900, media="print")
        seen["printed"] = [await tab.locator(one).first.is_visible() for one in (".xf-lab-runs", ".xf-lab-charts", ".xf-lab-bench button")]
        await tab.screen(1000, 900)
        tab.once("dialog", lambda dialog: dialog.accept())
        await tab.get_by_role("button", name="Forget these runs").click()
        seen["forgotten"] = await tab.evaluate("localStorage.getItem('xformer-laboratory')"), await read(tab)
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == []
    row = seen["three"]["rows"][-1]
    assert [run["seed"] for run in row["runs"]] == [0, 1, 2] and [run["step"] for run in row["runs"]] == [200] * 3
    assert row["runs"][0]["loss"] != row["runs"][1]["loss"] and seen["one"]["rows"][0]["runs"][0]["loss"] != row["runs"][0]["loss"]
    assert seen["curves"] == [[4, 4], [5, 5]] and seen["boxes"] == [5, 5]
    lines = seen["csv"].splitlines()
    assert len(lines) == 6 and lines[0].startswith("run,task,settings,edits,notes,seed,") and seen["downloaded"] == seen["csv"]
    assert lines[1].startswith("1,backwards,200 steps,,,0,200,200,")
    assert '"FeedForward: - self.hidden = np.maximum(0, self.w_1.forward(x)) + self.hidden = np.tanh(' in lines[2]
    assert [line.split(",200,200,")[0].rsplit(",", 1)[1] for line in lines[2:]] == ["0", "1", "2", "4"]
    low, high = sorted(run["last"] for run in row["runs"])[::2]
    assert f"{low:.2f}–\u200b{high:.2f}" in seen["before"] and "200 steps, seeds 0, 1, 2" in seen["before"]
    assert seen["after"] == seen["before"] and seen["settings"] == "Settings: 200 steps, seed 4"
    assert seen["printed"] == [True, True, False]
    assert seen["forgotten"][0] == "[]" and seen["forgotten"][1]["rows"] == []


@pytest.mark.parametrize("place", ["folder", pytest.param("server", marks=continuous)])
def test_a_link_sets_settings_and_code_and_runs_nothing(chromium, pages, server, place):  # noqa: F811
    address = (HTML / PAGE).as_uri() if place == "folder" else server + PAGE

    async def work(tab):
        await opened(tab, address)
        await steps(tab, 200)
        await tab.get_by_role("button", name="Scale").click()
        await tab.get_by_label("Seed", exact=True).select_option("3")
        await typed_in(tab, *TANH)
        link = await tab.evaluate(COPIED % (BUTTON % "Copy link"))
        seen = {"link": link, "theirs": await train(tab)}
        # another reader, who has a change of another kind
        await tab.evaluate("localStorage.clear()")
        await tab.visit(address)
        await typed_in(tab, "LayerNorm", "- along", "")
        kept = await tab.evaluate("localStorage.getItem('xformer-typed')")
        python = [one.url for one in tab.requests if "/_static/python/part" in one.url]
        await tab.visit("about:blank")
        await tab.visit(link)
        await expect(tab.locator(".xf-lab-link")).to_contain_text("FeedForward")
        seen["python"] = len(python), len([one for one in tab.requests if "/_static/python/part" in one.url])
        seen["said"] = await tab.locator(".xf-lab-link").inner_text()
        seen["mine"] = await train(tab)
        seen["not stored"] = kept == await tab.evaluate("localStorage.getItem('xformer-typed')")
        await tab.get_by_role("button", name="Without the link’s code").click()
        seen["own again"] = await tab.locator(".xf-lab-mine").inner_text(), await tab.evaluate("location.hash")
        broken = [link[:-9], address + "#laboratory=", address + "#laboratory=%", address + "#laboratory=W10"]
        texts = {  # read whole, and yet not what the page can set
            "width": ("{}", '{"width": 4096}'),
            "code": ('"edits":[', '"edits":[{"cell":"Attention","at":0,"gone":["import os"],"come":["1/0"]},'),
        }
        for old, new in texts.values():
            broken.append(
                await tab.evaluate(
                    "([link, old, add]) => { const [start, code] = link.split('='), text = atob(code.replaceAll('-', '+').replaceAll('_', '/'));"
                    " return start + '=' + btoa(old === '{}' ? text.replace('\"scale\":false', '\"width\":4096') : text.replace(old, add)); }",
                    [link, old, new],
                )
            )
        seen["broken"] = []
        for one in broken:
            await tab.visit("about:blank")
            await tab.visit(one)
            await expect(tab.locator(".xf-lab-link")).to_be_visible()
            seen["broken"].append(await tab.locator(".xf-lab-link").inner_text())
        return seen, tab.complaints

    seen, problems = browse(chromium, work, this_machine=place == "server")
    assert problems == [] and 0 < seen["python"][0] == seen["python"][1]
    assert "no scale, 200 steps, seed 3" in seen["said"] and "+ self.hidden = np.tanh(self.w_1.forward(x))" in seen["said"]
    assert "Nothing has run. Your own code is kept" in seen["said"]
    theirs, mine = seen["theirs"]["rows"][-1], seen["mine"]["rows"][-1]
    assert all(mine[name] == theirs[name] for name in ("parts", "seeds", "edits", "notes"))
    assert mine["runs"][0]["loss"] == theirs["runs"][0]["loss"] and seen["not stored"]
    assert "LayerNorm" in seen["own again"][0] and seen["own again"][1] == ""
    assert all(text.startswith("This link is broken") for text in seen["broken"]), seen["broken"]


@pytest.mark.parametrize(
    "experiment, reason, shown",
    [
        ("one wide head, no scale", "softmax has nearly decided before anything was learned.", ".xf-lab-bars svg"),
        pytest.param("a decoder that peeks", "on the token that it is to guess", ".xf-map td", marks=continuous),
    ],
)
def test_a_run_without_a_part_says_why(chromium, pages, experiment, reason, shown):
    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri())
        await tab.get_by_label("Experiment").select_option(label=experiment)
        await steps(tab, 200)
        await train(tab)
        why = tab.locator(".xf-lab-why")
        seen = {"why": await why.inner_text(), "drawn": await why.locator(shown).count()}
        seen["said"] = await tab.locator("figure.xf .xf-say").inner_text()
        seen["html"] = await why.inner_html()
        await tab.get_by_label("Experiment").select_option(label="everything in place")
        await steps(tab, 200)
        await train(tab)
        seen["whole"] = await why.is_visible()
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == [] and seen["drawn"] >= 3 and reason in seen["why"] and reason in seen["said"]
    assert "Run 1, seed 0" in seen["why"] and not re.search(r"(fill|stroke)=.var\(--(query|key)", seen["html"]) and not seen["whole"]


# What the fold holds: the group, its button, what is then set, and what a row says of it.
MORE = (
    ("Positions", "learned", {"encoding": "learned"}, "learned positions"),
    ("Positions", "rotary", {"encoding": "rotary"}, "rotary positions"),
    ("Feed-forward", "SwiGLU", {"feed_forward": "swiglu"}, "SwiGLU"),
    ("Descent", "plain", {"descent": "plain"}, "plain gradient descent"),
    ("Label smoothing", "0.1", {"smoothing": 0.1}, "label smoothing 0.1"),
    ("Query heads to a head of keys and values", "2", {"readers": 2}, "2 query heads to a key head"),
    ("Embeddings", "three", {"tied": False}, "three embeddings"),
    ("Model", "recurrent", {"model": "recurrent"}, "recurrent model"),
)
TOGETHER = [MORE[n] for n in (1, 2, 4, 5, 6)]


def test_more_to_take_apart(chromium, pages):
    """Closed at first; each choice is said in words; what is trained is what Python trains, and old rows and links still open."""

    async def work(tab):
        address = (HTML / PAGE).as_uri()
        await opened(tab, address)
        summary, warning = tab.locator(".xf-lab-settings summary"), tab.locator(".xf-lab-warning")

        async def choose(group, button, *_):
            await tab.get_by_role("group", name=group).get_by_role("button", name=button, exact=True).click()

        seen = {"closed": not await tab.get_by_role("group", name="Feed-forward").is_visible(), "each": []}
        await tab.locator(".xf-lab-more summary").click()
        for one in MORE:
            await choose(*one)
            seen["each"].append(((await read(tab))["parts"], await summary.inner_text(), await warning.inner_text()))
            await tab.get_by_role("button", name="Reset").click()
        await steps(tab, 200)
        for one in TOGETHER:
            await choose(*one)
        seen["rows"] = (await train(tab))["rows"]
        seen["complaint"] = await tab.locator(".xf-lab-refused").inner_text()
        link = await tab.evaluate(COPIED % (BUTTON % "Copy link"))
        await tab.get_by_label("Layers", exact=True).select_option("3")
        await tab.get_by_label("Width", exact=True).select_option("64")
        await steps(tab, 800)
        seen["slow"] = await warning.inner_text()
        # another reader, whose rows and link are of an edition without these parts
        names = json.dumps([name for *_, parts, _ in MORE for name in parts])
        await tab.evaluate(
            "(() => { const rows = JSON.parse(localStorage['xformer-laboratory']);"
            f" for (const name of {names}) delete rows[0].parts[name]; localStorage['xformer-laboratory'] = JSON.stringify(rows); }})()"
        )
        seen["links"] = []
        old = base64.urlsafe_b64encode(b'{"task":"backwards","parts":{"positions":false},"seed":1,"edits":[]}').decode().rstrip("=")
        for one in (link, f"{address}#laboratory={old}"):
            await tab.visit("about:blank")
            await tab.visit(one)
            await expect(tab.locator(".xf-lab-link")).to_be_visible()
            seen["links"].append(await tab.locator(".xf-lab-link").inner_text())
        seen["kept"] = await tab.locator(".xf-lab-runs tbody tr:first-child td:nth-child(2)").all_inner_texts()
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == [] and seen["closed"] and seen["complaint"] == ""
    for (*_, parts, words), (found, summary, warning) in zip(MORE, seen["each"], strict=True):
        assert found == {**asdict(Parts()), **parts} and summary == f"Settings: {words}, seed 0"
        assert warning == ("Plain gradient descent wants a rate of about 1." if "descent" in parts else "")
    (row,) = seen["rows"]
    together = {name: value for *_, parts, _ in TOGETHER for name, value in parts.items()}
    run = Run("backwards", Parts(steps=200, **together))
    run.train()
    for step, loss in row["runs"][0]["loss"][:5]:
        assert loss == pytest.approx(np.mean(run.losses[:step][-4:]), rel=1e-3)
    assert re.match(r"This takes about \d+ times as long as the given settings: on a phone, minutes.", seen["slow"])
    words = ", ".join(words for *_, words in TOGETHER)
    assert f"{words}, 200 steps, seed 0" in seen["links"][0] and "no positions, seed 1" in seen["links"][1]
    assert seen["kept"] == ["200 steps, seed 0"]


BET = f"{FIGURE}.read().bet"
BETS = "document.querySelectorAll('.xf-lab-charts svg')[1].querySelectorAll('path[stroke-dasharray]').length"


async def stroke(tab, shares, touch=False):
    """Draw over the chart of what is right, from its left to its right edge, through these shares of its height."""
    chart = tab.locator(".xf-lab-surface")
    await chart.evaluate("(chart) => chart.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box = await chart.bounding_box()
    width = len(shares) - 1
    wide, high = box["width"] - 20, box["height"] - 20  # it reaches 10 px beyond the axes
    spots = [(box["x"] + 10 + wide * n / width, box["y"] + 10 + high * (1 - share)) for n, share in enumerate(shares)]
    await (touched if touch else drag)(tab, spots[0], *spots[1:])


async def touched(tab, start, *through):
    for kind, (x, y) in [("touchStart", start), *[("touchMove", spot) for spot in through]]:
        await tab.protocol.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    await tab.protocol.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_bet_is_drawn_before_the_run_and_compared_with_it(chromium, pages):
    """By pointer, by touch and by keyboard; in the row, after a reload, in print and in a link."""

    async def work(tab):
        address = (HTML / PAGE).as_uri()
        await tab.screen(390, 844)
        await tab.protocol.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        await tab.visit(address)
        await stroke(tab, [0, 0.2, 0.4, 0.6, 0.8, 0.98], touch=True)
        seen = {"touched": [await tab.evaluate(BET)]}
        x, y = await middle(tab, ".xf-lab-charts .xf-handle")
        await touched(tab, (x, y), *[(x, y - 6 * n) for n in range(1, 7)])  # up: the page must not scroll
        seen["touched"].append(await tab.evaluate(BET))
        await tab.get_by_role("button", name="No bet").click()
        seen["dropped"] = await tab.evaluate(BET), await tab.evaluate(FOCUS)
        await tab.screen(1280, 900)
        await opened(tab, address)
        await steps(tab, 200)
        await stroke(tab, [0, 0, 0.1, 0.4, 0.4, 0.3])
        seen["drawn"] = await tab.evaluate(BET)
        await tab.get_by_role("button", name="No bet").click()
        await tab.get_by_role("button", name="Draw your bet").press("Enter")
        slider = tab.get_by_role("slider", name="Your bet at step 40", exact=True)
        await expect(slider).to_be_focused()
        for key in ("ArrowUp", "Shift+ArrowUp", "Tab", "ArrowDown"):
            await tab.keyboard.press(key)
        seen["keys"] = await tab.evaluate(BET), await slider.get_attribute("aria-valuetext"), await tab.get_by_role("slider").count()
        link = await tab.evaluate(COPIED % (BUTTON % "Copy link"))
        seen["row"] = (await train(tab))["rows"][-1]
        seen["told"] = await tab.locator(".xf-lab-bet p").inner_text(), await tab.locator("figure.xf .xf-say").inner_text()
        seen["curves"] = [await tab.evaluate(BETS)]
        seen["csv"] = await tab.evaluate(COPIED % (BUTTON % "Copy as CSV"))
        await tab.evaluate(
            "(() => { const rows = JSON.parse(localStorage['xformer-laboratory']); localStorage['xformer-laboratory'] ="
            " JSON.stringify([{ ...rows[0], id: 'x', bet: [0, 0, 0, 0, 101] }, ...rows]); })()"
        )
        await tab.reload()
        seen["reloaded"] = (await read(tab))["rows"]
        await tab.screen(1280, 900, media="print")
        seen["printed"] = await tab.locator(".xf-lab-bet p").inner_text(), await tab.locator(".xf-lab-runs").inner_text()
        seen["curves"].append(await tab.evaluate(BETS))
        await tab.screen(1280, 900)
        seen["links"] = []
        code = link.split("=")[1]
        bad = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)).replace(b'"bet":[50', b'"bet":[150')
        for one in (link, f"{address}#laboratory={base64.urlsafe_b64encode(bad).decode().rstrip('=')}"):
            await tab.visit("about:blank")
            await tab.visit(one)
            await expect(tab.locator(".xf-lab-link")).to_be_visible()
            seen["links"].append((await tab.locator(".xf-lab-link").inner_text(), await tab.evaluate(BET)))
        await opened(tab, address)
        await steps(tab, 200)
        seen["without"] = (await train(tab))["rows"][-1]["bet"], await tab.locator(".xf-lab-bet p").inner_text()
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == []
    assert np.allclose(seen["touched"], [[20, 40, 60, 80, 98], [60, 40, 60, 80, 98]], atol=3), seen["touched"]
    assert np.allclose(seen["drawn"], [0, 10, 40, 40, 30], atol=3), seen["drawn"]
    assert seen["dropped"] == (None, "Draw your bet")
    bet = [50, 35, 60, 80, 100]
    assert seen["keys"] == (bet, "50 % of the words right", 5)
    (run,) = seen["row"]["runs"]
    assert seen["row"]["bet"] == bet and [step for step, _ in run["right"]] == [40, 80, 120, 160, 200]
    apart = [abs(said - 100 * share) for said, (_, share) in zip(bet, run["right"])]
    far = int(np.argmax(apart))
    told = (
        f"Your bet was {np.mean(apart):.0f} points off in the mean. It was farthest off at step {40 * (far + 1)}: "
        f"you said {bet[far]} %, and {100 * run['right'][far][1]:.0f} % were right."
    )
    assert seen["told"][0] == told and told in seen["told"][1]
    assert seen["csv"].splitlines()[1].endswith(f",50 35 60 80 100,{np.mean(apart):.1f}")
    (kept,) = seen["reloaded"]
    assert kept["bet"] == bet and seen["curves"] == [2, 2]
    assert seen["printed"][0] == told and f"bet 50, 35, 60, 80, 100 %, {np.mean(apart):.0f} points off in the mean" in seen["printed"][1]
    assert "200 steps, seed 0, a bet of 50, 35, 60, 80, 100 %. Nothing has run." in seen["links"][0][0] and seen["links"][0][1] == bet
    assert seen["links"][1] == (
        "This link is broken, or of another edition of the book: it sets nothing. Ask for it again; it must arrive whole.",
        None,
    )
    assert seen["without"] == (None, "")


# The sizes below 24 px of the words that a lecture shows.
SMALL = """
[...document.querySelectorAll("dialog *")]
  .filter((one) => one.checkVisibility() && !one.closest(".xf-say") && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * (one.ownerSVGElement?.getScreenCTM().a ?? 1))
  .filter((size) => size < 24)
"""


def test_a_lecture_shows_one_experiment_after_the_other(chromium, pages):
    """With the bets of a class; by keys; opened by a link; and nothing runs by itself."""

    async def work(tab):
        await tab.screen(1280, 720)
        await opened(tab, (HTML / PAGE).as_uri())
        await steps(tab, 200)  # own settings, which come back
        button, dialog = tab.get_by_role("button", name="Lecture", exact=True), tab.get_by_role("dialog")
        title, field = dialog.get_by_role("heading"), tab.get_by_label("The class’s bets")
        await button.press("Enter")
        await expect(title).to_be_focused()
        seen = {"small": await tab.evaluate(SMALL), "titles": [await title.inner_text()]}
        await tab.keyboard.press("ArrowRight")
        await field.fill("0, 5, 5, 10, 40 55%; 90 90 90, abc, 120")
        await tab.keyboard.press("ArrowRight")  # within the text
        seen["titles"].append(await title.inner_text())
        seen["bad"] = await dialog.locator(".xf-lecture-bad").inner_text()
        seen["marks"] = await dialog.locator(".xf-lab-guess").count(), await dialog.locator(".xf-lab-over").all_text_contents()
        await dialog.get_by_role("button", name="Next").click()
        seen["titles"].append(await title.inner_text())
        seen["next"] = await field.input_value()
        await tab.keyboard.press("ArrowLeft")
        seen["back"] = await field.input_value()
        link = await tab.evaluate(
            "new Promise((done) => { navigator.clipboard.writeText = async (text) => done(text);"
            " [...document.querySelectorAll('dialog button')].find((one) => one.textContent === 'Copy link').click(); })"
        )
        seen["loaded"] = await tab.evaluate(LOADED)
        await dialog.get_by_role("button", name="Load Python (9 MB) and run").press("Enter")
        await tab.wait_for_function(f"{FIGURE}.read().rows.length")
        await tab.keyboard.press("ArrowRight")  # not while it trains
        reason = dialog.get_by_role("button", name="Why?")
        await expect(reason).to_be_visible(timeout=180_000)
        seen["titles"].append(await title.inner_text())
        seen["covered"] = not await dialog.locator(".xf-lab-why").is_visible()
        await reason.press("Enter")
        seen["why"] = await dialog.locator(".xf-lab-why").inner_text()
        seen["text"] = await dialog.inner_text()
        seen["small"] += await tab.evaluate(SMALL)
        await tab.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        await expect(button).to_be_focused()
        seen["left"] = (
            await tab.locator(".xf-lab-runs").inner_text(),
            await tab.evaluate("document.fullscreenElement"),
            (await read(tab))["parts"]["steps"],
        )
        await tab.visit("about:blank")
        await tab.screen(390, 844, dark=True)
        await tab.visit(link)
        await expect(title).to_be_visible()
        seen["titles"].append(await title.inner_text())
        seen["again"] = await field.input_value(), await tab.evaluate(LOADED), len((await read(tab))["rows"])
        seen["wide"] = await tab.evaluate(
            "(() => { const one = document.querySelector('dialog'); return one.scrollWidth - one.clientWidth; })()"
        )
        await dialog.get_by_role("button", name="Leave").click()
        await expect(button).to_be_focused()
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    assert problems == [] and seen["small"] == []
    peeks = "a decoder that peeks"
    assert seen["titles"] == ["everything in place", peeks, "no positions", peeks, peeks]
    assert "“abc”, “120”" in seen["bad"] and seen["marks"] == (9, ["median 40"])
    typed = "0, 5, 5, 10, 40 55%; 90 90 90, abc, 120"
    assert (seen["next"], seen["back"], seen["loaded"], seen["covered"]) == ("", typed, 0, True)
    assert "on the token that it is to guess" in seen["why"] and "9 bets, median 40 %; the run: 0 %" in seen["text"]
    assert "the class: 9 bets, median 40 %" in seen["left"][0] and seen["left"][1:] == (None, 200)
    assert seen["again"] == ("0, 5, 5, 10, 40, 55, 90, 90, 90", 0, 1) and seen["wide"] <= 0


def test_letters_are_sorted_without_positions(chromium, pages):
    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri())
        await tab.get_by_role("button", name="letters sorted").click()
        await tab.get_by_role("group", name=re.compile("^Parts")).get_by_role("button", name="Positions").click()
        return await train(tab), tab.complaints

    seen, problems = browse(chromium, work)
    (row,) = seen["rows"]
    assert problems == [] and row["task"] == "sorting" and row["runs"][0]["right"][-1][1] > 0.8


def test_a_recurrent_model_has_grey_switches_and_no_map(chromium, pages):
    """The page trains what Python trains, by the same press; it checks its gradients and says why; what has no effect cannot be set."""

    async def work(tab):
        await opened(tab, (HTML / PAGE).as_uri())
        await tab.get_by_label("Experiment").select_option(label="a recurrent model")
        await steps(tab, 200)
        grey = tab.locator(".xf-lab-parts button:disabled, .xf-lab-sizes select:disabled")
        seen = {"grey": await grey.count(), "row": (await train(tab))["rows"][0]}
        seen["below"] = await tab.locator(".xf-lab-below").inner_text()
        seen["why"] = await tab.locator(".xf-lab-why").inner_text()
        seen["link"] = await tab.evaluate(COPIED % (BUTTON % "Copy link"))
        await tab.locator(".xf-lab-code summary").click()
        await tab.get_by_role("button", name="Check my gradients").click()
        await trained(tab)
        seen["verdict"] = await tab.locator(".xf-lab-verdict").inner_text()
        await tab.get_by_label("Experiment").select_option(label="everything in place")
        await steps(tab, 200)
        await train(tab)
        seen["whole"] = (await grey.count(), await tab.locator(".xf-lab-below").inner_text())
        await tab.visit("about:blank")
        await tab.visit(seen["link"])
        await expect(tab.locator(".xf-lab-link")).to_be_visible()
        seen["linked"] = await tab.locator(".xf-lab-link").inner_text()
        return seen, tab.complaints

    seen, problems = browse(chromium, work)
    run = Run("backwards", Parts(steps=200, model="recurrent"))
    run.train()
    assert problems == [] and seen["grey"] == 6 and "recurrent model, 200 steps, seed 0" in seen["linked"]
    for step, loss in seen["row"]["runs"][0]["loss"][:5]:
        assert loss == pytest.approx(np.mean(run.losses[:step][-4:]), rel=1e-3)
    assert "has no attention, so it has no map" in seen["below"] and "Where it looks" not in seen["below"]
    assert "one state of 21 numbers" in seen["why"] and "length 8" in seen["why"]
    assert seen["verdict"] == "All 16 gradients agree with what nudging does."
    assert seen["whole"][0] == 0 and "at the source" in seen["whole"][1]
