"""The library is what the chapters export, and a cell that should not be exported stops the export."""

import ast

import export_library
import nbformat
import pytest
from export_cells import ExportError


def test_library_is_what_the_chapters_export():
    assert export_library.check(export_library.ROOT) == []


def code(source):
    return nbformat.v4.new_code_cell(source)


def text(source):
    return nbformat.v4.new_markdown_cell(source)


@pytest.fixture
def house(tmp_path, monkeypatch):
    """An empty repository with a function that writes a chapter into it."""
    monkeypatch.setattr(export_library, "ROOT", tmp_path)
    (tmp_path / "chapters").mkdir()

    def write(name, *cells, title="# 3 · Lookup"):
        notebook = nbformat.v4.new_notebook(cells=[text(title), *cells])
        nbformat.write(notebook, tmp_path / "chapters" / f"{name}.ipynb")

    write.root, write.library = tmp_path, tmp_path / "xformer_lib"
    write.chapters = tmp_path / "chapters"
    return write


def export(house, *names):
    return export_library.export(house.root, [house.chapters / f"{name}.ipynb" for name in names] or None)


IMPORTS = "#| export reference.lookup\nimport math"
SOFT = "#| export reference.lookup\ndef soft(x):\n    return _scale(x) / math.pi"
SCALE = "#| exporti reference.lookup\ndef _scale(x):\n    return x"


def test_module_holds_its_cells(house):
    house("03_lookup", text("## Soft"), code(SOFT), code("print(soft(1))"), code(IMPORTS), code(SCALE))
    export(house)
    written = (house.library / "reference" / "lookup.py").read_text()
    assert written.startswith(f"{export_library.MARK}\n{export_library.BY_HAND}\n")
    head = "``xformer_lib.reference.lookup``, from chapter 3, Lookup (``chapters/03_lookup.ipynb``).\nEdit the page"
    assert head in ast.get_docstring(ast.parse(written)) and written.count("\n", 0, written.index("import math")) == 5
    assert written.index("import math") < written.index('__all__ = ["soft"]') < written.index("def soft(x):")
    assert "#|" not in written and "print" not in written
    package = (house.library / "reference" / "__init__.py").read_text()
    assert '"soft": "lookup"' in package and "_scale" not in package
    assert "\n- ``lookup`` (chapter 3, Lookup): soft\n" in ast.get_docstring(ast.parse(package)) + "\n"


def test_an_anchor_is_no_part_of_a_heading(house):
    house("03_lookup", text('## Soft <a id="soft"></a>'), code(SOFT), code(IMPORTS), code(SCALE))
    export(house)
    assert "# %% chapter 3: Soft\n" in (house.library / "reference" / "lookup.py").read_text()


def test_subpages_are_exported_too(house):
    house("12_lookup", code(IMPORTS), code(SCALE), code(SOFT))
    house("12b_hard", code("#| export inspection\ndef hard(x):\n    return x"), title="# 12b · Hard")
    export(house)
    written = (house.library / "inspection.py").read_text()
    assert "chapter 12b, Hard" in written and "def hard(x):" in written


def test_the_workshop_has_pages(house):
    house("w3_data", text("## Lines that stay paired"), code("#| export data.pairs\ndef paired(x):\n    return x"), title="# w3 · Data")
    export(house)
    written = (house.library / "data" / "pairs.py").read_text()
    assert "from page w3, Data (" in written and "# %% page w3: Lines that stay paired\n" in written


def test_imports_are_once_in_order_and_used(house):
    first = "#| export reference.lookup\nimport numpy as np\nimport math\nfrom xformer_lib.shapes import Bool, Float"
    again = "#| export reference.lookup\nimport math\nimport itertools\nfrom xformer_lib.shapes import Int, Bool"
    use = "#| export reference.lookup\ndef f(x: Float) -> Int:\n    return math.pi * np.exp(x)"
    house("03_lookup", code(first), code(again), code(use))
    export(house)
    written = (house.library / "reference" / "lookup.py").read_text()
    imports = "import math\n\nimport numpy as np\n\nfrom xformer_lib.shapes import Float, Int\n\n__all__"
    assert imports in written and "itertools" not in written and "Bool" not in written


def test_second_export_changes_nothing(house):
    house("03_lookup", code(IMPORTS), code(SCALE), code(SOFT))
    assert len(export(house)) == 2
    assert export(house) == []
    assert export_library.check(house.root) == []


def test_check_names_what_differs(house):
    house("03_lookup", code(IMPORTS), code(SCALE), code(SOFT))
    export(house)
    module = house.library / "reference" / "lookup.py"
    module.write_text(module.read_text().replace("math.pi", "math.e"))
    assert export_library.check(house.root) == ["xformer_lib/reference/lookup.py: differs from its chapter"]
    module.unlink()
    assert export_library.check(house.root) == ["xformer_lib/reference/lookup.py: missing from the library"]


def test_two_chapters_feed_one_module(house):
    house("03_lookup", code(IMPORTS), code(SCALE), code(SOFT))
    house("04_more", code("#| export reference.lookup\ndef hard(x):\n    return x"), title="# 4 · More")
    export(house)
    written = (house.library / "reference" / "lookup.py").read_text()
    assert '__all__ = ["soft", "hard"]' in written and "chapter 3, Lookup (``chapters/03_lookup.ipynb``)\nand chapter 4, More" in written


def test_module_that_nobody_exports_goes(house):
    house("03_lookup", code(IMPORTS), code(SCALE), code(SOFT))
    house("04_more", code("#| export nn.more\nwidth = 3"))
    export(house)
    (house.chapters / "04_more.ipynb").unlink()
    (house.library / "nn" / "by_hand.py").write_text("kept = True\n")
    export(house)
    assert sorted(path.name for path in house.library.rglob("*.py")) == ["__init__.py", "by_hand.py", "lookup.py"]


def test_one_chapter_alone_leaves_the_others(house):
    house("03_lookup", code(IMPORTS), code(SCALE), code(SOFT))
    house("04_more", code("#| export reference.more\ndef most(x):\n    return x"))
    export(house)
    house("03_lookup", code("%matplotlib inline"), code("#| export nn.broken\n%magic"))
    house("04_more", code("#| export reference.more\ndef less(x):\n    return x"))
    export(house, "04_more")
    package = (house.library / "reference" / "__init__.py").read_text()
    assert '"less": "more"' in package and '"soft": "lookup"' in package


def test_hand_written_module_is_never_overwritten(house):
    house("03_lookup", code("#| export reference.lookup\nwidth = 3"))
    target = house.library / "reference" / "lookup.py"
    target.parent.mkdir(parents=True)
    target.write_text("by_hand = True\n")
    with pytest.raises(ExportError, match="written by hand"):
        export(house)
    assert target.read_text() == "by_hand = True\n"


REFUSED = {
    "magic": ("#| export reference.lookup\n%timeit 1", "not plain Python"),
    "syntax": ("#| export reference.lookup\ndef f(:", "not plain Python"),
    "shell": ("#| export reference.lookup\n!ls", "not plain Python"),
    "empty": ("#| export reference.lookup\n", "is empty"),
    "room": ("#| export kitchen.lookup\nx = 1", "unknown module 'kitchen.lookup'"),
    "by hand": ("#| export plots\nx = 1", "unknown module 'plots'"),
    "private": ("#| export reference._lookup\nx = 1", "unknown module"),
    "deep": ("#| export reference.a.b\nx = 1", "unknown module"),
    "no module": ("#| export\nx = 1", "name exactly one module"),
    "two modules": ("#| export reference.a reference.b\nx = 1", "name exactly one module"),
    "directive": ("#| exportx reference.lookup\nx = 1", "unknown directive"),
    "second line": ("x = 1\n#| export reference.lookup", "must be the first line"),
    "two directives": ("#| export reference.a\n#| export reference.b\nx = 1", "must be the first line"),
    "statement": ("#| export reference.lookup\nprint(1)", "is a Expr statement"),
    "loop": ("#| export reference.lookup\nfor i in range(3):\n    x = i", "is a For statement"),
    "relative": ("#| export reference.lookup\nfrom . import masks", "relative import"),
    "star": ("#| export reference.lookup\nfrom math import *", "import \\*"),
    "future": ("#| export reference.lookup\nfrom __future__ import annotations", "switches the shape checks off"),
    "notebook only": ("#| export reference.lookup\nshell = get_ipython()", "get_ipython"),
    "undefined": ("#| export reference.lookup\ndef f(x):\n    return np.exp(x)", "nothing defines np"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_cell_is_refused_and_nothing_is_written(house, name):
    source, sentence = REFUSED[name]
    house("03_lookup", code("#| export nn.fine\nwidth = 3"), code(source))
    with pytest.raises(ExportError, match=sentence):
        export(house)
    assert not house.library.exists()


def test_all_is_what_the_cell_defines(house):
    lines = ["def f(x):", "    return x", "A = (B, _C) = 1, 2", "D: int = 3", "f.cached = [E for E in A]", "class G:", "    H = 4"]
    house("03_lookup", code("\n".join(["#| export reference.lookup", *lines])))
    export(house)
    assert '__all__ = ["A", "B", "D", "f", "G"]' in (house.library / "reference" / "lookup.py").read_text()


def test_one_definition_of_everything(house):
    house("03_lookup", code("#| export reference.lookup\ndef f(x):\n    return x"))
    house("04_more", code("#| export reference.lookup\ndef f(y):\n    return y"))
    with pytest.raises(ExportError, match="f is defined in 03_lookup.ipynb .* and again in 04_more.ipynb"):
        export(house)


def test_one_home_for_a_name_in_a_package(house):
    house("03_lookup", code("#| export reference.a\ndef f(x):\n    return x"))
    house("04_more", code("#| export reference.b\ndef f(y):\n    return y"))
    with pytest.raises(ExportError, match="f is exported by both a and b"):
        export(house)
    house("04_more", code("#| export reference.f\ndef g(y):\n    return y"))
    with pytest.raises(ExportError, match="f is a module; give it another name, as f is exported by a, too"):
        export(house)


def test_failure_is_one_sentence(house, capsys):
    house("03_lookup", code(REFUSED["magic"][0]))
    assert export_library.main([]) == 1
    error = capsys.readouterr().err
    assert error.startswith("Nothing was exported. 03_lookup.ipynb, cell 1: ") and error.count("\n") == 1


def test_props_of_a_lesson_go_to_the_course(house):
    house("09a_longer", code("#| export lessons.toys\nNOUNS = ('cat', 'dog')"), title="# 9a · Longer")
    export(house)
    written = (house.root / "xformer_course" / "lessons" / "toys.py").read_text()
    assert "``xformer_course.lessons.toys``" in written and not house.library.exists()
    assert export_library.check(house.root) == []
