"""Figures in the style of the book.

Every function draws on the axes it is given (or on new ones) and returns them, so that a figure can be
composed, changed and tested. Attention maps always have queries as rows and keys as columns, with the words
on both axes. Colours are violet on white for weights, cividis, and the palette of Okabe and Ito, which stay apart for
colour-blind readers; lines also differ in dash and marker, so that they stay apart in grey.

`maps` holds coloured matrices, `steps` the computation of attention, `heads` several heads together, `grid` all layers and heads,
`curves` lines, `growth` costs on logarithmic axes, `bands` means over seeds, `seeds` systems in rows, `permutation` rows on the move,
`arcs` dependency arcs and wirings, `trace` one sentence on its way through a model, `tree` a
beam search, `draws` histograms with zero marked, `style` the common look.

>>> import numpy as np
>>> axes = attention_map(np.eye(2), queries=["Le", "chat"], keys=["The", "cat"])
>>> [label.get_text() for label in axes.get_yticklabels()]
['Le', 'chat']
"""

from xformer_course.plots.arcs import dependency_arcs, wiring
from xformer_course.plots.bands import band_plot
from xformer_course.plots.curves import line_plot, smooth_plot
from xformer_course.plots.draws import draw_histograms
from xformer_course.plots.grid import head_table, interval_plot, map_grid
from xformer_course.plots.growth import growth_plot, roofline_plot
from xformer_course.plots.heads import influence_map
from xformer_course.plots.maps import attention_map, mask_map, positional_heatmap
from xformer_course.plots.permutation import permutation_flow
from xformer_course.plots.positions import offset_panels, turning_arrows
from xformer_course.plots.reach import reach_map
from xformer_course.plots.seeds import seed_rows
from xformer_course.plots.steps import attention_steps
from xformer_course.plots.style import MARKERS, NO_ROLE, OKABE_ITO, ROLES, use_style
from xformer_course.plots.trace import conveyor, readout_map, running_sums
from xformer_course.plots.tree import beam_tree

__all__ = [
    "MARKERS",
    "NO_ROLE",
    "OKABE_ITO",
    "ROLES",
    "attention_map",
    "attention_steps",
    "band_plot",
    "beam_tree",
    "conveyor",
    "dependency_arcs",
    "draw_histograms",
    "growth_plot",
    "head_table",
    "influence_map",
    "interval_plot",
    "line_plot",
    "map_grid",
    "mask_map",
    "offset_panels",
    "permutation_flow",
    "positional_heatmap",
    "reach_map",
    "readout_map",
    "roofline_plot",
    "running_sums",
    "seed_rows",
    "smooth_plot",
    "turning_arrows",
    "use_style",
    "wiring",
]
