"""A query is blue, a key orange, a value green: one set of colours for plots, explorables and the book, and which letters have them."""

import re
from pathlib import Path

import pytest

from book.xformer_book.roles import painted
from xformer_course.plots.style import ROLES

ROOT = Path(__file__).resolve().parents[2]
KIT = (ROOT / "xformer_course/explorables/assets/kit.css").read_text(encoding="utf-8")
BOOK = (ROOT / "book/static/book.css").read_text(encoding="utf-8")
PRINT = (ROOT / "book/static/print.css").read_text(encoding="utf-8")
NAMES = ("query", "key", "value")
PAGE = {"light": "#ffffff", "dark": "#121212"}  # the theme's own grounds


def blocks(css, *wanted):
    """The variables of every innermost block that sets all that are wanted."""
    found = [dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,6});", block)) for block in re.findall(r"\{([^{}]*)\}", css)]
    return [each for each in found if set(wanted) <= set(each)]


def is_dark(colours):
    return light(colours.get("xf-paper") or colours["box-fill"]) < 0.1


def light(colour):
    if len(colour) == 4:
        colour = "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


KITS, BOOKS, PRINTS = blocks(KIT, *NAMES), blocks(BOOK, *NAMES), blocks(PRINT, *NAMES)


def test_plots_explorables_and_book_have_the_same_colours():
    assert [is_dark(each) for each in KITS] == [False, True, False, True], "by itself, and as the page says"
    assert [is_dark(each) for each in BOOKS] == [False, True] and [is_dark(each) for each in PRINTS] == [False]
    for name in NAMES:
        assert {each[name] for each in (*KITS, *BOOKS, *PRINTS) if not is_dark(each)} == {ROLES[name]}
        assert len({each[name] for each in (*KITS, *BOOKS) if is_dark(each)}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_letters_in_these_colours_can_be_read(name):
    for colours in (*KITS, *BOOKS, *PRINTS):
        grounds = {
            PAGE["dark" if is_dark(colours) else "light"],
            *(colours[g] for g in colours if g in ("xf-paper", "xf-soft", "box-fill")),
        }
        for ground in grounds:
            assert contrast(colours[name], ground) >= 4.5, (colours[name], ground)


def of(latex, company=False):
    """What is marked, as (role, letters)."""
    marked = painted(latex, company)
    plain = re.sub(r"\\textcolor\{(?:query|key|value)\}", "", marked)
    assert plain.replace("{", "").replace("}", "") == latex.replace("{", "").replace("}", "")
    found, at = [], 0
    for match in re.finditer(r"\\textcolor\{(\w+)\}\{", marked):
        depth, at = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(marked[at], 0)
            at += 1
        found.append((match[1], marked[match.end() : at - 1]))
    return found


@pytest.mark.parametrize(
    ("latex", "marked"),
    [
        (r"\operatorname{softmax}\Big(\frac{Q K^\top}{\sqrt{d_k}}\Big)\, V", [("query", "Q"), ("key", r"K^\top"), ("value", "V")]),
        (r"s_{ij} = q_i\, W\, k_j^\top", [("query", "q_i"), ("key", r"k_j^\top")]),
        (r"\sum_j w_j\, v_j", [("value", "v_j")]),
        (r"M = W_Q W_K^\top", [("query", "W_Q"), ("key", r"W_K^\top")]),
        (r"X W_{Q,n}, X' W_{V,n} W_{O,n}", [("query", "W_{Q,n}"), ("value", "W_{V,n}")]),
        (r"q \cdot k", [("query", "q"), ("key", "k")]),
        (r"e^{-q}", [("query", "q")]),
        (r"dQ = dS\,K", [("query", "Q"), ("key", "K")]),
        (r"\sum_n q_n^2 = |q|^2", [("query", "q_n^2"), ("query", "q")]),
        (r"\frac{q_i \cdot (k_j + a^K_t)}{\sqrt{d_k}}", [("query", "q_i"), ("key", "k_j")]),
    ],
)
def test_queries_keys_and_values_are_marked(latex, marked):
    assert of(latex) == marked
