"""What ``xformer translate`` reads: lines of text, the names by which messages call them, and letters no model has read."""

import sys
import unicodedata
from pathlib import Path

__all__ = ["check_sentences", "read_lines", "unread_letters"]


def read_lines(path: str | None) -> list[str]:
    """The lines of a file, or of standard input; line n of the output translates line n. A byte order mark is no text."""
    try:
        if path is not None:
            data = Path(path).read_bytes()
        else:
            data = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode("utf-8")
        text = data.decode("utf-8-sig")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise ValueError(
            f"{path or 'standard input'}: expected text in UTF-8, got other bytes at place {error.start}; save the file as UTF-8"
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def check_sentences(tokenizer, limit: int, sentences: dict[str, str]) -> None:
    """Raise ValueError for a sentence that is empty or too long, under the name that its reader knows: "line 4"."""
    from xformer_lib.data.corpora import normalise

    encoded = tokenizer.encode_batch([normalise(text) for text in sentences.values()])  # as they are translated
    for (name, text), ids in zip(sentences.items(), encoded):
        if not text.strip():
            raise ValueError(f"text: expected a sentence, got an empty one ({name}); leave it out")
        if len(ids) > limit:
            raise ValueError(
                f"text: expected at most {limit} tokens, got {len(ids)} in {name}, {text[:30]!r}…; split it into shorter sentences"
            )


def unread_letters(tokenizer, texts: list[str]) -> list[str]:
    """For each text its first letter of a script of which no piece of the vocabulary holds a letter, or ""."""
    known = {script(letter) for piece in tokenizer.pieces(range(tokenizer.vocab_size)) for letter in piece if letter.isalpha()}
    return [next((letter for letter in text if letter.isalpha() and script(letter) not in known), "") for text in texts]


def script(letter: str) -> str:
    """LATIN, CYRILLIC, CJK, …: the first word of the name that Unicode gives to the letter without its marks."""
    plain = unicodedata.normalize("NFKD", letter)[0]
    return unicodedata.name(plain, "UNNAMED").partition(" ")[0]
