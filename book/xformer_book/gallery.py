"""The page of all pictures: each whole, taken from the notebook's stored output, with a few sentences and the way to its chapter."""

import json
import re

import yaml

from .project import ROOT

LIST = ROOT / "book" / "pictures.yml"
FIGURE = re.compile(r'<figure class="xp" data-xp="(?P<name>[\w-]+)".*?</figure>', re.S)
SAVE = """
for (const figure of document.querySelectorAll("figure.xp")) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Save as SVG" });
  button.addEventListener("click", () => {
    const svg = figure.querySelector("svg").cloneNode(true);
    for (const part of svg.querySelectorAll(".xp-off")) part.remove();
    const text = new XMLSerializer().serializeToString(svg);
    const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    Object.assign(document.createElement("a"), { href: address, download: `${figure.dataset.xp}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  (figure.querySelector(".xp-side") || figure).append(button);
}
"""


def stored(page):
    """The pictures of a page by their names, as its notebook holds them."""
    cells = json.loads((ROOT / "chapters" / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = (output.get("data", {}).get("text/html", "") for cell in cells for output in cell.get("outputs", []))
    found = (FIGURE.search("".join(html)) for html in outputs)
    return {one["name"]: one[0] for one in reversed([*filter(None, found)])}


def shown(entry, title):
    """One picture under its title, whole or at the step that shows most of it; *Play* begins at the first."""
    found = stored(entry["page"])
    if entry["picture"] not in found:
        there = ", ".join(found) or "none"
        raise ValueError(f"picture: expected one of {there} on {entry['page']}, got {entry['picture']!r}; see {LIST}")
    html = found[entry["picture"]].replace('href="#', f'href="{entry["page"]}.html#')
    if "until" in entry:  # further steps belong to the chapter
        html = re.sub(r'<li value="(\d+)">.*?</li>', lambda step: step[0] * (int(step[1]) <= entry["until"]), html, flags=re.S)
    html = re.sub('data-opens="[0-9]+"', f'data-opens="{entry.get("step", html.count("<li value"))}"', html, count=1)
    where = f"{entry['page']}.ipynb{entry.get('section', '')}"
    there = f"[Chapter {int(entry['page'][:2])} →]({where})"
    return [title, entry["says"].strip(), f"```{{raw}} html\n{html}\n```", there]


def gallery(part):
    """The pictures of one part of ``pictures.yml``: the story, or the others."""
    entries = yaml.safe_load(LIST.read_text(encoding="utf-8"))[part]
    story = part == "story"
    titles = (f"## {count} · {entry['title']}" if story else f"### {entry['title']}" for count, entry in enumerate(entries, start=1))
    lines = [line for entry, title in zip(entries, titles) for line in shown(entry, title)]
    return "\n\n".join(lines + [f"```{{raw}} html\n<script>{SAVE}</script>\n```"] * (not story))
