"""A query is blue, a key orange and a value green in the explorables that have them, and nothing else there is."""

import pytest

from tests.explorables.stage import FIGURE, on_stage
from xformer_course import explorables
from xformer_course.plots.style import ROLES

# From the class of a word to its colour and to what is written in it.
WORDS = f"""
Object.fromEntries(["query", "key", "value"].map((name) => [name, [...{FIGURE}.querySelectorAll(`.xf-stage .xf-${{name}}`)]
  .map((e) => [getComputedStyle(e).color, e.textContent.toLowerCase()])]))
"""
WRITTEN = {
    "soft_lookup": {
        "query": {"query"},
        "key": {"key", "keys", "france", "uk", "germany"},
        "value": {"values", "paris", "london", "berlin"},
    },
    "scaled_dot_product": {"query": {"query", "q", "queries"}, "key": {"key", "kᵀ", "k", "keys"}, "value": {"value", "v", "values"}},
    "masks": {"query": {"query"}, "key": {"key"}, "value": set()},
    "heads": {"query": {"query"}, "key": {"key"}, "value": {"value"}},
}


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.browser
@pytest.mark.parametrize("name", WRITTEN)
def test_words_have_their_colour(chromium, tmp_path, name):
    async def work(tab):
        return await tab.evaluate(WORDS)

    found = on_stage(chromium, tmp_path, getattr(explorables, name)(), work)
    for role, words in WRITTEN[name].items():
        assert {colour for colour, _ in found[role]} == ({rgb(ROLES[role])} if words else set())
        assert {word for _, word in found[role]} == words


@pytest.mark.browser
def test_lookup_draws_query_keys_and_values_in_them(chromium, tmp_path):
    drawn = f"""
    [...{FIGURE}.querySelectorAll(".xf-stage line[stroke-width='2'], .xf-stage line[stroke-width='3'], .xf-stage rect, .xf-handle circle[r='8'], .xf-stage circle[r='7']")]
      .map((e) => [e.tagName + (e.getAttribute("r") || e.getAttribute("stroke-width") || ""), getComputedStyle(e)[e.tagName === "line" ? "stroke" : "fill"]])
    """

    async def work(tab):
        return await tab.evaluate(drawn)

    found = on_stage(chromium, tmp_path, explorables.soft_lookup(), work)
    colours = {kind: {colour for other, colour in found if other == kind} for kind, _ in found}
    query, key, value = (rgb(ROLES[name]) for name in ("query", "key", "value"))
    assert (colours["line2"], colours["line3"], colours["rect"], colours["circle8"]) == ({key}, {query}, {value}, {query})
    assert not colours["circle7"] & {query, key, value}, "the output is none of them"
