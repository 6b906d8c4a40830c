"""The beam in the page is the library's, on the recorded table and on the shipped model; and the record is that model's."""

import importlib.util
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.explorables.gestures import focus, read
from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.beam_tree import END, START
from xformer_course.explorables.explorable import asset
from xformer_lib import load_pretrained
from xformer_lib.decoding import beam_search

SENTENCES = json.loads(asset("beam.json"))
STATES = [
    {"source": source, "beam": beam, "penalty": penalty, "step": 99}
    for source, beam, penalty in itertools.product(range(len(SENTENCES)), (1, 2, 3, 4), (0.0, 0.5, 1.0, 1.5))
]
VOCABULARY = 5000


class Recorded(torch.nn.Module):
    """A model that knows the recorded next pieces; the rest of its probability is spread evenly over the other words."""

    def __init__(self, following):
        super().__init__()
        pieces = sorted({piece for row in following.values() for piece, _ in row} - {END})
        self.pieces = ["<pad>", "<bos>", END, *pieces]
        self.following, self.config = following, SimpleNamespace(pad_id=0, bos_id=1, eos_id=2, max_len=64, vocab_size=101)

    def encode(self, source):
        return source.double()

    def decode(self, tokens, memory, source):
        rows = []
        for said in tokens[:, 1:].tolist():
            ended = said[-1:] == [self.config.eos_id]  # the library passes such rows along, and never extends them
            row = [] if ended else self.following[" ".join(self.pieces[token] for token in said)]
            rest = (1 - sum(np.exp(p) for _, p in row)) / (VOCABULARY - 2 - len(row))
            logits = torch.full((VOCABULARY,), float(np.log(rest)), dtype=torch.float64)
            for piece, p in row:
                logits[self.pieces.index(piece)] = p
            rows.append(logits)
        return torch.stack(rows)[:, None]


def library(state):
    """What beam_search finds on the recorded table: pieces, sum, score."""
    one = SENTENCES[state["source"]]
    model, length = Recorded(one["next"]), one["limit"]
    found = beam_search(
        model, torch.tensor([[2]]), beam_size=state["beam"], length_penalty=state["penalty"], max_len=length, engine="plain"
    )[0]
    return [([model.pieces[token] for token in best.ids], best.log_prob, best.score) for best in found]


@pytest.mark.browser
def test_the_search_is_the_librarys(chromium, tmp_path):
    for state, got in zip(STATES, readings(chromium, tmp_path, explorables.beam(), STATES), strict=True):
        wanted = library(state)
        assert [[piece for piece in one["pieces"] if piece != END] for one in got["best"]] == [pieces for pieces, *_ in wanted], state
        np.testing.assert_allclose([[one["logProb"], one["score"]] for one in got["best"]], [row[1:] for row in wanted], atol=1e-5)
        assert got["over"] and got["step"] == got["total"] and got["best"] == got["final"]


def test_a_beam_beats_greedy_and_the_penalty_turns_it_back():
    """What the caption promises, by the library: a better sum than greedy's for both; and for one another winner by score."""
    for source, one in enumerate(SENTENCES):
        greedy, wide = (library({"source": source, "beam": beam, "penalty": 0.0})[0] for beam in (1, 2))
        assert wide[1] > greedy[1] and wide[0] != greedy[0], one["source"]
    plain, divided = (library({"source": 0, "beam": 2, "penalty": penalty})[0][0] for penalty in (0.0, 1.0))
    assert plain != divided == library({"source": 0, "beam": 1, "penalty": 0.0})[0][0]


def test_the_record_is_the_shipped_models():
    """Made again, it has the same pieces in the same order; so the library finds the same with the model itself."""
    path = Path(__file__).resolve().parents[2] / "tools" / "record_beam.py"
    spec = importlib.util.spec_from_file_location("record_beam", path)
    spec.loader.exec_module(tool := importlib.util.module_from_spec(spec))
    translator = load_pretrained("en-fr")
    assert tuple(one["source"] for one in SENTENCES) == tool.SENTENCES
    for stored in SENTENCES:
        again = tool.record(translator, stored["source"])
        assert list(again["next"]) == list(stored["next"]) and again["limit"] == stored["limit"]
        for said, row in stored["next"].items():
            assert [piece for piece, _ in again["next"][said]] == [piece for piece, _ in row], said
            np.testing.assert_allclose([p for _, p in again["next"][said]], [p for _, p in row], atol=1e-3)
        assert [row[:2] for row in again["found"]] == [row[:2] for row in stored["found"]]
        for size, _, total in stored["found"]:
            (_, on_table, _), *_ = library({"source": SENTENCES.index(stored), "beam": size, "penalty": 0.0})
            np.testing.assert_allclose(on_table, total, atol=1e-3)


@pytest.mark.browser
def test_keys_walk_through_the_search(chromium, tmp_path):
    """Enter on the buttons: forward to the end, where the focus goes to the button that still works; arrows on the sliders."""

    async def key(tab, name):
        await tab.keyboard.press(name)
        return await tab.evaluate(
            f"[{FIGURE}.explorable.read().step, document.activeElement.textContent, {FIGURE}.querySelector('.xf-say').textContent]"
        )

    async def work(tab):
        await focus(tab, "button:has-text('step forward')")
        seen = [await tab.evaluate(f"[{FIGURE}.explorable.read().step, document.activeElement.textContent, '']")]
        while seen[-1][1].startswith("step forward"):
            seen.append(await key(tab, "Enter"))
        seen.append(await key(tab, "Enter"))
        await focus(tab, "input[type=range]")
        await key(tab, "ArrowRight")
        return seen, await read(tab)

    seen, got = on_stage(chromium, tmp_path, explorables.beam(), work)
    assert [step for step, *_ in seen[:-1]] == list(range(START["step"], START["step"] + len(seen) - 1))
    assert seen[-2][1] == "← step back" and seen[-2][2].startswith("Found after") and "Nous avons besoin d'une voiture." in seen[-2][2]
    assert seen[-1][0] == seen[-2][0] - 1 and seen[-1][2].startswith("Step ")
    assert got["beam"] == 2
