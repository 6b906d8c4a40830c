"""Links of notebooks work where notebooks are read: JupyterLab, Colab and the book.

JupyterLab follows a fragment to an element of that id, or to a heading whose text is that fragment with hyphens for spaces; the
second fails for a sign beyond ASCII. An explicit anchor works everywhere, so every link leads to one.
"""

import nbformat
import pytest

from book.xformer_book import links
from tests.notebooks.limits import EVERY

each = pytest.mark.parametrize("path", EVERY, ids=[f"{path.parent.name}/{path.stem}" for path in EVERY])


@each
def test_links_lead_to_anchors(path):
    dead = []
    for text in links.text_cells(path):
        for link in links.FRAGMENT.finditer(text):
            target = (path.parent / link["file"]).resolve() if link["file"] else path
            if not target.exists() or link["id"] not in links.anchors(target):
                dead.append(link[0])
    assert dead == [], "end the heading in an anchor, ## Title <a id=…></a>"


@each
def test_anchors_are_the_ids_of_their_headings(path):
    found = links.anchors(path)
    assert len(set(found)) == len(found)
    complaints = []
    for text in links.text_cells(path):
        links.booklike(text, complaints.append)
    assert complaints == []


@each
def test_works_are_cited_by_plain_links(path):
    """A role of the book's stands in Jupyter as it is written."""
    assert [text for text in links.text_cells(path) if "{cite" in text] == []
    for text in links.text_cells(path):
        for link in links.LINK.finditer(text):
            key = links.key_of(link["address"])
            if key and "references.bib" in link["address"]:
                assert (path.parent / link["address"].partition("#")[0]).resolve() == links.ROOT / "references.bib"


def test_a_dead_link_is_noticed(tmp_path, monkeypatch):
    cells = [nbformat.v4.new_markdown_cell(text) for text in ('# A <a id="a"></a>', "[x](#a) [y](#b) [z](other.ipynb#a)")]
    path = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    with pytest.raises(AssertionError, match=r"\]\(#b\)"):
        test_links_lead_to_anchors(path)
