"""The pictures that stand where no script runs: plain HTML and SVG, drawn from NumPy."""

import re
from collections.abc import Sequence
from html import escape

import numpy as np

from xformer_lib.shapes import Bool, Float


def shade(share: float) -> str:
    """The style of a cell, as in kit.js: the weight's violet on paper, and the ink that reads on it by day and by night."""
    share = min(1.0, max(0.0, share))
    colour = "var(--xf-on-faint)" if share < 0.71 else "#000" if share < 0.8 else "var(--xf-on-deep)"
    return f"background:color-mix(in srgb,var(--xf-weight) {100 * share:.0f}%,var(--xf-paper));color:{colour}"


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
