"""The soft lookup of chapter 2: drag the query, turn the temperature."""

import numpy as np

from xformer_course.explorables.explorable import Explorable
from xformer_course.explorables.pictures import matrix_table
from xformer_lib.reference.lookup import soft_lookup as lookup

NAMES = ("France", "UK", "Germany")
CITIES = ("Paris", "London", "Berlin")
KEYS = np.array([[0.9, 0.4], [-0.7, 0.7], [0.2, -0.9]])
VALUES = np.array([[2.35, 48.86], [-0.13, 51.51], [13.40, 52.52]])  # degrees east, degrees north
QUERY = np.array([0.3, 1.0])


def soft_lookup() -> Explorable:
    """One query against three keys of width 2; the output is a place between three capitals.

    >>> soft_lookup().data["names"]
    ['France', 'UK', 'Germany']
    """
    output, weights = lookup(QUERY, KEYS, VALUES)
    table = matrix_table(
        np.stack([KEYS @ QUERY, weights], axis=1),
        rows=NAMES,
        columns=("score", "weight"),
        title="One query against three keys",
        axes=("key", ""),
        plain=True,
    )
    place = f"<p>output: {output[0]:.1f}° east, {output[1]:.1f}° north</p>"
    return Explorable(
        name="soft-lookup",
        label="Soft lookup: one query against three keys, and the mean of their values",
        caption="Drag the blue query (or focus it and use the arrow keys). The output is a mean, so it never leaves the triangle of "
        "the three values. Lower the temperature and it jumps to the best key's city; raise it and the query hardly matters.",
        data={
            "names": list(NAMES),
            "cities": list(CITIES),
            "keys": KEYS.tolist(),
            "values": VALUES.tolist(),
            "query": QUERY.tolist(),
            "temperature": 1.0,
            "reach": 1.6,
            "frame": [[-2.5, 16.0], [47.5, 54.0]],
        },
        picture=table + place,
    )
