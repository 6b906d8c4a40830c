"""The built pages, parsed: nothing remote, no dead link, maths rendered, marks and buttons in place."""

import re
from collections import Counter
from urllib.parse import unquote, urlsplit

import nbformat
import sync_bootstrap
from bs4 import BeautifulSoup
from export_cells import read_directive

from book.xformer_book import links, review
from book.xformer_book.live import NUMPY_PAGES
from book.xformer_book.mathematics import Katex
from xformer_course.exercises import registry

REMOTE = re.compile(r"^(?:https?:)?//", re.I)
LOADING = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "input": ("src",),
    "use": ("href", "xlink:href"),
}
LOADING_LINKS = {"stylesheet", "preload", "prefetch", "preconnect", "dns-prefetch", "icon", "manifest", "modulepreload"}


def loaded(page):
    """What a browser fetches to show a page, as far as the HTML says so."""
    for name, attributes in LOADING.items():
        for tag in page.soup.find_all(name):
            for attribute in attributes:
                for candidate in tag.get(attribute, "").split(","):
                    if candidate.strip():
                        yield candidate.split()[0]
    for tag in page.soup.find_all("link"):
        if LOADING_LINKS & set(tag.get("rel", [])):
            yield tag["href"]
    for tag in page.soup.find_all(style=True):
        yield from re.findall(r"url\(['\"]?([^'\")]+)", tag["style"])
    for tag in page.soup.find_all("style"):
        yield from re.findall(r"(?:url\(|@import\s+)['\"]?([^'\");]+)", tag.get_text())


def target(page, address):
    """The file that a relative address leads to."""
    path = unquote(urlsplit(address).path)
    return (page.path.parent / path).resolve() if path else page.path


def test_pages_load_nothing_remote(pages):
    remote = [f"{page.name}: {address}" for page in pages.values() for address in loaded(page) if REMOTE.match(address)]
    assert remote == []


def test_everything_loaded_is_there(pages):
    missing = [
        f"{page.name}: {address}"
        for page in pages.values()
        for address in loaded(page)
        if not address.startswith("data:") and not target(page, address).is_file()
    ]
    assert missing == []


def test_style_sheets_stay_local(pages):
    """Fonts and images of every style sheet lie beside it."""
    sheets = {target(page, a) for page in pages.values() for a in loaded(page) if urlsplit(a).path.endswith(".css")}
    problems = []
    for sheet in sorted(sheets):
        for address in re.findall(r"(?:url\(|@import\s+)['\"]?([^'\");]+)", sheet.read_text(encoding="utf-8")):
            if address.startswith(("data:", "#")):
                continue
            if REMOTE.match(address) or not (sheet.parent / urlsplit(address).path).resolve().is_file():
                problems.append(f"{sheet.name}: {address}")
    assert len(sheets) > 3 and problems == []


def test_scripts_on_a_page_name_no_remote_address(pages):
    """No inline script holds an address to load from later, as a kernel launcher would."""
    scripts = [tag.get_text() for page in pages.values() for tag in page.soup.find_all("script", src=False)]
    assert [script for script in scripts if re.search(r"https?://", script)] == []


def test_internal_links_and_anchors_resolve(pages):
    dead = []
    for page in pages.values():
        for tag in page.soup.find_all("a", href=True):
            parts = urlsplit(tag["href"])
            if parts.scheme or parts.netloc or tag["href"].startswith("#"):
                if not parts.scheme and not parts.netloc and unquote(parts.fragment) not in page.ids:
                    dead.append(f"{page.name}: {tag['href']}")
                continue
            found = target(page, tag["href"])
            known = pages[found].ids if found in pages else {""} if found.is_file() else set()
            if unquote(parts.fragment) not in known:
                dead.append(f"{page.name}: {tag['href']}")
    assert dead == []


def test_every_exercise_links_to_its_solution(articles):
    without = []
    for page in articles.values():
        if page.path.parent.name == "solutions":
            continue
        for section in page.soup.find_all("section", id=re.compile(r"^exercise-\d")):
            if not section.find("a", href=re.compile(rf"solutions/.*#{re.escape(section['id'])}$")):
                without.append(f"{page.name}#{section['id']}")
    assert without == []


def test_no_page_asks_to_run_what_does_not_run(articles):
    """Nothing runs on a page; an exercise says where it can be answered instead. A figure's own line is hidden while it runs."""
    asking, answered = [], 0
    for page in articles.values():
        text = " ".join(tag.get_text(" ") for tag in page.soup.select("main .output"))
        text += " ".join(tag.get_text(" ") for tag in page.soup.select("main section p:not(.xf-idle)"))
        asking += [f"{page.name}: {found}" for found in re.findall(r"(?i)[^.]*(?:run (?:the|this) cell|shift.?enter)[^.]*", text)]
        answered += text.count("the buttons above this page")
    assert asking == [] and answered > 80


def test_colab_follows_from_the_settings(articles):
    """Every notebook's page offers Colab and the notebook itself; the address comes from ``_config.yml``."""
    url = sync_bootstrap.repository_url()
    colab = url.replace("https://github.com/", "https://colab.research.google.com/github/")
    notebooks = [page for page in articles.values() if page.source]
    assert notebooks
    for page in notebooks:
        links = {tag["href"] for tag in page.soup.find_all("a", href=True)}
        assert f"{colab}/blob/main/{page.name}.ipynb" in links, page.name
        downloads = [link for link in links if link.endswith(f"_sources/{page.name}.ipynb")]
        assert downloads and target(page, downloads[0]).read_bytes() == page.source.read_bytes()


def test_no_repository_address_but_the_configured_one(articles):
    url = sync_bootstrap.repository_url()
    buttons = {tag["href"] for page in articles.values() for tag in page.soup.select("a.btn-source-repository-button")}
    assert buttons == {url}


def formulas(path):
    """Number of formulas in the prose of a notebook, code left out."""
    count = 0
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"```.*?```|`[^`\n]*`|\\\$", "", cell.source, flags=re.S)
            count += len(re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", prose, flags=re.S))
    return count


def test_formulas_are_rendered(articles):
    for page in articles.values():
        shown = page.soup.select(".math .katex")
        if page.source:
            assert len(shown) >= formulas(page.source), page.name
        assert len(shown) == len(page.soup.select(".math")), page.name
        assert not page.soup.select(".katex-error"), page.name
        assert all(formula.select_one("math annotation") for formula in shown), "no MathML for screen readers"


def test_library_cells_are_marked_and_directives_hidden(articles):
    marked = 0
    for page in articles.values():
        article = page.soup.select_one("article")
        assert not [cell for cell in article.select(".cell_input pre") if "#|" in cell.get_text()], page.name
        if not page.source:
            continue
        paths = []
        for cell in nbformat.read(page.source, as_version=4).cells:
            if cell.source.startswith("show_source("):
                paths.append(cell.outputs[0]["data"]["text/plain"])
            elif cell.cell_type == "code" and (found := read_directive(cell.source, "")):
                package = "xformer_course" if found[1].startswith("lessons.") else "xformer_lib"
                paths.append(f"{package}/{found[1].replace('.', '/')}.py")
        assert [tag.get_text() for tag in article.select(".library-mark code")] == paths, page.name
        marked += len(paths)
    assert marked


def test_every_fold_of_claims_counts_some(articles):
    found = [fold.get_text() for page in articles.values() for fold in page.soup.select("details.claims > summary")]
    assert len(found) > 100 and all(re.fullmatch(r"✓ (1 claim holds|([2-9]|[1-9]\d+) claims hold)", text) for text in found)


def test_no_page_begins_with_set_up(articles):
    """The cell for Colab is not in the book, and what only imports is folded."""
    folded = 0
    for page in articles.values():
        assert "find_spec" not in page.soup.select_one("article").get_text(), page.name
        folded += len(page.soup.select("details.imports"))
        for cell in page.soup.select("article div.cell"):
            lines = [line for line in cell.select_one("pre").get_text().splitlines() if line.strip()] if cell.select_one("pre") else []
            if lines and all(re.match(r"(import|from) ", line) for line in lines):
                assert cell.find_parent("details"), (page.name, lines)
    assert folded > 30


def test_a_promise_is_small(articles):
    marked = [page for page in articles.values() if len(page.soup.select("p.promise")) == 3 and page.soup.select_one("ul.promise")]
    assert len(marked) > 40
    for page in marked:
        words = " ".join(one.get_text(" ") for one in page.soup.select("article .promise")).split()
        assert len(words) < 160, (page.name, len(words))


def test_figures_are_described(articles):
    for page in articles.values():
        for image in page.soup.select("article img"):
            assert image.get("alt", "").strip(), f"{page.name}: {image['src']}"
        for figure in page.soup.select("article figure"):
            assert figure.select_one("figcaption").get_text().strip(), page.name


def test_every_article_has_a_way_on_and_a_description(articles):
    descriptions = {}
    for page in articles.values():
        assert page.soup.select_one("a.left-prev, a.right-next"), page.name
        assert page.soup.select_one("title").get_text().strip()
        assert len(page.soup.select("article h1")) == 1, page.name
        text = page.soup.select_one('meta[name="description"]')["content"]
        assert descriptions.setdefault(text, page.name) == page.name, "two pages share a description"


def test_terms_have_notes_where_prose_uses_them(articles):
    """Each once on a page, each described, none in a heading, a link, code or a formula."""
    for page in articles.values():
        terms = page.soup.select("a.term")
        ids = Counter(term["aria-describedby"] for term in terms)
        assert all(number == 1 for number in ids.values()), page.name
        for term in terms:
            note = term.find_next_sibling()
            assert note["id"] == term["aria-describedby"] and note["role"] == "tooltip" and len(note.get_text().split()) > 4
            assert not term.find_parent(["h1", "h2", "h3", "h4", "a", "code", "pre", "thead", "figcaption"]), f"{page.name}: {term}"
            assert not term.find_parent(class_="math"), f"{page.name}: {term}"
    assert any(page.soup.select("a.term") for page in articles.values())


def test_a_page_does_not_note_what_it_introduces(articles):
    page = next(page for page in articles.values() if page.name == "chapters/04_self_attention")
    assert "term-self-attention" not in " ".join(term["href"] for term in page.soup.select("a.term"))
    assert page.soup.select_one('a.term[href="back/glossary.html#term-softmax"]')


def test_pages_hold_their_questions(articles):
    """In the order of the file, at the end of the page and once more on the page Review, readable without a script."""
    pages = {page.name.removeprefix("chapters/"): page for page in articles.values()}
    for name, entries in review.questions().items():
        ids = [entry["id"] for entry in entries]
        assert [card["data-id"] for card in pages[name].soup.select(".review-card")] == ids
        assert [card["data-id"] for card in pages["back/review"].soup.select(f'[data-page="{name}"] .review-card')] == ids
        for card in pages[name].soup.select(".review-card"):
            assert "?" in card.find("p").get_text() and card.select_one("details > summary ~ p")


def works_cited(path):
    """The keys that a notebook cites, in whichever form."""
    text = "\n".join(links.booklike(text, print) for text in links.text_cells(path))
    return {key.strip() for keys in re.findall(r"\{cite:[tp]\}`([^`]+)`", text) for key in keys.split(",")}


def test_a_page_cites_what_its_notebook_does_and_the_bibliography_lists_it(articles):
    cited = set()
    for page in articles.values():
        if page.source:
            here = works_cited(page.source)
            shown = {a["href"].rpartition("#")[2] for a in page.soup.select("a[href*='bibliography.html#']")}
            assert len([one for one in shown if one.startswith("id")]) == len(here), page.name
            assert "references.bib" not in str(page.soup.select("main")), page.name
            cited |= here
    [listed] = [page for page in articles.values() if page.name.endswith("back/bibliography")]
    entries = listed.soup.select("div.citation")
    assert len(entries) == len(cited) == len(links.works())


def test_no_anchor_of_a_notebook_stays_in_its_page(articles):
    for page in articles.values():
        if page.source:
            assert page.soup.select("main h2 > a[id], main h3 > a[id], main h4 > a[id]") == [], page.name
            assert set(links.anchors(page.source)) <= page.ids, page.name


def without_colour(formula):
    """The boxes of a formula as HTML, with the colours of roles taken off."""
    html = re.sub(r"color:\s*var\(--(?:query|key|value)\);?", "", str(formula.select_one(".katex-html")))
    html, joined = html.replace(' style=""', ""), True
    while joined:  # KaTeX sets neighbours of one kind as one run, without the small room after a slanted letter
        pattern = r'<span class="(mord[^"]*)"(?: style="margin-right:[\d.]+em;")?>([^<]*)</span><span class="\1"([^>]*)>'
        html, joined = re.subn(pattern, r'<span class="\1"\3>\2', html)
    return html


def test_colour_moves_nothing_and_is_not_read_aloud(articles):
    """On every page: take the colour off, and the boxes and the MathML of the plain formula are left."""
    katex, coloured, pages = Katex(), 0, set()
    for page in articles.values():
        for formula in page.soup.select(".math .katex"):
            if "var(--" not in str(formula):
                continue
            latex = formula.select_one("annotation").get_text()
            html, error = katex.render(latex, formula.find_parent("div", class_="math-display") is not None)
            plain = BeautifulSoup(html, "lxml")
            assert error is None and "color" not in html and "textcolor" not in latex
            assert without_colour(formula) == without_colour(plain), latex
            assert str(formula.select_one("math")) == str(plain.select_one("math")), latex
            coloured, pages = coloured + 1, pages | {page.name}
    katex.stop()
    assert coloured > 100 and {f"chapters/{name}" for name in ("02_dictionary_lookup", "04_self_attention", "08_layers")} <= pages


def test_pages_mark_what_runs(articles):
    """Every exercise whose check needs NumPy alone can be answered in its page; of a later chapter the cells with a tag run, too."""
    wanted = {one.id for chapter in registry.chapters() for one in chapter.exercises if not one.requires}
    found, tagged = set(), 0
    for page in articles.values():
        for box in page.soup.select("div.cell.live"):
            kind = "live-exercise" in box["class"]
            assert kind or NUMPY_PAGES.match(page.name) or "tag_runs-in-page" in box["class"]
            tagged += not kind and not NUMPY_PAGES.match(page.name)
            if kind:
                text = box.select_one("pre").get_text()
                found.add(text.split('check("')[1].split('"')[0])
    assert found == wanted and tagged > 0


def test_only_the_buttons_lead_out_of_the_book(articles):
    """In the bars around a page: those that launch a notebook or show the repository."""
    links = {
        urlsplit(tag["href"]) for page in articles.values() for tag in page.soup.select(".bd-header-article a[href], .bd-sidebar a[href]")
    }
    assert {link.hostname for link in links if link.scheme} <= {"colab.research.google.com", "github.com"}
