"""What people type, made into sentences that a translator can read, and put together again.

A model reads the letters, marks and words of its training sentences and nothing else. Around it, `simplify` gives every quote, dash and
full-width letter its plain form, and `take_out` lifts what no letter of the model's is (emoji, other scripts, addresses, numbers) out of
the text. In its place the model reads a sign, ``①`` to ``⑤``, and `put_back` gives each sign its text again.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = ["NUMBER", "SIGNS", "Item", "is_known", "joined", "known_words", "put_back", "read_words", "simplify", "take_out"]

SIGNS = "①②③④⑤"
T = TypeVar("T")

# Letters with a Latin name, what stands on an English or French keyboard, and accents that have no letter of their own.
LATIN = "A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ"
READ = f" -~{LATIN}\u0300-\u036f"
TWINS = str.maketrans(
    dict.fromkeys("’‘‚‛ʼ`´′ʹ", "'")
    | dict.fromkeys("“”„‟″«»‹›〝〞", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\t\v\f\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
    | {"…": "...", "⋯": "...", "。": ".", "、": ","}
)
RAISED = re.compile("[²³¹⁰-₎ªº¼-¾⅐-⅞™℠ℹ]")  # their plain form would say something else: m² is not m2
READABLE = re.compile(f"[{READ}]+")
INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
UNSEEN = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x9f{INVISIBLE}]+")

_DIGITS = r"[0-9]+(?:[.,:/][0-9]+| [0-9]{3}(?![0-9]))*"
_UNITS = "°[CF]?|[%€£$]|k?m/h|[kcm]?m|[km]?g|[cm]?l|[kKMGT]B"
_NUMBER = (
    rf"(?<![{LATIN}0-9_.,+])(?:[$€£¥] ?{_DIGITS}|{_DIGITS} ?(?:{_UNITS})|\+[0-9]+(?:[- ][0-9]+)*|[0-9]+(?:[- ][0-9]{{2,}})+"
    rf"|[0-9]+(?:[.,:/][0-9]+)+|[0-9][0-9]+)(?!-?[{LATIN}0-9_])"
)
NUMBER = re.compile(_NUMBER)
_ADDRESS = (
    rf"(?:https?://|www\.)[^\s<>\"]*[^\s<>\".,;:!?)\]']|[{LATIN}0-9_.+-]+@[{LATIN}0-9-]+(?:\.[{LATIN}0-9-]+)+"
    rf"|(?<![{LATIN}0-9_])[@#][{LATIN}0-9_]+|(?<![{LATIN}0-9_.])(?:[A-Za-z0-9-]+\.)+(?:com|org|net|edu|gov|info|io|fr|de|uk|eu|ca)(?![{LATIN}0-9])(?:/[^\s<>\"]*[^\s<>\".,;:!?)\]'])?"
)
_FACE = r"(?<![^\s])(?:[:;=8][-'o]?[)(DPpOo/\\|*\]\[3]+|<3+|\^_?\^|[xX]D+)(?=\s|[.,!?]|$)"
_OTHER = f"[0-9#*]\ufe0f?\u20e3|[^{READ}\n]+(?: [^{READ}\n]+)*"
WORD = re.compile(f"[{LATIN}]+")
NAME = re.compile(f"[{LATIN}]+(?:-[{LATIN}]+|'[A-Z][{LATIN}]+)*")
TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|M)\. $|\b(?:Miss|Mme|Mlle) $")
TAKEN = re.compile(f"(?P<address>{_ADDRESS})|(?P<face>{_FACE})|(?P<number>{_NUMBER})|(?P<other>{_OTHER})")


@dataclass(frozen=True)
class Item:
    """A piece of text that is carried through: an address, a number, a symbol, or words in a script that the model never read."""

    text: str
    kind: str  # "address", "number", "symbol", "script" or "name"


def simplify(text: str) -> str:
    """Return the text with composed letters, and each twin of a plain letter or mark as that letter or mark.

    >>> simplify("“It’s on ﬁre”…")
    '"It\\'s on fire"...'
    """
    text = unicodedata.normalize("NFC", text).translate(TWINS)
    return text if READABLE.fullmatch(text) else "".join(map(_plain, text))


def _plain(letter: str) -> str:
    if READABLE.fullmatch(letter) or RAISED.match(letter):
        return letter
    compatible = unicodedata.normalize("NFKC", letter)
    return compatible if READABLE.fullmatch(compatible) else letter


def known_words(texts: Iterable[str], *, least: int = 2) -> frozenset[str]:
    """Return the words that occur in these texts at least ``least`` times: what a model trained on them has read.

    A word is returned in small letters, unless it never stands in small letters, as a name does.
    """
    words = Counter(word for text in texts for word in WORD.findall(text))
    counts: Counter[str] = Counter()
    for word, count in words.items():
        counts[word.lower() if word.lower() in words else word] += count
    return frozenset(word for word, count in counts.items() if count >= least)


def read_words(folder: str | Path) -> frozenset[str]:
    """Return the `known_words` in ``words.txt`` of a model's folder; none where the file is missing, as in a run of one's own."""
    path = Path(folder) / "words.txt"
    return frozenset(path.read_text(encoding="utf-8-sig").split()) if path.exists() else frozenset()


def is_known(word: str, words: Set[str]) -> bool:
    """Return whether `known_words` hold a word, in its own letters or in small ones; typed in small letters, a name counts, too."""
    return word in words or word.lower() in words or word.capitalize() in words


def take_out(text: str, words: Set[str] = frozenset()) -> list[str | Item]:
    """Cut a line into text that a model can read and `Item` s that it cannot, in their order; letters that cannot be seen go.

    Args:
        text: one line.
        words: `known_words` of the model's training; a capitalised word that is not among them is a name, and so is one behind
            a title. Without them, none is.

    >>> take_out("I'm happy 😀 at 9:30.")
    ["I'm happy ", Item(text='😀', kind='symbol'), ' at ', Item(text='9:30', kind='number'), '.']
    """
    parts: list[str | Item] = []
    line, end = simplify(text), 0
    for found in TAKEN.finditer(line):
        item = found.group()
        kind = found.lastgroup or ""
        if kind == "other" and not UNSEEN.sub("", item).strip():
            item = ""
        kind = {"face": "symbol", "other": "script" if any(letter.isalpha() for letter in item) else "symbol"}.get(kind, kind)
        parts += _names(line[end : found.start()], words)
        parts += [Item(item, kind)] if item else []
        end = found.end()
    return joined([*parts, *_names(line[end:], words)])


def _names(text: str, words: Set[str]) -> list[str | Item]:
    """Return the text, cut at capitalised words that are not known."""
    parts: list[str | Item] = []
    end = 0
    for found in NAME.finditer(text) if words else ():
        name = found.group()
        titled = TITLE.search(text[: found.start()])
        if len(name) > 1 and name[0].isupper() and (titled or not all(is_known(word, words) for word in WORD.findall(name))):
            parts += [text[end : found.start()], Item(name, "name")]
            end = found.end()
    return [*parts, text[end:]]


def joined(parts: Iterable[str | T]) -> list[str | T]:
    """Return the parts without empty texts, and with texts that follow each other as one."""
    found: list[str | T] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, str) and isinstance(last, str):
            found[-1] = last + part
        elif part:
            found.append(part)
    return found


def put_back(text: str, items: list[Item]) -> str:
    """Replace each sign by its item; an item whose sign is missing goes to the end, and a sign that comes twice counts once.

    >>> put_back("Je suis content ② ①.", [Item("😀", "symbol"), Item("9:30", "number")])
    'Je suis content 9:30 😀.'
    """
    left = dict(zip(SIGNS, (item.text for item in items)))
    said = "".join(left.pop(letter, "") if letter in SIGNS else letter for letter in text)
    return " ".join([said.rstrip(), *left.values()]) if left else said
