"""Each step from Q, K and V to the output is the library's, and says what it was made of."""

import math

import numpy as np
import pytest

from tests.explorables.gestures import drag, focus, keys, middle, press, read, said
from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.dot_product import K, Q, V
from xformer_lib.reference.attention import scaled_dot_product_attention

pytestmark = pytest.mark.browser
MASKS = {"none": np.ones((3, 4), dtype=bool), "causal": np.tri(3, 4, dtype=bool), "padding": np.arange(4)[None] < [[3]] * 3}


def drawn(seed, size):
    rng = np.random.default_rng(seed)
    return {name: (size * rng.normal(size=array.shape)).round(1).tolist() for name, array in (("q", Q), ("k", K), ("v", V))}


STATES = [{"q": Q.tolist(), "k": K.tolist(), "v": V.tolist(), "scaled": scaled, "mask": mask} for scaled in (True, False) for mask in MASKS]
STATES += [
    {**drawn(seed, size), "scaled": seed % 2 == 0, "mask": mask}
    for seed, (size, mask) in enumerate([(1, "none"), (3, "causal"), (30, "padding"), (300, "none"), (300, "causal"), (0, "padding")])
]


def test_numbers_are_the_librarys(chromium, tmp_path):
    for state, got in zip(STATES, readings(chromium, tmp_path, explorables.scaled_dot_product(), STATES), strict=True):
        q, k, v = (np.array(state[name], dtype=float) for name in "qkv")
        mask, root = MASKS[state["mask"]], math.sqrt(2) if state["scaled"] else 1.0
        output, weights = scaled_dot_product_attention(q if state["scaled"] else q * math.sqrt(2), k, v, mask=mask)
        np.testing.assert_array_equal(got["allowed"], mask)
        np.testing.assert_allclose(got["scores"], q @ k.T, atol=1e-5)
        np.testing.assert_allclose(got["divided"], q @ k.T / root, atol=1e-5)
        np.testing.assert_allclose(got["weights"], weights, atol=1e-5)
        np.testing.assert_allclose(got["output"], output, atol=1e-5)


def test_every_cell_says_what_it_was_made_of(chromium, tmp_path):
    large = {"q": [[1, 0], [0, 1], [-20, 50]], "k": [[0, 0], [2, 0], [2, 1], [0, -30.25]]}
    states = [
        {"chosen": ["scores", 2, 2]},
        {"chosen": ["scaled", 2, 2]},
        {"chosen": ["weights", 0, 1]},
        {"chosen": ["output", 1, 2]},
        {"chosen": ["scaled", 1, 3], "mask": "causal"},
        {"chosen": ["weights", 1, 3]},
        {"chosen": ["scores", 2, 3], "mask": "none", **large},
    ]
    found = readings(chromium, tmp_path, explorables.scaled_dot_product(), states)
    for one, words in zip(
        found,
        (
            "Score of both? and yellow: row of Q times row of K, 1.0·2.0 + 1.0·1.0 = 3.00.",
            "Score divided by √2: 3.00 / 1.41 = 2.12.",
            "Weight of big for describes?: exp(1.41) / (exp(0.00) + exp(1.41) + exp(1.41) + exp(0.00)) = 4.11 / 10.23 = 0.40.",
            "Output of names?, animal: weights times column of V, 0.08·0.0 + 0.08·0.0 + 0.16·0.0 + 0.67·1.0 = 0.67.",
            "The mask hides cat from names?: the score becomes −∞.",
            "Weight of cat for names?: e to the power of −∞ is 0.",
            "Score of both? and cat: row of Q times row of K, (−20.0)·0.0 + 50.0·(−30.25) = −1512.50.",
        ),
        strict=True,
    ):
        assert one["trace"] == words
    assert found[0]["near"] == [["q", 2, 0], ["q", 2, 1], ["k", 2, 0], ["k", 2, 1]]
    assert found[1]["near"] == [["scores", 2, 2]]
    assert found[2]["near"] == [["scaled", 0, j] for j in range(4)]
    assert found[3]["near"] == [["weights", 1, j] for j in range(4)] + [["v", j, 2] for j in range(4)]


def test_arrow_keys_change_a_number_and_what_changed_is_said(chromium, tmp_path):
    async def work(tab):
        heard = []
        for name in ("K, cat, names", "V, big, size", "Q, both?, names"):
            await focus(tab, f'input[aria-label="{name}"]')
            await keys(tab, "ArrowUp")
            heard.append(await said(tab))
        marked = await tab.evaluate(f"{FIGURE}.querySelectorAll('.xf-changed').length")
        return heard, marked, await read(tab)

    heard, marked, state = on_stage(chromium, tmp_path, explorables.scaled_dot_product(), work)
    k, v, q = K.copy(), V.copy(), Q.copy()
    k[3, 1] += 0.1
    v[1, 0] += 0.1
    q[2, 1] += 0.1
    np.testing.assert_allclose(state["output"], scaled_dot_product_attention(q, k, v)[0], atol=1e-9)
    # describes? has a 0 in this column; The has zeros in all.
    assert heard == [
        "K, cat, names: 3.0 is now 3.1. Changed: 2 of 12 scores, 8 of 12 weights (3 beyond the second decimal), "
        "6 of 9 numbers of the output (2 beyond the second decimal).",
        "V, big, size: 1.0 is now 1.1. Changed: 0 of 12 scores, 0 of 12 weights, "
        "3 of 9 numbers of the output (1 beyond the second decimal).",
        "Q, both?, names: 1.0 is now 1.1. Changed: 2 of 12 scores, 4 of 12 weights (1 beyond the second decimal), "
        "3 of 9 numbers of the output.",
    ]
    assert marked == 2 + 2 + (4 - 1) + 3, "what two decimals do not show is not underlined"


def test_what_is_no_number_is_refused_and_named(chromium, tmp_path):
    async def work(tab):
        field = tab.locator("figure.xf input").first
        await field.fill("4000")
        heard, state = await said(tab), await read(tab)
        await field.blur()
        return heard, state, await field.input_value()

    heard, state, back = on_stage(chromium, tmp_path, explorables.scaled_dot_product(), work)
    assert heard == "Q, describes?, describes: expected a number from −1000 to 1000; 1.0 is still in use."
    assert state["q"] == Q.tolist() and back == "1.0"


def test_a_cell_is_chosen_by_pointer_and_by_arrow_keys(chromium, tmp_path):
    async def work(tab):
        await drag(tab, await middle(tab, "table[aria-label='4. Output: weights V'] tbody td"))
        pointed = (await read(tab))["chosen"]
        frames = await tab.evaluate(f"['marked', 'from', 'deep'].map((n) => {FIGURE}.querySelectorAll('.xf-' + n).length)")
        await keys(tab, "ArrowRight", "ArrowDown")
        return pointed, frames, (await read(tab))["chosen"]

    pointed, frames, moved = on_stage(chromium, tmp_path, explorables.scaled_dot_product(), work)
    assert pointed == ["output", 0, 0]
    # one cell; four weights and a column of V; then four scores, four divided ones, a row of Q and all of K
    assert frames == [1, 4 + 4, 4 + 4 + 2 + 8]
    assert moved == ["output", 1, 1]


def test_the_switches_change_the_state(chromium, tmp_path):
    async def work(tab):
        for name in ("no", "cat is padding"):
            await press(tab, name)
        return await said(tab), await read(tab)

    heard, state = on_stage(chromium, tmp_path, explorables.scaled_dot_product(), work)
    assert (state["scaled"], state["mask"]) == (False, "padding")
    assert heard.startswith("No query may read cat. Changed: 0 of 12 scores, 12 of 12 weights")
