"""The one look of all figures: sizes, fonts, colours that stay apart in grey, and those that mean something."""

from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb

from xformer_course.pictures.colours import LIGHT

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MASK_COLOURS = ("#e1e5e9", "#ffffff")  # may not attend, which is hatched too, and may attend
HATCH: Any = {"hatch": "////", "fill": False, "edgecolor": "#7b8794", "linewidth": 0.0}  # over what is hidden
MOVED_COLOURS = ("#e9ecef", "#9a3f77")  # an output that stays, and one that moves

# What a colour means, here and in the formulas and explorables of the book: the blue, vermilion and green of Okabe and
# Ito, dark enough to be read as letters on white. A word or a letter always stands beside.
ROLES = {"query": "#0063a0", "key": "#b34700", "value": "#00714f", "hidden": "#52606d"}
# A weight is the depth of one violet on white: the eye goes to what matters.
WEIGHTS = LinearSegmentedColormap.from_list("weights", [LIGHT["paper"], LIGHT["weight"]])
NO_ROLE = ("#9a3f77", "#000000", "#E69F00", "#56B4E9")  # for series beside queries, keys and values

STYLE: Any = {
    "figure.figsize": (6.4, 4.0),
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.prop_cycle": cycler(color=OKABE_ITO) + cycler(linestyle=DASHES) + cycler(marker=MARKERS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "grid.color": "#dddddd",
    "font.size": 11,
    "image.cmap": "viridis",
    "legend.frameon": False,
    "lines.markersize": 5,
    "svg.hashsalt": "xformer",
}


def use_style() -> None:
    """Give every figure that follows the book's fonts, colours and line styles."""
    plt.rcParams.update(STYLE)


def tint(role: str, strength: float = 0.16) -> tuple[float, float, float]:
    """The colour of a role, thinned with white: a ground for black numbers."""
    red, green, blue = (1.0 + strength * (part - 1.0) for part in to_rgb(ROLES[role]))
    return red, green, blue


def ink(share: float) -> str:
    """Black or white, whichever reads better on the colour of a weight; ``share`` is its part of the largest."""
    return "black" if share < 0.8 else "white"


def frame(ax: Axes) -> None:
    """A thin line around a map, whose small weights are as white as the paper."""
    ax.spines[:].set(visible=True, color=LIGHT["line"], linewidth=0.6)


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    return plt.subplots(figsize=size)[1] if ax is None else ax
