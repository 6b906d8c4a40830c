"""The one look of all figures: sizes, fonts, and colours that stay apart in grey."""

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.axes import Axes

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MASK_COLOURS = ("#3b3b3b", "#f2e6c2")  # may not attend, may attend

STYLE = {
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


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    return plt.subplots(figsize=size)[1] if ax is None else ax
