"""``xformer translate``: translate sentences, or the lines of a file or of standard input."""

import os
import sys
from argparse import Namespace

from xformer_lib._shell import END_OF_INPUT
from xformer_lib.cli.files import STANDARD, check_output, read_lines, write_text
from xformer_lib.cli.models import check_search, chosen_model, name_model
from xformer_lib.cli.parser import say

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Print or write the translations, and return the exit status."""
    check_options(options)
    if options.text == [STANDARD]:
        options.text = []
    if not options.text and options.input in (None, STANDARD) and sys.stdin is not None and sys.stdin.isatty():
        say(options, f"reads sentences from here, one a line, until {END_OF_INPUT}; --help has other ways")
    texts = typed_texts(options.text) if options.text else as_one_text(read_lines(options.input))

    from xformer_lib.data.typed import read_words
    from xformer_lib.decoding.translator import store_column_major, translate_texts
    from xformer_lib.training.checkpoint import load_model
    from xformer_lib.training.precision import pick_device

    folder = chosen_model(options.model)
    model, tokenizer = load_model(folder, device=pick_device(options.device))
    if options.int8:
        from xformer_lib.engine.quantized import quantize_int8

        model = quantize_int8(model)
    found = translate_texts(
        store_column_major(model),
        tokenizer,
        texts,
        words=read_words(folder),
        beam_size=options.beam_size,
        length_penalty=options.length_penalty,
        progress=not (options.quiet or options.text),
    )
    text = "".join(one.text + "\n" for one in found)
    if options.output:
        write_text(options.output, text)
    else:
        print(text, end="", flush=True)
    notes = list(dict.fromkeys(note for one in found for note in one.notes))
    if notes:
        say(options, "; ".join(notes[:4]) + f"; and {len(notes) - 4} notes more" * (len(notes) > 4))
    name_model(options, folder)
    return 0


def check_options(options: Namespace) -> None:
    """Raise ValueError or OSError for options that cannot be followed, before torch is loaded."""
    if options.text and options.input is not None:
        raise ValueError("--input: expected no sentences beside it, got both; leave one out")
    check_search(options)
    check_output("--output", options.output)
    files = [os.path.realpath(file) for file in (options.input, options.output) if file not in (None, STANDARD)]
    if len(files) == 2 and files[0] == files[1] and (os.path.isfile(files[0]) or not os.path.exists(files[0])):
        raise ValueError(f"--input, --output: expected two files, got {options.input} for both; name another for one")
    if options.int8 and options.device != "cpu":
        raise ValueError(f"--int8: expected --device cpu beside it, got {options.device}; leave one of the two out")


def as_one_text(lines: list[str]) -> list[str]:
    """Return the lines as one text, whose line breaks are kept; nothing for no lines."""
    return ["\n".join(lines)] if lines else []


def in_utf8(text: str, number: int) -> str:
    """Return an argument as it was typed, whatever the locale took it for. Raises ValueError for bytes that are no UTF-8."""
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        raise ValueError(
            f"text: expected letters in UTF-8, got other bytes (sentence {number}); set the terminal to UTF-8, or use --input"
        ) from None


def typed_texts(given: list[str]) -> list[str]:
    """Return each argument as a text; several single words are one sentence, typed without quotes."""
    given = [in_utf8(text, number) for number, text in enumerate(given, start=1)]
    for number, text in enumerate(given, start=1):
        if not text.strip():
            raise ValueError(f"text: expected a sentence, got an empty one (sentence {number}); leave it out")
    return given if any(len(text.split()) > 1 for text in given) else [" ".join(given)]
