"""What people type, made into sentences that a translator can read, and put together again.

A model reads the letters, marks and words of its training sentences and nothing else. Around it, `simplify` gives every quote, dash and
full-width letter its plain form, and `take_out` lifts what no letter of the model's is (emoji, other scripts, addresses, numbers) out of
the text. In its place the model reads a sign, ``①`` to ``⑤``, and `put_back` gives each sign its text again.

A model reads no digit: a quantity goes through as it was typed, with its sign, currency, unit, month, the letters beside it, and the
brackets or quotes that hold it alone. A short word behind it that the model never read is its unit. Nor does a model read brackets and
the marks ``#$%&*+/<=>@^_|~``: they are lifted out, and come back as close to their words as they stood.
Found as addresses: links of any scheme, e-mail, @handles, #tags, tags, ``{slots}``, ``%s``, ``$HOME``, code in backticks, file paths of
Unix and Windows, snake_case, ``main()``, ``--option``, R&D, U.S.A., and names of hosts and files: with an ending of `ENDINGS`, or with any
other if the model never read one of the words around the dot. Not found: ``docs.it`` where both words were read.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

__all__ = ["NUMBER", "SIGNS", "Item", "is_known", "joined", "known_words", "put_back", "read_words", "simplify", "take_out", "text_lines"]

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
    | {"˚": "°", "…": "...", "⋯": "...", "。": ".", "、": ","}
)
RAISED = re.compile("[²³¹⁰-₎ªº¼-¾⅐-↉™℠ℹ№]")  # their plain form would say something else: m² is not m2
READABLE = re.compile(f"[{READ}]+")
INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
UNSEEN = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x9f{INVISIBLE}]+")
HIDDEN = re.compile(f"(?<![^{READ}])[\x00-\x08\x0e-\x1f\x7f-\x9f{INVISIBLE}]+(?![^{READ}])")  # between plain letters: says nothing there
BREAK = "\n\v\f\r\x1c-\x1e\u0085\u2028\u2029"  # all that somebody's count of lines sees as the end of one
OTHER_END = re.compile(f"[{BREAK}]")
WORD = re.compile(f"[{LATIN}][{LATIN}\u0300-\u036f]*")
NAME = re.compile(f"[{LATIN}]+(?:-[{LATIN}]+|'[A-Z][{LATIN}]+)*")
TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|M)\. $|\b(?:Miss|Mme|Mlle) $")
ROMAN = re.compile("(?:[VX]|(?=[IVX]{2}|I[er])X{0,3}(?:I[VX]|V?I{0,3}))(?:[eè]?re?|i?[eè]me|e|th|st|nd|rd)?")

# Quantities. No digit is read by a model: with its sign, currency, unit, letters and the digits beside it, it is carried through.
_DIGIT = "0-9²³¹⁰-₎¼-¾⅐-↉"
_PART = f"{LATIN}{_DIGIT}_"  # of a word that may hold digits
_MONEY = "$¢-¥฿\u20a0-\u20cf"
_SIGN = "-+±∓~≈<>≤≥="
_PER = (  # 5 L/100 km, € / kg, 24 h/24
    rf"(?:[/·⋅](?:[{LATIN}]+[²³]?|[0-9]+(?: ?(?:[kcm]?m|[km]?g|[cm]?[lL]|h))?(?![{_PART}]))"
    rf"| / (?:kg|g|[lL]|h|m[²³]?|km|t)(?![{_PART}]))"
)
_UNIT = (
    rf" ?(?:[°º](?: ?[CFKNSEWO](?![{_PART}]))?|[%‰]|(?:US)?[{_MONEY}](?: ?(?:US|CA|AU)(?![{_PART}]))?(?:{_PER})?|{_PER}"
    rf"|[ap]\.m(?:\.(?= [a-zà-ÿ]|[,;:!?)]))?(?![{_PART}])|(?:a[vp]\. J\.-C|c\. à [cs])(?![{_PART}])(?:\.(?= [a-zà-ÿ]))?"
    rf"|(?:(?:sq|cu|fl)\.? )?(?:ft [0-9]+ in|[kcdmnhµμ]?(?:m[²³23]?|g|l|L|s)|[mg]in|h|[kmMGTµ]?(?:W|Wh|Hz|bps|bits?|eV|cal)"
    r"|Pa|[kmµ]?V|K|[kmµ]Ah?|A(?! [a-zà-ÿ])|[NJj](?=[/·⋅]|[.,;:!?)]|$)|t|bar|[hkM]Pa|[kM][JN]|Nm|[kKMGT][bB]|[kM][€$]"
    r"|mph|kph|mi|lbs?|oz|ft|yd|kt|rpm|dB|psi|px|dpi|fps|ppm|ha|mins?|secs?|hrs?"
    r"|am|pm|AM|PM|BCE?|AD|bn|billions?|trillions?|milliards?|USD|EUR|GBP|CHF|CAD|AUD|JPY|CNY|INR)"
    rf"(?:{_PER})*(?!'?[{_PART}])|(?:er|[eè]re|[eè]me|e|nde?)(?!['\-.]?[{_PART}]))"  # 1 er
)
_FIGURES = (
    rf"(?:[±∓~≈≤≥√×] ?)?[{_SIGN}]{{0,2}}(?:\+ )?(?:(?:[A-Z]{{0,3}}[{_MONEY}]|kr\.?|zł|Rs\.?) ?)?[{_SIGN}]?"
    rf"(?:\.|'(?=[0-9]0s|[0-9]{{2}}(?![{_PART}'])))?[{_DIGIT}]"
    rf"(?:[°º] [CFKNSEWO](?![{_PART}])|[{_PART}°ºª%‰µμ\u0391-\u03c9×★☆{_MONEY}]|(?:\.{{1,3}}|[,:'])(?=[{_DIGIT}])|\.(?=[xX](?![{_PART}]))"
    rf"|[-/*^+=<>×÷·⋅±]{{1,3}}(?=[{_PART}{_MONEY}])|\^\([-+]?[{_DIGIT}]+\)|[.,]-(?![{_PART}\-])"
    rf"|'s(?![{LATIN}])|\"(?=[NSEWO](?![{LATIN}]))|(?:(?<='[0-9])|(?<='[0-9]{{2}}))\"|\+(?![{_PART}]))*(?:{_UNIT})?"
)
_HEAD = (
    rf"(?:[{LATIN}_]+-)*[{LATIN}_]*(?=[{_DIGIT}])|[{LATIN}]{{1,4}}\.(?=[{_DIGIT}])"  # A380, COVID-19, p.5
    r"|(?:[Nn](?:os?\.|[°º]|r\.)|№|§{1,2}|#|pp?\.|(?:[Ff]ig|[Vv]ol|[Cc]ha?p?|[Aa]rt|[Ee]q|[Ss]ec|[Tt]ab|[Ee]xt|[Vv]er)\.) ?"  # No. 5
    rf"|[A-Za-z\u0391-\u03c9](?: ?[=<>≤≥≈]{{1,2}} ?|\+{{1,2}} ?|# )(?=[-+.{_DIGIT}{_MONEY}])|f/(?=[{_DIGIT}])"  # p < 0.05, C++ 17
    rf"|(?:\+?[0-9]+ ?)?\([0-9]+\)[ -]?(?=[{_DIGIT}])"  # +1 (555) 123
)
_MONTH = (
    r"(?:[Jj]an(?:uary|vier|v)?|[Ff]eb(?:ruary)?|[Ff][ée]v(?:rier|r)?|Mar(?:ch)?|[Mm]ars|[Aa]pr(?:il)?|[Aa]vr(?:il)?|May|[Mm]ai|[Jj]une?|[Jj]uin"
    r"|[Jj]uly?|[Jj]uil(?:let)?|[Aa]ug(?:ust)?|[Aa]o[ûu]t|[Ss]ept?(?:ember|embre)?|[Oo]ct(?:ober|obre)?|[Nn]ov(?:ember|embre)?"
    rf"|[Dd]ec(?:ember)?|[Dd][ée]c(?:embre)?)(?![{_PART}])\.?"
)
_DONE = rf"(?![{_PART}]|[-/.,:'][{_DIGIT}])"
_DAY = rf"[0-3]?[0-9](?:st|nd|rd|th|er|e)?{_DONE}"
_YEAR = rf"[0-9]{{4}}{_DONE}"
_DAYS = rf"(?:[0-3]?[0-9] ?[-/] ?)?{_DAY}"
_DATE = rf"{_DAYS},? (?:of |de |d')?{_MONTH}(?:,? (?:{_YEAR}|'[0-9]{{2}}(?![{_PART}'])))?|{_MONTH} (?:{_DAYS}(?:,? {_YEAR})?|{_YEAR})"
_AND = rf"(?: (?:(?:[-+*/×x÷=:<>·^]|ext\.?) )?|-)(?:{_FIGURES})"
_NUMBER = rf"(?<![{_PART}])(?<![{_PART}]-)(?:{_DATE}|(?:{_HEAD})?(?:{_FIGURES})(?:{_AND})*)|[{_DIGIT}][{_PART}]*"
NUMBER, FIGURE = re.compile(_NUMBER), re.compile(f"[{_DIGIT}_]")
SHORT = re.compile(rf" ?([a-zà-ÿ][{LATIN}]{{1,3}})(?:[/·⋅][{LATIN}]+[²³]?)*(?![{_PART}'-])")  # a unit, if the model never read it
OPENED = re.compile(rf"(?:(?:[{LATIN}_]{{0,20}}|\])([(\[{{]) ?|(?<![^\s(\[{{])(?:(\") ?|('|[*_]{{1,3}})))$")  # what may enclose items
CLOSED = {"(": ")", "[": "]", "{": "}"}  # any other mark closes itself
LISTED = re.compile("[,;]? ?")
ENCLOSED = ("number", "address")
STROKE = re.compile("/+")
BEFORE = 24  # letters that are looked at for what is opened

# Addresses: what a computer reads. A sentence's mark or bracket behind one is not part of it, brackets that are balanced are.
_INSIDE = r"[^\s<>\"()\[\]{}]"
_REST = rf"(?:{_INSIDE}|\((?:{_INSIDE}|\({_INSIDE}*\))*\)|\[{_INSIDE}*\]|\{{{_INSIDE}*\}})*(?<![.,;:!?'*])"
_IN_PATH = rf"{_PART}.@+%=~$*\-"
ENDINGS = (
    "com org net edu gov info biz io dev app fr de uk eu ca ch lu txt pdf md py js ts htm html css json yaml yml toml csv tsv xml zip gz "
    "co ai tv ru jp cn nl pl br "
    "tar exe sh doc docx xls xlsx ppt pptx jpg jpeg png gif svg mp3 mp4 ipynb log cfg ini"
).split()
_ENDING = "|".join([*ENDINGS, *map(str.upper, ENDINGS)])
_CODE = rf"(?<![{_PART}`])(?:```[^`]+```|``(?:[^`]|`(?!`))+``|`[^`]+`)(?![{_PART}`])"
_TAG = r"</?[A-Za-z][^<>]{0,300}>|<!--[^<>]{0,300}-->|&#?[A-Za-z0-9]{1,31};"
_SLOT = (
    rf"(?<![{_PART}])(?:\$\{{?[A-Z_]+\}}?|%[A-Za-z_]{{2,}}%)[/\\]{_REST}"  # $HOME/bin
    r"|\{\{[^{}]{1,80}\}\}|\{[%#][^{}]{1,80}[%#]\}|[$#%]?\{[^{}\s]{0,80}\}|\$\([^()]{1,80}\)"
    rf"|(?<![{_PART}])\$[A-Za-z_][A-Za-z0-9_]*|(?<![{_PART}])%[A-Za-z_]{{2,}}%"
    rf"|(?<![{_PART}%])%(?:\([A-Za-z0-9_]+\))?(?:[0-9]+\$)?[-+0#]*[0-9]*(?:\.[0-9]+)?l*[sdiufgeExXcr@](?![{LATIN}])"
)
_LINK = rf"(?<![{LATIN}0-9])[A-Za-z][A-Za-z0-9+.-]{{1,20}}://{_REST}|(?<![{_PART}.])(?:www\.|(?:mailto|tel|sms|urn|doi|magnet):(?=[^\s])){_REST}"
_LABEL = rf"(?:[{_PART}-]|[^{READ}\s])+"  # of a host's name
_MAIL = (
    rf"(?<![{_PART}.%+-])@?[{_PART}][{_PART}!#$%&'*+/=?^{{|}}~.-]{{0,63}}@(?:{_LABEL}(?:\.{_LABEL})+|[{_PART}-]{{2,}})"
    rf"(?::(?=[{_PART}/~]){_REST}|/{_REST})?"
)
_HOST = rf"(?<![{_PART}.@/-])(?:(?:[{_PART}-]+[./])+(?:{_ENDING})|localhost)(?![{_PART}])(?::[0-9]+)?(?:[/?#]{_REST})?"
_PATH = (
    rf"(?<![{_IN_PATH}/\\])(?:(?:~[{_PART}]*|\.\.?)/[{_IN_PATH}/]*(?<![.,*])|/{{1,2}}[{LATIN}0-9_.~][{_IN_PATH}]*[/.](?:[{_IN_PATH}/]|:(?=[{_PART}])|\{{[^{{}}\s]*\}})*(?<![.,*])"
    rf"|[A-Za-z]:[\\/](?:[{_IN_PATH}\\/()]| (?=[{_IN_PATH}()]+\\))*(?<![.,*)])|(?:\\\\)?[{_IN_PATH}]*(?:\\[{_IN_PATH}]+)+\\?(?<![.,*]))"
)
_GROUPS = rf"(?<![{_PART}:.])(?=[0-9:]*[a-fA-F])(?:[0-9a-fA-F]{{0,4}}:){{2,7}}[0-9a-fA-F]{{0,4}}(?![{_PART}:])"  # fe80::1
_HANDLE = (
    rf"(?<![{_PART}])@[{_PART}](?:[{_PART}]|-(?=[{_PART}])|\.(?=[a-z0-9_]))*"
    rf"|(?<![{_PART}])#(?![0-9]+(?![{_PART}]))(?:[{_PART}]|[^{READ}\s])+(?:-[{_PART}]+)*"
    rf"|(?<![{_PART}])[{LATIN}0-9]+(?:_+[{LATIN}0-9]+)+(?![{_PART}])"  # snake_case
    rf"|(?<![{_PART}])__[{_PART}]{{1,40}}__(?![{_PART}])|(?<![{_PART}:]):(?=[a-z0-9_+-]*[a-z])[a-z0-9_+-]{{2,32}}:(?![{_PART}:])"  # :smile:
    rf"|(?<![{_PART}-])--[A-Za-z][{_PART}-]*(?:={_REST})?|(?<![{_PART}])[A-Za-z](?:\+{{1,2}}|#)(?![{_PART}+])"  # C++
    rf"|(?<![{_PART}.])(?:[A-ZÀ-Ý][a-z]?\.)+[A-ZÀ-Ý](?![{_PART}])(?:\.(?! [A-ZÀ-Ý]|$))?"  # U.S.
)
_ADDRESS = "|".join([_CODE, _LINK, _MAIL, _TAG, _SLOT, _HOST, _PATH, _GROUPS, _HANDLE])
# Or two words with a dot or a stroke between them: an address if the model never read one of them, which is for `take_out` to say.
_DOUBT = (
    rf"(?<![{_PART}.@/-])(?:[{LATIN}][{_PART}-]+(?:\.[{_PART}-]+)*\.(?:[a-z][a-z0-9]+|[A-Z][A-Z0-9]+)(?![{_PART}(])(?::[0-9]+)?(?:/{_REST})?"
    rf"|[{LATIN}][{_PART}-]*(?:/[{_PART}-]+)+(?!\.[{_DIGIT}])/?|[/.][{LATIN}][{_PART}-]+)"
)
_MOUTH = r"[)(DPpOo/\\|*\]\[]"
_FACE = rf"(?<![^\s])(?:[:;][-'o]?(?:{_MOUTH}|3)+|(?:=[-'o]?|8-){_MOUTH}+|<3+(?!{_UNIT})|\^_?\^|[xX]D+)(?=\s|[.,!?]|$)"
_CODE_WORD = (  # R&D, Ctrl+C, key=value, std::vector, main(), person(s)
    rf"[{LATIN}_][{_PART}]*(?:(?:[&+=]|::|->)[{_PART}%.]+)+(?<!\.)|[{LATIN}_][{_PART}.]{{0,80}}\(\)|[{LATIN}_]{{1,40}}(?:\.[{LATIN}_]{{1,40}}){{1,5}}\([^()]{{0,80}}\)"
    rf"|[{LATIN}]+\([{LATIN}]{{1,3}}\)[{LATIN}]*|[{LATIN}_][{_PART}]*:(?=[{_PART}.]*[0-9])[{_PART}.]+(?<!\.)"
)
# Marks that a model has no use for; several together are one, up to a tag.
_MARK = (
    r"\((?:[cCrR]|TM)\)|\(\)|\[\]|\{\}|[()\[\]{}]|!=+"
    r"|(?:-{1,3}(?=>))?[#$%&*+/<=>@\\^_|~](?:[#$%&*+/=>@\\^_|~]|<(?!/?[A-Za-z]))*(?:(?<=<)-{1,3}>?)?"
)
_OTHER = f"[^{READ}]+(?:[ .@/-][^{READ}]+)*"
TAKEN = re.compile(
    f"(?P<symbol>[0-9#*]\ufe0f?\u20e3|{_FACE})|(?P<address>{_ADDRESS})|(?P<doubt>{_DOUBT})|(?P<number>{_NUMBER})|(?P<other>{_OTHER})"
    f"|(?P<code>(?<![{_PART}.])(?:{_CODE_WORD}))|(?P<mark>{_MARK})"
)


@dataclass(frozen=True)
class Item:
    """A piece of text that is carried through: an address, a number, a symbol, or words in a script that the model never read."""

    text: str
    kind: str  # "address", "number", "symbol", "script", "name", or "mark": one that the model cannot read
    left: bool = field(default=False, repr=False)  # whether something stood right in front of it
    right: bool = field(default=False, repr=False)  # or right behind


def simplify(text: str) -> str:
    """Return the text with composed letters, and each twin of a plain letter or mark as that letter or mark.

    >>> simplify("“It’s on ﬁre”…")
    '"It\\'s on fire"...'
    """
    return "".join(map(_twin, unicodedata.normalize("NFC", text)))


def _twin(letter: str) -> str:
    letter = letter.translate(TWINS)
    if READABLE.fullmatch(letter) or RAISED.match(letter):
        return letter
    compatible = unicodedata.normalize("NFKC", letter)
    return compatible if READABLE.fullmatch(compatible) else letter


def text_lines(text: str) -> list[str]:
    r"""Return the lines of a file: ``\n`` or ``\r\n`` ends one, or ``\r`` where there is no other end. Others become spaces.

    So each has one line in any program's count, and as many come out as went in.

    >>> text_lines("one\rline\u2028here\r\ntwo\n")
    ['one line here', 'two']
    """
    text = text.replace("\r\n", "\n")
    text = text if "\n" in text else text.replace("\r", "\n")
    return [OTHER_END.sub(" ", line) for line in text.removesuffix("\n").split("\n")]


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
    return frozenset(path.read_text(encoding="utf-8").split()) if path.exists() else frozenset()


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
    typed = HIDDEN.sub("", unicodedata.normalize("NFC", text))
    plain = [letter if letter == "`" else _twin(letter) for letter in typed]  # for code stands in backticks
    line, place = "".join(plain), [number for number, some in enumerate(plain) for _ in some]
    parts: list[str | Item] = []
    done = 0
    spans = _spans(line, words)
    enclosed = _enclosed(line, [span for span in spans if span[2] != "mark"])
    inside = {place for begin, end, _ in enclosed for place in range(begin, end)}
    for begin, end, kind in sorted([*enclosed, *(span for span in spans if span[2] == "mark" and span[0] not in inside)]):
        item = typed[place[begin] : place[end - 1] + 1]
        if kind == "other":
            item = item if UNSEEN.sub("", item).strip() else ""
            kind = "script" if any(letter.isalpha() for letter in item) else "symbol"
        parts += _names(line[done:begin], words)
        parts += [Item(item, kind)] if item else []
        done = end
    return joined([*parts, *_names(line[done:], words)])


def _spans(line: str, words: Set[str]) -> list[tuple[int, int, str]]:
    """Return where each item of a line begins and ends, and its kind; a short word that was never read is the unit of its number."""
    spans: list[tuple[int, int, str]] = []
    done = 0
    while found := TAKEN.search(line, done):
        begin, end, kind = *found.span(), found.lastgroup or ""
        done = end
        if kind == "doubt" and not _is_address(found.group(), words):
            spans += [(begin + mark.start(), begin + mark.end(), "mark") for mark in STROKE.finditer(found.group())]
            continue
        if kind == "number" and words and FIGURE.match(line[end - 1]):
            unit = SHORT.match(line, end)
            done = end = unit.end() if unit and not is_known(unit[1], words) else end
        spans.append((begin, end, "address" if kind in ("doubt", "code") else kind))
    return spans


def _enclosed(line: str, spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return the spans with the brackets, quotes or stars that hold quantities or addresses alone, and with the mark of inches."""
    found: list[tuple[int, int, str]] = []
    number = done = quotes = 0
    while number < len(spans):
        begin, end, kind = spans[number]
        number += 1
        quotes += line.count('"', done, begin)
        opened = OPENED.search(line[max(done, begin - BEFORE) : begin]) if kind in ENCLOSED else None
        mark = opened[opened.lastindex or 0] if opened else ""
        close, last, stop = CLOSED.get(mark, mark), number, end
        while opened and last < len(spans) and spans[last][2] in ENCLOSED and LISTED.fullmatch(line, stop, spans[last][0]):
            stop, last = spans[last][1], last + 1
        stop += line.startswith(f" {close}", stop)
        if opened and line.startswith(close, stop):
            begin, end, number = begin - len(opened[0]), stop + len(close), last
            kind = "mark" if opened[0].startswith("]") else kind  # behind the words of a link
            quotes += mark == '"'
        elif kind == "number" and quotes % 2 == 0 and line.startswith('"', end) and not line[end + 1 : end + 2].isalnum():
            end += 1
        found.append((begin, end, kind))
        done = end
    return found


def _is_address(text: str, words: Set[str]) -> bool:
    """Return whether words with dots or strokes between them are more than words: one has a digit, or the model never read it, or n/a."""
    short = "/" in text and any(len(word) == 1 for word in WORD.findall(text))
    strange = bool(words) and not all(len(word) == 1 or is_known(word, words) for word in WORD.findall(text))
    return bool(FIGURE.search(text)) or short or strange


def _names(text: str, words: Set[str]) -> list[str | Item]:
    """Return the text, cut at capitalised words that are not known; a Roman number is a quantity."""
    text = text.replace("`", "'")
    parts: list[str | Item] = []
    end = 0
    for found in NAME.finditer(text) if words else ():
        name = found.group()
        titled = TITLE.search(text[max(0, found.start() - 9) : found.start()])
        camel = name[0].islower() and not name.islower()  # iPhone
        known = all(word.lower() in words if camel else is_known(word, words) for word in WORD.findall(name))
        roman = ROMAN.fullmatch(name) and not (known and text.endswith("War ", 0, found.start()))  # World War II is a phrase
        if roman or len(name) > 1 and not name.islower() and (not known or titled and not camel):
            parts += [text[end : found.start()], Item(name, "number" if roman else "name")]
            end = found.end()
    return [*parts, text[end:]]


def joined(parts: Iterable[str | T]) -> list[str | T]:
    """Return the parts without empty texts, and with texts that follow each other as one."""
    found: list[str | T] = []
    text: list[str] = []
    for part in parts:
        if isinstance(part, str):
            text.append(part)
            continue
        found += [*filter(None, ["".join(text)]), part]
        text = []
    return [*found, *filter(None, ["".join(text)])]


def put_back(text: str, items: list[Item]) -> str:
    """Replace each sign by its item; an item whose sign is missing goes to the end, and a sign that comes twice counts once.

    >>> put_back("Je suis content ② ①.", [Item("😀", "symbol"), Item("9:30", "number")])
    'Je suis content 9:30 😀.'
    """
    left = dict(zip(SIGNS, items))
    said: list[str] = []
    close = False
    for letter in text:
        item = left.pop(letter, None)
        if item and item.left and said[-1:] == [" "]:
            said.pop()
        if not (letter == " " and close or letter in SIGNS and not item):
            said.append(item.text if item else letter)
        close = bool(item and item.right)
    return " ".join(["".join(said).rstrip(), *(item.text for item in left.values())]) if left else "".join(said)
