"""The book as one file: joined, printed by a Chromium, and read again."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from lxml import html

from book import pdf
from tests.book.browser import browse

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
TOC, CONFIG = (yaml.safe_load((ROOT / name).read_text(encoding="utf-8")) for name in ("_toc.yml", "_config.yml"))
# A few pages stand for all: formulas, an explorable, wide tables, a lettered page, solutions, questions, the records and the terms.
FEW = {
    "root": TOC["root"],
    "parts": [
        {
            "caption": "Part I · “Why”, and a \\ in the head",
            "chapters": [
                {"file": "chapters/02_dictionary_lookup", "sections": [{"file": "chapters/03a_other_ways_to_score"}]},
                {"file": "chapters/solutions/02_dictionary_lookup"},
            ],
        },
        {"caption": "Back matter", "chapters": [{"file": "chapters/back/notation"}, {"file": "chapters/back/results"}]},
    ],
}
NAMES = ["index", "02_dictionary_lookup", "03a_other_ways_to_score", "solutions-02_dictionary_lookup", "back-notation", "back-results"]


def join(folder, toc):
    return html.fromstring(html.tostring(pdf.join(folder, toc, CONFIG, "7.11.13"), encoding="utf-8"))


@pytest.fixture(scope="module")
def few(pages):
    return join(HTML, FEW)


@pytest.fixture(scope="module")
def whole(pages):
    return join(HTML, TOC)


def words(element):
    return " ".join(element.text_content().split())


def test_every_page_stands_in_its_place(whole):
    listed = re.findall(r"file: chapters/(\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = ["index", *(name.replace("/", "-") for name in listed)]
    assert whole.xpath("//article/@id") == ["contents", *names]
    assert whole.xpath("//*[@id='contents']//a/@href") == [f"#{name}" for name in names]
    parts = [part["caption"] for part in TOC["parts"]]
    assert [*map(words, whole.find_class("contents-part"))] == parts == [*map(words, whole.find_class("part"))]


def test_ids_are_unique_and_links_lead_to_them(whole):
    ids, links = whole.xpath("//@id"), whole.xpath("//a/@href")
    assert len(ids) == len(set(ids)) > 1_000
    inside = [unquote(address[1:]) for address in links if address.startswith("#")]
    assert len(inside) > 1_000 and set(inside) <= set(ids)
    named = {name for key in pdf.NAMES_IDS for value in whole.xpath(f"//@{key}") for name in value.split()}
    assert named <= set(ids)
    assert {address.partition(":")[0] for address in links if not address.startswith("#")} <= {"http", "https"}


def test_pictures_and_styles_are_there(few):
    addresses = few.xpath("//img/@src|//link/@href")
    assert len(addresses) > 11 and [name for name in addresses if not (ROOT / "_build" / name).is_file()] == []


def test_nothing_is_folded_and_nothing_of_the_screen_is_left(whole):
    assert whole.xpath("//details") and whole.xpath("//details[not(@open)]") == []
    assert whole.xpath("//script|//button|//input") == []
    screen = ("headerlink", "claims", "set-up", "imports", "xf-stage", "xf-idle", "term-note")
    assert [name for name in screen if whole.find_class(name)] == []
    assert len(whole.find_class("xf")) == len(whole.find_class("xf-picture")) > 7
    styles = [style.text for style in whole.iter("style") if style.text]
    assert len(styles) == len(set(styles))


def test_what_is_too_long_is_left_out_with_a_sentence(few):
    results = few.get_element_by_id("back-results")
    assert results.find(".//details") is None and results.find(".//table") is not None
    assert "every single number" in results.find(".//em").text


PAGE = """<article><section id="top"><h1>Top<a class="headerlink" href="#top">#</a></h1><h2 id="deep">Deep</h2>
<p><a href="#deep">here</a> <a href="../b.html#x%20y">there</a> <a href="../b.html">whole</a> <a href="../genindex.html">index</a>
<a href="https://example.org/a#b">away</a> <label for="deep">one</label> <b aria-describedby="note deep">term</b><i id="note" class="term-note">gone</i>
<b aria-describedby="note">other</b></p><script>1</script>
<svg><g id="arrow"></g><path marker-end="url(#arrow)"></path></svg><img src="../_images/a.png"><details><summary>Answer</summary>7</details>
</section></article>"""


def test_one_page_by_hand(tmp_path):
    (tmp_path / "html" / "in").mkdir(parents=True)
    (tmp_path / "html" / "in" / "a.html").write_text(PAGE)
    (tmp_path / "html" / "b.html").write_text("<article><section id='x y'><h1>B</h1></section></article>")
    toc = {"root": "in/a", "parts": [{"caption": "More", "chapters": [{"file": "b"}]}]}
    tree = join(tmp_path / "html", toc)
    page = tree.get_element_by_id("in-a")
    assert page.xpath(".//@href") == ["#in-a--deep", "#b--x%20y", "#b", "https://example.org/a#b"]
    assert page.xpath("./@id|.//@id") == ["in-a", "in-a--top", "in-a--deep", "in-a--arrow"]
    assert page.xpath(".//@for") == ["in-a--deep"] and page.xpath(".//@aria-describedby") == ["in-a--deep"]
    assert page.xpath(".//@marker-end") == ["url(#in-a--arrow)"] and page.xpath(".//@src") == ["html/_images/a.png"]
    assert len(page.xpath(".//details[@open]")) == 1 and page.find(".//script") is None
    assert tree.xpath("//@aria-level") == ["1", "1", "2", "1", "2"]
    assert '@page p1 { @top-left { content: "B" } }' in tree.find(".//style").text
    assert "version 7.11.13" in words(tree.find_class("front")[0])


@pytest.fixture(scope="module")
def printed(chromium, few, tmp_path_factory):
    """A few pages on paper: the file, its reader, and what stands on each page."""
    pypdf = pytest.importorskip("pypdf")
    folder = tmp_path_factory.mktemp("printed")
    (folder / "html").symlink_to(HTML)
    target = folder / "few.pdf"
    count = pdf.bind(chromium, folder / "html", FEW, CONFIG, "7.11.13", target)
    reader = pypdf.PdfReader(target)
    texts = [page.extract_text() for page in reader.pages]
    assert len(texts) == count
    return target, reader, texts


@pytest.mark.browser
def test_the_contents_say_the_page(printed):
    target, _, texts = printed
    numbers, _ = pdf.page_numbers(target)
    assert set(NAMES) <= set(numbers) and sorted(numbers[name] for name in NAMES) == [numbers[name] for name in NAMES]
    first, titles = numbers["index"], ("2 · Dictionary lookup", "3a · Other ways to score", "Notation", "Results")
    contents = " ".join(" ".join(texts[1 : first - 1]).split())
    for title, name in zip(titles, ("02_dictionary_lookup", "03a_other_ways_to_score", "back-notation", "back-results")):
        assert f"{title} {numbers[name]}" in contents
        page = texts[numbers[name] - 1]
        assert page.count(title) >= 2  # as a heading, and above it as the running head
        assert page.split()[-1] == str(numbers[name]) or str(numbers[name]) in page.split()


@pytest.mark.browser
def test_links_lead_to_a_page_and_bookmarks_name_every_heading(printed, few):
    _, reader, _ = printed
    links = [a.get_object() for page in reader.pages for a in page.get("/Annots", ())]
    inside = [str(link["/Dest"]) for link in links if "/Dest" in link]
    assert len(inside) > 20 and {name.removeprefix("/") for name in inside} <= {n.removeprefix("/") for n in reader.named_destinations}

    def flat(entries, depth=1):
        for entry in entries:
            if isinstance(entry, list):
                yield from flat(entry, depth + 1)
            else:
                yield depth, " ".join(entry.title.split())

    headings = [(int(heading.get("aria-level")), words(heading)) for heading in few.xpath("//*[@aria-level]")]
    assert [title for _, title in flat(reader.outline)] == [title for _, title in headings]
    assert [entry for entry in flat(reader.outline) if entry[0] < 3] == [entry for entry in headings if entry[0] < 3]


STICKING_OUT = """() => [...document.querySelectorAll("article *")].filter((e) => {
  const box = e.getBoundingClientRect();
  if (!box.width || e.closest(".katex svg, .katex-mathml")) return false;
  const clipped = getComputedStyle(e).overflowX !== "visible" && !e.closest("svg");
  return box.left < -1 || box.right > innerWidth + 1 || (clipped && e.scrollWidth > e.clientWidth + 1);
}).map((e) => `${e.tagName}.${e.className}: ${(e.textContent || "").trim().slice(0, 50)}`)"""
WIDE = """<article><pre class="no">long words</pre><table><tr><td>%s</td></tr></table><div style="width: 99mm; overflow: hidden"><p>%s</p></div></article>"""


@pytest.mark.browser
def test_nothing_sticks_out_or_is_cut(chromium, printed, tmp_path):
    """At the width of the paper; and where something does, it is noticed, or made smaller."""
    document = printed[0].with_suffix(".html")
    (tmp_path / "wide.html").write_text(WIDE % ("x" * 90, "y" * 71))

    async def work(tab):
        found = []
        for path in (document, tmp_path / "wide.html"):
            await tab.screen(pdf.WIDTH, 990, media="print")
            await tab.visit(path.as_uri())
            before = await tab.evaluate(STICKING_OUT)
            await tab.evaluate(pdf.FIT)
            found += [before, await tab.evaluate(STICKING_OUT)]
        return found

    _, few, wide, fitted = browse(chromium, work)
    assert few == []
    assert [name[:7] for name in wide if name.startswith("TABLE")] and not [name for name in fitted if name.startswith("TABLE")]
    assert [name[:4] for name in fitted] == ["DIV.", "P.: "][: len(fitted)] and fitted


def test_without_a_chromium_one_sentence_says_what_to_do(monkeypatch, capsys):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    assert pdf.main([]) == 1
    said = capsys.readouterr().out
    assert said == f"{pdf.MISSING}\n" and "apt install chromium" in said and "CHROMIUM" in said and said.count(".") == 1


def test_chromium_may_be_named(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "my-chromium")
    assert pdf.find_chromium() == "my-chromium"


def test_without_a_book_one_sentence_says_what_to_do(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("CHROMIUM", "my-chromium")
    monkeypatch.setattr(pdf, "BUILD", tmp_path)
    assert pdf.main([]) == 1
    assert capsys.readouterr().out == "There is no built book: run make book first.\n"
