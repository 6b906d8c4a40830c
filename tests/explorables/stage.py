"""An explorable on a page of its own, in a browser without a network."""

import json

from tests.book.browser import browse

FIGURE = "document.querySelector('figure.xf')"
PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>One figure</title>
<meta name="viewport" content="width=device-width"><body style="margin:8px;{ground}">{figure}</body></html>"""
GROUNDS = {"light": "background:#fff;color:#000", "dark": "background:#14181e;color:#ced6dd"}


def write_page(folder, explorable, theme="light"):
    """The address of a page that holds nothing but the figure."""
    path = folder / f"{explorable.name}-{theme}.html"
    path.write_text(PAGE.format(theme=theme, ground=GROUNDS[theme], figure=explorable._repr_html_()), encoding="utf-8")
    return path.as_uri()


def on_stage(chromium, folder, explorable, work, *, width=1000, dark=False):
    """What ``work(tab)`` returns beside the figure's page; any error on the page fails."""

    async def visit(tab):
        await tab.screen(width, 900, dark=dark)
        await tab.visit(write_page(folder, explorable, "dark" if dark else "light"))
        answer = await work(tab)
        assert tab.complaints == [], tab.complaints
        return answer

    return browse(chromium, visit)


def readings(chromium, folder, explorable, states):
    """For each state: bring the figure to it, and read every number it shows."""

    async def work(tab):
        read = []
        for state in states:
            script = f"(async () => {{ const e = {FIGURE}.explorable; await e.set({json.dumps(state)}); return e.read(); }})()"
            read.append(await tab.evaluate(script))
        return read

    return on_stage(chromium, folder, explorable, work)
