"""What the plus saves: how alike the words become in a stack of attention, without it and with it."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture
from xformer_lib.shapes import Float

__all__ = ["likeness"]

LEFT, TOP, WIDE, DEEP = 8.0, 62.0, 112.0, 206.0  # the maps


def likeness(
    depths: Sequence[int], without: Float[np.ndarray, "n i i"], kept: Float[np.ndarray, "n i i"], means: Float[np.ndarray, "2 n"]
) -> Picture:
    """Draw the cosine between every two words after some layers, without the plus in the upper row and with it in the lower one.

    Args:
        depths: after how many layers, three or so; the first is 0.
        without, kept: the cosines of one run, without the plus and with it.
        means: of the cosines of two different words over many runs, without the plus and with it.

    >>> maps = np.stack([np.eye(2), np.ones((2, 2))])
    >>> len(likeness([0, 6], maps, maps, np.array([[0.0, 1.0], [0.0, 1.0]])).steps)
    3
    """
    count = without.shape[1]
    pitch = (400 - 2 * LEFT - WIDE) / max(1, len(depths) - 1)
    size = WIDE / count
    drawing = Drawing(400, int(TOP + DEEP + WIDE + 76))
    for row, (maps, name) in enumerate(((without, "without the plus"), (kept, "with the plus"))):
        for place, (depth, cosines) in enumerate(zip(depths, maps)):
            x, y = LEFT + pitch * place, TOP + DEEP * row
            with drawing.group(step=1 if place == 0 and row == 0 else 2 + row):
                if place == 0:
                    drawing.text(4, y - 40, name, anchor="start", bold=True, step=2)
                drawing.text(x + WIDE / 2, y - 14, f"{depth} layers" if depth else "at the start", size=14, role="quiet")
                for i in range(count):
                    for j in range(count):
                        share = max(0.0, float(cosines[i, j]))
                        drawing.box(x + size * j, y + size * i, size - 1, size - 1, fill="ink", strength=0.05 + 0.9 * share, radius=0)
                drawing.text(x + WIDE / 2, y + WIDE + 16, f"mean {_three(means[row, place])}", bold=True)
    foot = TOP + DEEP + WIDE + 56
    drawing.text(4, foot, "cosine", anchor="start", size=14, role="quiet")
    for place, share in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        drawing.box(70 + 60 * place, foot - 8, 16, 16, fill="ink", strength=0.05 + 0.9 * share, radius=0)
        drawing.text(92 + 60 * place, foot, number(share), anchor="start", size=14, role="quiet")
    first, last = map(_three, means[:, -1])
    return Picture(
        name="likeness",
        title="Without the plus, all words come to point the same way",
        description=f"Maps of the likeness of {count} words after {', '.join(map(str, depths))} layers. Without the plus the mean ends at "
        f"{first}, with it at {last}",
        drawing=drawing,
        steps=(
            f"{count} random words at the start. The nearer the cosine of two words is to 1, the darker is their cell.",
            f"Attention <b>without the plus</b>: each word is replaced by a mean. After {depths[-1]} layers the mean cosine of two "
            f"different words is {first}.",
            f"<b>With the plus</b> a word keeps its own part and adds a mean. After {depths[-1]} layers the cosine is {last}. "
            "The means are over all runs; the maps show one of them.",
        ),
    )


def _three(mean: float) -> str:
    return number(mean, 3) if mean < 0.9995 else f"{mean:.3f}"
