"""A picture of the course: an SVG from the page's numbers, shown step by step, and whole where no script runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

from xformer_course.packing import packed
from xformer_course.pictures.colours import style
from xformer_course.pictures.drawing import Drawing

__all__ = ["Picture", "by_state"]

SVG = "http://www.w3.org/2000/svg"  # the name of the format


@dataclass(frozen=True)
class Picture:
    """A picture with its steps. In a notebook, the last line of a cell shows it.

    Args:
        name: by which a page finds it, in small letters with hyphens.
        title: what happens in it, in one line.
        description: for a reader who cannot see it.
        drawing: the picture itself.
        steps: HTML, a sentence for each step; without any the picture stands still.
        chosen: what is chosen at first, for each group of states.
        wide: how wide it may become, in widths of a letter m.
        opens: the step that is shown at first.
    """

    name: str
    title: str
    description: str
    drawing: Drawing = field(repr=False)
    steps: tuple[str, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    wide: int = 35
    opens: int = 1

    def at(self, step: int) -> "Picture":
        """Return the picture as it opens at a step; where there is nothing to guess, the last one shows all of it.

        Raises:
            ValueError: If the picture has no such step.
        """
        if not 1 <= step <= len(self.steps):
            raise ValueError(f"step: expected 1 to {len(self.steps)}, got {step}; a picture opens at one of its steps")
        return replace(self, opens=step)

    @property
    def svg(self) -> str:
        """The whole SVG, as it stands in a page."""
        return self.drawing.svg(self.title, self.description)

    def save(self, path: str | Path) -> None:
        """Write the picture, its last step in light colours, as an SVG file that stands alone."""
        text = self.svg.replace("<svg ", f'<svg xmlns="{SVG}" ', 1)
        Path(path).write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        lines = "".join(f'<li value="{count}">{sentence}</li>' for count, sentence in enumerate(self.steps, start=1))
        chosen = ";".join(f"{group}:{value}" for group, value in self.chosen.items())
        return "\n".join(
            [
                f'<figure class="xp" data-xp="{escape(self.name)}" data-chosen="{escape(chosen)}" data-opens="{self.opens}" '
                f'style="--xp-wide:{self.wide}rem">',
                f"<style>{style()}{packed(__package__, 'picture.css')}</style>",
                f'<figcaption class="xp-title">{escape(self.title)}</figcaption>',
                self.svg,
                f'<div class="xp-side"><ol class="xp-steps">{lines}</ol></div>' if lines else "",
                f"<script>{packed(__package__, 'picture.js')}</script>",
                "</figure>",
            ]
        )


def by_state(group: str, told: Sequence[Sequence[str]], first: int = 0) -> tuple[str, ...]:
    """Return a sentence for each step, where each state of a group tells its own; what all tell alike stands once.

    >>> by_state("last", [["Who?", "It is tired."], ["Who?", "It is wide."]])[0]
    'Who?'
    """

    def span(place: int, sentence: str) -> str:
        rest = " data-rest hidden" if place != first else ""
        return f'<span data-state="{group}:{place}"{rest}>{sentence}</span>'

    return tuple(
        sentences[0] if len(set(sentences)) == 1 else "".join(span(place, sentence) for place, sentence in enumerate(sentences))
        for sentences in zip(*told)
    )
