"""The English–French models of the book in the reader's browser."""

from html import escape
from pathlib import Path

import numpy as np

import xformer_lib
from xformer_course.explorables.explorable import Explorable, asset
from xformer_course.explorables.pictures import matrix_table

MODELS = Path(xformer_lib.__file__).parent / "pretrained"
EXAMPLES = (
    "I am an engineer.",
    "The black cat is sleeping in the garden.",
    "She lives in Lyon.",
    "He sat on the bank of the river.",
    "A woman in a green coat is standing on a ladder painting a wall.",
    "I think that the man who sold me the car that broke down yesterday has moved to another city with his wife.",
    "You are late.",
    "I will be there in five minutes 🙂.",
)
FROM_FRENCH = (
    "Où est la gare ?",
    "Ma sœur habite un petit appartement près de la gare.",
    "Nous allons chez nous.",
    "Il s'assit sur la rive du fleuve.",
    "Elle me manque.",
    "L'infirmière est en retard.",
    "Le gros chat jaune dort sur mon ordinateur.",
)
ELSEWHERE = (
    'The weights come with the built book and do not lie beside this page; in a notebook, write load_pretrained("{name}").translate("…").'
)

# The first state, as the Python model computes it for EXAMPLES[0]; tests/explorables/test_translator.py compares.
SOURCE = ("I", "▁am", "▁an", "▁engine", "er", ".", "<eos>")
SOURCE_IDS = (44, 552, 365, 6123, 272, 17, 2)
WRITTEN = ("Je", "▁suis", "▁ing", "én", "ieur", ".", "<eos>")
# percent of the three likeliest next pieces at each step
NEXT = (
    (("Je", 92.4), ("J'", 0.2), ("C'", 0.1)),
    (("▁suis", 92.3), ("▁me", 0.6), ("▁fais", 0.1)),
    (("▁ing", 97.2), ("▁moteur", 0.3), ("én", 0.1)),
    (("én", 98.8), ("▁moteur", 0.1), ("ieur", 0.1)),
    (("ieur", 90.8), ("ieurs", 1.5), ("ieuse", 0.3)),
    ((".", 91.6), ("e", 0.2), ("▁en", 0.0)),
    (("<eos>", 92.1), (".", 0.0), ("vous", 0.0)),
)
# cross-attention, layer 2, head 2, in hundredths
LOOKS = (
    (90, 6, 0, 0, 3, 0, 0),
    (0, 0, 99, 0, 0, 0, 0),
    (0, 0, 95, 4, 0, 0, 0),
    (0, 0, 0, 0, 0, 0, 100),
    (0, 0, 0, 0, 0, 0, 100),
    (3, 1, 2, 1, 0, 29, 64),
    (4, 0, 0, 0, 0, 2, 93),
)


def _picture() -> str:
    """What stands where no script runs: pieces, steps with their likeliest words, and one head's map."""
    pieces = "".join(f"<li><span>{escape(piece)}</span><small>{i}</small></li>" for piece, i in zip(SOURCE, SOURCE_IDS))
    rows = "".join(
        f'<tr><td>{step}</td><th scope="row" lang="fr">{escape(word)}</th>'
        + "".join(f'<td><span lang="fr">{escape(piece)}</span> {"< 0.1" if share < 0.1 else share} %</td>' for piece, share in likely)
        + "</tr>"
        for step, (word, likely) in enumerate(zip(WRITTEN, NEXT), start=1)
    )
    heads = "".join(f'<th scope="col">{word}</th>' for word in ("step", "written", "likeliest", "second", "third"))
    table = matrix_table(
        np.array(LOOKS) / 100,
        rows=[word.strip("▁") for word in WRITTEN],
        columns=[word.strip("▁") for word in SOURCE],
        title="cross-attention, layer 2, head 2",
        axes=("query (piece written)", "key (source)"),
    )
    return (
        f'<p>{escape(EXAMPLES[0])} → <span lang="fr">Je suis ingénieur.</span></p>'
        f'<ol class="xf-pieces" aria-label="Pieces of the source">{pieces}</ol>'
        f'<div class="xf-scroll"><table class="xf-next xf-stored-next"><caption>Greedy decoding, step by step</caption><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{table}"
    )


def _way(name: str, examples: tuple[str, ...]) -> dict:
    """A direction, what to try in it, and how much it loads."""
    size = sum((MODELS / name / file).stat().st_size for file in ("config.json", "tokenizer.json", "words.txt", "model.safetensors"))
    return {"name": name, "examples": list(examples), "megabytes": round(size / 1e6, 1), "elsewhere": ELSEWHERE.format(name=name)}


def translator() -> Explorable:
    """The shipped models, live: a click loads the weights of one from the built book.

    >>> [way["name"] for way in translator().data["ways"]]
    ['en-fr', 'fr-en']
    """
    return Explorable(
        name="translator",
        label="The English–French models of this book, running in the page",
        caption="Type a sentence, or take one, and press the button: the model comes from the book itself and runs here; nothing you type "
        "leaves the page. A second model translates from French; each can translate back what the other wrote. Step through the translation, take another word than the model's, one of the five or your own, and watch it go on from there. Then "
        "go through the heads: some have clear habits.",
        data={"ways": [_way("en-fr", EXAMPLES), _way("fr-en", FROM_FRENCH)]},
        picture=_picture(),
        scripts=("loader.js", *(f"translator_{part}.js" for part in ("tokenizer", "model", "search", "views"))),
        style=asset("translator.css"),
    )
