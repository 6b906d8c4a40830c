"""The slides: a deck for every chapter with all its figures, no claims, nothing from elsewhere, and nothing beyond the edge."""

import asyncio
import doctest
import re
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from tests.ci import in_ci

ROOT = Path(__file__).resolve().parents[2]
KATEX = ROOT / "book" / "vendor" / "katex" / "katex.min.js"
pytestmark = pytest.mark.skipif(not KATEX.exists(), reason="KaTeX is not in place: python book/fetch.py")
REVEAL = ROOT / "book" / "vendor" / "reveal.js" / "reveal.js"
# Each chapter and the pages that the syllabus lectures on, or three of them.
DECKS = in_ci([*(f"{number:02}" for number in range(1, 16)), "04a", "12a", "12c", "12e"], ["03", "09", "12c"])
OUTSIDE = """() => {
  const found = [], scale = Reveal.getScale();
  Reveal.getSlides().forEach((slide, place) => {
    Reveal.slide(place);
    slide.querySelectorAll(".fragment").forEach((part) => part.classList.add("visible"));
    const edge = slide.getBoundingClientRect();
    slide.querySelectorAll("*").forEach((part) => {
      if (part.closest("aside, .katex-mathml, .katex svg")) return;
      const box = part.getBoundingClientRect();
      const [right, bottom] = [(box.right - edge.left) / scale, (box.bottom - edge.top) / scale];
      if (box.width && (right > 1272 || bottom > 714)) found.push([place + 1, part.tagName, Math.round(right), Math.round(bottom)]);
    });
    slide.querySelectorAll("pre, img").forEach((part) => {
      if (part.scrollWidth > part.clientWidth + 1 || part.naturalWidth === 0) found.push([place + 1, part.tagName, "cut or broken"]);
    });
  });
  return found;
}"""


@pytest.fixture(scope="module")
def slides():
    pytest.importorskip("markdown_it")
    import slides

    yield slides
    slides.KATEX.stop()


@pytest.fixture(scope="module")
def folder(slides, tmp_path_factory):
    """The decks, written as the command writes them."""
    if not REVEAL.exists():
        pytest.skip("reveal.js is not in place: python book/fetch.py --slides")
    out = tmp_path_factory.mktemp("slides")
    assert slides.main([*DECKS, "--out", str(out)]) == 0
    return out


def notebook(number):
    (path,) = (ROOT / "chapters").glob(f"{number}_*.ipynb")
    return nbformat.read(path, as_version=4)


def read(folder, number):
    return BeautifulSoup((folder / f"{number}.html").read_text(encoding="utf-8"), "lxml")


@pytest.mark.parametrize("number", DECKS)
def test_a_deck_has_its_title_every_figure_every_question_and_no_claim(folder, number):
    page, cells = read(folder, number), notebook(number).cells
    title = re.match(r"# \w+ · (.*)", cells[0].source)[1]
    assert page.title.text == f"{number.lstrip('0')} · {title}" and page.h1.text == title
    parts = page.select(".slides > section")
    assert 20 <= len(parts) <= 60
    drawn = sum("image/png" in out.get("data", {}) for cell in cells for out in cell.get("outputs", []))
    captions = [cell.metadata["mystnb"]["figure"]["caption"] for cell in cells if "figure" in cell.metadata.get("mystnb", {})]
    assert len(page.select("section img")) >= drawn >= len(captions) == len(page.select("section figcaption"))
    assert all(image["alt"] for image in page.select("img"))
    for tag in page.select("aside"):
        tag.decompose()  # the speaker may read all
    asked = [part for part in parts if part.find("strong", string=re.compile("^Predict"))]
    open_ends = [part for part in asked if not part.select_one(".fragment.answer")]
    assert len(asked) >= 3 and not open_ends
    shown = page.select_one(".slides").get_text()
    assert "assert" not in [word for pre in page.select("pre") for word in re.findall(r"\w+", pre.text)]
    assert "check(" not in shown and "find_spec" not in shown and "#| export" not in shown
    assert all(len(pre.text.splitlines()) <= 14 for pre in page.select("pre"))


@pytest.mark.parametrize("number", DECKS)
def test_everything_that_a_deck_loads_lies_beside_it(folder, number):
    page = read(folder, number)
    loaded = [tag["src"] for tag in page.select("[src]")] + [tag["href"] for tag in page.select("[href]")]
    assert len(loaded) > 5 and not page.select("a")
    for address in loaded:
        assert address.startswith("data:image/png;base64,") or (folder / address).is_file(), address[:80]
    for style in folder.rglob("*.css"):
        for address in re.findall(r"url\(['\"]?([^)'\"]+)", style.read_text(encoding="utf-8")):
            assert address.startswith("data:") or (style.parent / address).is_file(), (style.name, address)


def test_exercises_stand_on_the_last_slide_with_their_minutes(folder):
    from xformer_course.exercises import registry

    for number in filter(str.isdecimal, DECKS):
        chapter = registry.chapter(int(number))
        here = {exercise.id: exercise for exercise in chapter.exercises if not exercise.page}
        last = read(folder, number).select(".slides > section")[-1]
        listed = dict(re.findall(r"(\d+\.\d+) .*?\((\d+) min\)", last.text))
        assert listed == {id: str(exercise.minutes) for id, exercise in here.items()}
        assert f"{sum(exercise.minutes for exercise in here.values())} minutes in all" in last.text


@pytest.mark.browser
def test_nothing_stands_beyond_the_edge_of_a_slide(chromium, folder):
    from tests.book.browser import browse

    async def walk(tab):
        await tab.screen(1280, 720)
        found = {}
        for number in DECKS:
            await tab.visit((folder / f"{number}.html").as_uri())
            await asyncio.sleep(0.3)
            outside = await tab.evaluate(OUTSIDE)
            if outside:
                found[number] = outside
        return found, tab.complaints

    found, complaints = browse(chromium, walk)
    assert not found and not complaints, (found, complaints)


# ---------------------------------------------------------------- its parts


def cell(kind, source, **more):
    return nbformat.from_dict({"cell_type": kind, "source": source, "metadata": {}, "outputs": [], **more})


def deck(slides, *cells):
    made = slides.Deck("07")
    made.read(nbformat.from_dict({"cells": [cell("markdown", "# 7 · Tea\n\nA promise.\n\n- pour"), *cells]}))
    return made


def test_what_is_left_out_and_what_stays(slides):
    printed = [{"output_type": "stream", "name": "stdout", "text": "3\n"}]
    claim = cell("code", "assert 1 + 2 == 3")
    made = deck(
        slides,
        cell("markdown", "## Water <a id='w'></a>\n\nIt is hot. " + "A further sentence of seven short words. " * 9),
        cell("code", "print(1 + 2)", outputs=printed),
        cell("code", "\n".join(f"x{n} = {n}" for n in range(13))),
        claim,
        cell("code", "sugar = True", metadata={"tags": ["claims"]}),
        cell("code", "def stub():\n    return ...\n\n\ncheck('7.1', stub)"),
        cell("markdown", "### Exercise 7.1 · Boil <a id='b'></a>\n\n*implement · 4 minutes · difficulty 1 of 3*\n\nBoil it."),
        cell("code", "kettle = 1"),
        cell("markdown", "## Deeper: steam\n\nNothing of this."),
        cell("code", "steam = 1"),
        cell("code", "#| export tea\ndef tea(): pass"),
    )
    text = BeautifulSoup("".join(slide.html() for slide in made.slides), "lxml")
    for notes in text.select("aside"):
        notes.decompose()
    words = text.get_text()
    assert "It is hot." in words and words.count("A further sentence") == 5 and "print(1 + 2)" in words and "\n3" in words
    for absent in ("assert", "x12", "stub", "sugar", "Boil it", "kettle", "steam =", "Nothing of this", "tea():"):
        assert absent not in words, absent
    assert "7.1 Boil (4 min)" in words and "4 minutes in all" in words


def test_a_question_is_asked_before_it_is_answered(slides):
    source = "Tea is poured.\n\n**Predict.** Is it $x^2$?\n\n<details><summary>Answer</summary>\n\nYes, [it](a.ipynb) is.\n\n</details>\n\n"
    (slide,) = [one for one in deck(slides, cell("markdown", "## Cup\n\n" + source)).slides if one.title == "Cup"]
    html = slide.html()
    question, answer = html.index("Predict"), html.index('<div class="fragment answer">')
    assert html.index("Tea is poured") < question < answer < html.index("Yes, it is.")
    assert "katex" in html[question:answer] and "<a " not in html


def test_more_than_a_slide_holds_goes_to_the_next(slides):
    paragraph = "This is a sentence of exactly nine short words. " * 4
    made = deck(slides, *(cell("markdown", ("## Pots\n\n" if n == 0 else "") + paragraph) for n in range(7)))
    pots = [slide for slide in made.slides if slide.title == "Pots"]
    assert len(pots) == 3 and sum(len(slide.blocks) for slide in pots) == 7
    assert all(sum(block.height for block in slide.blocks) <= slides.ROOM for slide in pots)


def test_the_examples_of_its_functions_run(slides):
    assert doctest.testmod(sys.modules["slide_blocks"]).attempted >= 1 and not doctest.testmod(sys.modules["slide_blocks"]).failed


def test_an_unknown_chapter_is_named(slides):
    with pytest.raises(SystemExit, match=r"expected chapters from 1 to 15, or their pages \(4a\), got 16, 3z;"):
        slides.chapters(["4", "04", "4a", "16", "3z"])
