"""A trained translator for engines that know nothing of this library: ONNX Runtime, CTranslate2, torch alone.

`export_model` writes a whole folder, with tokenizer and instructions; the command is ``xformer export``.
"""

from typing import TYPE_CHECKING

from xformer_lib._lazy import lazy_names

_HOMES = {"export_ctranslate2": "specification", "export_model": "folder", "export_onnx": "programs", "export_torch": "programs"}

__all__ = list(_HOMES)

if TYPE_CHECKING:  # what an editor and a type checker see
    from xformer_lib.export.folder import export_model as export_model
    from xformer_lib.export.programs import export_onnx as export_onnx
    from xformer_lib.export.programs import export_torch as export_torch
    from xformer_lib.export.specification import export_ctranslate2 as export_ctranslate2
else:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
