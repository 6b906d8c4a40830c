"""Models that come with the library, ready to use.

>>> from xformer_lib import load_pretrained
>>> translator = load_pretrained("en-fr")
>>> translator.model.config.num_encoder_layers
3

A model is a folder here: ``model.safetensors`` (weights in half precision, widened to float32 when loaded), ``config.json``
(the settings of the run that trained it), ``tokenizer.json``, ``words.txt`` (those of its training) and ``README.md``, its model
card. ``tools/pack_model.py`` makes the folder from a finished run.
"""

from pathlib import Path

from xformer_lib.data.typed import read_words
from xformer_lib.decoding import Translator
from xformer_lib.engine.quantized import quantize_int8
from xformer_lib.training.checkpoint import load_model
from xformer_lib.training.precision import pick_device

__all__ = ["available", "load_pretrained"]

FOLDER = Path(__file__).parent


def available() -> list[str]:
    """Return the names that `load_pretrained` knows."""
    return sorted(path.parent.name for path in FOLDER.glob("*/model.safetensors"))


def load_pretrained(name: str = "en-fr", *, device: str = "cpu", weights: str = "float32") -> Translator:
    """Return a trained translator that comes with the library; no network is needed.

    ``"en-fr"`` translates English to French, ``"fr-en"`` French to English. Both learned from the sentence pairs of
    tatoeba.org (CC BY 2.0 FR) alone: short, everyday sentences. What they can and cannot do is written in their model cards,
    ``xformer_lib/pretrained/en-fr/README.md`` and ``…/fr-en/README.md``.

    ``weights="int8"`` rounds the matrices to eight bits for a CPU (`engine.quantize_int8`): about a quarter of the
    memory; ``results/int8.json`` has the effect on BLEU and on time.

    Raises:
        ValueError: for a name that is not in `available`, or weights that are neither "float32" nor "int8", or a device that is not here.
    """
    if weights not in ("float32", "int8"):
        raise ValueError(f'weights: expected "float32" or "int8", got {weights!r}; "float32" is the default')
    if name not in available():
        raise ValueError(
            f"name: expected one of {', '.join(available())}, got {name!r}; choose one of these, "
            "or load a run of your own: Translator(*training.checkpoint.load_model(folder))"
        )
    model, tokenizer = load_model(FOLDER / name, device=pick_device(device))
    return Translator(quantize_int8(model) if weights == "int8" else model, tokenizer, words=read_words(FOLDER / name))
