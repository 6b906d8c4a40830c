"""What can be said to ``xformer``, and how it answers on standard error."""

import argparse
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from xformer_lib import __version__

__all__ = ["build_parser", "say"]

ABOUT = "The command xformer: train, evaluate, translate, export, grade, key, doctor."
GRADE_STATUS = "Exit status: 0 when every exercise is passed, 1 when one is open, 2 when nothing could be graded."
OPTION = re.compile(r"--?[^\W\d]\S*$")
MODEL_HELP = "folder of a run, or en-fr or fr-en, which come with the library (default: en-fr)"


def say(options: argparse.Namespace, text: str) -> None:
    """Print one line on standard error, behind the name of the command."""
    with suppress(OSError):  # nobody reads it, which stops no work
        print(f"xformer {options.command}: {text}", file=sys.stderr)


def runner(module: str) -> Callable[[argparse.Namespace], int]:
    """Return the ``run`` of a module of this package, which is imported when it is called."""
    return lambda options: import_module(f"xformer_lib.cli.{module}").run(options)


class CommandParser(argparse.ArgumentParser):
    """Parses one command; of a list of words, some may stand behind an option: ``hello --quiet world``."""

    def parse_known_args(self, args=None, namespace=None):
        found, left = super().parse_known_args(args, namespace)
        lists = [action.dest for action in self._actions if not action.option_strings and action.nargs in ("*", "+")]
        end = left.index("--") if "--" in left else len(left)
        if lists and not any(OPTION.match(word) for word in left[:end]):
            getattr(found, lists[0]).extend(left[:end] + left[end + 1 :])
            left = []
        return found, left


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``xformer``; what it parses has ``run``, the function of the command."""
    parser = argparse.ArgumentParser(prog="xformer", description=ABOUT)
    parser.add_argument("--version", action="version", version=f"xformer {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=CommandParser)

    train = commands.add_parser("train", help="train a translator, or go on with one")
    start = train.add_mutually_exclusive_group(required=True)
    start.add_argument("--preset", help="fragment, multi30k or tatoeba")
    start.add_argument("--pairs", nargs="+", metavar="FILE", help="sentences of your own: source, tab, target in each line; or two files")
    start.add_argument("--resume", metavar="FOLDER", help="go on from this run's last checkpoint")
    # torchrun takes a bare --start for an abbreviation of its own options
    train.add_argument("--start-from", dest="start", metavar="FOLDER", help="fine-tune: begin with the weights and tokenizer of this model")
    train.add_argument("--out", metavar="FOLDER", help="where the run is written (default: runs/PRESET, or runs/mine for --pairs)")
    train.add_argument(
        "--set",
        nargs="+",
        action="extend",
        metavar="NAME=VALUE",
        default=[],
        help="change settings of the preset, for example max_steps=2000 dropout=0.3",
    )
    train.add_argument("--device", help="cpu, cuda or mps (default: the best one here)")
    add_threads(train)
    train.add_argument("--quiet", action="store_true", help="no progress bar")
    train.set_defaults(run=runner("train"))

    evaluate = commands.add_parser("evaluate", help="score a trained model with sacreBLEU and chrF")
    evaluate.add_argument("model", nargs="?", help=MODEL_HELP)
    evaluate.add_argument("--corpus", help="fragment, multi30k or tatoeba, with -fr-en behind it from French (default: the one trained on)")
    evaluate.add_argument("--split", default="test", help="train, val or test (default: test)")
    evaluate.add_argument("--json", metavar="FILE", help="write everything there is to know about the run")
    evaluate.add_argument("--device", help="cpu, cuda or mps (default: the best one here)")
    add_threads(evaluate)
    add_search(evaluate)
    evaluate.set_defaults(run=runner("evaluate"))

    translate = commands.add_parser("translate", help="translate sentences, or the lines of standard input")
    translate.add_argument(
        "text",
        nargs="*",
        help="texts in the language that the model reads; single words are one sentence (default: the lines of standard input)",
    )
    translate.add_argument("--model", metavar="FOLDER", help=MODEL_HELP)
    translate.add_argument(
        "--input", metavar="FILE", help="translate the lines of this file, or of standard input by -; a blank line stays blank"
    )
    translate.add_argument("--output", metavar="FILE", help="write here, line for line (default: standard output)")
    translate.add_argument("--device", help="cpu, cuda or mps (default: cpu)", default="cpu")
    add_threads(translate)
    translate.add_argument("--int8", action="store_true", help="round the weights to eight bits: a quarter of the memory")
    add_search(translate)
    translate.set_defaults(run=runner("translate"))

    export = commands.add_parser("export", help="write a model for ONNX Runtime, CTranslate2 or torch, with tokenizer and instructions")
    export.add_argument("model", nargs="?", help=MODEL_HELP)
    export.add_argument("--format", required=True, help="onnx, ctranslate2 or torch")
    export.add_argument("--out", required=True, metavar="FOLDER", help="where it is written: a new folder, or an empty one")
    export.set_defaults(run=runner("export"))

    grade = commands.add_parser("grade", help="grade a learner's notebook, or many", epilog=GRADE_STATUS)
    grade.add_argument("path", nargs="+", help="a notebook, or several, or a folder that is searched for notebooks")
    grade.add_argument("--json", metavar="FILE", help="write every verdict with its message")
    grade.add_argument("--new", action="store_true", help="of many run only what is new or changed since --json FILE was written")
    grade.add_argument("--csv", metavar="FILE", help="write the table here (a folder's goes to standard output otherwise)")
    grade.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for a notebook (default: 600)")
    grade.add_argument("--cell-timeout", type=float, default=60, metavar="S", help="seconds for a cell (default: 60)")
    grade.add_argument("--memory", type=float, default=4, metavar="GB", help="gigabytes for a process, on Linux (default: 4)")
    grade.add_argument("--jobs", type=int, default=1, help="notebooks at the same time (default: 1)")
    grade.add_argument("--seed", type=int, default=0, help="for the cases of the checks (default: 0)")
    grade.set_defaults(run=runner("course"))

    key = commands.add_parser("key", help="write a chapter's answer key, for the teacher")
    key.add_argument("what", nargs="+", metavar="CHAPTER", help="a chapter such as 4, or an exercise such as 4.1")
    key.add_argument("--output", metavar="FILE", help="write here (default: standard output)")
    key.set_defaults(run=runner("course"))

    doctor = commands.add_parser("doctor", help="say what this machine has and what it lacks")
    doctor.set_defaults(run=runner("doctor"))
    return parser


def add_threads(command: argparse.ArgumentParser) -> None:
    """The option of a command that computes."""
    command.add_argument(
        "--threads", type=int, metavar="N", help="threads on the CPU (default: one for each core; 1 is quicker where other programs run)"
    )


def add_search(command: argparse.ArgumentParser) -> None:
    """The options of a command that decodes."""
    command.add_argument("--beam-size", type=int, default=1, metavar="N", help="beginnings that are kept (default: 1, greedy)")
    command.add_argument(
        "--length-penalty", type=float, default=1.0, metavar="A", help="hypotheses of a beam are compared by log p / length**A (default: 1)"
    )
    command.add_argument("--quiet", action="store_true", help="no progress bar")
