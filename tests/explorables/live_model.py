"""The translator of the page in a browser, and what it is asked there."""

import importlib.util
import json
import random
import unicodedata
from pathlib import Path

from tests.explorables.gestures import press, read
from tests.explorables.stage import FIGURE
from xformer_course.explorables import translator

ROOT = Path(__file__).resolve().parents[2]
PAGE = """<!doctype html><html lang="en" data-theme="light"{root}><meta charset="utf-8"><title>The model in the page</title>
<meta name="viewport" content="width=device-width"><body style="margin:8px;background:#fff"><h2>Try it</h2>{figure}</body></html>"""

# Not of the training data: benchmarks/everyday.txt, and these.
HARD = (
    "Où est le café? Ça coûte 1,50 €.",
    "naïve Ångström",
    "Five minutes 🙂.",
    "👍🏽 👩‍👧",
    "日本語",
    "Мир!",
    "שלום",
    "سلام",
    "नम",
    "Ελλάς",
    "안녕",
    "",
    " ",
    "a",
    "?!",
    "...",
    "12345678",
    "x = 2 * (y - 3)",
    "<pad> <eos>",
    "Mr. Okonkwo is late.",
    "BLACK CAT!",
    "my friends' dog didn't bark",
    "l'homme qu'on aime",
    "two  spaces\ttab\nline",
    "A man is standing on a ladder.",
    "I think that the man who sold me the car that broke down yesterday has moved to another city with his wife.",
    "supercalifragilistic",
    "e\u0301te\u0301 is \u00e9t\u00e9",
    "\ufeffA mark",
    "I am 🇫🇷",
)
EVERYDAY = {
    name: tuple((ROOT / "benchmarks" / file).read_text(encoding="utf-8").splitlines())
    for name, file in (("en-fr", "everyday.txt"), ("fr-en", "everyday-fr.txt"))
}
SENTENCES = (*EVERYDAY["en-fr"], *HARD)

SPACES = "\t\n\v\f\r\x1c\x1f\x20\x85\xa0\u1680\u180e\u2000\u2009\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
POOLS = (
    "abcdefghijklmnopqrstuvwxyz" * 2 + "ABCXYZ",
    " " * 8 + SPACES,
    "'’´`\"«».,;:!?-–—()[]{}…/\\|@#$%^&*_+=<>~",
    "0123456789٠١²½Ⅷ①",
    "éàçœßñøÅÉ\u0301\u0300\u0327\u0308",
    "".join(map(chr, (*range(0x391, 0x3C9), *range(0x410, 0x44F), *range(0x5D0, 0x5EA)))),
    "".join(map(chr, (*range(0x1100, 0x1112), *range(0x1161, 0x1175), *range(0x11A8, 0x11C2), *range(0xAC00, 0xAC20)))),
    "".join(map(chr, (*range(0x1F600, 0x1F610), 0x200D, 0xFE0F, 0x1F3FD, 0x1F468, 0x1F1EB, 0x1F1F7))),
    "".join(map(chr, (*range(0x4E00, 0x4E20), *range(0x3041, 0x3060), 0x3099, *range(0x915, 0x939), 0x94D))),
    "\x00\x01\x7f\x80\xad\ue000\U000f0000\ufffd\u2126\u212b\uf900\ufb01\u1e9b\u0323",
)


def any_texts(count, seed):
    """Texts of all kinds; what Python's Unicode does not know yet stays out, for it may be a letter to the browser."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        pools = rng.choices(POOLS, k=rng.randint(1, 3))
        texts.append("".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(0, 24))))
    while len(texts) < 2 * count:
        text = "".join(chr(rng.choice([rng.randrange(0x3000), rng.randrange(0x110000)])) for _ in range(rng.randint(1, 12)))
        if all(unicodedata.category(one) not in ("Cn", "Cs") for one in text):
            texts.append(text)
    return texts


def writer():
    """The book's module that writes the model's files; it needs nothing but the standard library."""
    path = ROOT / "book" / "xformer_book" / "model_files.py"
    spec = importlib.util.spec_from_file_location("model_files", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_book(folder, *, files=True):
    """A page with the figure, as in the built book, with the model's files beside it; its path."""
    if files:
        books = writer()
        for name in books.DIRECTIONS:
            books.write_files(folder / "_static" / "translator" / name, books.MODELS / name)
    page = folder / "page.html"
    page.write_text(PAGE.format(root=' data-content_root="./"' if files else "", figure=translator()._repr_html_()), encoding="utf-8")
    return page


async def click_and_wait(tab, name=None, *, way=0):
    """Press the button that loads a model, or another, and wait until there is a translation, or a sentence that says why not."""
    await press(tab, name or f"Load the model ({translator().data['ways'][way]['megabytes']:.1f} MB) and translate")
    # Asked ten times a second: at every frame, it would cost the page time that a benchmark counts.
    await tab.wait_for_function(
        f"!!({FIGURE}.querySelector('.xf-said') || {FIGURE}.querySelector('[role=alert]').textContent)", polling=100
    )
    return await read(tab)


async def ask(tab, script, value):
    """What a script says of a value; ``engine`` is {tokenizer, model, search}."""
    return await tab.evaluate(f"((engine, value) => {{ {script} }})({FIGURE}.explorable.engine(), {json.dumps(value)})")
