"""Every shape and mask in the page is that of a real Transformer, noted by hooks while it runs."""

import pytest
import torch

from tests.explorables.gestures import focus
from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.stations import PAIRS, SIZES, START, STEPS
from xformer_lib.inspection import record_attention
from xformer_lib.nn.masks import padding_mask, target_mask
from xformer_lib.nn.transformer import Transformer, TransformerConfig

CONFIG = TransformerConfig(
    vocab_size=SIZES["v"],
    d_model=SIZES["m"],
    num_heads=SIZES["h"],
    d_ff=SIZES["f"],
    num_encoder_layers=3,
    num_decoder_layers=3,
    dropout=0.0,
    max_len=16,
)
STATES = [
    START,
    {**START, "step": 5, "batch": 2, "source": 7, "target": 6, "sentence": 1},
    {**START, "step": 14, "batch": 3, "source": 8, "target": 5, "sentence": 0},
    {**START, "step": 18, "batch": 3, "source": 5, "target": 9, "sentence": 1},
]


def batch(state):
    """Ids of the state's sentences; a word is any id above the special ones, only padding matters here."""
    sides = []
    for side, length in ((0, state["source"]), (1, state["target"])):
        words = [len(pair[side].split()) + 1 for pair in PAIRS[: state["batch"]]]
        sides.append(torch.tensor([[3] * count + [0] * (length - count) for count in words]))
    return sides


def hooked(state):
    """The shapes that the model's own pass leaves at each station's place in the library."""
    torch.manual_seed(0)
    model, (source, target_in), seen = Transformer(CONFIG).eval(), batch(state), {"source": [], "target_in": [], "logits": []}
    for name, module in model.named_modules():
        module.register_forward_hook(
            lambda _, args, out, name=name: seen.setdefault(name, []).append(out) if torch.is_tensor(out) else None
        )
    with torch.no_grad(), record_attention(model) as maps:
        seen["logits"].append(model(source, target_in))
    seen["source"].append(source)
    seen["target_in"].append(target_in)
    arrays = []
    for step in STEPS:
        name, _, weights = step["where"].partition("@")
        arrays.append(maps[name] if weights else seen[name][step["box"] == "target-in"])
    return arrays, (source, target_in)


@pytest.mark.browser
def test_shapes_and_masks_are_the_models(chromium, tmp_path):
    for state, read in zip(STATES, readings(chromium, tmp_path, explorables.architecture(), STATES), strict=True):
        arrays, (source, target_in) = hooked(state)
        assert [read[name] for name in START] == list(state.values())
        assert read["shapes"] == [list(array.shape) for array in arrays]
        step, row = STEPS[state["step"]], state["sentence"]
        if not step["mask"]:
            continue
        over_source = padding_mask(source, 0)[row]
        wanted = {
            "source source": over_source.expand(state["source"], -1),
            "target target": target_mask(target_in, 0)[row],
            "target source": over_source.expand(state["target"], -1),
        }[step["mask"]]
        assert read["mask"] == wanted.tolist()
        weights = arrays[state["step"]][row]
        assert ((weights > 0) == wanted).all(), "the model's weights are zero exactly where the page has a dash"
        assert (len(read["rows"]), len(read["columns"])) == tuple(wanted.shape)


def test_the_picture_has_every_station_and_our_pairs_shapes():
    picture = explorables.architecture().picture
    arrays, _ = hooked(START)
    for step, array in zip(STEPS, arrays, strict=True):
        assert f'<th scope="row">{step["name"]}</th>' in picture and f"<td>{tuple(array.shape)}</td>" in picture
    assert SIZES["d"] * SIZES["h"] == SIZES["m"]


@pytest.mark.browser
def test_lengths_never_cut_a_sentence(chromium, tmp_path):
    (read,) = readings(chromium, tmp_path, explorables.architecture(), [{**START, "batch": 3, "source": 3, "target": 3, "sentence": 2}])
    assert (read["source"], read["target"]) == (5, 5)
    (read,) = readings(chromium, tmp_path, explorables.architecture(), [{**START, "batch": 1, "sentence": 2}])
    assert read["sentence"] == 0


@pytest.mark.browser
def test_keys_walk_to_the_end_and_back(chromium, tmp_path):
    async def key(tab, name):
        await tab.keyboard.press(name)
        return await tab.evaluate(
            f"[{FIGURE}.explorable.read().step, document.activeElement.textContent, {FIGURE}.querySelector('.xf-say').textContent]"
        )

    async def work(tab):
        await focus(tab, "button:has-text('next')")
        seen = [await key(tab, "Enter") for _ in STEPS]
        await focus(tab, "input[type=range]")
        return seen, await key(tab, "Home")

    seen, home = on_stage(chromium, tmp_path, explorables.architecture(), work)
    assert [step for step, *_ in seen] == [*range(1, len(STEPS)), len(STEPS) - 2]
    assert seen[-2][1] == "← back", "at the end the focus goes to the button that still works"
    assert seen[-2][2] == f"Station {len(STEPS)}, probabilities: (1, 4, 23)."
    assert home[0] == 0


@pytest.mark.browser
def test_a_pointer_jumps_to_a_box(chromium, tmp_path):
    async def work(tab):
        await tab.locator(".xf-stage svg").get_by_text("cross-attention", exact=True).first.click()
        return await tab.evaluate(f"{FIGURE}.explorable.read().name")

    assert on_stage(chromium, tmp_path, explorables.architecture(), work) == "queries from the target"
