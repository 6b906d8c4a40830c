"""The last hand on the pages: icons, lighter code, nothing loaded that a page does not use."""

from collections import Counter

import pytest
from sphinx.errors import ExtensionError

from book.xformer_book import finish

SCRIPT = 'var a={github:[496,512,[],"f09b","M1 brand"]},b={bars:[3,5,["menu"],"f0c9","M2 regular"]},c={"bars":[448,512,["menu"],"f0c9","M3 solid"]}'
PAGE = """<html><head>
<link href="../_static/sphinx-design.min.css?v=1" rel="stylesheet" />
<link href="../_static/katex/katex.min.css?v=1" rel="stylesheet" />
<script src="../_static/documentation_options.js"></script>
<script src="../_static/copybutton.js?v=1"></script>
<script src="../_static/design-tabs.js"></script>
<script>let inline = 1;</script></head>
<body><i class="fab fa-github"></i><span class="fa-solid fa-bars" data-mode="light"></span>
<a href="x.html">9 · The <encoder></a><a href="y.html">12 · Translation</a><details open="open"><summary><span class="toctree-toggle"></span></summary></details>
<div class="highlight"><pre><span></span><span class="n">weights</span><span class="w"> </span><span class="k">for</span></pre></div>
<table><tr><th class="head"></th><th class="head"><p>words</p></th></tr></table>
<p>outside <span class="n">stays</span></p></body></html>"""


@pytest.fixture
def icons(tmp_path):
    (tmp_path / "all.min.js").write_text(SCRIPT)
    return finish.Icons(tmp_path / "all.min.js")


@pytest.fixture
def page(icons):
    return finish.finish(PAGE, icons, {"k", "c1"}, Counter())


def test_icons_become_outlines(page, icons):
    assert 'viewBox="0 0 496 512"><path fill="currentColor" d="M1 brand">' in page
    assert 'class="svg-inline--fa fa-solid fa-bars" aria-hidden="true" focusable="false" data-mode="light"' in page
    assert "M3 solid" in page and "M2 regular" not in page
    with pytest.raises(KeyError, match="unicorn"):
        icons.outline("unicorn")


def test_code_keeps_its_words_and_the_marks_that_show(page):
    assert '<pre><span></span>weights <span class="k">for</span></pre>' in page
    assert '<span class="n">stays</span>' in page


def test_a_fold_of_the_contents_is_named(page):
    assert '<summary aria-label="Pages below 12 · Translation">' in page


def test_solutions_are_closed_in_the_contents_but_on_their_own_pages():
    part = """<p aria-level="2" class="caption" role="heading"><span class="caption-text">Solutions</span></p>
<ul class="%snav bd-sidenav"><li><a>Chapter 1</a></li></ul>
</div>"""
    for classes, opened in (("", '<details class="contents-part">'), ("current ", '<details class="contents-part" open>')):
        found = finish.CLOSED.sub(finish.close_parts, part % classes)
        assert found.startswith(opened) and found.endswith("</ul></details>\n</div>")
    assert not finish.CLOSED.search((part % "").replace("Solutions", "The workshop"))


def test_the_empty_corner_of_a_table_heads_nothing(page):
    assert '<tr><td></td><th class="head"><p>words</p></th></tr>' in page


def test_only_what_a_page_uses_is_loaded(page):
    assert "copybutton.js" in page
    assert not [name for name in ("sphinx-design", "katex.min.css", "design-tabs") if name in page]
    shown = finish.leave_out_unused(PAGE.replace("<p>", '<p class="katex sd-tab-set">'))
    assert all(name in shown for name in ("sphinx-design", "katex.min.css", "design-tabs"))


def test_scripts_wait_but_for_the_options(page):
    assert '<script defer src="../_static/copybutton.js' in page
    assert '<script src="../_static/documentation_options.js">' in page and "<script>let inline" in page
    assert "defer" not in finish.run_scripts_later(PAGE.replace("copybutton", "searchtools"))


class App:
    """As much of Sphinx as the last step asks for."""

    class builder:
        format = "html"

    def __init__(self, folder):
        self.outdir = folder


def built(folder, page):
    fonts = folder / "_static" / "vendor" / "fontawesome" / "6" / "js"
    fonts.mkdir(parents=True)
    (fonts / "all.min.js").write_text(SCRIPT)
    (folder / "_static" / "pygments.css").write_text(".highlight .k { font-weight: 700 }")
    (folder / "index.html").write_text(page)
    for name in finish.KEEPING:
        (folder / "_static" / name).parent.mkdir(exist_ok=True)
        (folder / "_static" / name).write_text("window.localStorage.getItem('mode') || sessionStorage.length; myLocalStorage")
    return App(folder)


def test_a_theme_that_changed_ends_the_build(tmp_path):
    with pytest.raises(ExtensionError, match="search button: expected something to mend"):
        finish.finish_pages(built(tmp_path, PAGE), None)
    asked = (tmp_path / "_static" / "searchtools.js").read_text()
    assert asked == "bookStore.local.getItem('mode') || bookStore.session.length; myLocalStorage"


def test_a_failed_build_is_left_alone(tmp_path):
    finish.finish_pages(built(tmp_path, PAGE), RuntimeError("earlier"))
    assert (tmp_path / "index.html").read_text() == PAGE


def test_what_scrolls_is_reached_by_keyboard():
    row = "<tr>" + "<th><p>one</p></th>" * 2 + "</tr><tr><td>1</td></tr></table>"
    assert finish.reach_wide_parts(f'<table class="table">{row}') == f'<table class="table" tabindex="0">{row}'
    narrow = f'<table class="table">{row.replace("<th><p>one</p></th>", "", 1)}'
    figure = f'<table class="xf-weights">{row}'
    assert finish.reach_wide_parts(narrow) == narrow and finish.reach_wide_parts(figure) == figure
    assert finish.reach_wide_parts('<div class="xf-scroll">') == '<div class="xf-scroll" tabindex="0">'
    assert finish.reach_wide_parts('<figure class="align-default scrolls">') == '<figure tabindex="0" class="align-default scrolls">'
    assert finish.reach_wide_parts('<figure class="align-default">') == '<figure class="align-default">'


def test_pictures_share_their_style_and_their_script():
    picture = '<figure class="xp" data-xp="{}">\n<style>.xp{{}}</style>\n<svg></svg>\n<script>live()</script>\n</figure>'
    page = "<p>between</p>".join(picture.format(name) for name in ("heads", "lanes", "rays"))
    shared = finish.share_between_pictures(page)
    assert shared.count("<style>") == shared.count("<script>") == 1
    assert shared.index("<style>") < shared.index("<svg>") and shared.rindex("</svg>") < shared.index("<script>")
    assert shared.count("<svg></svg>") == 3 and shared.count("<p>between</p>") == 2
    assert finish.share_between_pictures(picture.format("alone")) == picture.format("alone")
