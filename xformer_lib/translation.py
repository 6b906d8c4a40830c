"""From what somebody typed to its translation: the work around the model.

A translation model reads one plain sentence and writes one. `cut` makes such sentences of any text, and keeps what is no sentence:
line breaks, marks without words, and the pieces that `data.typed.take_out` lifts out. `Plan.join` puts the text together again, so
that nothing that was typed is lost. None of this knows a model, so the command and `decoding.Translator` share it.
"""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from xformer_lib.data._sentences import split_sentences
from xformer_lib.data.typed import LATIN, SIGNS, UNSEEN, WORD, Item, is_known, joined, put_back, take_out

__all__ = ["Plan", "Sentence", "Translation", "cut"]

HOLES = 0xE000  # letters for private use: one holds the place of each item while a line is cut into sentences
HAS_LETTER = re.compile(f"[{LATIN}]")
HOLE = re.compile("[\ue000-\uf8ff]")
HEAD, TAIL = re.compile(r"[\s\ue000-\uf8ff]*"), re.compile(r"[\s\ue000-\uf8ff]*$")
LINE_END = re.compile(" *(?:\r\n|\r|\n)")
BESIDE = re.compile(f"(?<=[{LATIN}0-9])(?=[\ue000-\uf8ff])|(?<=[\ue000-\uf8ff])(?=[{LATIN}0-9])")  # between a hole and a letter
SMALL_I = re.compile(r"\bi\b")
BREAKS = (re.compile(r"[;:,] "), re.compile(" "))  # where a sentence that is too long is cut, in the order of preference
SHOUTED = 4  # letters from which on a sentence all in capitals is read in small ones


@dataclass(frozen=True)
class Sentence:
    """What the model reads of one sentence, and what becomes of its answer."""

    text: str  # for the model: plain letters, marks, and signs
    items: tuple[Item, ...] = ()  # what the signs stand for
    shouted: bool = False  # all capitals: so is the answer

    def finish(self, answer: str) -> str:
        """Return the answer with its items in the place of the signs, in capitals where the sentence was."""
        return put_back(answer.upper() if self.shouted else answer, list(self.items))

    def misplaced(self, answer: str) -> list[str]:
        """Return the items whose sign is not in the answer; `finish` puts them at its end."""
        return [item.text for sign, item in zip(SIGNS, self.items) if sign not in answer]


@dataclass(frozen=True)
class Translation:
    """A translated text, and what a reader should know about it, a sentence for each point."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A text in parts: sentences to translate, and strings that stay as they are."""

    parts: tuple[str | Sentence, ...]
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[Sentence]:
        return [part for part in self.parts if isinstance(part, Sentence)]

    def join(self, answers: Sequence[str]) -> str:
        """Put the text together again, with the model's answer for each of `sentences`."""
        left = iter(answers)
        return "".join(part.finish(next(left)) if isinstance(part, Sentence) else part for part in self.parts)


def cut(text: str, *, fits: Callable[[str], bool], signs: bool, words: Set[str] = frozenset()) -> Plan:
    """Plan the translation of a text: sentences for the model, and all that is kept as it is.

    Args:
        text: of any length, with line breaks.
        fits: whether the model can read a sentence of this text in one piece.
        signs: whether the model has learned to carry ``①`` to ``⑤``. To others no sentence with an item is given: it is cut there.
        words: those of the model's training, by `data.typed.known_words`; capitalised ones that are not among them are carried through,
            and small ones that are not among them are noted.

    >>> plan = cut("Hello 😀\\n\\n...", fits=lambda text: True, signs=True)
    >>> plan.parts, plan.join(["Salut"])
    ((Sentence(text='Hello', items=(), shouted=False), ' 😀\\n\\n...'), 'Salut 😀\\n\\n...')
    """
    parts: list[str | Sentence] = []
    carried: dict[str, None] = {}
    broken = 0
    for number, line in enumerate(LINE_END.split(text.rstrip(" "))):
        parts += ["\n"] if number else []
        holed, items = _with_holes(take_out(line, words if signs else frozenset()), signs)
        carried |= dict.fromkeys(item.text for item in items if item.kind not in ("number", "name"))
        if not HAS_LETTER.search(holed):  # marks, numbers, symbols alone: as they were typed
            parts.append(line)
            continue
        for sentence, space in split_sentences(holed):
            pieces = _parts_of(sentence, items, fits, signs)
            broken += not HOLE.search(sentence) and sum(isinstance(piece, Sentence) for piece in pieces) > 1
            parts += [*pieces, space]
    read = [word for part in parts if isinstance(part, Sentence) for word in WORD.findall(part.text)]
    strange = [word for word in dict.fromkeys(read) if words and len(word) > 1 and not is_known(word, words)]
    notes = []
    if carried:
        notes.append(f"carried through unchanged: {', '.join(carried)}")
    if broken:
        notes.append(f"too long for the model, so read in parts: {broken} sentence{'s' * (broken > 1)}")
    if strange:
        notes.append(f"hardly ever read in training: {', '.join(strange)}")
    return Plan(tuple(joined(parts)), tuple(notes))


def _with_holes(parts: list[str | Item], signs: bool) -> tuple[str, list[Item]]:
    """Return the line with one private letter in the place of each item; numbers are text for a model without signs."""
    line = ""
    items: list[Item] = []
    for part in parts:
        if isinstance(part, str):
            line += part
        elif part.kind == "number" and not signs:
            line += part.text
        else:
            line += chr(HOLES + len(items))
            items.append(part)
    return UNSEEN.sub("", line), items


def _parts_of(sentence: str, items: list[Item], fits, signs: bool) -> list[str | Sentence]:
    """Return a sentence, or what is left of it, in parts; symbols at its ends stay out of the model's sight."""

    def filled(text: str) -> str:
        return HOLE.sub(lambda hole: items[ord(hole.group()) - HOLES].text, text)

    def kept(text: str) -> bool:  # whether these holes may stay outside the sentence
        return not signs or all(items[ord(hole) - HOLES].kind == "symbol" for hole in HOLE.findall(text))

    if not HAS_LETTER.search(sentence):
        return [filled(sentence)]
    before, after = (edge.group() for edge in (HEAD.match(sentence), TAIL.search(sentence)) if edge)  # both match, if only nothing
    before, after = (edge if kept(edge) else "" for edge in (before, after))
    core = sentence[len(before) : len(sentence) - len(after)]
    holes = [found.start() for found in HOLE.finditer(core)]
    if holes and (not signs or len(holes) > len(SIGNS)):
        place = holes[0] if not signs else holes[len(SIGNS)]
        rest = [core[:place], core[place:]] if signs else [core[:place], core[place], core[place + 1 :]]
        middle = [part for piece in rest for part in (_parts_of(piece, items, fits, signs) if piece else [])]
    elif fits(core):
        middle = [_sentence(core, items, signs)]
    else:
        middle = [part for piece in _halves(core, fits) for part in (_parts_of(piece, items, fits, signs))]
    return [filled(before), *middle, filled(after)]


def _sentence(core: str, items: list[Item], signs: bool) -> Sentence:
    """Return the sentence with signs in place of the holes, a space between a sign and a letter, and in small letters if it was shouted.

    A model without signs has read no sentence without its capitals either: it gets the first one, and that of "I".
    """
    own = [items[ord(hole) - HOLES] for hole in HOLE.findall(core)]
    text = BESIDE.sub(" ", core)
    letters = [letter for letter in text if letter.isalpha() and not HOLE.match(letter)]
    shouted = len(letters) >= SHOUTED and not any(letter.islower() for letter in letters)
    text = text.lower() if shouted else text
    text = text if signs else SMALL_I.sub("I", text[0].upper() + text[1:])
    left = iter(SIGNS)
    return Sentence(HOLE.sub(lambda hole: next(left), text), tuple(own), shouted)


def _halves(core: str, fits) -> tuple[str, str]:
    """The longest beginning that fits, cut behind a comma or the like if one is in its second half, else at a space; and the rest."""
    low, high = 1, len(core) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(core[:middle]) else (low, middle - 1)
    for breaks in BREAKS:
        ends = [found.end() for found in breaks.finditer(core[:low]) if 2 * found.end() > low]
        if ends:
            return core[: ends[-1]], core[ends[-1] :]
    return core[:low], core[low:]
