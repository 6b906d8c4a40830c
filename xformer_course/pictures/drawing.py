"""The parts that pictures are made of: words, strips, grids, rays, arrows, as SVG from the numbers of a page."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

from xformer_course.pictures.colours import LIGHT

__all__ = ["Drawing", "number", "strip"]


def number(value: float, digits: int = 2) -> str:
    """Return a number as it is written by hand: a true minus, no zero in front of the point, whole numbers bare.

    >>> [number(value) for value in (0.4012, -1.5, 2.0, 0.0, -0.001)]
    ['.40', '−1.50', '2', '0', '0']
    """
    if abs(value - round(value)) < 1e-9:
        return str(round(value)).replace("-", "−")
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        return "0"
    return text.replace("-", "−").replace("0.", ".", 1) if abs(value) < 1 else text.replace("-", "−")


class Drawing:
    """An SVG that grows: each method adds a part, in units of the picture's own width.

    Every method takes, after its own arguments, where the part belongs: ``step`` and ``until`` (it is seen from one step
    of the picture on, and until another), ``state`` (``"ask:3"``: only while that is chosen), ``press`` (what a press on
    it chooses, one or more, with a space between), ``light`` (what a touch on it lights) and ``lit`` (the names by which it is lit).
    """

    def __init__(self, width: int, height: int):
        self.width, self.height = width, height
        self.parts: list[str] = []

    @contextmanager
    def group(self, **belongs: Any) -> Iterator[None]:
        """Put what is drawn inside into one group."""
        self.parts.append(f"<g{_belongs(**belongs)}>")
        yield
        self.parts.append("</g>")

    @contextmanager
    def link(self, address: str, label: str | None = None) -> Iterator[None]:
        """Make what is drawn inside a link; where no words are, a screen reader says the label."""
        name = f' aria-label="{escape(label)}"' if label else ""
        self.parts.append(f'<a href="{escape(address)}"{name}>')
        yield
        self.parts.append("</a>")

    def text(self, x: float, y: float, words: str, *, role="ink", anchor="middle", size: float = 15, bold=False, **belongs: Any) -> None:
        """Write words; ``y`` is the middle of the line, and the letter of ``W_O`` stands below it."""
        weight = ' font-weight="600"' if bold else ""
        line = re.sub(r"W_([A-Z])(.*)", r'W<tspan dy="4" font-size="14">\1</tspan><tspan dy="-4">\2</tspan>', escape(words))
        self.parts.append(
            f'<text x="{_n(x)}" y="{_n(y + 0.35 * size)}" font-size="{_n(size)}"{_anchor(anchor)}{weight}'
            f"{_paint(fill=role)}{_belongs(**belongs)}>{line}</text>"
        )

    def box(
        self, x: float, y: float, width: float, height: float, *,
        fill: str | None = None, stroke: str | None = None, strength: float = 1.0, thick: float = 1.5, radius: float = 4, **belongs: Any,
    ) -> None:  # fmt: skip
        """Draw a rectangle; ``strength`` thins its fill towards the paper."""
        opacity = f' fill-opacity="{_n(strength, 2)}"' if fill and strength < 1 else ""
        edge = f' stroke-width="{_n(thick)}"' if stroke else ""
        self.parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(radius)}"'
            f"{_paint(fill=fill, stroke=stroke)}{opacity}{edge}{_belongs(**belongs)}/>"
        )

    def circle(self, x: float, y: float, radius: float, *, fill: str, stroke: str | None = None, **belongs: Any) -> None:
        """Draw a circle."""
        edge = ' stroke-width="1.5"' if stroke else ""
        paint = _paint(fill=fill, stroke=stroke)
        self.parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"{paint}{edge}{_belongs(**belongs)}/>')

    def path(
        self, data: str, *, stroke: str | None = "ink", fill: str | None = None, thick: float = 1.5, dash: str | None = None,
        strength: float = 1.0, **belongs: Any,
    ) -> None:  # fmt: skip
        """Draw the line of an SVG path."""
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        extra += f' opacity="{_n(strength, 2)}"' if strength < 1 else ""
        edge = f' stroke-width="{_n(thick)}" stroke-linecap="{"butt" if dash else "round"}"' if stroke else ""
        self.parts.append(f'<path d="{data}"{_paint(fill=fill, stroke=stroke)}{edge}{extra}{_belongs(**belongs)}/>')

    def arrow(self, start: tuple[float, float], end: tuple[float, float], *, role="quiet", thick: float = 1.5, **belongs: Any) -> None:
        """Draw a straight arrow with a head."""
        (x0, y0), (x1, y1) = start, end
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        head = 4 + 1.6 * thick
        bx, by = x1 - head * ux, y1 - head * uy
        with self.group(**belongs):
            self.path(f"M{_n(x0)} {_n(y0)}L{_n(bx)} {_n(by)}", stroke=role, thick=thick)
            wing = 0.55 * head
            points = f"M{_n(x1)} {_n(y1)}L{_n(bx - wing * uy)} {_n(by + wing * ux)}L{_n(bx + wing * uy)} {_n(by - wing * ux)}Z"
            self.path(points, stroke=None, fill=role)

    def ray(self, start: tuple[float, float], end: tuple[float, float], weight: float, *, role="weight", **belongs: Any) -> None:
        """Draw a curve from one word to another, as thick as the weight; a weight below a hundredth is a hairline."""
        (x0, y0), (x1, y1) = start, end
        middle = (y0 + y1) / 2
        data = f"M{_n(x0)} {_n(y0)}C{_n(x0)} {_n(middle)} {_n(x1)} {_n(middle)} {_n(x1)} {_n(y1)}"
        self.path(data, stroke=role, thick=max(0.75, 14 * weight), strength=0.35 + 0.65 * min(1.0, weight), come="draw", **belongs)

    def word(self, x: float, y: float, text: str, *, width: float, role: str | None = None, height: float = 28, **belongs: Any) -> None:
        """Draw a word as a pill around its middle; with a role it is filled with that colour."""
        with self.group(**belongs):
            self.box(x - width / 2, y - height / 2, width, height, fill=role or "soft", stroke=role or "line", radius=height / 2)
            self.text(x, y, text, role="paper" if role else "ink", size=14)

    def cell(
        self, x: float, y: float, width: float, height: float, text: str, *, role: str, strength: float = 0.14, bold=False,
        **belongs: Any,
    ) -> None:  # fmt: skip
        """Draw one number of a vector: a cell in the colour of its role, deeper the larger ``strength`` is."""
        with self.group(**belongs):
            self.box(x, y, width, height, fill="paper", radius=2)
            self.box(x, y, width, height, fill=role, stroke=role, strength=strength, thick=1, radius=2)
            self.text(x + width / 2, y + height / 2, text, bold=bold, role="paper" if strength > 0.55 else "ink")

    def plus(self, x: float, y: float) -> None:
        """Draw the plus at which something is added to a stream."""
        self.circle(x, y, 8, fill="paper", stroke="ink")
        self.path(f"M{_n(x - 4)} {_n(y)}h8M{_n(x)} {_n(y - 4)}v8", stroke="ink", thick=1.5)

    def letters(self, x: float, y: float, letters: str, *, anchor: str = "middle") -> None:
        """Write q, k and v in their colours."""
        roles = {"q": "query", "k": "key", "v": "value"}
        parts = "".join(f"<tspan{_paint(fill=roles.get(letter, 'ink'))}>{letter}</tspan>" for letter in letters)
        self.parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="14" font-weight="600" font-style="italic"{_anchor(anchor)}'
            f"{_paint(fill='ink')}>{parts}</text>"
        )

    def hatched(self, x: float, y: float, width: float, height: float, **belongs: Any) -> None:
        """Draw a cell that a mask hides."""
        lines = []
        for place in range(1, 5):
            reach = place * (width + height) / 5
            x0, y0 = (x + min(reach, width), y + max(0.0, reach - width))
            x1, y1 = (x + max(0.0, reach - height), y + min(reach, height))
            lines.append(f"M{_n(x0)} {_n(y0)}L{_n(x1)} {_n(y1)}")
        with self.group(**belongs):
            self.box(x, y, width, height, fill="soft", stroke="line", thick=1, radius=2)
            self.path("".join(lines), stroke="line", thick=1)

    def stage(self, y: float, count: int, words: str, *, step: int, x: float = 12) -> None:
        """Write the heading of a stage behind its number in a circle; until its step comes, it is faint."""
        for faint in (False, True):
            with self.group(until=step) if faint else self.group(step=step):
                self.circle(x, y, 10, fill="quiet" if faint else "ink")
                self.text(x, y, str(count), role="paper", size=14, bold=True)
                self.text(x + 17, y, words, anchor="start", bold=True, role="quiet" if faint else "ink")

    def svg(self, title: str, description: str) -> str:
        """Return the whole SVG, as it stands in a page."""
        label = escape(f"{title}. {description}")
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" role="group" '
            f'font-family="system-ui, sans-serif" text-anchor="middle" aria-label="{label}">{"".join(self.parts)}</svg>'
        )


def _n(value: float, digits: int = 1) -> str:
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _anchor(anchor: str) -> str:
    return "" if anchor == "middle" else f' text-anchor="{anchor}"'


def _paint(*, fill: str | None = None, stroke: str | None = None) -> str:
    classes = [f"f-{fill}"] * bool(fill) + [f"s-{stroke}"] * bool(stroke)
    attributes = f' fill="{LIGHT[fill]}"' if fill else ' fill="none"'
    attributes += f' stroke="{LIGHT[stroke]}"' if stroke else ""
    return f' class="{" ".join(classes)}"{attributes}' if classes else attributes


def _belongs(**belongs: Any) -> str:
    moves = _moves(belongs.pop("come", None), belongs.pop("late", 0))
    unknown = set(belongs) - {"step", "until", "state", "press", "light", "lit", "label", "rest"}
    if unknown:
        got = ", ".join(sorted(unknown))
        raise TypeError(f"belongs: expected step, until, state, press, light, lit, come or late, got {got}; leave them out")
    text = "".join(f' data-{name}="{escape(str(value))}"' for name, value in belongs.items() if value is not None and name != "rest")
    text += moves
    # A part that the last step, or the first state, does not show is hidden where no script runs.
    return f'{text} data-rest="" display="none"' if belongs.get("rest") or belongs.get("until") is not None else text


def _moves(come: str | tuple[Any, ...] | None, late: float) -> str:
    """How a part arrives when its step comes, ``late`` beats after the press.

    ``come`` is "draw" (a line is drawn from its start), "right" or "up" (a bar grows), (dx, dy) (it moves here from there),
    ("turn", degrees, x, y) (a hand turns), or ("ghost", dx, dy) (it flies here and is gone). Without it, the part fades in.
    """
    wait = f"--late:{_n(late)};" if late else ""
    if come is None:
        return f' data-come="fade" style="{wait}"' if late else ""
    if isinstance(come, str):
        return f' data-come="{come}"' + ' pathLength="1"' * (come == "draw") + (f' style="{wait}"' if wait else "")
    if come[0] == "turn":
        degrees, x, y = come[1:]
        return f' data-come="turn" style="{wait}--from:rotate({degrees:.0f}deg);transform-origin:{_n(x)}px {_n(y)}px"'
    dx, dy = come[-2:]
    kind = 'ghost" opacity="0' if come[0] == "ghost" else "move"
    return f' data-come="{kind}" style="{wait}--from:translate({dx:.0f}px,{dy:.0f}px)"'


def strip(
    drawing: Drawing, x: float, y: float, numbers: Sequence[float], *, width: float, height: float, role: str, **belongs: Any
) -> None:
    """Draw a vector as a column of cells from (x, y) downwards."""
    with drawing.group(**belongs):
        for place, value in enumerate(numbers):
            drawing.cell(x, y + place * (height + 3), width, height, number(float(value)), role=role)
