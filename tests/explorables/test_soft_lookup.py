"""The soft lookup in the page computes what the library computes."""

import numpy as np
import pytest

from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_lib import explorables
from xformer_lib.explorables.lookup import KEYS, QUERY, VALUES
from xformer_lib.reference.lookup import soft_lookup

pytestmark = pytest.mark.browser


def test_numbers_are_the_librarys(chromium, tmp_path):
    rng = np.random.default_rng(5)
    states = [{"query": QUERY.tolist(), "temperature": 1.0}]
    states += [{"query": rng.uniform(-1.6, 1.6, 2).tolist(), "temperature": t} for t in (0.01, 0.1, 0.7, 3.0, 10.0)]
    for state, read in zip(states, readings(chromium, tmp_path, explorables.soft_lookup(), states), strict=True):
        output, weights = soft_lookup(np.array(state["query"]), KEYS, VALUES, temperature=state["temperature"])
        np.testing.assert_allclose(read["weights"], weights, atol=1e-5)
        np.testing.assert_allclose(read["output"], output, atol=1e-5)
        np.testing.assert_allclose(read["scores"], KEYS @ state["query"], atol=1e-5)


def test_arrow_keys_move_the_query(chromium, tmp_path):
    async def work(tab):
        await tab.evaluate(f"{FIGURE}.querySelector('.xf-handle').focus()")
        for key in ("ArrowRight", "ArrowUp", "ArrowUp"):
            await tab.send("Input.dispatchKeyEvent", type="keyDown", key=key)
            await tab.send("Input.dispatchKeyEvent", type="keyUp", key=key)
        return await tab.evaluate(f"{FIGURE}.explorable.read().query")

    moved = on_stage(chromium, tmp_path, explorables.soft_lookup(), work)
    np.testing.assert_allclose(moved, QUERY + [0.1, 0.2], atol=1e-9)


def test_a_pointer_drags_the_query(chromium, tmp_path):
    async def work(tab):
        spot = await tab.evaluate(
            f"(() => {{ const r = {FIGURE}.querySelector('.xf-handle').getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind, x, y in (("mousePressed", 0, 0), ("mouseMoved", -30, 15), ("mouseReleased", -30, 15)):
            await tab.send(
                "Input.dispatchMouseEvent", type=kind, x=spot[0] + x, y=spot[1] + y, button="left", buttons=1, clickCount=1
            )
        return await tab.evaluate(f"{FIGURE}.explorable.read().query")

    moved = on_stage(chromium, tmp_path, explorables.soft_lookup(), work)
    np.testing.assert_allclose(moved, QUERY + np.array([-30, -15]) / (240 / 3.2), atol=0.02)
