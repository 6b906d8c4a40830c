"""The hard limits of a notebook, and a report of its rhythm."""

import nbformat
import pytest
import rhythm

EVERY = rhythm.chapters() + rhythm.solutions() + rhythm.back_pages()


@pytest.mark.parametrize("path", EVERY, ids=[f"{path.parent.name}/{path.stem}" for path in EVERY])
def test_keeps_the_limits(path):
    problems = rhythm.broken_limits(nbformat.read(path, as_version=4))
    assert not problems, f"{path.name}:\n" + "\n".join(problems)


@pytest.mark.parametrize("path", EVERY, ids=[f"{path.parent.name}/{path.stem}" for path in EVERY])
def test_opens_with_title_and_bootstrap(path):
    cells = nbformat.read(path, as_version=4).cells
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")
    assert path.parent.name == "back" or rhythm.is_bootstrap(cells[1]), "the second cell installs the library on Colab"


@pytest.mark.parametrize("path", EVERY, ids=[f"{path.parent.name}/{path.stem}" for path in EVERY])
def test_stored_in_order_and_tidy(path):
    notebook = nbformat.read(path, as_version=4)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    assert counts == list(range(1, len(counts) + 1)), "run from top to bottom: make notebooks"
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells), "cell ids repeat"
    assert notebook.metadata.kernelspec.name == "python3"


@pytest.mark.parametrize("path", rhythm.chapters(), ids=lambda path: path.stem)
def test_a_story_proves_its_claims_in_cells_of_their_own(path):
    assert rhythm.measure(nbformat.read(path, as_version=4))["open asserts"] == 0


@pytest.mark.parametrize("path", [p for p in rhythm.chapters() if not rhythm.is_subpage(p)], ids=lambda path: path.stem)
def test_chapter_asks_at_least_four_exercises(path):
    assert rhythm.measure(nbformat.read(path, as_version=4))["exercises"] >= 4


def test_subpages_follow_their_chapter(tmp_path, monkeypatch):
    names = ["09_b", "09a_a", "10_c", "12_z", "12a_y", "12b_x"]
    (tmp_path / "chapters").mkdir()
    for name in reversed(names):
        (tmp_path / "chapters" / f"{name}.ipynb").touch()
    monkeypatch.setattr(rhythm, "ROOT", tmp_path)
    assert [path.stem for path in rhythm.chapters()] == names
    assert [path.stem for path in rhythm.chapters() if rhythm.is_subpage(path)] == ["09a_a", "12a_y", "12b_x"]


def test_report(capsys):
    with capsys.disabled():
        print("\n" + rhythm.table(rhythm.chapters()))


def notebook_of(*cells):
    return nbformat.v4.new_notebook(cells=list(cells))


def ran(source, **settings):
    return nbformat.v4.new_code_cell(source, execution_count=1, **settings)


PICTURE = nbformat.v4.new_output("display_data", {"image/png": "", "text/plain": "<Figure size 640x480 with 1 Axes>"})
BROKEN = {
    "long code": (ran("\n".join(["x = 1"] * 26)), "26 lines of code, at most 25"),
    "a long definition": (ran("#| export nn.layers\n" + "\n".join(["x = 1"] * 46)), "46 lines of code, at most 45"),
    "long prose": (nbformat.v4.new_markdown_cell("word " * 221), "221 words"),
    "not run": (nbformat.v4.new_code_cell("x = 1"), "not run"),
    "standard error": (ran("x", outputs=[nbformat.v4.new_output("stream", name="stderr", text="oh")]), "standard error"),
    "no caption": (ran("plot()", outputs=[PICTURE]), "caption"),
    "no alternative": (
        ran("plot()", outputs=[PICTURE], metadata={"mystnb": {"figure": {"caption": "Weights sum to one."}}}),
        "alternative text",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_limit_is_noticed(name):
    cell, sentence = BROKEN[name]
    problems = rhythm.broken_limits(notebook_of(cell))
    assert any(sentence in problem for problem in problems), problems


def test_two_cells_of_text_are_one_text():
    halves = [nbformat.v4.new_markdown_cell("word " * 113), nbformat.v4.new_markdown_cell("word " * 109)]
    assert any("222 words" in problem for problem in rhythm.broken_limits(notebook_of(*halves)))


@pytest.mark.parametrize(
    "between", ["## A heading", "| a | b |", "- a point", "1. first", "$$\na = b\n$$", "```\ncode\n```", "<details>fold</details>"]
)
def test_what_breaks_up_a_text(between):
    text = nbformat.v4.new_markdown_cell(f"{'word ' * 151}\n\n{between}\n\n{'word ' * 149}")
    assert rhythm.broken_limits(notebook_of(text)) == []


def test_limits_let_good_cells_pass():
    described = {"mystnb": {"figure": {"caption": "Weights sum to one."}, "image": {"alt": "Four rows."}}}
    good = [
        ran("\n".join(["x = 1"] * 25)),
        nbformat.v4.new_markdown_cell("word " * 220),
        ran("plot()", outputs=[PICTURE], metadata=described),
    ]
    assert rhythm.broken_limits(notebook_of(*good)) == []


def test_words_count_a_formula_once_and_no_address():
    assert rhythm.words("The weights $w_{ij} = 1$ and [a page](https://example.org/long-address).") == 6
    assert rhythm.words("As [Cho et al. (2014)](https://example.org/a) and others ([Koehn, 2004](../b.bib#k)) say.") == 6


def test_open_cells_are_those_that_nothing_folds():
    cells = [
        ran("#| export nn.layers\ndef layer():\n    return 1"),
        ran("assert 1 == 1\nassert 2 == 2\nx = 3", metadata={"tags": ["claims"]}),
        ran("pass", metadata={"tags": ["bootstrap"]}),
        ran("y = 1\n\n# why\nassert y"),
        ran('text = "assert"'),
    ]
    numbers = rhythm.measure(notebook_of(*cells))
    assert (numbers["open cells"], numbers["open lines"], numbers["export lines"], numbers["open asserts"]) == (2, 4, 2, 1)


def test_words_of_the_story_leave_out_exercises_and_what_is_deeper():
    texts = ["# One", "Two three", "### Exercise 3.1 · Four five", "six", "## Deeper: seven", "eight", "### nine", "## Ten"]
    numbers = rhythm.measure(notebook_of(*map(nbformat.v4.new_markdown_cell, texts)))
    assert (numbers["words"], numbers["in exercises"], numbers["in Deeper"]) == (5, 4, 4)


def test_words_a_sentence():
    text = "## A heading. Not one\n\nFour words stand here. Is it $x = 1.5$? Yes (see `a.b`).\n\n| a. | b. |"
    assert rhythm.sentences(text) == 3


def exercise(number, *code):
    heading = nbformat.v4.new_markdown_cell(f"### Exercise {number} · Title")
    return [heading, *map(ran, code), ran(f'check("{number}", answer)')]


@pytest.mark.parametrize(
    "after, count",
    [
        (["def softmax(x):\n    return x"], 1),
        (["1", "2", "class My_Net:\n    pass\n\n\ndef helper():\n    pass"], 1),  # the solution's helper
        (["1", "2", "3", "def softmax(x):\n    return x"], 0),
        (["softmax(3)"], 0),
    ],
)
def test_an_exercise_given_away(after, count):
    page = [ran("def softmax(x):\n    return 0"), *exercise("3.2", "def my_softmax(x):\n    return ..."), *map(ran, after)]
    solution = notebook_of(*exercise("3.2", "def helper():\n    return 1", "def my_softmax(x):\n    return helper()"))
    assert rhythm.measure(notebook_of(*page), solution)["given away"] == count
