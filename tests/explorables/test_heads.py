"""The heads in the page are those of the reference; switched off or merged, they are what NumPy makes of them."""

import numpy as np
import pytest

from tests.explorables.gestures import read
from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.several_heads import W_K, W_O, W_Q, W_V, X
from xformer_lib.reference.multi_head import multi_head_attention

ALL = [True, True, True]
BLOCKS = W_O.reshape(3, 3, 6)


def wanted(on, merged):
    """Weights of every head and the output, from the heads that are on."""
    active = np.flatnonzero(on)
    _, weights = multi_head_attention(X, X, W_Q, W_K, W_V, W_O)
    if not merged:
        rows = BLOCKS[active].reshape(-1, 6)
        output = multi_head_attention(X, X, W_Q[active], W_K[active], W_V[active], rows)[0] if len(active) else np.zeros((4, 6))
        return weights, output
    mean = weights[active].mean(axis=0)
    weights[active] = mean
    return weights, sum(mean @ X @ W_V[n] @ BLOCKS[n] for n in active)


@pytest.mark.browser
def test_numbers_are_the_librarys(chromium, tmp_path):
    states = [
        {"query": q, "on": on, "merged": merged}
        for q, on, merged in (
            (3, ALL, False),
            (1, ALL, True),
            (0, [True, False, True], False),
            (2, [False, True, True], True),
            (3, [False, False, True], False),
            (2, [False] * 3, False),
        )
    ]
    for state, got in zip(states, readings(chromium, tmp_path, explorables.heads(), states), strict=True):
        weights, output = wanted(state["on"], state["merged"])
        np.testing.assert_allclose(got["weights"], weights, atol=1e-5)
        np.testing.assert_allclose(got["output"], output, atol=1e-5)
        np.testing.assert_allclose(np.array(got["joined"]) @ W_O, output, atol=1e-5)
        np.testing.assert_allclose(np.sum(got["added"], axis=0), output, atol=1e-5)


@pytest.mark.browser
def test_keys_choose_a_word_and_switch_a_head(chromium, tmp_path):
    async def enter(tab, name):
        await tab.get_by_role("button", name=name, exact=True).press("Enter")
        return await tab.evaluate(f"[{FIGURE}.querySelector('.xf-say').textContent, document.activeElement.textContent]")

    async def work(tab):
        said = [await enter(tab, name) for name in ("big", "head 2", "one map for all")]
        return said, await read(tab), await enter(tab, "Start again")

    said, got, after = on_stage(chromium, tmp_path, explorables.heads(), work)
    assert (got["query"], got["on"], got["merged"]) == (1, [True, False, True], True)
    assert said[0][0].startswith("All heads on: big gets") and said[1][0].startswith("big: ") and "changes most" in said[1][0]
    assert [focus for _, focus in said] == ["big", "head 2", "one map for all"], "the focus stays where it was"
    assert after[0].startswith("All heads on: cat gets")
