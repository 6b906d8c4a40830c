"""The words that move: outputs and verdicts are the library's, for every layer."""

import itertools

import numpy as np
import pytest

from tests.explorables.gestures import drag, focus, keys, middle, read, said
from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.reordering import ASKING_X, LAYERS, W_K, W_Q, W_V, WORDS, X
from xformer_lib.reference.masks import causal_mask
from xformer_lib.reference.permutations import check_equivariant, check_invariant
from xformer_lib.reference.positions import sinusoidal_positions
from xformer_lib.reference.single_head import cross_attention, self_attention

ORDERS = ([0, 1, 2, 3, 4], [4, 1, 2, 3, 0], [4, 3, 2, 1, 0], [1, 2, 3, 4, 0], [0, 1, 2, 4, 3], [2, 0, 4, 1, 3])
PLACED = ("self", "causal", "positions")  # a row of the output for each word


def weights_of(mode, x):
    if mode == "cross":
        return cross_attention(ASKING_X, x, W_Q, W_K, W_V)[1]
    x = x + sinusoidal_positions(*x.shape) if mode == "positions" else x
    return self_attention(x, W_Q, W_K, W_V, mask=causal_mask(5) if mode == "causal" else None)[1]


@pytest.mark.browser
def test_outputs_and_differences_are_the_librarys(chromium, tmp_path):
    states = [{"mode": mode, "order": order} for mode in LAYERS for order in ORDERS]
    for state, got in zip(states, readings(chromium, tmp_path, explorables.permutations(), states), strict=True):
        mode, order = state["mode"], state["order"]
        output, first = LAYERS[mode](X[order]), LAYERS[mode](X)
        placed = X[order] + sinusoidal_positions(5, 4) if mode == "positions" else X[order]
        np.testing.assert_allclose(got["input"], placed, atol=1e-5)
        np.testing.assert_allclose(got["output"], output, atol=1e-5)
        np.testing.assert_allclose(got["weights"], weights_of(mode, X[order]), atol=1e-5)
        kept = first[order] if mode in PLACED else first
        np.testing.assert_allclose(got["rows"], np.abs(output - kept).max(axis=1), atol=1e-5)
        assert got["stayed"] == pytest.approx(np.abs(output - first).max(), abs=1e-5)
        if mode in PLACED:
            assert got["moved"] == pytest.approx(np.abs(output - first[order]).max(), abs=1e-5)
        else:
            assert got["moved"] is None


@pytest.mark.browser
def test_the_counts_over_all_orders_agree_with_the_checks(chromium, tmp_path):
    states = [{"mode": mode} for mode in LAYERS]
    for mode, got in zip(LAYERS, readings(chromium, tmp_path, explorables.permutations(), states), strict=True):
        first, layer = LAYERS[mode](X), LAYERS[mode]
        outputs = {order: layer(X[list(order)]) for order in itertools.permutations(range(5))}
        stayed = sum(np.allclose(output, first) for output in outputs.values())
        assert got["counts"]["stayed"] == stayed
        assert (stayed == 120) == bool(check_invariant(layer, X)) == (mode in ("cross", "mean"))
        if mode in PLACED:
            moved = sum(np.allclose(output, first[list(order)]) for order, output in outputs.items())
            assert got["counts"]["moved"] == moved
            assert (moved == 120) == bool(check_equivariant(layer, X)) == (mode == "self")


@pytest.mark.browser
def test_the_verdict_says_what_moved_stayed_and_changed(chromium, tmp_path):
    swap, last = [4, 1, 2, 3, 0], [0, 1, 2, 4, 3]
    states = [{"mode": "self", "order": swap}, *({"mode": mode, "order": last} for mode in ("causal", "positions", "cross", "mean"))]
    moved, causal, placed, cross, mean = readings(chromium, tmp_path, explorables.permutations(), states)
    assert moved["said"] == "man bites the old dog: every row of the output moved with its word; largest difference 0.0."
    gaps = np.abs(LAYERS["causal"](X[last]) - LAYERS["causal"](X)[last]).max(axis=1)
    assert (gaps > 1e-9).tolist() == [False] * 3 + [True] * 2
    assert causal["said"] == (
        f"dog bites the man old: 2 of 5 rows changed, most of all {WORDS[last[gaps.argmax()]]}, by {gaps.max():.2f}."
        " The first row, dog, reads itself alone."
    )
    assert placed["said"].startswith("dog bites the man old: 5 of 5 rows changed")
    assert cross["said"] == "dog bites the man old: every row of the output stayed as it was; largest difference 0.0."
    assert mean["said"] == "dog bites the man old: the mean stayed as it was; largest difference 0.0."


@pytest.mark.browser
def test_arrow_keys_move_a_word_and_the_focus_stays_with_it(chromium, tmp_path):
    async def work(tab):
        await focus(tab, "ol li:nth-child(2) .xf-grip")
        orders = []
        for name in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "ArrowDown", "Home"):
            await keys(tab, name)
            orders.append(("".join(map(str, (await read(tab))["order"])), await tab.evaluate("document.activeElement.textContent")))
        return orders, await tab.evaluate("document.activeElement.getAttribute('aria-label')")

    orders, label = on_stage(chromium, tmp_path, explorables.permutations(), work)
    assert orders == [(order, "bites") for order in ("02134", "02314", "02134", "02341", "02341", "10234")]
    assert label == "bites, place 1 of 5; arrow keys move it"


@pytest.mark.browser
def test_a_pointer_drags_a_word(chromium, tmp_path):
    async def work(tab):
        grips = [await middle(tab, f"ol li:nth-child({place}) .xf-grip") for place in (1, 2, 3, 4, 5)]
        await drag(tab, grips[0], grips[1], grips[3])
        down = (await read(tab))["order"]
        await drag(tab, grips[4], (grips[0][0], grips[0][1] - 400))
        return down, (await read(tab))["order"], await said(tab)

    down, up, heard = on_stage(chromium, tmp_path, explorables.permutations(), work)
    assert down == [1, 2, 3, 0, 4]
    assert up == [4, 1, 2, 3, 0]
    assert heard.startswith("man bites the old dog: every row")


@pytest.mark.browser
def test_the_output_stays_beside_the_input_and_the_verdict_names_the_first(chromium, tmp_path):
    """In the book's column of a window of 1200 pixels."""

    async def work(tab):
        tops = f"(() => [...{FIGURE}.querySelectorAll('ol')].map((e) => e.getBoundingClientRect().top))()"
        cells = f"[...{FIGURE}.querySelectorAll('.xf-verdict td')].map((e) => e.textContent)"
        found = {}
        for mode in LAYERS:
            await tab.evaluate(f"{FIGURE}.explorable.set({{mode: '{mode}', order: [4, 3, 2, 1, 0]}})")
            found[mode] = await tab.evaluate(tops), await tab.evaluate(cells)
        return found

    found = on_stage(chromium, tmp_path, explorables.permutations(), work, width=672)
    for mode, ((one, other), cells) in found.items():
        assert abs(one - other) < 1, f"{mode}: the output dropped below the input"
        counts = [cell for cell in cells if " of 120" in cell]
        assert {"1 of 120: the first", "120 of 120"} & set(counts) and "1 of 120" not in counts, mode
