"""The soft lookup in the page computes what the library computes."""

import numpy as np
import pytest

from tests.explorables.gestures import drag, focus, keys, middle, read
from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.lookup import KEYS, QUERY, VALUES
from xformer_lib.reference.lookup import soft_lookup

pytestmark = pytest.mark.browser


def test_numbers_are_the_librarys(chromium, tmp_path):
    rng = np.random.default_rng(5)
    states = [{"query": QUERY.tolist(), "temperature": 1.0}]
    states += [{"query": rng.uniform(-1.6, 1.6, 2).tolist(), "temperature": t} for t in (0.01, 0.1, 0.7, 3.0, 10.0)]
    for state, got in zip(states, readings(chromium, tmp_path, explorables.soft_lookup(), states), strict=True):
        output, weights = soft_lookup(np.array(state["query"]), KEYS, VALUES, temperature=state["temperature"])
        np.testing.assert_allclose(got["weights"], weights, atol=1e-5)
        np.testing.assert_allclose(got["output"], output, atol=1e-5)
        np.testing.assert_allclose(got["scores"], KEYS @ state["query"], atol=1e-5)


def test_arrow_keys_move_the_query(chromium, tmp_path):
    async def work(tab):
        await focus(tab, ".xf-handle")
        await keys(tab, "ArrowRight", "ArrowUp", "ArrowUp")
        return (await read(tab))["query"]

    moved = on_stage(chromium, tmp_path, explorables.soft_lookup(), work)
    np.testing.assert_allclose(moved, QUERY + [0.1, 0.2], atol=1e-9)


def test_a_pointer_drags_the_query(chromium, tmp_path):
    async def work(tab):
        x, y = await middle(tab, ".xf-handle")
        await drag(tab, (x, y), (x - 30, y + 15))
        return (await read(tab))["query"]

    moved = on_stage(chromium, tmp_path, explorables.soft_lookup(), work)
    np.testing.assert_allclose(moved, QUERY + np.array([-30, -15]) / (240 / 3.2), atol=0.02)


def test_the_map_names_north_and_the_latitude_that_no_output_passes(chromium, tmp_path):
    async def work(tab):
        texts = await tab.evaluate(f"[...{FIGURE}.querySelectorAll('svg[role=img] text')].map((e) => e.textContent)")
        places = f"(() => {{ const c = {FIGURE}.querySelector('svg[role=img]'); return ['line', 'circle'].map((n) => Number(c.querySelector(n).getAttribute(n === 'line' ? 'y1' : 'cy'))); }})()"
        heights = []
        for query in ([1.6, 1.6], [-1.6, 1.6], [0.2, -1.6]):
            await tab.evaluate(f"{FIGURE}.explorable.set({{query: {query}, temperature: 0.01}})")
            heights.append(await tab.evaluate(places))
        return texts, heights, await tab.evaluate(f"{FIGURE}.querySelector('label').textContent")

    texts, heights, label = on_stage(chromium, tmp_path, explorables.soft_lookup(), work)
    assert {"north ↑", "Berlin's latitude"} < set(texts)
    assert all(dot > line - 1e-6 for line, dot in heights), "an SVG counts downwards"
    assert heights[2][0] == pytest.approx(heights[2][1], abs=1e-3), "Berlin's key alone: the output lies on the line"
    assert label == "temperature (0.01 … 10)"
