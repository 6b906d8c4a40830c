"""From what somebody typed to its translation: the work around the model.

A translation model reads one plain sentence and writes one. `cut` makes such sentences of any text, and keeps what is no sentence:
line breaks, marks without words, and the pieces that `data.typed.take_out` lifts out. `Plan.join` puts the text together again, so
that nothing that was typed is lost. None of this knows a model, so the command and `decoding.Translator` share it.
"""

import re
from collections.abc import Callable, Container, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice

from xformer_lib.data._sentences import split_sentences
from xformer_lib.data.typed import BREAK, LATIN, READ, SIGNS, UNSEEN, WORD, Item, is_known, joined, put_back, simplify, take_out

__all__ = ["Plan", "Sentence", "Translation", "cut", "visible"]

HOLE = "\ue000"  # a letter for private use that holds the place of each item while a line is cut into sentences
HAS_LETTER = re.compile(f"[{LATIN}]")
EDGE = re.compile(f"[\\s{HOLE}]*")
LINE_END = re.compile(f"(?<! ) *(\r\n|[{BREAK}])")
LEAD = re.compile(r"[ \t]*(?:(?:[-*+>•‣◦▪–—]|#{1,6}|\[[ xX]?\]|\(?[0-9]{1,3}[.)/]\)?|\(?[A-Za-z]\))[ \t]+)*")  # of a line in a list
BEFORE, BEHIND = re.compile(f"[^{LATIN}]*"), re.compile(f"[^{LATIN}]*?(?=[.!?]*[{LATIN}])")  # what is not of a part's words, at its ends
FENCE = re.compile(" {0,3}(```+|~~~+)")
BESIDE = re.compile(f"(?<=[{LATIN}0-9])(?={HOLE})|(?<={HOLE})(?=[{LATIN}0-9])")  # between a hole and a letter
ASIDE = ("symbol", "mark")  # what stays out of the model's sight at the ends of a sentence
PLACED = re.compile("^[←-⇿•‣·]+$")  # symbols that say something where they are, as marks do; an emoji may stand at the end
SMALL_I = re.compile(r"\bi\b")
BREAKS = (re.compile(r"[;:,] "), re.compile(" "))  # where a sentence that is too long is cut, in the order of preference
ONE_SIGN = re.compile(f"([{SIGNS}])")
SPOKEN = re.compile("[a-zà-ÿ]{3}")  # a word in a quantity, as in 12 May or 20-year-old
GAP = re.compile(f"[\t{BREAK}]+")
# Of what cannot be seen, joiners and variants belong to the letter before them, if it is of another script, or a symbol.
BLANK = re.compile(
    f"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]+|(?<![^{READ}])[\u200c\u200d\ufe00-\ufe0f]+"
)
SHOUTED = 4  # letters from which on a sentence all in capitals is read in small ones
FIRST_TRY = 256  # letters; a beginning that fits is looked for from there
LISTED = 20  # things in a note


def visible(answer: str) -> str:
    """Return what a model wrote as one line, without what cannot be seen."""
    return GAP.sub(" ", BLANK.sub("", answer))


@dataclass(frozen=True)
class Sentence:
    """What the model reads of one sentence, and what becomes of its answer."""

    text: str  # for the model: plain letters, marks, and signs
    items: tuple[Item, ...] = ()  # what the signs stand for
    shouted: bool = False  # all capitals: so is the answer
    inner: bool = field(default=False, repr=False)  # in the middle of a sentence: its answer begins as small as it does

    def finish(self, answer: str) -> str:
        """Return the answer with its items in the place of the signs, in capitals where the sentence was."""
        answer = answer[:1].lower() + answer[1:] if self.inner and self.text[:1].islower() else answer
        return put_back(answer.upper() if self.shouted else answer, list(self.items))

    def misplaced(self, answer: str) -> list[str]:
        """Return the items whose sign is not in the answer; `finish` puts them at its end."""
        return [item.text for sign, item in zip(SIGNS, self.items) if sign not in answer]

    def lost(self, answer: str) -> list[str]:
        """Return what would be wrong at the end: quantities and marks that are gone; marks that moved, or lost the words beside them."""
        marks = {sign: item.text for sign, item in zip(SIGNS, self.items) if item.kind == "mark" or PLACED.search(item.text)}
        numbers = {sign: item.text for sign, item in zip(SIGNS, self.items) if item.kind == "number"}
        gone = [item.text for sign, item in zip(SIGNS, self.items) if sign not in answer and sign in marks | numbers]
        moved = [sign for sign in answer if sign in marks] != list(marks) or any(
            not had <= has for had, has in zip(_divided(self.text, marks, numbers), _divided(answer, marks, numbers))
        )
        return gone or [*marks.values()] * moved

    def apart(self) -> list["str | Sentence"]:
        """Return what stands between the items as sentences of their own, and the items."""
        parts: list[str | Sentence] = []
        texts = ONE_SIGN.split(self.text)[::2]
        for before, piece, after in zip([None, *self.items], texts, [*self.items, None]):
            piece = piece.removeprefix(" ") if before and before.right else piece
            piece = piece.removesuffix(" ") if after and after.left else piece
            parts += [before.text] if before else []
            if HAS_LETTER.search(piece):
                begin, end = _edge(piece, BEFORE), len(piece) - _edge(piece[::-1], BEHIND)
                parts += [piece[:begin], Sentence(piece[begin:end], shouted=self.shouted, inner=bool(before)), piece[end:]]
            else:
                parts.append(piece)
        return parts


def _divided(text: str, marks: Iterable[str], numbers: Container[str]) -> list[set[str]]:
    """Return what stands before, between and behind the marks: the signs of numbers, and "" for words."""
    pieces = text.translate(dict.fromkeys(map(ord, marks), HOLE)).split(HOLE)
    return [
        {"" if HAS_LETTER.match(letter) else letter for letter in piece if letter in numbers or HAS_LETTER.match(letter)}
        for piece in pieces
    ]


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

    def without_loss(self, answers: Sequence[str]) -> "Plan":
        """Return the plan in which a sentence is read in parts, around its items, if its answer has lost a quantity."""
        left = iter(answers)
        parts: list[str | Sentence] = []
        lost: list[str] = []
        for part in self.parts:
            missing = part.lost(next(left)) if isinstance(part, Sentence) else []
            lost += missing
            parts += part.apart() if isinstance(part, Sentence) and missing else [part]
        note = f"read in parts, for the model lost the place of a number or mark: {listed(lost)}"
        return replace(self, parts=tuple(joined(parts)), notes=(*self.notes, note)) if lost else self


def listed(texts: Sequence[str]) -> str:
    """Return the texts with commas between them, the first few of many."""
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more


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
    lines, ends = (LINE_END.split(text.rstrip(" "))[begin::2] for begin in (0, 1))
    for line, code, end in zip(lines, _fenced(lines), [*ends, ""]):
        lead = "" if code else line[: _edge(line, LEAD)]
        line = line[len(lead) :]
        parts.append(lead)
        holed, items = (line, []) if code else _with_holes(take_out(line, words if signs else frozenset()), signs)
        if code:
            carried[line.strip()] = None
            parts.append(line)
        elif not HAS_LETTER.search(holed):  # marks, numbers, symbols alone: as they were typed
            parts.append(line)
        else:
            left = iter(items)
            for sentence, space in split_sentences(holed):
                own = list(islice(left, sentence.count(HOLE)))
                pieces = _parts_of(sentence, own, fits, signs)
                broken += not own and sum(isinstance(piece, Sentence) for piece in pieces) > 1
                parts += [*pieces, space]
        carried |= dict.fromkeys(
            item.text for item in items if item.kind not in ("name", "mark") and (item.kind != "number" or SPOKEN.search(item.text))
        )
        parts.append(end)
    read = [word for part in parts if isinstance(part, Sentence) for word in WORD.findall(part.text)]
    strange = [word for word in dict.fromkeys(read) if words and len(word) > 1 and not is_known(word, words)]
    notes = []
    if carried:
        notes.append(f"carried through unchanged: {listed(list(carried))}")
    if broken:
        notes.append(f"too long for the model, so read in parts: {broken} sentence{'s' * (broken > 1)}")
    if strange:
        notes.append(f"hardly ever read in training: {listed(strange)}")
    return Plan(tuple(joined(parts)), tuple(notes))


def _fenced(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it belongs to code between two fences, as Markdown has them; one alone is none."""
    inside = [False] * len(lines)
    start, mark = 0, ""
    for number, line in enumerate(lines):
        found = FENCE.match(line)
        if found and not mark:
            start, mark = number, found[1]
        elif found and found[1].startswith(mark) and not line[found.end() :].strip():
            inside[start : number + 1] = [True] * (number + 1 - start)
            mark = ""
    return inside


def _with_holes(parts: list[str | Item], signs: bool) -> tuple[str, list[Item]]:
    """Return the line with one private letter in the place of each item; numbers are text for a model without signs."""
    line: list[str] = []
    items: list[Item] = []
    for part in parts:
        if isinstance(part, str):
            line.append(part)
        elif part.kind in ("number", "mark") and not signs:
            line.append(simplify(part.text))
        else:
            line.append(HOLE)
            items.append(part)
    return UNSEEN.sub("", "".join(line)), items


def _parts_of(sentence: str, items: list[Item], fits, signs: bool) -> list[str | Sentence]:
    """Return a sentence in parts; symbols at the ends of each stay out of the model's sight.

    What is left to do stands on a stack, the next on top: texts as they are, and texts to read with their items.
    """
    done: list[str | Sentence] = []
    stack: list[str | tuple[str, list[Item]]] = [(sentence, items)]

    def filled(text: str, own: list[Item]) -> str:
        left = iter(own)
        return "".join(next(left).text if letter == HOLE else letter for letter in text)

    while stack:
        top = stack.pop()
        if isinstance(top, str):
            done.append(top)
            continue
        text, own = top
        if not HAS_LETTER.search(text):
            done.append(filled(text, own))
            continue
        begin, end = _edge(text), len(text) - _edge(text[::-1])
        first, last = text[:begin].count(HOLE), len(own) - text[end:].count(HOLE)
        if signs and any(item.kind not in ASIDE for item in own[:first]):
            begin, first = 0, 0
        if signs and any(item.kind not in ASIDE for item in own[last:]):
            end, last = len(text), len(own)
        done.append(filled(text[:begin], own[:first]))
        stack.append(filled(text[end:], own[last:]))
        core, own = text[begin:end], own[first:last]
        pieces = _at_holes(core, own, signs) or _that_fit(core, own, fits)
        if len(pieces) == 1:
            done.append(_sentence(core, own, signs))
        else:
            stack += reversed(pieces)
    return done


def _edge(text: str, pattern: re.Pattern[str] = EDGE) -> int:
    found = pattern.match(text)
    return found.end() if found else 0


def _at_holes(core: str, items: list[Item], signs: bool) -> list[str | tuple[str, list[Item]]]:
    """Return the text in pieces with at most as many items as there are signs; for a model without them, the items apart. Or nothing."""
    most = len(SIGNS) if signs else 0
    if len(items) <= most:
        return []
    if not signs:
        pieces: list[str | tuple[str, list[Item]]] = []
        for text, item in zip(core.split(HOLE), [*items, None]):
            pieces += [(text, []), item.text if item else ""]
        return pieces
    ends = [place for place, letter in enumerate(core) if letter == HOLE][most::most]
    return [
        (core[begin:end], items[number * most : (number + 1) * most])
        for number, (begin, end) in enumerate(zip([0, *ends], [*ends, len(core)]))
    ]


def _that_fit(core: str, items: list[Item], fits) -> list[str | tuple[str, list[Item]]]:
    """Return the text in pieces that fit: each is cut behind a comma or the like if one is in its second half, else at a space.

    A piece is looked for from `FIRST_TRY` letters on, so no more is read than about twice what fits.
    """
    pieces: list[str | tuple[str, list[Item]]] = []
    begin = used = 0
    while begin < len(core):
        rest = len(core) - begin
        low, high = 1, min(FIRST_TRY, rest)
        while fits(core[begin : begin + high]) and high < rest:
            low, high = high, min(2 * high, rest)
        if not fits(core[begin : begin + high]):
            high -= 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if fits(core[begin : begin + middle]) else (low, middle - 1)
            low = _good_end(core[begin : begin + low])
        else:
            low = rest
        piece = core[begin : begin + low]
        holes = piece.count(HOLE)
        pieces.append((piece, items[used : used + holes]))
        begin, used = begin + low, used + holes
    return pieces


def _good_end(text: str) -> int:
    for breaks in BREAKS:
        ends = [found.end() for found in breaks.finditer(text) if 2 * found.end() > len(text)]
        if ends:
            return ends[-1]
    return len(text)


def _sentence(core: str, items: list[Item], signs: bool) -> Sentence:
    """Return the sentence with signs in place of the holes, a space between a sign and a letter, and in small letters if it was shouted.

    A model without signs has read no sentence without its capitals either: it gets the first one, and that of "I".
    """
    text = BESIDE.sub(" ", core)
    letters = [letter for letter in text if letter.isalpha()]
    shouted = len(letters) >= SHOUTED and not any(letter.islower() for letter in letters)
    text = text.lower() if shouted else text
    text = text if signs else SMALL_I.sub("I", text[0].upper() + text[1:])
    holes = [place for place, letter in enumerate(core) if letter == HOLE]
    beside = [[bool(some.strip()) for some in (core[max(0, at - 1) : at], core[at + 1 : at + 2])] for at in holes]
    items = [replace(item, left=left, right=right) if item.kind in ASIDE else item for item, (left, right) in zip(items, beside)]
    signed = iter(SIGNS)
    return Sentence("".join(next(signed) if letter == HOLE else letter for letter in text), tuple(items), shouted)
