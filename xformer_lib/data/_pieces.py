"""What a byte-level vocabulary needs around it: readable pieces, and files written whole.

Written by hand: chapter 10 explains bytes and merges, ``xformer_lib.data.tokenizer`` is the only user.
"""

import os
from pathlib import Path

import tokenizers

__all__ = ["BYTES", "SPECIALS", "read_inner", "readable", "write_whole"]

SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"]


def _byte_table() -> dict[str, int]:
    """The printable character that stands for each byte inside a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(moved)}


BYTES = _byte_table()


def readable(token: str) -> str:
    """A vocabulary entry as a person reads it: ▁ for a space, <0x..> for a loose byte."""
    if token in SPECIALS:
        return token
    raw = bytes(BYTES[character] for character in token)
    try:
        return raw.decode("utf-8").replace(" ", "▁")
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in raw)


def write_whole(path: Path, text: str) -> None:
    """Write beside the target, then rename: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def read_inner(path: Path) -> tokenizers.Tokenizer:
    """The inner tokenizer of a saved file, checked for our four special ids."""
    try:
        inner = tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except Exception as error:  # the Rust side raises plain Exception for malformed JSON
        raise ValueError(f"path: expected a tokenizer file, got {path}, which cannot be read "
                         f"({error}); save the tokenizer again") from None
    if [inner.token_to_id(name) for name in SPECIALS] != [0, 1, 2, 3]:
        raise ValueError(f"path: expected {' '.join(SPECIALS)} as ids 0 to 3, got other ids in {path}; "
                         f"use a file that Tokenizer.save wrote")
    return inner
