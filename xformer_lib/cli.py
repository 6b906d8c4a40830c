"""The command ``xformer``: train, evaluate, translate, grade, doctor.

Every mistake a user can make ends in one line on stderr and exit status 2; ``XFORMER_TRACEBACK=1``
shows where it came from. Ctrl-C ends with exit status 130, and a training run with a checkpoint.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import fields, replace
from importlib import metadata, util
from pathlib import Path

GRADE_STATUS = "Exit status: 0 when every exercise is passed, 1 when one is open, 2 when nothing could be graded."
MODEL_HELP = "folder of a run (default: the newest in runs/, or else the model that comes with the library)"
PACKAGES = ("numpy", "torch", "tokenizers", "safetensors", "sacrebleu", "tqdm", "matplotlib")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = build_parser().parse_args(arguments)
    try:
        status = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who read our output, such as head, has gone: no mistake
        discard_output()
        return 0
    except (ValueError, TypeError, OSError, ImportError, FloatingPointError) as error:
        if os.environ.get("XFORMER_TRACEBACK"):
            raise
        print(f"xformer {options.command}: {error}", file=sys.stderr)
        discard_output()
        return 2
    except KeyboardInterrupt as error:
        print(f"xformer {options.command}: {str(error) or 'stopped at once'}", file=sys.stderr)
        return 130


def discard_output() -> None:
    """Give up what standard output could not take, so that Python does not try again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="xformer", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)

    train = commands.add_parser("train", help="train a translator, or go on with one")
    start = train.add_mutually_exclusive_group(required=True)
    start.add_argument("--preset", help="fragment, multi30k or tatoeba")
    start.add_argument("--resume", metavar="FOLDER", help="go on from this run's last checkpoint")
    train.add_argument("--out", metavar="FOLDER", help="where the run is written (default: runs/PRESET)")
    train.add_argument("--set", nargs="+", metavar="NAME=VALUE", default=[],
                       help="change settings of the preset, for example max_steps=2000 dropout=0.3")
    train.add_argument("--device", help="cpu, cuda or mps (default: the best one here)")
    train.add_argument("--quiet", action="store_true", help="no progress bar")
    train.set_defaults(run=run_train)

    evaluate = commands.add_parser("evaluate", help="score a trained model with sacreBLEU and chrF")
    evaluate.add_argument("model", nargs="?", help=MODEL_HELP)
    evaluate.add_argument("--corpus", help="fragment, multi30k or tatoeba (default: the one trained on)")
    evaluate.add_argument("--split", default="test", help="train, val or test (default: test)")
    evaluate.add_argument("--json", metavar="FILE", help="write everything there is to know about the run")
    evaluate.add_argument("--device", help="cpu, cuda or mps (default: the best one here)")
    add_search(evaluate)
    evaluate.set_defaults(run=run_evaluate)

    translate = commands.add_parser("translate", help="translate sentences, or the lines of standard input")
    translate.add_argument("text", nargs="*", help="English sentences (default: one a line from standard input)")
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
    grade.add_argument("--csv", metavar="FILE", help="write the table here (a folder's goes to standard output otherwise)")
    grade.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for a notebook (default: 600)")
    grade.add_argument("--cell-timeout", type=float, default=60, metavar="S", help="seconds for a cell (default: 60)")
    grade.add_argument("--memory", type=float, default=4, metavar="GB", help="gigabytes for a notebook (default: 4)")
    grade.add_argument("--jobs", type=int, default=1, help="notebooks at the same time (default: 1)")
    grade.add_argument("--seed", type=int, default=0, help="for the cases of the checks (default: 0)")
    grade.set_defaults(run=run_grade)

    doctor = commands.add_parser("doctor", help="say what this machine has and what it lacks")
    doctor.set_defaults(run=run_doctor)
    return parser


def add_search(command: argparse.ArgumentParser) -> None:
    """The options of a command that decodes."""
    command.add_argument("--beam-size", type=int, default=1, metavar="N", help="beginnings that are kept (default: 1, greedy)")
    command.add_argument("--length-penalty", type=float, default=1.0, metavar="A",
                         help="hypotheses of a beam are compared by log p / length**A (default: 1)")
    command.add_argument("--quiet", action="store_true", help="no progress bar")


# ---------------------------------------------------------------- train


def run_train(options) -> int:
    from xformer_lib.training.config import preset
    from xformer_lib.training.distributed import process_group
    from xformer_lib.training.loop import resume, train

    if options.resume and (options.set or options.out):
        raise ValueError("--resume: expected no --set and no --out, the run keeps its settings; leave them out")
    with process_group(options.device) as (processes, device):
        how = dict(device=device, progress=not options.quiet, processes=processes)
        if options.resume:
            run = resume(options.resume, **how)
        else:
            folder = Path(options.out or f"runs/{options.preset}")
            config = with_settings(preset(options.preset), options.set)
            origin = provenance(options, processes.world) if processes.rank == 0 else None
            run = train(config, folder, provenance=origin, **how)
    if processes.rank == 0:
        print(f"{run.folder}: {run.step} steps, {run.tokens:,} target tokens in {run.seconds / 60:.1f} minutes; "
              f"validation loss {run.history[-1]['validation_loss']:.3f} nats a token")
    return 0


def with_settings(config, settings: list[str]):
    """The configuration with NAME=VALUE pairs applied to it or to its model."""
    own = {field.name: getattr(config, field.name) for field in fields(config) if field.name != "model"}
    inner = {field.name: getattr(config.model, field.name) for field in fields(config.model)}
    changes, model_changes = {}, {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in {**own, **inner}:
            raise ValueError(f"--set: expected NAME=VALUE with a name of {', '.join([*own, *inner])}, got {setting!r}; "
                             "for example max_steps=2000")
        (changes if name in own else model_changes)[name] = convert(name, text, {**own, **inner}[name])
    return replace(config, **changes, model=replace(config.model, **model_changes))


def convert(name: str, text: str, old):
    """The text as the type that the setting has."""
    try:
        return type(old)(text) if old is not None else int(text)
    except ValueError:
        raise ValueError(f"--set {name}: expected a value like {old!r}, got {text!r}; "
                         f"write {name}={old}") from None


def provenance(options, processes: int = 1) -> dict:
    """What a recorded number needs beside it: command, commit, device, versions."""
    import torch

    from xformer_lib.training.loop import pick_device

    device = pick_device(options.device)
    return {
        "command": ("xformer " if processes == 1 else f"torchrun --nproc-per-node {processes} -m xformer_lib.cli ")
        + " ".join(sys.argv[1:]),
        "commit": git_commit(),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else cpu_name(),
        "threads": torch.get_num_threads(),
        **({"processes": processes} if processes > 1 else {}),
        "versions": {name: metadata.version(name) for name in ("torch", "tokenizers", "sacrebleu")},
    }


def git_commit() -> str:
    """The commit the library was run from, marked when files had changed; "unknown" outside a clone."""
    here = Path(__file__).resolve().parent
    answer = subprocess.run(["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"],
                            cwd=here, capture_output=True, text=True)
    return answer.stdout.strip() or "unknown"


def cpu_name() -> str:
    """The processor's name as the system gives it, and how many cores the process may use."""
    names = [line.split(":", 1)[1].strip() for line in read_lines("/proc/cpuinfo") if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.processor() or platform.machine()}, {cores} cores"


def read_lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def write_json(path: Path, data: dict) -> None:
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """The whole file or, if the disk is full or the user presses Ctrl-C, the one that was there."""
    from xformer_lib.training.checkpoint import write_atomically

    if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        path.write_text(text, encoding="utf-8")
    else:
        write_atomically(path.resolve(), text.encode("utf-8"))


def check_folder(option: str, file: str | None) -> None:
    """Refuse an output file without a folder before the work, not after it."""
    if file and not Path(file).resolve().parent.is_dir():
        raise FileNotFoundError(f"{option}: no folder {Path(file).parent}; make it first")


# ---------------------------------------------------------------- evaluate and translate


def chosen_model(folder: str | None) -> Path:
    """The folder asked for, or the run in runs/ whose model was written last, or the model that comes with the library."""
    if folder is not None:
        return Path(folder)
    runs = sorted(Path("runs").glob("*/model.safetensors"), key=lambda path: path.stat().st_mtime)
    return runs[-1].parent if runs else Path(__file__).parent / "pretrained" / "en-fr"


def run_evaluate(options) -> int:
    from xformer_lib.data.corpora import load_corpus
    from xformer_lib.decoding import translate
    from xformer_lib.evaluation import bleu, chrf, exact_match
    from xformer_lib.training.checkpoint import load_model, load_setup
    from xformer_lib.training.loop import pick_device

    check_folder("--json", options.json)
    folder = chosen_model(options.model)
    model, tokenizer = load_model(folder, device=pick_device(options.device))
    corpus = options.corpus or load_setup(folder)[0].corpus
    pairs = load_corpus(corpus, options.split)
    hypotheses = translate(model, tokenizer, [source for source, _ in pairs], beam_size=options.beam_size,
                           length_penalty=options.length_penalty, progress=not options.quiet)
    references = [target for _, target in pairs]
    scores = {"bleu": vars(bleu(hypotheses, references)), "chrf": vars(chrf(hypotheses, references)),
              "exact_match": exact_match(hypotheses, references)}
    decoding = decoding_record(options)
    print(f"{folder} on {corpus} {options.split}, {len(pairs)} sentences, {describe(decoding)}:")
    print(f"  BLEU  {scores['bleu']['value']:.2f}  {scores['bleu']['signature']}")
    print(f"  chrF  {scores['chrf']['value']:.2f}  {scores['chrf']['signature']}")
    print(f"  exact {scores['exact_match']:.1f} %")
    if options.json:
        samples = [dict(source=pairs[n][0], hypothesis=hypotheses[n], reference=references[n])
                   for n in range(0, len(pairs), max(1, len(pairs) // 12))][:12]
        origin = run_record(folder) if (folder / "provenance.json").exists() else shipped_record(folder, options)
        record = {"corpus": corpus, "split": options.split, **decoding, **scores, **origin,
                  "evaluation": provenance(options), "samples": samples, "hypotheses": hypotheses}
        write_json(Path(options.json), record)
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


def shipped_record(folder: Path, options) -> dict:
    """What is known of a model without its run: its settings; the command is that of the evaluation."""
    config = json.loads((folder / "config.json").read_text())
    config.pop("run", None)
    return {**provenance(options), "config": config}


def run_record(folder: Path) -> dict:
    """Settings, provenance and history of a finished run."""
    from xformer_lib.training.checkpoint import load_tensors

    _, state = load_tensors(folder / "checkpoint.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config.pop("run", None)  # the id is no setting
    return {
        **json.loads((folder / "provenance.json").read_text()),
        "seed": config["seed"],
        "minutes": round(state["seconds"] / 60, 1),
        "cpu_minutes": round(state["cpu_seconds"] / 60, 1),
        "tokens_per_second": round(state["tokens"] / state["seconds"]),
        "config": config,
        "history": state["history"],
    }


def run_translate(options) -> int:
    from xformer_lib.decoding import by_columns, translate
    from xformer_lib.training.checkpoint import load_model
    from xformer_lib.training.loop import pick_device

    if options.text and options.input:
        raise ValueError("--input: expected no sentences beside it, got both; leave one out")
    check_folder("--output", options.output)
    lines = options.text or source_lines(options.input)
    places = range(len(lines)) if options.text else [n for n, line in enumerate(lines) if line.strip()]
    if options.int8 and options.device != "cpu":
        raise ValueError(f"--int8: expected --device cpu beside it, got {options.device}; leave one of the two out")
    model, tokenizer = load_model(chosen_model(options.model), device=pick_device(options.device))
    if options.int8:
        from xformer_lib.nn.quantized import quantize_int8

        model = quantize_int8(model)
    found = translate(by_columns(model), tokenizer, [lines[n] for n in places], beam_size=options.beam_size,
                      length_penalty=options.length_penalty, progress=not (options.quiet or options.text))
    translations = dict(zip(places, found))
    text = "".join(translations.get(n, "") + "\n" for n in range(len(lines)))
    if options.output:
        write_text(Path(options.output), text)
    else:
        sys.stdout.write(text)
    return 0


def source_lines(path: str | None) -> list[str]:
    """The lines of a file, or of standard input; line n of the output translates line n."""
    try:
        text = sys.stdin.read() if path is None else Path(path).read_text(encoding="utf-8-sig")
        text.encode("utf-8")  # Python may pass on bytes of standard input that are no text as half characters
    except UnicodeError as error:
        raise ValueError(f"{path or 'standard input'}: expected text in UTF-8, got other bytes at place {error.start}; "
                         "save the file as UTF-8") from None
    return text.removesuffix("\n").split("\n") if text else []


# ---------------------------------------------------------------- grade


def run_grade(options) -> int:
    from xformer_lib.exercises.grading.command import run_grade

    return run_grade(options)


# ---------------------------------------------------------------- doctor


def run_doctor(options) -> int:
    """One line a finding; the exit status is 1 when something a course reader needs is missing."""
    missing = [name for name in PACKAGES if util.find_spec(name) is None]
    print(f"python      {platform.python_version()} on {platform.system()} {platform.machine()}")
    print(f"processor   {cpu_name()}")
    for name in PACKAGES:
        print(f"{name:<11} {'missing' if name in missing else metadata.version(name)}")
    if "torch" not in missing:
        doctor_torch()
    doctor_data()
    print("verdict     " + (f"missing: {', '.join(missing)}; pip install 'xformer-lib[course]'" if missing
                            else "everything the course needs is here"))
    return 1 if missing else 0


def doctor_torch() -> None:
    import torch

    from xformer_lib.training.loop import has_bfloat16, pick_device

    device = pick_device()
    print(f"device      {device}, {torch.get_num_threads()} threads, "
          f"bfloat16 {'in hardware' if has_bfloat16(device) else 'not in hardware'}")


def doctor_data() -> None:
    """Where the real corpora would be read from; the fragment needs no file."""
    folder = os.environ.get("XFORMER_DATA")
    for name, file in (("multi30k", "multi30k/train.en.gz"), ("tatoeba", "tatoeba/fra-eng.zip")):
        found = folder is not None and (Path(folder) / file).exists()
        print(f"{name:<11} {'in XFORMER_DATA' if found else 'not in XFORMER_DATA; downloaded once when first used'}")


if __name__ == "__main__":
    sys.exit(main())
