"""A figure that answers: one self-contained piece of HTML for Jupyter, Colab and the built book."""

import json
from dataclasses import dataclass
from html import escape

from xformer_course.packing import packed

# Jupyter takes style and script out of a stored figure unless the notebook is trusted; the kit hides this line.
IDLE = "This figure is not running. It starts when its cell is run or the notebook is trusted; on a web page, when scripts are allowed."


def asset(name: str) -> str:
    """The text of a script or style sheet of this package, as a figure carries it."""
    return packed(__package__, name)


@dataclass(frozen=True)
class Explorable:
    """An interactive figure with its data, its script and a picture for readers without scripts.

    In a notebook, the last line of a cell shows it. Nothing is loaded: style, script and data are in the figure.

    Args:
        name: Which script runs it: ``assets/NAME.js``, with the hyphens as underscores.
        label: One sentence for a screen reader that says what the figure is.
        caption: HTML: what to try, and what one will see.
        data: What the script starts from; anything that JSON can hold.
        picture: HTML that shows the first state, for print and where no script runs.
        scripts: Further assets that stand before the script.
        style: Further rules, all of them below ``.xf``.
    """

    name: str
    label: str
    caption: str
    data: dict
    picture: str
    scripts: tuple[str, ...] = ()
    style: str = ""

    def __repr__(self) -> str:
        return f"Explorable({self.name!r})"

    def script(self) -> str:
        """What runs the figure: the kit, further scripts, its own, and the line that starts it."""
        parts = ["kit.js", *self.scripts, f"{self.name.replace('-', '_')}.js"]
        return "\n".join(["(() => {", *map(asset, parts), f'kit.mount("{self.name}", start);', "})();"])

    def _repr_html_(self) -> str:
        data = json.dumps(self.data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        return "\n".join(
            [
                f'<figure class="xf" data-xf="{escape(self.name)}" aria-label="{escape(self.label)}">',
                f"<style>{asset('kit.css')}{self.style}</style>",
                f'<p class="xf-idle">{IDLE}</p>',
                f'<div class="xf-picture">{self.picture}</div>',
                '<div class="xf-stage"></div>',
                f"<figcaption>{self.caption}</figcaption>",
                f'<script type="application/json" class="xf-data">{data}</script>',
                f"<script>{self.script()}</script>",
                "</figure>",
            ]
        )
