"""The beam of chapter 12 over recorded words of the shipped model; ``tools/record_beam.py`` makes the record."""

import json

import numpy as np

from xformer_course.explorables.explorable import Explorable, asset
from xformer_course.explorables.pictures import matrix_table, number

END = "<eos>"
START = {"source": 0, "beam": 1, "penalty": 0.0, "step": 1}
FALLEN = 2  # how many of the extensions that fall out are shown


def beam() -> Explorable:
    """Two sentences, at most eight French pieces each, beams of 1 to 4.

    >>> beam().data["sentences"][0]["source"]
    'We need a car.'
    """
    sentences = json.loads(asset("beam.json"))
    pictures = []
    for one in sentences:
        first = one["next"][""]
        pictures.append(
            matrix_table(
                np.array([[p] for _, p in first]),
                rows=[piece for piece, _ in first],
                columns=("log p",),
                title=f"{one['source']} The likeliest first pieces",
                axes=("piece", ""),
                plain=True,
            )
        )
        lines = "; ".join(f"{size}: {text} ({number(total, 3)})" for size, text, total in one["found"])
        pictures.append(f"<p>Found by beam size, with the sum of log p: {lines}</p>")
    return Explorable(
        name="beam",
        label="A beam search over the shipped model's next words, drawn as a tree",
        caption="Step forward with beam size 1, then again with 2: the larger beam keeps a beginning that is second for a while, and ends with a better "
        "sum. Then raise the length penalty: the sums stay, and the scores may name another winner. Recorded from the shipped model; "
        "at most eight pieces.",
        data={
            "end": END,
            "fallen": FALLEN,
            "start": START,
            "sentences": [{k: v for k, v in one.items() if k != "found"} for one in sentences],
        },
        picture="".join(pictures),
    )
