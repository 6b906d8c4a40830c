"""What several chapters write down must be the same: the running example of 03 to 06, the layers of 08 and 09."""

import ast
from pathlib import Path

import nbformat
import numpy as np
import pytest

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
SLUGS = ("03_scaled_dot_product_attention", "04_self_attention", "05_permutations", "06_multi_head_attention")
NAMES = ("words", "x", "w_q", "w_k", "w_v", "k", "v")
WORDS = ["The", "big", "yellow", "cat"]


def literals(slug):
    """The first assignment of each name that is a list, or an array of plain numbers."""
    found = {}
    for cell in nbformat.read(CHAPTERS / f"{slug}.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    name = node.targets[0].id
                    if name in NAMES and name not in found and is_literal(node.value):
                        found[name] = eval(ast.unparse(node.value), {"np": np})
    return found


def is_literal(node):
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    calls = {ast.unparse(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    return names <= {"np", "float"} and calls <= {"np.array"}


@pytest.fixture(scope="module")
def example():
    return {slug: literals(slug) for slug in SLUGS}


def test_the_words_are_the_same(example):
    for slug in SLUGS:
        assert example[slug]["words"] == WORDS, slug


@pytest.mark.parametrize("slug", SLUGS[2:])
@pytest.mark.parametrize("name", ("x", "w_q", "w_k", "w_v"))
def test_later_chapters_repeat_chapter_04(example, slug, name):
    assert name in example[slug], f"{slug} does not write {name} down"
    np.testing.assert_array_equal(example[slug][name], example["04_self_attention"][name], err_msg=slug)


def test_chapter_04_leads_to_the_keys_and_values_of_chapter_03(example):
    first, second = example["03_scaled_dot_product_attention"], example["04_self_attention"]
    np.testing.assert_allclose(second["x"] @ second["w_k"], first["k"])
    np.testing.assert_allclose(second["x"] @ second["w_v"], first["v"])


def definitions(source):
    return {node.name: ast.dump(node) for node in ast.parse(source).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def test_the_listing_of_chapter_09_runs_alone_and_begins_with_the_layers_of_chapter_08():
    torch = pytest.importorskip("torch")
    layers, model = (nbformat.read(CHAPTERS / f"{slug}.ipynb", as_version=4).cells for slug in ("08_layers", "09_encoder_decoder"))
    (listing,) = [cell.source for cell in model if "listing" in cell.metadata.get("tags", [])]
    written = {}
    for cell in layers:
        if cell.cell_type == "code" and not cell.source.startswith("#| export"):
            written |= definitions(cell.source)
    found = definitions(listing)
    for name in ("bare_attention", "MultiHead", "FeedForward", "BareEncoderLayer", "BareDecoderLayer"):
        assert found[name] == written[name], name
    names = {}
    exec(listing, names)
    made = names["EncoderDecoder"](23, d_model=20, num_heads=4, d_ff=48, num_layers=2)
    assert made(torch.ones(2, 7, dtype=torch.long), torch.ones(2, 5, dtype=torch.long)).shape == (2, 5, 23)
