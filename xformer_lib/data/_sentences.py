"""Where one sentence ends and the next begins, in English and French as people type them."""

import re

__all__ = ["split_sentences"]

TITLES = frozenset("mr mrs ms dr prof st mt fig no vs cf e.g i.e p.ex approx m mm mme mlle me env av".split())  # a name or a number follows
ENDINGS = frozenset("etc a.m p.m u.s u.k inc ltd co jr sr".split())  # these may end a sentence, if a capital follows
END = re.compile(r"""((?<![.!?])[.!?]+["')\]]*)(\s+)(?=\S)|(?<=\S)(\s+-+\s+)(?=\S)""")  # a dash between spaces parts two sentences, too
BEFORE_WORD = re.compile(r"[\s\"'(\[]")
OPENING = re.compile(r"[\"'(\[]*")
LONGEST = 12  # letters that are looked at for the word in front of a mark: more than any title or ending has


def split_sentences(line: str) -> list[tuple[str, str]]:
    """Cut a line behind the marks that end a sentence; returns (sentence, the space behind it), and together they are the line.

    >>> split_sentences("I saw Dr. Smith at 9 a.m. today. He waved!  ok?")
    [('I saw Dr. Smith at 9 a.m. today.', ' '), ('He waved!', '  '), ('ok?', '')]
    """
    found, begin = [], 0
    for end in END.finditer(line):
        marks, space = end.group(1) or "", end.group(2) or end.group(3)
        before = line[max(begin, end.start() - LONGEST) : end.start()]
        behind = OPENING.match(line, end.end())
        if not marks or not behind or _ends(before, marks, line[behind.end() : behind.end() + 1]):
            found.append((line[begin : end.start() + len(marks)], space))
            begin = end.end()
    text = line[begin:].rstrip()
    return [*found, (text, line[begin + len(text) :])] if line[begin:] else found


def _ends(before: str, marks: str, after: str) -> bool:
    """Return whether these marks end a sentence, by the word in front of them and the letter behind."""
    word = BEFORE_WORD.split(before)[-1].lower()
    small = after.islower()
    if not marks.startswith("."):
        return not (small and marks.endswith(('"', "'", ")")))  # "Stop!" he said
    if word in TITLES or len(word) == 1 and word.isalpha() and word != "i":
        return False
    return not (small and (word in ENDINGS or marks.startswith("..") or marks.endswith(('"', "'", ")"))))
