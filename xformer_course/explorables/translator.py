"""The English–French models of the book in the reader's browser."""

from html import escape
from pathlib import Path

import numpy as np

import xformer_lib
from xformer_course.explorables.explorable import Explorable, asset
from xformer_course.explorables.pictures import matrix_table
from xformer_course.explorables.typed_data import typed_data

MODELS = Path(xformer_lib.__file__).parent / "pretrained"
EXAMPLES = (
    "I am an engineer.",
    "The black cat is sleeping in the garden.",
    "She lives in Lyon.",
    "He sat on the bank of the river.",
    "A woman in a green coat is standing on a ladder painting a wall.",
    "I think that the man who sold me the car that broke down yesterday has moved to another city with his wife.",
    "You are late.",
    "I missed my train 😅. The next one leaves at 9:30.",
)
FROM_FRENCH = (
    "Où est la gare ?",
    "Ma sœur habite dans un petit appartement près de la gare.",
    "Nous allons chez nous.",
    "Il s'assit au bord de la rivière.",
    "Elle me manque.",
    "L'infirmière est en retard.",
    "J'ai raté mon train 😅. Tu peux m'attendre ?",
)
ELSEWHERE = (
    'The weights come with the built book and do not lie beside this page; in a notebook, write load_pretrained("{name}").translate("…").'
)

# The first state, as the Python model computes it for EXAMPLES[0]; tests/explorables/test_translator.py compares.
SOURCE = ("I", "▁am", "▁an", "▁engine", "er", ".", "<eos>")
SOURCE_IDS = (44, 555, 369, 6261, 272, 17, 2)
WRITTEN = ("Je", "▁suis", "▁ing", "én", "ieur", ".", "<eos>")
# percent of the three likeliest next pieces at each step
NEXT = (
    (("Je", 92.4), ("J'", 0.8), ("C'", 0.4)),
    (("▁suis", 93.5), ("▁me", 0.2), ("▁ne", 0.1)),
    (("▁ing", 90.6), ("▁moteur", 1.3), ("▁un", 1.2)),
    (("én", 98.6), ("ieur", 0.3), ("ré", 0.1)),
    (("ieur", 95.9), ("ari", 0.3), ("ieurs", 0.3)),
    ((".", 90.8), ("▁!", 0.4), (",", 0.2)),
    (("<eos>", 92.0), ("-", 0.0), ("vous", 0.0)),
)
# cross-attention, in hundredths, of the head that looks at the words in their order
LAYER, HEAD = 2, 3
LOOKS = (
    (97, 2, 0, 0, 0, 0, 0),
    (0, 72, 10, 17, 1, 0, 0),
    (0, 0, 100, 0, 0, 0, 0),
    (0, 0, 0, 99, 1, 0, 0),
    (0, 0, 1, 79, 20, 0, 0),
    (1, 8, 3, 5, 11, 63, 10),
    (0, 0, 0, 1, 1, 0, 97),
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
        title=f"cross-attention, layer {LAYER}, head {HEAD}",
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
        caption="Type a text, or choose one, and press the button: the model comes from the book itself and runs here; nothing you type "
        "leaves the page. It reads one sentence at a time; numbers, emoji and names that it does not know are carried across. A second model translates from French; "
        "each can translate back what the other wrote. Step through the translation of a sentence, replace one of the model's words with one of the five or with your own, and watch it go on from there. Then "
        "go through the heads: some have clear habits.",
        data={"ways": [_way("en-fr", EXAMPLES), _way("fr-en", FROM_FRENCH)], "head": [LAYER - 1, HEAD - 1], "typed": typed_data()},
        picture=_picture(),
        scripts=("loader.js", *(f"translator_{part}.js" for part in ("tokenizer", "typed", "model", "search", "views"))),
        style=asset("translator.css"),
    )
