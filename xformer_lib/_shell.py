"""Words of a command line as this system's shell reads them, for messages that name a command."""

import os
import re
import shlex

__all__ = ["END_OF_INPUT", "quoted"]

WINDOWS = os.name == "nt"
END_OF_INPUT = "Ctrl-Z and Enter" if WINDOWS else "Ctrl-D"
HARMLESS = re.compile(r"[\w.:\\/+=@,-]+")  # to the shells of Windows


def quoted(word: object) -> str:
    """Return a word, in quotes where the shell would otherwise cut or change it; those of Windows know double quotes alone."""
    text = str(word)
    if not WINDOWS:
        return shlex.quote(text)
    if HARMLESS.fullmatch(text):
        return text
    doubled = re.sub(r'(\\*)(?="|$)', r"\1\1", text)  # backslashes before a quote
    return '"' + doubled.replace('"', '\\"') + '"'
