"""Links of notebooks work where notebooks are read: JupyterLab, Colab and the book.

JupyterLab follows a fragment to an element of that id, or to a heading whose text is that fragment with hyphens for spaces; the
second fails for a sign beyond ASCII. An explicit anchor works everywhere, so every link leads to one.
"""

from book.xformer_book import links
from tests.notebooks.limits import EVERY


def dead_links(path):
    for text in links.text_cells(path):
        for link in links.FRAGMENT.finditer(text):
            target = (path.parent / link["file"]).resolve() if link["file"] else path
            if not target.exists() or link["id"] not in links.anchors(target):
                yield path.name, link[0]


def test_links_lead_to_anchors():
    assert [link for path in EVERY for link in dead_links(path)] == [], "end the heading in an anchor, ## Title <a id=…></a>"


def test_anchors_are_the_ids_of_their_headings_and_works_are_cited_by_plain_links():
    """A role of the book's would stand in Jupyter as it is written."""
    complaints = []
    for path in EVERY:
        found = links.anchors(path)
        assert len(set(found)) == len(found), path.name
        for text in links.text_cells(path):
            links.booklike(text, complaints.append)
            assert "{cite" not in text, path.name
            for link in links.LINK.finditer(text):
                if links.key_of(link["address"]) and "references.bib" in link["address"]:
                    assert (path.parent / link["address"].partition("#")[0]).resolve() == links.ROOT / "references.bib"
    assert complaints == []
