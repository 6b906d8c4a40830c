"""How much there is on each page to predict, to solve and to review: the marks in the contents count against it."""

import json
import re

from . import live, predictions, review

RENUMBERED = live.ROOT / "xformer_course" / "exercises" / "renumbered.json"
CHECK = re.compile(r'check\("(\d+\.\d+)"')


def totals(names):
    """``{page: [keys of its predictions, ids of the exercises that its cells can answer, ids of its questions]}``."""
    made = {}
    for name in sorted(names):
        page = name.removeprefix("chapters/")
        cells, _, kinds = live.page_cells(name)
        solvable = [found[1] for number in kinds if (found := CHECK.search(cells[number]["source"]))]
        asked, said = review.questions().get(page, []), predictions.predictions().get(page, [])
        if solvable or asked or said:
            made[page] = [[predictions.key(entry) for entry in said], solvable, [entry["id"] for entry in asked]]
    return made


def add_totals(app, env):
    # Not None: Sphinx keeps the body once under None and once under "", and every page would hold it twice.
    for name, value in (("bookTotals", totals(env.found_docs)), ("bookNumbers", json.loads(RENUMBERED.read_text(encoding="utf-8")))):
        app.add_js_file("", body=f"window.{name} = {json.dumps(value, separators=(',', ':'))}", priority=620)


def setup(app):
    app.connect("env-updated", add_totals)
