"""What a byte-level vocabulary needs around it: readable pieces, and files written whole.

Written by hand: chapter 10 explains bytes and merges, ``xformer_lib.data.tokenizer`` is the only user.
"""

import hashlib
import json
import re
from pathlib import Path

import tokenizers

from xformer_lib.data.files import write_atomically

__all__ = ["BYTES", "SPECIALS", "ClosedCopies", "fingerprint", "read_inner", "readable", "write_inner"]

SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"]


def _byte_table() -> dict[str, int]:
    """Return the printable character that stands for each byte inside a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(moved)}


BYTES = _byte_table()


class ClosedCopies:
    """What a copy, or a pickled one, must be told again: in a text, "<pad>" is five characters.

    The package carries ``encode_special_tokens`` into neither.
    """

    _inner: tokenizers.Tokenizer

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state)
        self._inner.encode_special_tokens = True


def readable(token: str) -> str:
    """Return a vocabulary entry as a person reads it: ▁ for a space, <0x..> for a loose byte."""
    if token in SPECIALS:
        return token
    raw = bytes(BYTES[character] for character in token)
    try:
        return raw.decode("utf-8").replace(" ", "▁")
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in raw)


def fingerprint(inner: tokenizers.Tokenizer) -> str:
    """Return a sha256 of the pieces, by id, and of the merges, in their order; no version of the package changes it."""
    model = json.loads(inner.to_str(pretty=False))["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    return hashlib.sha256(json.dumps([pieces, merges]).encode()).hexdigest()


# the first entry of a file; its hexadecimal digits are the sha256 of what follows it
_CHECKSUM = re.compile(rb'\{"sha256":"([0-9a-f]{64})",')


def write_inner(path: Path, inner: tokenizers.Tokenizer) -> None:
    """Write one JSON file with its checksum; a reader never sees half of it."""
    rest = inner.to_str(pretty=False).removeprefix("{").encode()
    write_atomically(path, b'{"sha256":"%s",' % hashlib.sha256(rest).hexdigest().encode() + rest)


def read_inner(path: Path) -> tokenizers.Tokenizer:
    """Return the inner tokenizer of a saved file; the checksum is verified before anything is parsed."""
    data = path.read_bytes()
    checksum = _CHECKSUM.match(data)
    rest = data[checksum.end() :] if checksum else b""
    if checksum is None or checksum[1].decode() != hashlib.sha256(rest).hexdigest():
        raise _changed(path)
    try:
        return tokenizers.Tokenizer.from_str("{" + rest.decode())
    except Exception as error:  # the package has no narrower one
        raise _changed(path) from error


def _changed(path: Path) -> ValueError:
    return ValueError(
        f"path: expected a tokenizer file, got {path}, which was changed, or not written by Tokenizer.save; "
        "restore it from a copy, or save the tokenizer again"
    )
