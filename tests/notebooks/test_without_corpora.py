"""Stored outputs are the same with and without corpora, and none of them, nor any record, hands on a sentence of Multi30k.

chapters/conftest.py hides the corpora from every notebook that nbval runs, and tools/run_notebooks.py from every one that is
stored. So an output that needs a corpus fails on every machine, not only on a bare one.
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import nbformat
import pytest
from run_notebooks import out_of_sight

from tests.notebooks.limits import EVERY
from xformer_lib.data.corpora import CORPUS_ERRORS, load_corpus

ROOT = Path(__file__).resolve().parents[2]
OURS = ("hypotheses", "translations", "int8_translations", "hypothesis")  # what a model wrote is no sentence of the corpus
RECORDS = {
    path.relative_to(ROOT).as_posix(): json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "results").rglob("*.json"))
}


def test_a_hidden_corpus_is_not_found(tmp_path):
    """Not even one that lies in the cache, and no time is lost with a download."""
    code = "from xformer_lib.data import load_corpus\nload_corpus('multi30k', 'test')"
    run = subprocess.run(
        [sys.executable, "-c", code], env=out_of_sight(os.environ, tmp_path), capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert run.returncode == 1 and "CorpusUnavailable" in run.stderr


PAGE = nbformat.v4.new_notebook(
    cells=[
        nbformat.v4.new_code_cell(
            "import os\nfrom pathlib import Path\nprint('XFORMER_DATA' in os.environ, any(Path(os.environ['XDG_CACHE_HOME']).iterdir()))",
            execution_count=1,
            outputs=[nbformat.v4.new_output("stream", name="stdout", text="False False\n")],
        )
    ]
)


def test_nbval_hides_them_from_every_page(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "chapters" / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    nbformat.write(PAGE, tmp_path / "page.ipynb")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "-c",
        os.devnull,
        "--nbval",
        "--nbval-current-env",
        str(tmp_path / "page.ipynb"),
    ]
    environment = dict(os.environ, XFORMER_DATA=str(tmp_path), PYTHONPATH=str(ROOT / "tools"))
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert run.returncode == 0 and "1 passed" in run.stdout, run.stdout + run.stderr


def looks_for_a_corpus(source):
    """Whether a cell asks for a corpus that must be fetched, or is ready for its absence; a definition may do both."""
    if source.startswith("#| export"):
        return False
    for node in ast.walk(ast.parse(re.sub(r"(?m)^([%!].*)$", "pass", source))):
        if isinstance(node, ast.Name) and node.id in ("CORPUS_ERRORS", "CorpusUnavailable", "corpus_bytes"):
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "load_corpus":
            if any(isinstance(one, ast.Constant) and one.value in ("multi30k", "tatoeba") for one in ast.walk(node)):
                return True
    return False


def test_no_page_looks_for_a_corpus():
    """So it shows the same where there is one; what a page says of a long run it reads from results/."""
    cells = [(path.name, cell) for path in EVERY for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [(name, cell.source) for name, cell in cells if looks_for_a_corpus(cell.source)] == []


def strings(value, path=()):
    """Every text of a record with the keys that lead to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, path)
    elif isinstance(value, str):
        yield path, value


def folded(text):
    """The words alone: no case, no marks, no line ends, nor the way a file quotes them."""
    return re.findall(r"\w+", text.replace("\\n", " ").lower())


@pytest.fixture(scope="module")
def captions():
    """Every caption of seven words or more, in both languages, by its first four words; a shorter one anybody may write."""
    try:
        pairs = [pair for split in ("train", "val", "test") for pair in load_corpus("multi30k", split)]
    except CORPUS_ERRORS as reason:
        pytest.skip(str(reason).partition(" (")[0])
    index = defaultdict(set)
    for words in (tuple(folded(text)) for pair in pairs for text in pair):
        if len(words) >= 7:
            index[words[:4]].add(words)
    return index


def captions_in(text, captions):
    """The captions that a text holds, wherever its lines end."""
    words = tuple(folded(text))
    found = ((words[n : n + len(one)], one) for n in range(len(words)) for one in captions.get(words[n : n + 4], ()))
    return {" ".join(one) for here, one in found if here == one}


def test_a_caption_is_found_in_whatever_stands_around_it():
    index = {("a", "b", "c", "d"): {("a", "b", "c", "d", "e", "f", "g")}}
    assert captions_in('He said: "A b c,\\nd e\n    F g."', index) == {"a b c d e f g"}
    assert captions_in("A b c d e f h", index) == captions_in("", index) == set()


def test_no_record_holds_a_caption(captions):
    texts = {(name, text) for name in RECORDS for path, text in strings(RECORDS[name]) if not set(path) & set(OURS)}
    assert [name for name, text in texts if captions_in(text, captions)] == []


def test_no_page_holds_a_caption(captions):
    """Neither a cell nor its output."""
    assert [path.name for path in EVERY if captions_in(path.read_text(encoding="utf-8"), captions)] == []


def test_library_and_course_hold_no_caption(captions):
    files = [
        path
        for package in ("xformer_lib", "xformer_course")
        for kind in ("*.py", "*.js", "*.json", "*.md")
        for path in (ROOT / package).rglob(kind)
    ]
    found = {path.name: captions_in(path.read_text(encoding="utf-8"), captions) for path in files}
    assert len(files) > 100 and {name: texts for name, texts in found.items() if texts} == {}
