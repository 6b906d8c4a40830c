"""A folder with all that another engine needs: the model, its tokenizer, its sizes, and how to use them."""

import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from string import Template
from typing import Any

from xformer_lib.data.files import check_writable
from xformer_lib.export.programs import OPSET, export_onnx, export_torch
from xformer_lib.export.specification import export_ctranslate2
from xformer_lib.export.tokenizer import export_tokenizer, vocabulary
from xformer_lib.export.usage import USAGE
from xformer_lib.nn.checks import check_choice
from xformer_lib.training.checkpoint import load_model

__all__ = ["export_model"]


def export_model(folder: str | Path, format: str, out: str | Path) -> None:
    """Write a trained model for another engine, into a new folder or an empty one; after an error there is none.

    Beside the model, ``out`` gets ``tokenizer.json`` (for the package tokenizers), ``export.json`` (format, sizes, special
    ids) and ``README.md`` (ten lines that translate). ``folder``: what `training.train` wrote; ``format``: "onnx",
    "ctranslate2" or "torch", see `export_onnx`, `export_ctranslate2` and `export_torch`.

    Raises:
        FileExistsError: where ``out`` holds files, or is one.
        ImportError: without the package that writes the format, or where torch is too old for programs.
        ValueError: for another format, and for a model that the format cannot hold.
    """
    check_choice("format", format, tuple(USAGE), "onnx is for ONNX Runtime")
    out = Path(out)
    check_empty(out)
    check_writable(out / "export.json")
    model, tokenizer = load_model(folder)
    whole: Any = model
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f"{out.name}.") as place:
        made = Path(place)
        if format == "ctranslate2":
            export_ctranslate2(whole, made, words=vocabulary(tokenizer))
        else:
            (export_onnx if format == "onnx" else export_torch)(whole, made)
        export_tokenizer(tokenizer, made / "tokenizer.json")
        about = {"format": format, "opset": OPSET if format == "onnx" else None, **asdict(model.config)}
        (made / "export.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        (made / "README.md").write_text(Template(USAGE[format]).substitute(about, limit=model.config.max_len - 1), encoding="utf-8")
        out.mkdir(exist_ok=True)
        for path in made.iterdir():
            shutil.move(path, out)


def check_empty(out: Path) -> None:
    """Raise FileExistsError where an export would stand among other files."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        found = f"holds {min(path.name for path in out.iterdir())}" if out.is_dir() else "is a file"
        raise FileExistsError(f"out: expected a new folder or an empty one, {out} {found}; name another")
