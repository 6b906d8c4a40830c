"""A version's promise: the model folder that 0.4.0 wrote still loads, and says what it said then."""

import shutil
from pathlib import Path

import pytest
import tokenizers
import torch

from xformer_lib.data import Tokenizer
from xformer_lib.training.checkpoint import load_model

OLD = Path(__file__).parent / "written_by_0.4.0"


def test_a_model_of_0_4_0_says_what_it_said():
    model, tokenizer = load_model(OLD)
    source = torch.tensor([[*tokenizer.encode("le gros chat"), 2]])
    target = torch.tensor([[1, *tokenizer.encode("chat jaune")]])
    with torch.no_grad():
        logits = model(source, target)
    assert tuple(logits.shape) == (1, 6, 271)
    then = torch.tensor([-0.185860, 0.933230, 2.199095, 0.165920, -0.740260])  # printed by 0.4.0
    torch.testing.assert_close(logits[0, -1, :5], then, atol=1e-5, rtol=0)
    assert float(logits.sum()) == pytest.approx(-498.92053, abs=1e-3)


def test_a_tokenizer_before_0_4_is_brought_forward_as_the_readme_says(tmp_path):
    """Until 0.3 the file was the inner tokenizer alone, without a checksum."""
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "tokenizer.json"
    text = path.read_text(encoding="utf-8")
    path.write_text("{" + text[text.index('"version"') :], encoding="utf-8")
    with pytest.raises(ValueError, match="not written by Tokenizer.save"):
        load_model(tmp_path)
    Tokenizer(tokenizers.Tokenizer.from_file(str(path))).save(path)
    assert load_model(tmp_path)[1].encode("le chat") == load_model(OLD)[1].encode("le chat")
