"""Which model a command takes, and how it searches."""

from argparse import Namespace
from pathlib import Path

from xformer_lib._shell import quoted
from xformer_lib._shipped import SHIPPED, model_folder
from xformer_lib.cli.parser import say

__all__ = ["check_search", "chosen_model", "name_model"]

WIDEST, STRONGEST = 100, 10  # of beams and of length penalties: beyond, numbers overflow and memory ends


def chosen_model(folder: str | None) -> Path:
    """Return the folder asked for, or that of a model that comes with the library, unasked or by its name."""
    return SHIPPED / "en-fr" if folder is None else model_folder(folder)


def name_model(options: Namespace, folder: Path) -> None:
    """Say on standard error which model it was."""
    shipped = folder.parent == SHIPPED
    say(options, f"model {folder.name}, which comes with the library" if shipped else f"model {quoted(folder)}")


def check_search(options: Namespace) -> None:
    """Raise ValueError for a search that no machine can do, or whose numbers overflow."""
    if not 1 <= options.beam_size <= WIDEST:
        raise ValueError(f"--beam-size: expected a whole number from 1 to {WIDEST}, got {options.beam_size}; 1 is greedy, 4 is usual")
    if not 0 <= options.length_penalty <= STRONGEST:
        raise ValueError(
            f"--length-penalty: expected a number from 0 to {STRONGEST}, got {options.length_penalty:g}; "
            "0 compares probabilities, 1 the mean log p of a token"
        )
