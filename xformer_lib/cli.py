"""The command ``xformer``: train, evaluate, translate, grade, key, doctor.

Every mistake a user can make ends in one line on stderr, after the usage where the call itself is not understood, and exit status 2;
``XFORMER_TRACEBACK=1`` shows where it came from. Ctrl-C ends with exit status 130, and a training run with a checkpoint.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from xformer_lib import __version__, _needs
from xformer_lib._json import json_text
from xformer_lib._sentences import read_lines
from xformer_lib._settings import with_settings
from xformer_lib._shell import END_OF_INPUT, quoted

ABOUT = "The command xformer: train, evaluate, translate, grade, key, doctor."  # python -OO takes the text above away
GRADE_STATUS = "Exit status: 0 when every exercise is passed, 1 when one is open, 2 when nothing could be graded."
MODEL_HELP = "folder of a run, or en-fr or fr-en, which come with the library (default: en-fr)"
HERE = Path(__file__).resolve().parent
SHIPPED = HERE / "pretrained"
WIDEST, STRONGEST = 100, 10  # of beams and of length penalties: beyond, numbers overflow and memory ends
MISTAKES = (ValueError, TypeError, OSError, ImportError, FloatingPointError)  # ours: they say what to do
OF_OTHERS = (RuntimeError, MemoryError, ArithmeticError)  # torch's and Python's; a RecursionError is a RuntimeError
NO_MEMORY = re.compile("can't allocate memory|out of memory|not enough memory")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    closed = open_closed_streams()
    speak_utf8()
    options = build_parser().parse_args(arguments)
    try:
        check_streams(options, closed)
        check_packages(options.command)
        status = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who read our output, such as head, has gone: no mistake
        discard_output()
        return 0
    except (*MISTAKES, *OF_OTHERS) as error:
        if os.environ.get("XFORMER_TRACEBACK"):
            raise
        say(options, in_words(error))
        discard_output()
        return 2
    except KeyboardInterrupt as error:
        say(options, str(error) or "stopped at once")
        return 130


def say(options, text: str) -> None:
    """One line on standard error, whatever the text holds."""
    line = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    print(f"xformer {options.command}: {line}", file=sys.stderr)


def in_words(error: Exception) -> str:
    """What an error says. Ours are sentences already; those of torch and Python are named, and where to learn more."""
    if isinstance(error, MemoryError) or isinstance(error, RuntimeError) and NO_MEMORY.search(str(error)):
        return "memory: expected enough for the model and a batch, got too little; take a smaller beam, batch or model"
    if isinstance(error, MISTAKES):
        return str(error)
    first = (str(error).strip() or "without words").splitlines()[0]
    return f"{type(error).__name__}: {first}; if nothing here explains it, XFORMER_TRACEBACK=1 shows where it arose"


def open_closed_streams() -> set[str]:
    """Put the null device where a stream was closed, as by ``>&-``, and name those streams.

    Otherwise the next file that is opened takes the stream's number, and with it what anybody writes there.
    """
    closed = {name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None}
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if name in closed:
            mode = "r" if name == "stdin" else "w"
            try:
                os.fstat(number)
            except OSError:  # the number is free, and those below it are taken: this file gets it
                os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
    return closed


def speak_utf8() -> None:
    """A file or a pipe gets UTF-8, which the command also reads, and not what Windows takes for usual. A terminal knows its own letters."""
    if not hasattr(sys.stdout, "reconfigure"):  # a notebook's
        return
    if sys.stdout.isatty():
        sys.stdout.reconfigure(errors="backslashreplace")
    else:
        sys.stdout.reconfigure(encoding="utf-8")


def check_streams(options, closed: set[str]) -> None:
    """Refuse, before the work, a command whose result has no place to go, or that has nothing to read from."""
    files = [getattr(options, name, None) for name in ("output", "json", "csv")]
    if "stdout" in closed and options.command != "train" and not any(files):
        raise ValueError("standard output: expected an open stream, got a closed one; leave >&- out, or name a file")
    if "stdin" in closed and options.command == "translate" and not (options.text or options.input):
        raise ValueError("standard input: expected sentences, got a closed stream; give sentences or --input FILE")


def check_packages(command: str) -> None:
    """Name all that a command lacks at once, with the pip command, instead of failing at the first import."""
    missing = _needs.missing(_needs.COMMANDS.get(command, ()))
    if missing:
        raise ImportError(f"{', '.join(missing)}: not installed here; {_needs.command(missing)}")


def discard_output() -> None:
    """Give up what standard output could not take, so that Python does not try again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="xformer", description=ABOUT)
    parser.add_argument("--version", action="version", version=f"xformer {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

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
    train.add_argument("--quiet", action="store_true", help="no progress bar")
    train.set_defaults(run=run_train)

    evaluate = commands.add_parser("evaluate", help="score a trained model with sacreBLEU and chrF")
    evaluate.add_argument("model", nargs="?", help=MODEL_HELP)
    evaluate.add_argument("--corpus", help="fragment, multi30k or tatoeba, with -fr-en behind it from French (default: the one trained on)")
    evaluate.add_argument("--split", default="test", help="train, val or test (default: test)")
    evaluate.add_argument("--json", metavar="FILE", help="write everything there is to know about the run")
    evaluate.add_argument("--device", help="cpu, cuda or mps (default: the best one here)")
    add_search(evaluate)
    evaluate.set_defaults(run=run_evaluate)

    translate = commands.add_parser("translate", help="translate sentences, or the lines of standard input")
    translate.add_argument(
        "text",
        nargs="*",
        help="texts in the language that the model reads; single words are one sentence (default: the lines of standard input)",
    )
    translate.add_argument("--model", metavar="FOLDER", help=MODEL_HELP)
    translate.add_argument("--input", metavar="FILE", help="translate the lines of this file; a blank line stays blank")
    translate.add_argument("--output", metavar="FILE", help="write here, line for line (default: standard output)")
    translate.add_argument("--device", help="cpu, cuda or mps (default: cpu)", default="cpu")
    translate.add_argument("--int8", action="store_true", help="round the weights to eight bits: a quarter of the memory")
    add_search(translate)
    translate.set_defaults(run=run_translate)

    grade = commands.add_parser("grade", help="grade a learner's notebook, or a folder of them", epilog=GRADE_STATUS)
    grade.add_argument("path", help="a notebook, or a folder that is searched for notebooks")
    grade.add_argument("--json", metavar="FILE", help="write every verdict with its message")
    grade.add_argument("--new", action="store_true", help="of a folder run only what is new or changed since --json FILE was written")
    grade.add_argument("--csv", metavar="FILE", help="write the table here (a folder's goes to standard output otherwise)")
    grade.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for a notebook (default: 600)")
    grade.add_argument("--cell-timeout", type=float, default=60, metavar="S", help="seconds for a cell (default: 60)")
    grade.add_argument("--memory", type=float, default=4, metavar="GB", help="gigabytes for a process, on Linux (default: 4)")
    grade.add_argument("--jobs", type=int, default=1, help="notebooks at the same time (default: 1)")
    grade.add_argument("--seed", type=int, default=0, help="for the cases of the checks (default: 0)")
    grade.set_defaults(run=run_of_course)

    key = commands.add_parser("key", help="write a chapter's answer key, for the teacher")
    key.add_argument("what", nargs="+", metavar="CHAPTER", help="a chapter such as 4, or an exercise such as 4.1")
    key.add_argument("--output", metavar="FILE", help="write here (default: standard output)")
    key.set_defaults(run=run_of_course)

    doctor = commands.add_parser("doctor", help="say what this machine has and what it lacks")
    doctor.set_defaults(run=run_doctor)
    return parser


def add_search(command: argparse.ArgumentParser) -> None:
    """The options of a command that decodes."""
    command.add_argument("--beam-size", type=int, default=1, metavar="N", help="beginnings that are kept (default: 1, greedy)")
    command.add_argument(
        "--length-penalty", type=float, default=1.0, metavar="A", help="hypotheses of a beam are compared by log p / length**A (default: 1)"
    )
    command.add_argument("--quiet", action="store_true", help="no progress bar")


# ---------------------------------------------------------------- train


def run_train(options) -> int:
    from xformer_lib.data.pairs import read_pairs, split_pairs
    from xformer_lib.training.checkpoint import load_settings
    from xformer_lib.training.config import preset, preset_for
    from xformer_lib.training.distributed import process_group
    from xformer_lib.training.loop import resume, train
    from xformer_lib.training.memory import check_memory

    check_device(options.device)
    if options.out == "":
        raise ValueError(f"--out: expected the name of a folder, got ''; leave the option out for runs/{options.preset or 'mine'}")
    resumed = options.resume is not None
    if resumed and (options.set or options.out is not None or options.start is not None):
        raise ValueError("--resume: expected no --set, --start-from and --out, the run keeps its settings; leave them out")
    with process_group(options.device) as (processes, device):
        how: dict[str, Any] = dict(device=device, progress=not options.quiet, processes=processes)
        if resumed:
            run = resume(options.resume, **how)
        else:
            folder = Path(f"runs/{options.preset or 'mine'}" if options.out is None else options.out)
            corpus = None if options.pairs is None else split_pairs(read_pairs(*options.pairs))
            config = preset(options.preset) if corpus is None else preset_for(corpus["train"])
            start = None if options.start is None else chosen_model(options.start)
            if start is not None:
                config = replace(config, model=load_settings(start)[0].model)
            config = with_settings(config, options.set)
            check_memory(config.model)
            origin = provenance(options, processes.world) if processes.rank == 0 else None
            run = train(config, folder, corpus=corpus, provenance=origin, start=start, **how)
    if processes.rank == 0:
        print(
            f"{run.folder}: {run.step} steps, {run.tokens:,} target tokens in {run.seconds / 60:.1f} minutes; "
            f"validation loss {run.history[-1]['validation_loss']:.3f} nats a token"
            + (f"; {run.left_out:,} pairs longer than max_len were left out" if run.left_out else ""),
            flush=True,
        )
        name = quoted(run.folder)
        say(options, f"model {name}; translate with it: --model {name}")
    return 0


def provenance(options, processes: int = 1) -> dict:
    """What a recorded number needs beside it: command, commit, device, versions."""
    import torch

    from xformer_lib.training.precision import pick_device

    device = pick_device(options.device)
    return {
        "command": ("xformer " if processes == 1 else f"torchrun --nproc-per-node {processes} -m xformer_lib.cli ")
        + " ".join(map(quoted, sys.argv[1:])),
        "commit": git_commit(),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else cpu_name(),
        "threads": torch.get_num_threads(),
        **({"processes": processes} if processes > 1 else {}),
        "versions": {
            name: "not installed" if _needs.is_missing(name) else metadata.version(name) for name in ("torch", "tokenizers", "sacrebleu")
        },
    }


def git_commit(here: Path = HERE) -> str:
    """The commit the library was run from, marked when files had changed; "unknown" outside a clone.

    Where git is missing or refuses, that is said on standard error. In an environment that lies inside a repository of
    somebody else, whose commit would mean nothing, the library's files are not tracked.
    """
    if not ask_git(here, "ls-files", "cli.py"):
        return "unknown"
    return ask_git(here, "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*") or "unknown"


def ask_git(folder: Path, *arguments: str) -> str:
    """What git answers; nothing, and why on standard error, where it does not. No repository is no reason to speak."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, env={**os.environ, "LC_ALL": "C"})
    except OSError:
        print("xformer: git is not on the path; the commit is recorded as unknown", file=sys.stderr)
        return ""
    said, complaint = (out.decode("utf-8", "replace").strip() for out in (answer.stdout, answer.stderr))  # paths, of whatever letters
    if answer.returncode and "not a git repository" not in complaint:
        why = (complaint or "no reason given").splitlines()[0]
        print(f"xformer: git refused ({why}); the commit is recorded as unknown", file=sys.stderr)
    return said


def cpu_name() -> str:
    """The processor's name as the system gives it, and how many cores the process may use."""
    described = Path("/proc/cpuinfo").read_bytes().decode("utf-8", "replace").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in described if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.processor() or platform.machine()}, {cores} cores"


def write_json(path: Path, data: dict) -> None:
    write_text(path, json_text(data))


def write_text(path: Path, text: str) -> None:
    """The whole file or, if the disk is full or the user presses Ctrl-C, the one that was there."""
    from xformer_lib.data.files import write_atomically

    if is_stdout(path):  # /dev/stdout
        sys.stdout.write(text)
        sys.stdout.flush()
    elif path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        path.write_text(text, encoding="utf-8")
    else:
        write_atomically(path.resolve(), text.encode("utf-8"))


def is_stdout(path: Path) -> bool:
    """Whether a path leads to where standard output goes, be that a file."""
    try:
        return path.exists() and os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except OSError:  # a notebook's standard output has no number
        return False


def check_output(option: str, file: str | None) -> None:
    """Refuse an output file that cannot be written there before the work, not after it: a file beside it is made, and removed."""
    if file == "":
        raise ValueError(f"{option}: expected the name of a file, got ''; leave the option out for none")
    check_no_folder(option, file)
    if file is None:
        return
    target = Path(file).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{option}: no folder {Path(file).parent}; make it first")
    if target.exists() and not target.is_file() or is_stdout(target):
        return
    part = target.with_name(f"{target.name}.{os.getpid()}.part")  # as `write_atomically` names it
    try:
        part.touch()
        part.unlink()
    except OSError as error:
        raise OSError(f"{option}: {file} could not be written ({error.strerror or error}); name another file") from error


def check_no_folder(option: str, file: str | None) -> None:
    if file and Path(file).is_dir():
        raise IsADirectoryError(f"{option}: expected a file, got the folder {file}; name a file in it")


# ---------------------------------------------------------------- evaluate and translate


def chosen_model(folder: str | None) -> Path:
    """The folder asked for, or a model that comes with the library, unasked or by its name; a run is never taken unasked."""
    name = "en-fr" if folder is None else folder
    known = name in {path.parent.name for path in SHIPPED.glob("*/model.safetensors")}
    return SHIPPED / name if known and (folder is None or not Path(folder).exists()) else Path(name)


def name_model(options, folder: Path) -> None:
    """Say on standard error which model it was."""
    shipped = folder.parent == SHIPPED
    say(options, f"model {folder.name}, which comes with the library" if shipped else f"model {quoted(folder)}")


def check_device(name: str | None) -> None:
    """Refuse what torch has no words for, such as cpu:x; whether a device is here is asked later."""
    if name and not re.fullmatch(r"[^:]*(:\d+)?", name):
        raise ValueError(f"device: expected cpu, cuda or mps, and one that is here, got {name!r}; leave it out for the best one")


def check_search(options) -> None:
    """Raise ValueError for a search that no machine can do, or whose numbers overflow."""
    if not 1 <= options.beam_size <= WIDEST:
        raise ValueError(f"--beam-size: expected a whole number from 1 to {WIDEST}, got {options.beam_size}; 1 is greedy, 4 is usual")
    if not 0 <= options.length_penalty <= STRONGEST:
        raise ValueError(
            f"--length-penalty: expected a number from 0 to {STRONGEST}, got {options.length_penalty:g}; "
            "0 compares probabilities, 1 the mean log p of a token"
        )


def load(options, folder: Path):
    """Model, tokenizer and settings of a folder."""
    from xformer_lib.training.checkpoint import load_model, load_setup
    from xformer_lib.training.precision import pick_device

    model, tokenizer = load_model(folder, device=pick_device(options.device))
    return model, tokenizer, load_setup(folder)[0]


def run_evaluate(options) -> int:
    check_search(options)
    check_device(options.device)
    check_output("--json", options.json)

    from xformer_lib.data.corpora import load_corpus
    from xformer_lib.data.pairs import load_pairs
    from xformer_lib.decoding import translate
    from xformer_lib.evaluation import bleu, chrf, exact_match

    folder = chosen_model(options.model)
    model, tokenizer, config = load(options, folder)
    origin = record_of(folder, options) if options.json else {}
    corpus, own = options.corpus or config.corpus, None if options.corpus else load_pairs(folder)
    pairs = load_corpus(corpus, options.split) if own is None else own.get(options.split)
    if not pairs:
        raise ValueError(f"--split: expected train, val or test, and one with pairs in {folder}, got {options.split!r}; take val")
    hypotheses = translate(
        model,
        tokenizer,
        [source for source, _ in pairs],
        beam_size=options.beam_size,
        length_penalty=options.length_penalty,
        progress=not options.quiet,
    )
    references = [target for _, target in pairs]
    scores: dict[str, Any] = {
        "bleu": vars(bleu(hypotheses, references)),
        "chrf": vars(chrf(hypotheses, references)),
        "exact_match": exact_match(hypotheses, references),
    }
    decoding = decoding_record(options)
    print(f"{folder} on {corpus} {options.split}, {len(pairs)} sentences, {describe(decoding)}:")
    print(f"  BLEU  {scores['bleu']['value']:.2f}  {scores['bleu']['signature']}")
    print(f"  chrF  {scores['chrf']['value']:.2f}  {scores['chrf']['signature']}")
    print(f"  exact {scores['exact_match']:.1f} %", flush=True)
    if options.json:
        samples = [
            dict(source=pairs[n][0], hypothesis=hypotheses[n], reference=references[n])
            for n in range(0, len(pairs), max(1, len(pairs) // 12))
        ][:12]
        record = {"corpus": corpus, "split": options.split, **decoding, **scores, **origin, "samples": samples, "hypotheses": hypotheses}
        write_json(Path(options.json), record)
    name_model(options, folder)
    return 0


def decoding_record(options) -> dict:
    """How the sentences were searched for: greedily, or with a beam of a size and a length penalty."""
    if options.beam_size == 1:
        return {"decoding": "greedy"}
    return {"decoding": "beam", "beam_size": options.beam_size, "length_penalty": options.length_penalty}


def describe(decoding: dict) -> str:
    """The same in words."""
    if decoding["decoding"] == "greedy":
        return "greedy"
    return f"beam {decoding['beam_size']}, length penalty {decoding['length_penalty']:g}"


def record_of(folder: Path, options) -> dict:
    """What is known of a model before it is scored: how it was trained, and what evaluates it here.

    Of a model without its run only the settings are known; the command is then that of the evaluation.
    """
    here = provenance(options)
    if (folder / "provenance.json").exists():
        return {**run_record(folder), "evaluation": here}
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config.pop("run", None)  # the id is no setting
    return {**here, "config": config, "evaluation": here}


def run_record(folder: Path) -> dict:
    """Settings, provenance and history of a finished run; of one whose checkpoint was deleted, without clocks and history."""
    from xformer_lib.training.checkpoint import load_tensors

    origin = read_provenance(folder / "provenance.json")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config.pop("run", None)  # the id is no setting
    if not (folder / "checkpoint.safetensors").exists():
        return {**origin, "seed": config["seed"], "config": config}
    _, state = load_tensors(folder / "checkpoint.safetensors")
    return {
        **origin,
        "seed": config["seed"],
        "minutes": round(state["seconds"] / 60, 1),
        "cpu_minutes": round(state["cpu_seconds"] / 60, 1),
        "tokens_per_second": round(state["tokens"] / state["seconds"]),
        "config": config,
        "history": state["history"],
    }


def read_provenance(path: Path) -> dict:
    """What `train` noted about its run; ValueError names a file that was changed or torn."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it holds no names")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"provenance: {path} cannot be read ({error}); restore it, or delete it to do without") from None
    return found


def run_translate(options) -> int:
    if options.text and options.input is not None:
        raise ValueError("--input: expected no sentences beside it, got both; leave one out")
    check_search(options)
    check_device(options.device)
    check_no_folder("--input", options.input)
    check_output("--output", options.output)
    if options.input and options.output and Path(options.input).resolve() == Path(options.output).resolve():
        raise ValueError(f"--input, --output: expected two files, got {options.input} for both; name another for one")
    if options.int8 and options.device != "cpu":
        raise ValueError(f"--int8: expected --device cpu beside it, got {options.device}; leave one of the two out")
    if sys.stdin.isatty() and not (options.text or options.input):
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
        write_text(Path(options.output), text)
    else:
        sys.stdout.write(text)
        sys.stdout.flush()
    notes = list(dict.fromkeys(note for one in found for note in one.notes))
    if notes:
        say(options, "; ".join(notes[:4]) + f"; and {len(notes) - 4} notes more" * (len(notes) > 4))
    name_model(options, folder)
    return 0


def as_one_text(lines: list[str]) -> list[str]:
    """The lines as one text, whose line breaks are kept; nothing for no lines."""
    return ["\n".join(lines)] if lines else []


def typed_texts(given: list[str]) -> list[str]:
    """Each argument is a text; several single words are one sentence, typed without quotes."""
    for number, text in enumerate(given, start=1):
        if not text.strip():
            raise ValueError(f"text: expected a sentence, got an empty one (sentence {number}); leave it out")
    return given if any(len(text.split()) > 1 for text in given) else [" ".join(given)]


# ---------------------------------------------------------------- grade and key


def run_of_course(options) -> int:
    """The course, which stands above the library, brings these commands by entry points."""
    found = entry_points(group="xformer.commands", name=options.command)
    if not found:
        raise ImportError(
            "xformer_course: expected the course to be installed, found the library alone; run pip install . in the course's folder"
        )
    (command,) = found
    return command.load()(options)


# ---------------------------------------------------------------- doctor


def run_doctor(options) -> int:
    from xformer_lib._doctor import doctor

    return doctor(cpu_name())


if __name__ == "__main__":
    sys.exit(main())
