"""The pictures that stand where no script runs: plain HTML and SVG, drawn from NumPy."""

import re
from collections.abc import Sequence
from html import escape

import numpy as np

from xformer_lib.shapes import Bool, Float

# Ten steps of viridis, the same as in kit.js.
VIRIDIS = ("440154", "482878", "3e4a89", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b", "fde725")
_RGB = np.array([[int(code[at : at + 2], 16) for at in (0, 2, 4)] for code in VIRIDIS], dtype=float)


def shade(share: float) -> str:
    """The style of a cell: a ground from viridis (0 dark, 1 bright), and black or white, whichever reads better."""
    place = min(1.0, max(0.0, share)) * (len(_RGB) - 1)
    rgb = [round(float(np.interp(place, range(len(_RGB)), _RGB[:, part]))) for part in range(3)]
    parts = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in (c / 255 for c in rgb)]
    light = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    return f"background:rgb({rgb[0]},{rgb[1]},{rgb[2]});color:{'#000' if light > 0.179 else '#fff'}"


def number(value: float, digits: int = 2) -> str:
    """``value`` with a true minus sign and no minus before zero."""
    text = f"{value:.{digits}f}"
    return (text.replace("-", "") if float(text) == 0 else text).replace("-", "−")


# As `paint` of kit.js: the words query, key and value have their colours.
_ROLE = re.compile(r"\b(query|queries|keys?|values?)\b")
_CLASSES = {"q": "xf-query", "k": "xf-key", "v": "xf-value"}


def _painted(word: re.Match) -> str:
    return f'<span class="{_CLASSES[word[0][0]]}">{word[0]}</span>'


def matrix_table(
    matrix: Float[np.ndarray, "i j"],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    axes: tuple[str, str] = ("query", "key"),
    mask: Bool[np.ndarray, "i j"] | None = None,
    digits: int = 2,
    plain: bool = False,
    low: float = 0.0,
    high: float = 1.0,
) -> str:
    """A matrix as an HTML table: words on both axes, the axes named, a dash where ``mask`` forbids."""
    first, second = (_ROLE.sub(_painted, escape(axis)) for axis in axes)
    corner = f"{first} ↓ {second} →" if axes[1] else first
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in columns)
    body = []
    for i, word in enumerate(rows):
        cells = [f'<th scope="row">{escape(word)}</th>']
        for j in range(len(columns)):
            if mask is not None and not mask[i, j]:
                cells.append('<td class="xf-forbidden">–</td>')
                continue
            style = "" if plain else f' style="{shade((float(matrix[i, j]) - low) / (high - low))}"'
            cells.append(f"<td{style}>{number(float(matrix[i, j]), digits)}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="xf-scroll"><table class="xf-map"><caption>{escape(title)}</caption>'
        f'<thead><tr><td class="xf-axis">{corner}</td>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    )
