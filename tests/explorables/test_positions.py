"""Places in the page are the library's: table, similarity, shift and rotary."""

import numpy as np
import pytest

from tests.explorables.gestures import read, said
from tests.explorables.stage import on_stage, readings
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
    for state, got in zip(STATES, readings(chromium, tmp_path, explorables.positions(), STATES), strict=True):
        place, offset = state["place"], state["offset"]
        table, wide = sinusoidal_positions(LENGTH + 16, DIM), sinusoidal_positions(LENGTH, state["width"])
        np.testing.assert_allclose(got["frequencies"], frequencies(DIM), atol=1e-5)
        np.testing.assert_allclose(got["row"], table[place], atol=1e-5)
        np.testing.assert_allclose(got["similarity"], wide @ wide[place] / (state["width"] / 2), atol=1e-5)
        np.testing.assert_allclose(got["turned"], shift_matrix(DIM, offset) @ table[place], atol=1e-5)
        np.testing.assert_allclose(got["moved"], table[place + offset], atol=1e-5)
        q, k = rotary(QUERY[None], [state["query"] + state["shift"]])[0], rotary(KEY[None], [state["key"] + state["shift"]])[0]
        np.testing.assert_allclose([*got["q"], *got["k"]], [*q, *k], atol=1e-5)
        np.testing.assert_allclose(got["score"], q @ k, atol=1e-5)
        np.testing.assert_allclose(sum(got["parts"]), q @ k, atol=1e-5)


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
    (got,) = readings(chromium, tmp_path, explorables.positions(), [{**START, "view": "shift", "place": 2, "offset": -9}])
    assert got["offset"] == -2
    np.testing.assert_allclose(got["turned"], sinusoidal_positions(1, DIM)[0], atol=1e-5)


def test_arrow_keys_reach_every_view(chromium, tmp_path):
    """By Enter on a view and arrow keys on its sliders."""

    async def work(tab):
        seen = []
        for view in range(4):
            await tab.locator("fieldset button").nth(view).press("Enter")
            sliders = tab.locator("input[type=range]")
            for n in range(await sliders.count()):
                await sliders.nth(n).press("ArrowRight")
            now = await read(tab)
            seen.append((now["view"], [now[name] for name in START], await said(tab)))
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
        table = tab.locator(".xf-stage svg").first
        scale = (await table.bounding_box())["width"] / 304
        await table.click(position={"x": scale * (44 + 4 * 31 + 2), "y": scale * (22 * 6 + 11)})
        return await read(tab)

    got = on_stage(chromium, tmp_path, explorables.positions(), work)
    assert (got["place"], got["pair"]) == (31, 6)
