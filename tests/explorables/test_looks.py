"""The first page's figure shows the shipped model's own translations and weights."""

import numpy as np
import pytest

from tests.explorables.gestures import focus, keys, said
from tests.explorables.stage import FIGURE, on_stage, readings
from xformer_course import explorables
from xformer_course.explorables.where_it_looks import HEAD, LAYER, SENTENCES
from xformer_lib import load_pretrained
from xformer_lib.inspection import attention_maps, word_maps


@pytest.fixture(scope="module")
def shipped():
    return load_pretrained("en-fr")


@pytest.mark.parametrize(("source", "written", "shares"), SENTENCES, ids=lambda part: part[0] if isinstance(part[0], str) else "")
def test_stored_words_and_weights_are_the_models(shipped, source, written, shares):
    text = " ".join(source[:-1])
    words = word_maps(attention_maps(shipped.model, shipped.tokenizer, text, shipped.translate(text)))
    queries, sources = words.labels("cross")
    assert (sources[:-1], queries[:-1]) == (list(source[:-1]), list(written))
    np.testing.assert_allclose(np.array(shares), 100 * words.cross[LAYER, HEAD, :-1], atol=0.6)


@pytest.mark.browser
def test_every_word_has_its_row(chromium, tmp_path):
    states = [{"sentence": n, "word": len(written) - 1, "asked": False} for n, (_, written, _) in enumerate(SENTENCES)]
    for state, read in zip(states, readings(chromium, tmp_path, explorables.looks(), states), strict=True):
        source, written, shares = SENTENCES[state["sentence"]]
        assert (read["source"], read["written"], read["word"]) == (list(source), list(written), len(written) - 1)
        assert read["shares"] == [list(row) for row in shares]


@pytest.mark.browser
def test_a_word_pressed_says_what_was_read(chromium, tmp_path):
    count = f"[...{FIGURE}.querySelectorAll('.xf-looks-most')].map((e) => e.textContent)"

    async def work(tab):
        riddle = await said(tab), await tab.evaluate(count)
        await focus(tab, "[lang=fr] button:nth-child(6)")
        assert (await said(tab), await tab.evaluate(count)) == riddle  # nothing is given away
        await tab.click("figure.xf [lang=en] button:nth-child(6)")
        answered = await said(tab), await tab.evaluate(count)
        await focus(tab, "[lang=fr] button:nth-child(6)")
        apple = await said(tab), await tab.evaluate(count)
        await focus(tab, "fieldset button:nth-of-type(2)")
        await keys(tab, "Enter")
        await tab.click("figure.xf fieldset button:nth-of-type(2)")
        await tab.click("figure.xf [lang=fr] button:nth-child(6)")
        return riddle, answered, apple, (await said(tab), await tab.evaluate(count))

    riddle, lui, pomme, bonne = on_stage(chromium, tmp_path, explorables.looks(), work)
    assert riddle == ("To write “lui”, which English word must be read? Press it.", [])
    told = "Not “apple” (0\u00a0%). Before it writes “lui”, this head reads “him” (99\u00a0%). Now press another French word."
    assert lui == (told, ["him"])
    assert pomme[1] == ["apple"] and "“pomme”" in pomme[0]
    assert bonne == ("Before it writes “bonne”, this head reads “good” (100\u00a0%).", ["good"])
