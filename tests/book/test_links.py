"""Links that Jupyter follows are read by the book as sections and citations; what leads elsewhere than it says is noticed."""

import json
from types import SimpleNamespace

import nbformat
import pytest

from book.xformer_book import links, notebooks

CHO = "https://arxiv.org/abs/1409.1259"
KOEHN = "https://aclanthology.org/W04-3250"


def read(text):
    """The Markdown that the book reads, and the complaints."""
    said = []
    return links.booklike(text, said.append), said


@pytest.mark.parametrize(
    ("written", "means"),
    [
        (f"[Cho et al. (2014)]({CHO}) said", "{cite:t}`cho2014properties` said"),
        (f"drawn ([Koehn, 2004]({KOEHN})).", "drawn {cite:p}`koehn2004statistical`."),
        (f"so ([Cho et al., 2014]({CHO}); [Koehn, 2004]({KOEHN}))", "so {cite:p}`cho2014properties,koehn2004statistical`"),
        ("[Student (1908)](../references.bib#student1908probable)", "{cite:t}`student1908probable`"),
        ("([Student, 1908](../../references.bib#student1908probable))", "{cite:p}`student1908probable`"),
        ("{cite:t}`cho2014properties` stays", "{cite:t}`cho2014properties` stays"),
        (f"[the paper]({CHO}) is a link", f"[the paper]({CHO}) is a link"),
        ("[Somebody (2014)](https://example.org/) too", "[Somebody (2014)](https://example.org/) too"),
        ("(see [chapter 3](03_x.ipynb#a-b))", "(see [chapter 3](03_x.ipynb#a-b))"),
        ('### Where it looks <a id="where-it-looks"></a>\n\ntext', "### Where it looks\n\ntext"),
        ('## More · Why the root? · 4 min <a id="why-the-root"></a>\n\ntext', "## Why the root?\n\n% more 4\n\ntext"),
        ('## The library\'s `softmax` · 1 <a id="the-librarys-softmax-1"></a>', "## The library's `softmax` · 1"),
    ],
)
def test_what_a_notebook_writes_and_what_the_book_reads(written, means):
    assert read(written) == (means, [])


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (f"[Koehn (2004)]({CHO})", f"'Koehn (2004)': expected 'Cho et al. (2014)' for the work at {CHO}"),
        (f"([Koehn, 2003]({KOEHN}))", f"'Koehn, 2003': expected 'Koehn, 2004' for the work at {KOEHN}"),
        ('## Here <a id="there"></a>', "anchor: expected 'here' at '## Here', got 'there'"),
        ('text <a id="there"></a>', "anchor: expected it at the end of a heading, got '<a id=\"there\"></a>'"),
    ],
)
def test_a_link_that_names_another_thing_is_a_warning(written, complaint):
    assert read(written)[1] == [complaint]


def test_every_work_has_an_address_of_its_own():
    assert len(links.keys()) == len(links.works()) > 100
    for key in links.works():
        for beside in (False, True):
            written = f"[{links.label(key, beside)}]({links.address(key, '../')})"
            assert read(f"({written})" if beside else written)[0] == f"{{cite:{'p' if beside else 't'}}}`{key}`"


def test_notebooks_alone_are_rewritten():
    app = SimpleNamespace(env=SimpleNamespace(doc2path=lambda name: f"{name}.{'md' if name == 'page' else 'ipynb'}"))
    cell = f"[Koehn (2004)]({KOEHN})"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(cell), nbformat.v4.new_code_cell(cell)])
    for name, wanted in (("page", [cell, cell]), ("chapter", ["{cite:t}`koehn2004statistical`", cell])):
        source = [json.dumps(notebook)]
        notebooks.rewrite(app, name, source)
        assert [one["source"] for one in json.loads(source[0])["cells"]] == wanted


def test_an_exercise_does_not_ask_to_run_a_page():
    said = 'Exercise 10.3: not attempted yet. Replace the dots and run the cell again; hint("10.3")\nhelps.\n'
    page = "Exercise 10.3: answer it in the notebook; the buttons above this page download it and open it on Colab.\n"
    cell = nbformat.v4.new_code_cell(
        "check()", outputs=[nbformat.v4.new_output("stream", text=text) for text in (f"1\n{said}{said}", "42\n")]
    )
    made = notebooks.read(nbformat.v4.new_notebook(cells=[cell]), print)
    assert [output["text"] for output in made["cells"][0]["outputs"]] == [f"1\n{page}{page}", "42\n"]
