"""A translator of chapter 11 while it learns; ``benchmarks/learning.py`` makes the record."""

import json
from html import escape

from xformer_course.explorables.explorable import Explorable, asset

START = {"moment": 0, "sentence": 2}
ROWS, LETTERS = 10, 80  # words of a translation that its map shows, and letters that are shown of it


def text(said: dict) -> str:
    """What was written, or its first words."""
    whole = " ".join(said["words"]).replace("' ", "'") or "(nothing)"
    long = len(whole) > LETTERS
    return (whole[:LETTERS].rsplit(" ", 1)[0] if long else whole) + (" …" if long or said["cut"] else "")


def learning() -> Explorable:
    """One training run, five sentences, and one head of cross-attention at each moment.

    >>> [moment["step"] for moment in learning().data["moments"]][:4]
    [0, 25, 50, 100]
    """
    record = json.loads(asset("learning.json"))
    kept = ("step", "minutes", "sentences", "validation_loss", "bleu")
    moments = [
        {name: moment[name] for name in kept}
        | {"said": [{"text": text(said), "words": said["words"], "shares": said["shares"]} for said in moment["said"]]}
        for moment in record["moments"]
    ]
    source = " ".join(record["sentences"][START["sentence"]]["source"][:-1])
    rows = "".join(
        f'<tr><th scope="row">{moment["step"]:,}</th><td>{moment["validation_loss"]:.2f}</td>'
        f'<td lang="fr" style="text-align:left">{escape(moment["said"][START["sentence"]]["text"])}</td></tr>'
        for moment in moments
    )
    return Explorable(
        name="learning",
        label="A recorded training run: the validation loss, five translations and an attention map at each of its moments",
        caption="Move the slider, and the five translations change to what the model wrote at that moment; press a sentence for its map. Recorded from "
        f"one run of {record['cpu_minutes']:.0f} minutes on one core, {record['parameters'] / 1e6:.1f} million parameters, trained on sentences of tatoeba.org "
        "(CC BY 2.0 FR). Our five sentences are not among them. Translations are greedy, of 20 pieces at most.",
        data={
            "layer": record["layer"] + 1,
            "head": record["head"] + 1,
            "rows": ROWS,
            "start": START,
            "sentences": record["sentences"],
            "moments": moments,
        },
        picture=f'<div class="xf-scroll"><table><caption>{escape(source)}</caption><thead><tr><th scope="col">steps</th>'
        f'<th scope="col">validation loss</th><th scope="col">what the model writes</th></tr></thead><tbody>{rows}</tbody></table></div>',
        style=asset("learning.css"),
    )
