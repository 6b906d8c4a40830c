"""The page of all pictures: each as its chapter shows it, taken from the notebook's stored output, with two sentences and the way there."""

import json
import re

import yaml

from .project import ROOT

LIST = ROOT / "book" / "pictures.yml"
FIGURE = re.compile(r'<figure class="xp" data-xp="(?P<name>[\w-]+)".*?</figure>', re.S)
SAVE = """
for (const figure of document.querySelectorAll("figure.xp")) {
  figure.picture.go(Infinity); // one who looks sees it whole; "Again" begins at the first step
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Save as SVG" });
  button.addEventListener("click", () => {
    const svg = figure.querySelector("svg").cloneNode(true);
    for (const part of svg.querySelectorAll(".xp-off")) part.remove();
    const text = new XMLSerializer().serializeToString(svg);
    const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    Object.assign(document.createElement("a"), { href: address, download: `${figure.dataset.xp}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  (figure.querySelector(".xp-bar") || figure).append(button);
}
"""


def stored(page):
    """The pictures of a page by their names, as its notebook holds them."""
    cells = json.loads((ROOT / "chapters" / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = (output.get("data", {}).get("text/html", "") for cell in cells for output in cell.get("outputs", []))
    found = (FIGURE.search("".join(html)) for html in outputs)
    return {one["name"]: one[0] for one in reversed([*filter(None, found)])}


def gallery():
    """Every picture of ``pictures.yml``."""
    entries = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    parts = []
    for count, entry in enumerate(entries, start=1):
        found = stored(entry["page"])
        if entry["picture"] not in found:
            there = ", ".join(found) or "none"
            raise ValueError(f"picture: expected one of {there} on {entry['page']}, got {entry['picture']!r}; see {LIST}")
        html = found[entry["picture"]].replace('href="#', f'href="{entry["page"]}.html#')
        number = int(entry["page"][:2])
        where = f"{entry['page']}.ipynb{entry.get('section', '')}"
        title = f"## {count} · {entry['title']}"
        parts += [title, entry["says"].strip(), f"```{{raw}} html\n{html}\n```", f"[Chapter {number} →]({where})"]
    return "\n\n".join([*parts, f"```{{raw}} html\n<script>{SAVE}</script>\n```"])
