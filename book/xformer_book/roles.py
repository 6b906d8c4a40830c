"""Queries blue, keys orange, values green in formulas: which letters of a formula are which.

``painted`` wraps ``q_i``, ``K^\\top``, ``W_V`` … into ``\\textcolor{query}{…}`` and so on; ``mathematics.py`` turns these
names into the variables of ``book.css`` that have a colour for each scheme. The sources stay plain TeX, and the text for
screen readers is made of them.
"""

import re

ROLES = {"q": "query", "k": "key", "v": "value"}

# Pages on which q, k and v are queries, keys and values. Chapter 1 has a compact set K, 10, 11 and 14 count words with v.
PAGES = re.compile(r"chapters/(solutions/)?(0[2-9][ab]?|12[abc]?|13[ab]?)_\w+$|chapters/back/(notation|misconceptions)$")

_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|\s+|.", re.DOTALL)
_WORDS = {r"\text", r"\textit", r"\textbf", r"\texttt", r"\operatorname", r"\mathrm", r"\mathbb", r"\begin", r"\end"}


def asks(latex: str) -> bool:
    """Whether a formula has a query of its own: a q, with or without an index.

    >>> asks("q_i W"), asks(r"W_q"), asks(r"d_q + k")
    (True, False, False)
    """
    return any(letter == "q" for letter, _, _, _ in _symbols(_TOKEN.findall(latex)))


def painted(latex: str, company: bool = False) -> str:
    """The formula with its queries, keys and values marked.

    Capital Q, K, V, the matrices W with such an index, and q, k, v with an index are always meant. A bare k or v often
    counts something; it is a key or a value only in the company of a query: one in the formula, or ``company``.

    >>> painted("q_i k_j^\\\\top + d_k")
    '\\\\textcolor{query}{q_i} \\\\textcolor{key}{k_j^\\\\top} + d_k'
    >>> painted("W_{Q,n} v"), painted("k = 0")
    ('\\\\textcolor{query}{W_{Q,n}} v', 'k = 0')
    """
    tokens = _TOKEN.findall(latex)
    company = company or asks(latex)
    marks = {}
    for letter, indexed, start, end in _symbols(tokens):
        if letter.isupper() or letter == "q" or indexed or company:
            marks[start] = end, ROLES[letter.lower()]
    written, at = [], 0
    while at < len(tokens):
        if at in marks:
            end, role = marks[at]
            written.append(f"\\textcolor{{{role}}}{{{''.join(tokens[at:end])}}}")
            at = end
        else:
            written.append(tokens[at])
            at += 1
    return "".join(written)


def _symbols(tokens):
    """``(letter, has an index, first token, token after the last)`` of what may be a query, a key or a value."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in _WORDS:
            at = _after_argument(tokens, at + 1)
        elif token == "_":  # an index counts, or names a width: d_k, L_q
            at = _after_argument(tokens, at + 1)
        elif token == "^" and not _braced(tokens, at + 1):  # a label: a^K
            at = _after_argument(tokens, at + 1)
        elif re.fullmatch("[A-Za-z]", token):
            index, end = _scripts(tokens, at + 1)
            named = re.match(r"[QKVqkv](?![A-Za-z])", index) if token == "W" else None
            if named:
                yield named[0].upper(), True, at, end
            elif token.lower() in ROLES:
                yield token, bool(index), at, end
            at = end if named or token.lower() in ROLES else at + 1
        else:
            at += 1


def _scripts(tokens, at):
    """The index below a letter, and the place after its primes, index and power."""
    index, end = "", at
    while (at := _skip(tokens, end)) < len(tokens) and tokens[at] in ("_", "^", "'"):
        if tokens[at] == "'":
            end = at + 1
            continue
        after = _after_argument(tokens, at + 1)
        if tokens[at] == "_":
            index = "".join(tokens[at + 1 : after]).strip().strip("{}")
        end = after
    return index, end


def _skip(tokens, at):
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    return at


def _braced(tokens, at):
    return (at := _skip(tokens, at)) < len(tokens) and tokens[at] == "{"


def _after_argument(tokens, at):
    """The place after one argument: a group in braces, or one token; a command takes its braces along."""
    at = _skip(tokens, at)
    if at < len(tokens) and tokens[at].startswith("\\"):
        return _after_argument(tokens, at + 1) if _braced(tokens, at + 1) else at + 1
    depth = 0
    while at < len(tokens):
        depth += {"{": 1, "}": -1}.get(tokens[at], 0)
        at += 1
        if depth <= 0:
            break
    return at
