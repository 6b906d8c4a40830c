"""The built book, as the tests see it."""

import gc
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"


@dataclass(frozen=True)
class Page:
    """One built page, parsed once."""

    path: Path

    @property
    def name(self):
        return self.path.relative_to(HTML).with_suffix("").as_posix()

    @cached_property
    def soup(self):
        """Kept to the end, so the collector of garbage looks at none of its thousands of parts; that takes as long as the parsing."""
        gc.disable()
        try:
            return BeautifulSoup(self.path.read_text(encoding="utf-8"), "lxml")
        finally:
            gc.freeze()
            gc.enable()

    @cached_property
    def ids(self):
        return {tag["id"] for tag in self.soup.find_all(id=True)} | {"", "top"}

    @property
    def source(self):
        """The notebook this page was made from, or None."""
        path = ROOT / f"{self.name}.ipynb"
        return path if path.exists() else None


@pytest.fixture(scope="session")
def pages():
    """Every built page by its path."""
    if not (HTML / "index.html").exists():
        pytest.fail("there is no built book: run 'make book' first")
    return {path: Page(path) for path in sorted(HTML.rglob("*.html")) if "_static" not in path.parts}


@pytest.fixture(scope="session")
def articles(pages):
    """The pages with text of ours: not the search, the index or the redirect."""
    return {path: page for path, page in pages.items() if path.is_relative_to(HTML / "chapters")}
