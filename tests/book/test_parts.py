"""What is written into pages when the book is built: the reference, the results, the status, the glossary. No built book is needed."""

import ast
import dataclasses
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from book.xformer_book import api, glossary, parts, project, results, status

ROOT = Path(__file__).resolve().parents[2]
BACK = ROOT / "chapters" / "back"
PACKAGES = sorted(path.stem for path in (BACK / "api").glob("*.md") if path.stem not in ("index", "cli"))

# ---------------------------------------------------------------- the reference


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_explained(package):
    public = set(importlib.import_module(api.dotted(package)).__all__)
    page = api.package_page(package)
    headings = re.findall(r"^### (.*)$", page, re.M)
    assert {re.search(r"`(\w+)", heading)[1] for heading in headings} == public
    anchors = [api.make_id(heading.replace("`", "")) for heading in headings]
    assert len(set(anchors)) == len(anchors), "two names would share an anchor"
    assert set(re.findall(r"^- \[`\w+`\]\(#([^)]+)\)", page, re.M)) == set(anchors), "the list at the top and the entries differ"


def test_the_changelog_says_what_to_write_for_an_old_name():
    rows = [row for row in api.old_names().splitlines() if "`" in row]
    assert len(rows) > 50 and set(rows) <= set((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines())


def test_a_name_comes_with_its_signature_its_words_and_its_section():
    entry = api.entry(api.find("softmax", "reference.attention"))
    assert 'scores: Float[np.ndarray, "*shape"], axis: int = -1' in entry
    assert "each at least 0, and 1 in total along `axis`" in entry
    assert "```pycon\n>>> softmax(np.array([1000.0, 1000.0, -np.inf]))" in entry
    assert "(../../03_scaled_dot_product_attention.ipynb#the-librarys-softmax)" in entry
    assert "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html" in entry
    workshop = api.entry(api.find("Tokenizer", "data.tokenizer"))
    assert "From page w3, [The class around it](../../w3_data_that_arrives_whole.ipynb#the-class-around-it)" in workshop


def test_a_class_shows_its_fields_and_methods_without_their_bodies():
    text = api.signature(api.find("TransformerConfig", "nn.transformer"))
    assert text.startswith("@dataclass(frozen=True)\nclass TransformerConfig:\n    vocab_size: int")
    assert "check_config" not in text
    shown = api.signature(api.find("TokenEmbedding", "nn.transformer"))
    assert "def logits(self" in shown and "return" not in shown


def public_classes():
    for package in PACKAGES:
        for name in api.public_names(package):
            if isinstance(name.node, ast.ClassDef):
                yield pytest.param(name, id=f"{package}.{name.name}")


@pytest.mark.parametrize("name", list(public_classes()))
def test_every_class_shows_how_it_is_built_and_what_it_can_do(name):
    made = getattr(importlib.import_module(api.dotted(name.module)), name.name)
    text = api.signature(name)
    if dataclasses.is_dataclass(made) or hasattr(made, "_fields"):
        fields = [field.name for field in dataclasses.fields(made)] if dataclasses.is_dataclass(made) else list(made._fields)
        assert re.findall(r"^    (\w+): ", text, re.M) == fields
    elif getattr(made.__init__, "__module__", "").startswith(api.PACKAGES):
        [shown] = re.findall(r"^    (def __init__\(.*?\)(?: -> None)?):$", text, re.M | re.S)
        [function] = ast.parse(f"{shown}: pass").body
        given = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
        assert given == list(inspect.signature(made.__init__).parameters)
    else:
        assert re.search(r"^    # (built as [\w.]+( is|\(\))|called as \w+\.apply\(.*\))$", text, re.M), text
    ours = {
        method
        for owner in made.__mro__
        if owner.__module__.startswith(api.PACKAGES)
        for method, value in vars(owner).items()
        if not method.startswith("_") and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
    }
    if dataclasses.is_dataclass(made):
        ours -= {field.name for field in dataclasses.fields(made)}  # a default that can be called is no method
    assert sorted(re.findall(r"^    def ([a-z]\w*)\(", text, re.M)) == sorted(ours)


def test_a_class_names_the_bases_it_takes_from():
    text = api.signature(api.find("GRUTranslator", "nn.recurrent"))
    order = ["# from RecurrentParts", "def __init__(", "# its own", "def encode(", "def states(", "# from RecurrentSteps"]
    assert re.findall(r"^    (# .*|def \w+\()", text, re.M)[:6] == order
    assert "# called as ChunkedCrossEntropy.apply(states, embedding, " in api.signature(api.find("ChunkedCrossEntropy", "training.loss"))
    assert "# built as AlibiPositions()" in api.signature(api.find("AlibiPositions", "nn.positions"))


def test_google_sections_become_lists_and_words_stay_words():
    doc = "Mean of a_b * c, [x] and *noun*.\n\nArgs:\n    first: One.\n        More.\n    second: Two.\n\nReturns:\n    A `list`."
    lines = api.markdown(doc).splitlines()
    assert lines[0] == r"Mean of a\_b \* c, \[x\] and *noun*."
    assert lines[2] == "**Args**" and lines[4:7] == ["- `first`: One.", "  More.", "- `second`: Two."]
    assert "**Returns**" in lines and lines[-1] == "- A `list`."


def test_a_name_that_nothing_defines_is_refused():
    with pytest.raises(LookupError, match="expected a definition of hardmax in xformer_lib/reference/attention.py"):
        api.find("hardmax", "reference.attention")


def test_pages_are_written_without_numpy_and_torch():
    """The environment of `make book` has neither."""
    code = (
        "import sys\n"
        "for name in ('numpy', 'torch', 'matplotlib'): sys.modules[name] = None\n"
        "from book.xformer_book import parts\n"
        f"for page in {[str(path) for path in BACK.rglob('*.md')]!r}: parts.expanded(open(page, encoding='utf-8').read())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_an_unknown_part_names_the_known():
    with pytest.raises(ValueError, match="expected one of api, .*, got 'weather'"):
        parts.expanded("<!-- part weather -->")


# ---------------------------------------------------------------- results and status


def test_every_record_stands_on_the_page():
    page = results.every_record()
    records = results.load()
    files = {path.relative_to(ROOT / "results").as_posix() for path in (ROOT / "results").rglob("*.json")}
    assert {name.partition("#")[0] for name in records} == files and "ladder.json#gru-seed1" in records
    for name, record in records.items():
        assert page.count(f"/results/{name})") == 1, name
        assert page.count(f"<summary>{results.shown(name)}: ") == 1, name
        assert f"`{record['command']}`" in page and f"`{record['commit'][:12]}`" in page


def test_a_new_record_is_shown_with_all_its_numbers(tmp_path):
    new = {
        "command": "python new.py",
        "seed": 5,
        "value": 2.5,
        "deep": {"er": 0.125, "command": "xformer train --preset a|b"},
        "texts": ["a"] * 11,
        "list": list(range(13)),
        "rows": [{"name": "a|b", "ms": 7}, {"name": "c", "ms": 3, "inner": [{"k": 17}]}],
    }
    (tmp_path / "new-thing.json").write_text(json.dumps(new))
    page = results.every_record(tmp_path)
    assert "## Other records" in page and ") | 5 | not recorded | not recorded | not recorded | `python new.py` |" in page
    assert "| deep.command | `xformer train --preset a\\|b` |" in page, "two hyphens stay two hyphens"
    assert "| deep.er | 0.125 |" in page and "| texts | 11 entries |" in page
    assert "| list | 13 numbers, 0 to 12, median 6 |" in page
    assert r"| a\|b | 7 |" in page and "**rows.1.inner**" in page and "| 17 |" in page
    assert results.count(new) == 1 + 1 + 1 + 13 + 3


def test_checks_are_counted():
    cells = ["assert x == 1\nnp.testing.assert_allclose(a, b)", 'check("3.1", mine)\nself.check(3)', "def check(id): pass"]
    assert status.checks(cells) == (2, 2)
    path = ROOT / "chapters" / "03_scaled_dot_product_attention.ipynb"
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    assert status.measure(path)["assertions"] == len(re.findall(r"(?m)^\s*(?:assert\b|[\w.]*assert_\w+\()", text))


# ---------------------------------------------------------------- glossary


def test_terms_are_short_and_told_apart():
    entries = glossary.terms()
    assert 60 <= len(entries) <= 110
    assert [entry.term for entry in entries if len(entry.means.split()) > 30] == []
    assert len({entry.id for entry in entries}) == len(entries)
    forms = [form.lower() for entry in entries for form in {*entry.forms, *entry.exact, entry.term}]
    assert sorted(form for form in forms if forms.count(form) > 1) == []
    assert [entry.term for entry in entries if f"chapters/{entry.page}.ipynb" not in project.notebooks()] == []


# ---------------------------------------------------------------- pages written by hand
