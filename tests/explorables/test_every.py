"""What every explorable keeps: a picture without a script, labels, room on a phone, readable in both schemes."""

import itertools
import json
import re
from pathlib import Path

import pytest

from tests.book.browser import Tab
from tests.explorables.stage import FIGURE, on_stage, write_page
from xformer_course import explorables
from xformer_course.packing import packed

NAMES = [name for name in explorables.__all__ if name not in ("Explorable", "translator")]
browser = pytest.mark.browser
each = pytest.mark.parametrize("name", NAMES)

# Visible elements of the figure that break a rule, as short descriptions.
AUDIT = """
(() => {
  const figure = document.querySelector("figure.xf");
  const seen = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== "hidden";
  const say = (e) => `${e.tagName} ${(e.getAttribute("aria-label") || e.textContent).trim().slice(0, 30)}`;
  const name = (e) => e.getAttribute("aria-label") || (e.labels && e.labels.length && e.labels[0].textContent.trim()) || (e.tagName === "BUTTON" && e.textContent.trim());
  const part = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const numbers = (s) => (s.match(/[\\d.]+/g) || [0, 0, 0, 0]).map((n, i) => n * (s.startsWith("color(") && i < 3 ? 255 : 1));
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const all = [...figure.querySelectorAll("*")].filter(seen);
  const words = all.filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && !["SCRIPT", "STYLE", "OPTION"].includes(e.tagName));
  const controls = all.filter((e) => e.matches("button, input, select, textarea, [tabindex]"));
  const found = [];
  for (const e of controls) {
    if (!name(e)) found.push(`no label: ${say(e)}`);
    const box = e.getBoundingClientRect();
    if ((box.width < 24 || box.height < 24) && !e.matches(".xf-scroll")) found.push(`small target ${box.width.toFixed(0)}x${box.height.toFixed(0)}: ${say(e)}`);
  }
  for (const e of words) {
    const scale = e.ownerSVGElement ? e.ownerSVGElement.getScreenCTM().a : 1;
    const size = parseFloat(getComputedStyle(e).fontSize) * scale;
    if (size < 11.9) found.push(`text of ${size.toFixed(1)} px: ${say(e)}`);
    const svg = !!e.ownerSVGElement;
    const inks = light(numbers(getComputedStyle(e)[svg ? "fill" : "color"])), ground = light(behind(svg ? e.ownerSVGElement : e));
    const contrast = (Math.max(inks, ground) + 0.05) / (Math.min(inks, ground) + 0.05);
    if (contrast < 4.5 && !(svg && e.dataset.ground) && !e.disabled) found.push(`contrast ${contrast.toFixed(1)}: ${say(e)}`);
    if (svg) {
      const frame = e.ownerSVGElement.getBoundingClientRect(), box = e.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) found.push(`cut off: ${say(e)}`);
    }
  }
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) found.push(`the page is ${wide} px wider than the window`);
  if (!figure.querySelector("[role=status]")) found.push("nothing is said when a value changes");
  return found;
})()
"""


@each
def test_html_is_the_same_twice_and_closed(name):
    first, second = (getattr(explorables, name)() for _ in range(2))
    assert first._repr_html_() == second._repr_html_()
    assert first.label and first.caption and first.picture
    assert "http" not in first._repr_html_(), "an explorable names no address"
    assert len(first._repr_html_().encode()) < 100_000, "style, script and data stay small"


def test_packing_takes_comments_away_and_nothing_else():
    """A comment left on the one line that a script becomes would hide all that follows it."""
    for package in ("explorables", "pictures"):
        for path in sorted((Path(explorables.__file__).parents[1] / package / "assets").iterdir()):
            raw, text = path.read_text(encoding="utf-8"), packed(f"xformer_course.{package}", path.name)
            if path.suffix == ".json":
                assert json.loads(text) == json.loads(raw)
            elif path.suffix == ".js":
                assert "\n" not in text and not re.search(r"(^|\s)//\s", text), path.name
                lost = [line for line in raw.splitlines() if "// " not in line and line.strip() not in text]
                assert not lost, path.name


@each
def test_data_can_hold_any_text(name):
    made = getattr(explorables, name)()
    data = made._repr_html_().split('class="xf-data">')[1].split("</script>")[0]
    assert json.loads(data) == json.loads(json.dumps(made.data))


@each
def test_a_figure_whose_script_was_taken_out_says_so(name):
    """A notebook that is not trusted keeps neither style nor script of a stored figure."""
    made = getattr(explorables, name)()
    left = re.sub(r"<(style|script).*?</\1>", "", made._repr_html_(), flags=re.S)
    assert "<script" not in left and made.picture in left
    assert left.index("This figure is not running.") < left.index(made.picture), "it is read before the caption asks to drag"


@browser
def test_a_figure_that_runs_does_not_say_so(chromium, tmp_path):
    explorable = explorables.soft_lookup()
    shown = f"getComputedStyle({FIGURE}.querySelector('.xf-idle')).display"

    async def work(tab):
        live = await tab.evaluate(shown)
        await tab.screen(1000, 900, media="print")
        printed = await tab.evaluate(shown)
        await tab.screen(1000, 900)
        await tab.evaluate(f"{FIGURE}.removeAttribute('data-live')")
        return live, printed, await tab.evaluate(shown)

    assert on_stage(chromium, tmp_path, explorable, work) == ("none", "none", "block")


@browser
@each
def test_labels_room_contrast_keys_and_a_picture(chromium, tmp_path, name):
    """In a wide window and on a phone, by day and by night; then by Tab alone; then without scripts."""
    explorable = getattr(explorables, name)()

    async def work(tab):
        problems = {}
        for width, theme in itertools.product((1000, 360), ("light", "dark")):
            await tab.screen(width, 900, dark=theme == "dark")
            await tab.visit(write_page(tmp_path, explorable, theme))
            if found := await tab.evaluate(AUDIT):
                problems[width, theme] = found
        return problems, await reached_by_tab(tab), await picture_without_script(tab, write_page(tmp_path, explorable))

    problems, (wanted, reached, hidden), (width, height) = on_stage(chromium, tmp_path, explorable, work)
    assert problems == {}
    assert wanted == reached > 0, "every control that is not switched off has its turn"
    assert hidden == "none", "the picture gives way to the script's"
    assert width > 100 and height > 60


async def reached_by_tab(tab):
    """How many controls there are, how many of them Tab reaches, and how the picture is shown."""
    await tab.evaluate(f"{FIGURE}.querySelectorAll('details:not(.xf-lab-code)').forEach((fold) => (fold.open = true))")  # code needs Python
    wanted = await tab.evaluate(
        f"[...{FIGURE}.querySelectorAll('button:not(:disabled), input, select, textarea, summary, [tabindex=\"0\"]')]"
        ".filter((e) => e.checkVisibility() && e.tabIndex >= 0).length"
    )
    reached = 0
    for _ in range(wanted):
        await tab.keyboard.press("Tab")
        reached += await tab.evaluate(f"{FIGURE}.contains(document.activeElement)")
    return wanted, reached, await tab.evaluate(f"getComputedStyle({FIGURE}.querySelector('.xf-picture')).display")


async def picture_without_script(tab, address):
    """Width and height of what a reader without scripts sees, on a phone."""
    phone = {"viewport": {"width": 360, "height": 900}, "is_mobile": True}
    async with await tab.context.browser.new_page(java_script_enabled=False, **phone) as page:
        bare = Tab(page)
        await bare.visit(address)
        assert bare.complaints == []
        box = await bare.locator(".xf-picture").bounding_box()
        return box["width"], box["height"]
