"""The annotations are true, as far as mypy sees, and reach whoever uses the library: no name that it hands on is Any."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="mypy is not installed; pip install -r requirements.lock brings it")

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ["--config-file", str(ROOT / "pyproject.toml")]


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """What mypy has learned of torch, from an earlier run in this folder where there was one; kept for the other tests of this file."""
    known, folder = ROOT / ".mypy_cache", tmp_path_factory.mktemp("mypy") / "cache"
    return shutil.copytree(known, folder) if known.exists() else folder


def mypy(cache, *arguments, cwd=ROOT):
    command = [sys.executable, "-m", "mypy", *SETTINGS, "--cache-dir", str(cache), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_the_library_is_clean(cache):
    run = mypy(cache)
    assert run.returncode == 0, run.stdout + run.stderr


def test_errors_are_ignored_one_by_one():
    """Each ``type: ignore`` names its error and gives a reason."""
    files = [path for path in (ROOT / "xformer_lib").rglob("*.py") if "type: ignore" in path.read_text(encoding="utf-8")]
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines() if "type: ignore" in line]
    assert all(re.search(r"# type: ignore\[[a-z-]+\]  # \w+", line) for line in lines), lines
    assert len(lines) <= 2


USED = """
import torch
import xformer_course
import xformer_lib
from xformer_lib import load_pretrained
from xformer_lib.decoding import beam_search, greedy
from xformer_lib.engine import accelerate
from xformer_lib.nn import Transformer, TransformerConfig
from xformer_lib.nn.recurrent import GRUTranslator
from xformer_lib.training import TrainConfig, train

config, ids = TransformerConfig(vocab_size=7), torch.ones(2, 3, dtype=torch.long)
reveal_type(xformer_lib.nn.Transformer(config).encode(ids))  # torch._tensor.Tensor
reveal_type(xformer_lib.nn.Transformer(config).config.d_model)  # int
reveal_type(xformer_lib.nn.multi_head.MultiHeadAttention(8, 2).num_heads)  # int
reveal_type(xformer_lib.reference.causal_mask(3))  # numpy.ndarray
reveal_type(xformer_lib.training.plan)  # def (config: xformer_lib.nn.transformer.TransformerConfig,
reveal_type(xformer_lib.data.load_corpus("fragment"))  # list[tuple[str, str]]
reveal_type(xformer_lib.load_pretrained())  # xformer_lib.decoding.translator.Translator
reveal_type(load_pretrained().translate("A sentence."))  # str
reveal_type(load_pretrained().translate(["Two", "of them."]))  # list[str]
reveal_type(accelerate(GRUTranslator(config)))  # xformer_lib.nn.recurrent.GRUTranslator
reveal_type(greedy(Transformer(config), ids))  # list[list[int]]
reveal_type(greedy(GRUTranslator(config), ids, engine="plain"))  # list[list[int]]
reveal_type(beam_search(accelerate(Transformer(config)), ids))  # list[list[xformer_lib.decoding.beam.Hypothesis]]
reveal_type(xformer_course.lessons.fit)  # def (
reveal_type(xformer_course.explorables.beam)  # def (
reveal_type(xformer_course.exercises.check)  # def (


class Own(torch.nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config, self.embedding = config, xformer_lib.nn.TokenEmbedding(config.vocab_size, config.d_model)

    def encode(self, words: torch.Tensor) -> torch.Tensor:
        return self.embedding(words)

    def states(self, said: torch.Tensor, memory: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        return self.embedding(said) + memory.mean(dim=1, keepdim=True)

    def decode(self, said: torch.Tensor, memory: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        return self.embedding.logits(self.states(said, memory, words))


reveal_type(greedy(Own(config), ids))  # list[list[int]]
reveal_type(train(TrainConfig("fragment", config, 1), "runs/own", build=Own))  # xformer_lib.training.run.Run
"""

REFUSED = """
import torch
import xformer_lib
from xformer_lib.decoding import greedy
from xformer_lib.training import TrainConfig, train

greedy(torch.nn.Linear(2, 3), torch.ones(2, 3))
train(xformer_lib.training.preset("fragment"), "runs/own", build=torch.nn.Linear)
xformer_lib.nn.Transformers
xformer_lib.numbers
"""


def test_names_keep_their_types(tmp_path, cache):
    """What `reveal_type` says of a line begins as the comment behind it: for a user, outside the repository."""
    page = tmp_path / "page.py"
    page.write_text(USED, encoding="utf-8")
    run = mypy(cache, page)
    wanted = [(n, line.split("  # ")[1]) for n, line in enumerate(USED.split("\n"), 1) if line.startswith("reveal_type")]
    said = {int(n): kind for n, kind in re.findall(r'page\.py:(\d+): note: Revealed type is "(.*)"', run.stdout)}
    assert run.returncode == 0 and said.keys() == {n for n, _ in wanted}, run.stdout
    assert [(said[n], kind) for n, kind in wanted if not said[n].startswith(kind)] == []


def test_what_is_no_model_is_refused(tmp_path, cache):
    page = tmp_path / "page.py"
    page.write_text(REFUSED, encoding="utf-8")
    run = mypy(cache, page)
    lines = {int(n) for n in re.findall(r"page\.py:(\d+): error:", run.stdout)}
    assert lines == {n for n, line in enumerate(REFUSED.split("\n"), 1) if line and "import" not in line}, run.stdout
