"""The tokenizer as one file for the package ``tokenizers`` alone, with all that this library does to a text before it."""

import json
from pathlib import Path

import tokenizers
from tokenizers import Regex, decoders, normalizers, processors

from xformer_lib.data._pieces import SPECIALS
from xformer_lib.data.corpora import _PLAIN
from xformer_lib.data.tokenizer import Tokenizer

__all__ = ["export_tokenizer", "vocabulary"]

SPACES = Regex(r"[\s\x1c-\x1f\x85]+")  # what str.split() parts at


def export_tokenizer(tokenizer: Tokenizer, path: str | Path) -> None:
    """Write a file for ``tokenizers.Tokenizer.from_file``, whose ``encode(text).ids`` are what a model reads: <eos> ends them.

    The file makes a text plain, as `data.normalise` does, by the tables of Unicode 9: two marks on one letter, one of them newer,
    keep the order in which they were typed. Its special pieces are ordinary ones, so that no text produces
    them; they decode to nothing.
    """
    inner = json.loads(tokenizer._inner.to_str())
    inner["added_tokens"] = []
    alone = tokenizers.Tokenizer.from_str(json.dumps(inner))
    plain = [normalizers.Replace(chr(sign), simple) for sign, simple in _PLAIN.items()]
    alone.normalizer = normalizers.Sequence([normalizers.NFC(), *plain, normalizers.Replace(SPACES, " "), normalizers.Strip()])
    alone.post_processor = processors.TemplateProcessing(single="$A <eos>", special_tokens=[("<eos>", tokenizer.eos_id)])
    alone.decoder = decoders.Sequence([*(decoders.Replace(piece, "") for piece in SPECIALS), decoders.ByteLevel()])
    alone.save(str(path), pretty=False)


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """Return the pieces by their ids, as ``encode(text).tokens`` of the exported file names them."""
    return [tokenizer._inner.id_to_token(number) or "" for number in range(tokenizer.vocab_size)]
