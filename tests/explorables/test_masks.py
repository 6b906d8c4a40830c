"""The painted masks give the library's weights."""

import numpy as np
import pytest

from tests.explorables.gestures import drag, focus, keys, middle, read, said
from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.masking import queries_and_keys
from xformer_lib.reference.attention import scaled_dot_product_attention
from xformer_lib.reference.masks import causal_mask, length_mask, local_mask

N = 6
PADDING = np.repeat(length_mask([N - 2], N), N, axis=0)
EMPTY = np.repeat(np.arange(N)[:, None] != 2, N, axis=1)
MASKS = {
    "none": np.ones((N, N), dtype=bool),
    "causal": causal_mask(N),
    "padding": PADDING,
    "both": causal_mask(N) & PADDING,
    "local": local_mask(N, 1),
    "empty": EMPTY,
}


@pytest.mark.browser
def test_weights_are_the_librarys(chromium, tmp_path):
    rng = np.random.default_rng(3)
    cases = [({"preset": name}, mask, 1.0) for name, mask in MASKS.items()]
    cases += [({"preset": "local", "window": window}, local_mask(N, window), 1.0) for window in (0, 2, 5)]
    for size in (0.0, 4.5, 1000.0):
        painted = rng.random((N, N)) < 0.5
        painted[4] = False
        cases.append(({"mask": painted.tolist(), "size": size}, painted, size))
    cases.append(({"mask": np.zeros((N, N), dtype=bool).tolist()}, np.zeros((N, N), dtype=bool), 1000.0))
    q, k = queries_and_keys(N)
    found = readings(chromium, tmp_path, explorables.masks(), [state for state, _, _ in cases])
    for (_, mask, size), got in zip(cases, found, strict=True):
        _, weights = scaled_dot_product_attention(size * q, k, k, mask=mask)
        np.testing.assert_array_equal(got["mask"], mask)
        np.testing.assert_allclose(got["weights"], weights, atol=1e-5)
        np.testing.assert_allclose(got["sums"], mask.any(axis=1), atol=1e-5)
        assert got["allowed"] == mask.sum()
        assert ("so zeros" in got["said"]) == (not mask.any(axis=1).all())
        ahead, padding = np.triu(mask, k=1).sum(), mask[:, -2:].sum()
        assert (f"{ahead} pair" in got["said"] and " ahead, " in got["said"]) == (ahead > 0)
        assert ("o query looks ahead" in got["said"]) == (ahead == 0)
        assert ("none reads padding" in got["said"]) == (padding == 0)
        assert (f"{padding} pair" in got["said"] and " padding" in got["said"]) == (padding > 0)
        assert ("Nothing leaks: " in got["said"]) == (ahead == padding == 0)


@pytest.mark.browser
def test_arrow_keys_go_and_space_paints(chromium, tmp_path):
    async def work(tab):
        await focus(tab, "td[data-place='0 0']")
        await keys(tab, "ArrowRight", "ArrowRight", "ArrowDown", " ")
        shown, first = await read(tab), await said(tab)
        await keys(tab, "Home", " ", "ArrowRight", "Enter", "End", "ArrowLeft", "ArrowLeft", "ArrowLeft", " ")
        return (shown, first, await read(tab), await said(tab), await tab.evaluate("document.activeElement.getAttribute('aria-label')"))

    shown, first, hidden, last, focused = on_stage(chromium, tmp_path, explorables.masks(), work)
    mask = causal_mask(N)
    mask[1, 2] = True
    np.testing.assert_array_equal(shown["mask"], mask)
    assert first.startswith(
        "big may now read yellow. Its weights are shared by 3 keys. 22 of 36 pairs may be read. 1 pair looks ahead, 3 pairs read padding."
    )
    mask[1, :3] = False
    np.testing.assert_array_equal(hidden["mask"], mask)
    assert hidden["weights"][1] == [0] * N and hidden["sums"][1] == 0
    assert last.startswith("big no longer reads yellow. It may read nothing: all its weights are 0, and so is its output.")
    assert focused == "query big, key yellow: hidden"


@pytest.mark.browser
def test_a_pointer_paints_what_it_is_drawn_over(chromium, tmp_path):
    async def work(tab):
        spots = [await middle(tab, f"td[data-place='{i} {j}']") for i, j in ((0, 3), (0, 4), (1, 4), (1, 1))]
        await drag(tab, *spots[:3])
        one = await read(tab)
        await drag(tab, spots[3])
        return one, await read(tab)

    painted, clicked = on_stage(chromium, tmp_path, explorables.masks(), work)
    mask = causal_mask(N)
    mask[[0, 0, 1], [3, 4, 4]] = True  # the first cell was hidden, so the pointer shows
    np.testing.assert_array_equal(painted["mask"], mask)
    mask[1, 1] = False
    np.testing.assert_array_equal(clicked["mask"], mask)
    assert clicked["preset"] == "painted"


@pytest.mark.browser
@pytest.mark.parametrize("start", ["none", "causal", "padding", "both"])
def test_the_figure_opens_where_it_is_told_to(chromium, tmp_path, start):
    explorable = explorables.masks(start=start)

    async def work(tab):
        pressed = f"[...{FIGURE}.querySelectorAll('[aria-pressed=true]')].map((e) => e.textContent)"
        return await read(tab), await tab.evaluate(pressed)

    got, pressed = on_stage(chromium, tmp_path, explorable, work)
    np.testing.assert_array_equal(got["mask"], MASKS[start])
    assert pressed == [start if start != "both" else "causal and padding"]
    assert explorable.picture.count("xf-forbidden") == (~MASKS[start]).sum(), "the still picture opens there too"


def test_a_start_that_is_none():
    with pytest.raises(ValueError, match=r"start: expected one of none, causal, padding, both, got 'future'; "):
        explorables.masks(start="future")


@pytest.mark.parametrize("words", [["a", "b"], list("abcdefghi")])
def test_too_few_or_too_many_words(words):
    with pytest.raises(ValueError, match=r"words: expected 3 to 8 of them, got \d; "):
        explorables.masks(words)
