"""The built pages, parsed: nothing remote, no dead link, maths rendered, marks and buttons in place."""

import re
from urllib.parse import unquote, urlsplit

import nbformat
import sync_bootstrap
from export_cells import read_directive

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


def test_bootstrap_cell_is_folded(articles):
    for page in articles.values():
        if page.source and "back" not in page.path.parts and page.path.stem != "index":  # the first page does without
            [fold] = page.soup.select("details.set-up")
            assert "find_spec" in fold.get_text() and not fold.has_attr("open"), page.name


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


def test_search_index_knows_the_chapters(pages, articles):
    index = next(page.path.parent for page in pages.values() if page.name == "search") / "searchindex.js"
    text = index.read_text(encoding="utf-8")
    assert all(f'"{page.name}"' in text for page in articles.values())
    assert "softmax" in text
