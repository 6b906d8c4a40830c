"""What the guides tell a newcomer is there: files, sections, targets of make."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = {"node_modules", "vendor"}
GUIDES = [
    path
    for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("*/**/README.md"))]
    if not any(part.startswith((".", "_")) or part in SKIPPED for part in path.relative_to(ROOT).parts)
]
NEWCOMERS = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "MAINTAINING.md", "chapters/README.md")]
TARGETS = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
INVENTED = {"chapters/NN_slug.ipynb", "chapters/NN_*.ipynb", "xformer_course/exercises/chapter_NN"}


def sections(path):
    """The anchors that the host gives to the headings of a file."""
    text = re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8"))
    titles = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(path):
    text = re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^ *```.*?^ *```", "", path.read_text(encoding="utf-8")))
    for address in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, section = address.partition("#")
        target = (path.parent / name).resolve() if name else path
        if re.match(r"[a-z]+:", address):
            continue
        if not target.exists() or (section and target.suffix == ".md" and section not in sections(target)):
            yield address


def missing_names(path):
    """Files in backticks, and targets of make, that are not there."""
    text = path.read_text(encoding="utf-8")
    code = re.findall(r"(?ms)^ *```\w*\n(.*?)^ *```", text) + re.findall(r"`([^`\n]+)`", text)
    for word in re.findall(r"[\w./*-]+", " ".join(code)):
        if word.startswith(("chapters/", "tests/", "tools/", "book/", "xformer_", "benchmarks/", "results/")) and word not in INVENTED:
            if not any(ROOT.glob(word)) and not any(ROOT.glob(f"{word}.py")) and not re.match(r"xformer_\w+\.", word):
                yield word
    yield from (f"make {name}" for name in re.findall(r"\bmake ([a-z]+)", "\n".join(code)) if name not in TARGETS)


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_of_a_guide_lead_somewhere(path):
    assert list(dead_links(path)) == []


@pytest.mark.parametrize("path", NEWCOMERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_guide_names_is_there(path):
    assert list(missing_names(path)) == []
