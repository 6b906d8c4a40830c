"""Places in the page are the library's: table, similarity, shift and rotary."""

import numpy as np
import pytest

from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.places import DIM, KEY, LENGTH, QUERY, START
from xformer_lib.reference.positions import frequencies, rotary, shift_matrix, sinusoidal_positions

pytestmark = pytest.mark.browser
STATES = [
    START,
    {**START, "view": "table", "place": 61, "pair": 7, "width": 16},
    {**START, "view": "similarity", "place": 47, "width": 512},
    {**START, "view": "shift", "place": 13, "offset": -11, "pair": 0},
    {**START, "view": "shift", "place": 0, "offset": 16, "width": 16},
    {**START, "view": "rotary", "query": 19, "key": 2, "shift": 37},
]


def test_numbers_are_the_librarys(chromium, tmp_path):
    for state, read in zip(STATES, readings(chromium, tmp_path, explorables.positions(), STATES), strict=True):
        place, offset = state["place"], state["offset"]
        table, wide = sinusoidal_positions(LENGTH + 16, DIM), sinusoidal_positions(LENGTH, state["width"])
        np.testing.assert_allclose(read["frequencies"], frequencies(DIM), atol=1e-5)
        np.testing.assert_allclose(read["row"], table[place], atol=1e-5)
        np.testing.assert_allclose(read["similarity"], wide @ wide[place] / (state["width"] / 2), atol=1e-5)
        np.testing.assert_allclose(read["turned"], shift_matrix(DIM, offset) @ table[place], atol=1e-5)
        np.testing.assert_allclose(read["moved"], table[place + offset], atol=1e-5)
        q, k = rotary(QUERY[None], [state["query"] + state["shift"]])[0], rotary(KEY[None], [state["key"] + state["shift"]])[0]
        np.testing.assert_allclose([*read["q"], *read["k"]], [*q, *k], atol=1e-5)
        np.testing.assert_allclose(read["score"], q @ k, atol=1e-5)
        np.testing.assert_allclose(sum(read["parts"]), q @ k, atol=1e-5)


def test_what_the_caption_promises(chromium, tmp_path):
    """The angles of a shift and the score of two words depend on the offset alone; moving one word changes the score."""
    states = [
        {**START, "view": "shift", "place": place, "query": 3 + more, "shift": shift}
        for place, shift, more in ((2, 0, 0), (53, 29, 0), (5, 29, 1))
    ]
    first, second, third = readings(chromium, tmp_path, explorables.positions(), states)
    np.testing.assert_allclose(first["angles"], second["angles"], atol=1e-12)
    np.testing.assert_allclose(first["score"], second["score"], atol=1e-9)
    assert abs(second["score"] - third["score"]) > 0.05


def test_no_shift_leads_before_the_first_place(chromium, tmp_path):
    (read,) = readings(chromium, tmp_path, explorables.positions(), [{**START, "view": "shift", "place": 2, "offset": -9}])
    assert read["offset"] == -2
    np.testing.assert_allclose(read["turned"], sinusoidal_positions(1, DIM)[0], atol=1e-5)


def test_arrow_keys_reach_every_view(chromium, tmp_path):
    """By Enter on a view and arrow keys on its sliders."""

    async def press(tab, key):
        code = {"Enter": 13, "ArrowRight": 39, "ArrowLeft": 37}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        await tab.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        await tab.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    async def work(tab):
        seen = []
        for view in range(4):
            await tab.evaluate(f"{FIGURE}.querySelectorAll('fieldset button')[{view}].focus()")
            await press(tab, "Enter")
            sliders = await tab.evaluate(f"[...{FIGURE}.querySelectorAll('input[type=range]')].length")
            for n in range(sliders):
                await tab.evaluate(f"{FIGURE}.querySelectorAll('input[type=range]')[{n}].focus()")
                await press(tab, "ArrowRight")
            read = await tab.evaluate(f"{FIGURE}.explorable.read()")
            status = await tab.evaluate(f"{FIGURE}.querySelector('.xf-say').textContent")
            seen.append((read["view"], [read[name] for name in START], status))
        return seen

    seen = on_stage(chromium, tmp_path, explorables.positions(), work)
    assert [(view, values) for view, values, _ in seen] == [
        ("table", [6, 3, 3, 64, 3, 5, 0]),
        ("similarity", [7, 3, 3, 64, 3, 5, 0]),
        ("shift", [8, 4, 4, 64, 3, 5, 0]),
        ("rotary", [8, 4, 4, 64, 4, 6, 1]),
    ]
    assert len({status for *_, status in seen}) == 4 and "Query at 5, key at 7" in seen[-1][2]


def test_a_pointer_chooses_place_and_pair(chromium, tmp_path):
    async def work(tab):
        box = await tab.evaluate(
            f"(() => {{ const r = {FIGURE}.querySelector('.xf-stage svg').getBoundingClientRect(); return [r.x, r.y, r.width / 304]; }})()"
        )
        x, y, scale = box
        for kind in ("mousePressed", "mouseReleased"):
            await tab.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x + scale * (44 + 4 * 31 + 2),
                y=y + scale * (22 * 6 + 11),
                button="left",
                clickCount=1,
            )
        return await tab.evaluate(f"{FIGURE}.explorable.read()")

    read = on_stage(chromium, tmp_path, explorables.positions(), work)
    assert (read["place"], read["pair"]) == (31, 6)
