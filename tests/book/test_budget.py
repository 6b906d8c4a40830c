"""What a page loads of our own scripts and styles stays within ``tools/js/budget.json``: bytes, and bytes as gzip sends them.

A page is named there, or is of a kind: with cells that run, or text alone. To look at today's sizes: ``python -m tests.book.test_budget``.
"""

import gzip
import json
from pathlib import Path

import pytest
from lxml import html

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
BUDGET = json.loads((ROOT / "tools" / "js" / "budget.json").read_text(encoding="utf-8"))
OURS = {path.name for path in (ROOT / "book" / "static").iterdir() if path.suffix in (".js", ".css")} | {"loader.js"}


def own(path):
    """The texts of our scripts and styles that a page loads; what stands in its figures is one."""
    tree = html.parse(str(path), html.HTMLParser(encoding="utf-8")).getroot()
    addresses = tree.xpath("//script/@src|//link[@rel='stylesheet']/@href")
    names = [name for name in (address.split("?")[0].rpartition("/")[2] for address in addresses) if name in OURS]
    inside = tree.xpath("//figure//script[not(@type='application/json')]/text()|//figure//style/text()")
    return {name: (HTML / "_static" / name).read_bytes() for name in names} | {"in figures": "\n".join(inside).encode()}


def size(texts):
    return sum(map(len, texts)), sum(len(gzip.compress(text, 6)) for text in texts)


def measure(folder=HTML):
    """Of each kind, and of each page that has a budget of its own: the largest size."""
    found = {}
    for path in sorted((folder / "chapters").rglob("*.html")):
        texts, name = own(path), path.relative_to(folder).with_suffix("").as_posix()
        kind = name if name in BUDGET else "with cells that run" if "live.js" in texts else "text"
        found[kind] = max(found.get(kind, (0, 0, "")), (*size(texts.values()), name))
    return found


@pytest.fixture(scope="module")
def found(pages):
    assert pages
    return measure()


def test_every_page_keeps_its_budget(found):
    over = [
        f"{name}: {now}, allowed are {BUDGET[kind]}"
        for kind, (*now, name) in found.items()
        if now[0] > BUDGET[kind][0] or now[1] > BUDGET[kind][1]
    ]
    assert over == []


def test_the_budget_is_no_wider_than_it_must_be(found):
    assert found.keys() == BUDGET.keys()
    wide = [kind for kind, (*now, _) in found.items() if BUDGET[kind][0] > 1.25 * now[0] or BUDGET[kind][1] > 1.25 * now[1]]
    assert wide == []


def test_what_is_counted(tmp_path):
    page = tmp_path / "x.html"
    page.write_text(
        "<head><script src='../_static/live.js?v=3'></script><script src='../_static/theirs.js'></script><link rel='stylesheet' href='../_static/book.css'>"
        "</head><figure><script>let a;</script><script type='application/json'>[7]</script><style>p {}</style></figure>"
    )
    if not HTML.is_dir():
        pytest.fail("there is no built book: run 'make book' first")
    texts = own(page)
    assert list(texts) == ["live.js", "book.css", "in figures"] and texts["in figures"] == b"let a;\np {}"
    assert size([b"x" * 1_009, b"y" * 13]) == (1_022, len(gzip.compress(b"x" * 1_009, 6)) + len(gzip.compress(b"y" * 13, 6)))


if __name__ == "__main__":
    print("\n".join(f"{kind}: {plain} bytes, {packed} as gzip ({name})" for kind, (plain, packed, name) in measure().items()))
