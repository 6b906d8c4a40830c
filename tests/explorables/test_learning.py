"""The figure of a training run shows its record, moment by moment."""

import json

import numpy as np
import pytest

from benchmarks.learning import FIRST, SENTENCES
from tests.explorables.gestures import focus, keys, read, said
from tests.explorables.stage import on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.explorable import asset
from xformer_course.explorables.training_run import ROWS, START, text
from xformer_lib.data.corpora import CORPUS_ERRORS, load_corpus
from xformer_lib.data.splits import sentence_keys

RECORD = json.loads(asset("learning.json"))
MOMENTS = RECORD["moments"]


def test_the_record_is_that_of_one_finished_run():
    last = RECORD["config"]["max_steps"]
    assert [one["step"] for one in MOMENTS] == [0, *(FIRST * 2**n for n in range(len(MOMENTS) - 1))] and MOMENTS[-1]["step"] == last
    assert all(RECORD[name] for name in ("command", "commit", "device", "threads", "versions", "seed")) and "dirty" not in RECORD["commit"]
    assert [" ".join(one["source"][:-1]) for one in RECORD["sentences"]] == list(SENTENCES.values())
    for moment in MOMENTS:
        for one, sentence in zip(moment["said"], RECORD["sentences"], strict=True):
            shares = np.array(one["shares"]).reshape(-1, len(sentence["source"]))
            assert len(shares) == len(one["words"])
            np.testing.assert_allclose(shares.sum(axis=1), 100, atol=6)  # each share is rounded


@pytest.mark.parametrize("corpus", ["multi30k", "tatoeba"])
def test_our_sentences_are_in_no_corpus(corpus):
    try:
        known = {sentence_keys(pair)[0] for split in ("train", "val", "test") for pair in load_corpus(corpus, split)}
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason).partition(" (")[0])
    assert known.isdisjoint(sentence_keys((text, ""))[0] for text in SENTENCES.values())


@pytest.mark.browser
def test_every_place_of_the_slider_shows_its_moment(chromium, tmp_path):
    states = [{"moment": n, "sentence": n % len(SENTENCES)} for n in range(len(MOMENTS))]
    states += [{"moment": len(MOMENTS) - 1, "sentence": n} for n in range(len(SENTENCES))]
    marks = []
    for state, got in zip(states, readings(chromium, tmp_path, explorables.learning(), states), strict=True):
        moment, n = MOMENTS[state["moment"]], state["sentence"]
        assert (got["step"], got["pressed"]) == (moment["step"], n)
        assert got["said"] == [text(one) for one in moment["said"]]
        assert got["shares"] == moment["said"][n]["shares"][:ROWS]
        assert [word.rstrip("…") for word in got["words"]] == [
            word[: 13 if len(word) > 14 else 14] for word in moment["said"][n]["words"][:ROWS]
        ]
        assert f"{moment['sentences']:,} sentences" in got["numbers"] and f"loss {moment['validation_loss']:.2f}" in got["numbers"]
        marks.append(got["mark"])
    x, y = np.array(marks[: len(MOMENTS)]).T
    losses = [moment["validation_loss"] for moment in MOMENTS]
    np.testing.assert_allclose(np.diff(x), x[1] - x[0])
    np.testing.assert_allclose(y, np.interp(losses, sorted((losses[0], losses[-1])), (y[-1], y[0])))


@pytest.mark.browser
def test_keys_move_through_the_run(chromium, tmp_path):
    async def work(tab):
        first = await said(tab)
        await focus(tab, "input[type=range]")
        await keys(tab, "End")
        last = await said(tab)
        await focus(tab, f"button:has-text('{SENTENCES['question']}')")
        await keys(tab, "Enter")
        return first, last, await said(tab), await read(tab)

    first, last, question, got = on_stage(chromium, tmp_path, explorables.learning(), work)
    chosen = START["sentence"]
    for heard, moment, n in ((first, MOMENTS[0], chosen), (last, MOMENTS[-1], chosen), (question, MOMENTS[-1], got["sentence"])):
        assert (
            heard == f"After {moment['step']:,} steps, at a loss of {moment['validation_loss']:.2f}, it writes: “{text(moment['said'][n])}”"
        )
    assert list(SENTENCES)[got["sentence"]] == "question"
