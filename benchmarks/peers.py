"""Ours beside the libraries a reader could pick: the same work, in turn, on one machine.

    python -m benchmarks.peers [--smoke] [--threads 2] [--json results/bench-peers.json]

Training: steps of forward, loss, backward, clipping and Adam on the same bucketed batches of Multi30k, under five settings. Decoding:
the same
test sentences, greedily one at a time and 64 at a time, and with a beam of four. Every library has a process of its own and all take turns,
so that a busy moment of the machine meets them all; what counts is the ratio within a round. Beside them the floor: how fast the machine
multiplies matrices at that precision. One thread by default, and then processor time is the clock, which other programs hardly change.

The peers come with ``make bench`` (pins in requirements-bench.lock); one that is not installed is left out, with a sentence.
"""

import argparse
import statistics
import time
from importlib import metadata
from pathlib import Path

import numpy as np

from benchmarks.contenders import CONTENDERS, SETTINGS, Sizes, contender_class, is_installed, start_of_loss, useful_flops
from benchmarks.contenders.floor import PRECISIONS, Floor
from benchmarks.contenders.ours import SHIPPED
from benchmarks.summaries import DECODING_COLUMNS, TRAINING_COLUMNS, print_table, summarise_decoding, summarise_training
from benchmarks.turns import Worker, in_turn
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.batching import Batch, batches
from xformer_lib.data.corpora import CORPUS_ERRORS, load_corpus
from xformer_lib.data.tokenizer import Tokenizer

PACKAGES = ("torch", "transformers", "x-transformers", "onnxruntime", "ctranslate2")
SMALL = Sizes(d_model=32, num_heads=2, d_ff=64, num_layers=1, rate=1e-2, warmup=1, max_tokens=256)
LEARNT = 0.5  # nats by which the loss must have fallen
# Of the sentences, for those that decode our weights in float32. Beams are cut off by rules that differ from library to library.
SAME_TOKENS = {"greedy": 0.95, "beam": 0.8}


# ---------------------------------------------------------------- the work


def read_corpus(name: str) -> tuple[str, list, list]:
    """Training and test pairs; the fragment's where the files of the corpus cannot be had."""
    try:
        return name, load_corpus(name, "train"), load_corpus(name, "test")
    except CORPUS_ERRORS as reason:
        print(f"{reason}\nThe fragment takes its place.")
        return read_corpus("fragment")


def training_batches(pairs: list, tokenizer: Tokenizer, sizes: Sizes, distinct: int, count: int) -> list[Batch]:
    """The first batches of a shuffled epoch, over and over, the same for everyone."""
    rows = [tokenizer.encode_batch([pair[side] for pair in pairs]) for side in (0, 1)]
    short = [(s, t) for s, t in zip(*rows) if max(len(s), len(t)) < sizes.max_len]
    found = batches(short, max_tokens=sizes.max_tokens, rng=np.random.default_rng(sizes.seed))
    first = [batch for _, batch in zip(range(distinct), found)]
    return [first[number % len(first)] for number in range(count)]


def real_lengths(batch: Batch) -> list[tuple[int, int]]:
    """Source and target tokens of each pair, padding left out."""
    return list(zip((batch.source != 0).sum(axis=1).tolist(), (batch.target_out != 0).sum(axis=1).tolist()))


# ---------------------------------------------------------------- rounds


def samples(answers: list) -> dict:
    """Every round's seconds, both clocks."""
    return {"cpu_seconds": [round(one.cpu, 6) for one in answers], "wall_seconds": [round(one.wall, 6) for one in answers]}


def train_rounds(setting_name: str, sizes: Sizes, work: list[Batch], warm_up: int, names: list[str], threads: int) -> dict:
    """Everybody trains on the same batches, one step each in turn; the floor is measured in the same rounds.

    The first ``warm_up`` rounds are not counted: some kernels are built when a shape is first seen.
    """
    setting, tokens = SETTINGS[setting_name], [sum(t for _, t in real_lengths(batch)) for batch in work]
    workers = {name: Worker(contender_class(name), sizes, threads, threads=threads) for name in names}
    floor = Worker(Floor, sizes, threads, threads=threads)
    floor.ask("build", setting)
    built = {name: worker.ask("build", setting).value for name, worker in workers.items()}
    answers, peaks = {name: [] for name in names}, {precision: [] for precision in PRECISIONS}
    for number, batch in enumerate(work):
        for name, worker in in_turn(workers, number):
            answers[name].append(worker.ask("train_step", batch))
        for precision in {row["precision"] for row in built.values()}:
            peaks[precision].append(floor.ask("products", precision).value)
    rows = []
    for name, worker in workers.items():
        losses = [round(one.value, 4) for one in answers[name]]
        check_learns(name, losses, sizes)
        rows.append(
            {
                "name": name,
                **built[name],
                "losses": losses,
                **samples(answers[name][warm_up:]),
                "peak_memory_mb": round(worker.ask("peak_memory").value),
            }
        )
        worker.close()
    floor.close()
    flops = [useful_flops(sizes, real_lengths(batch)) / 1e9 for batch in work]
    return {
        "setting": setting_name,
        "target_tokens": tokens[warm_up:],
        "gigaflop": [round(x, 3) for x in flops[warm_up:]],
        "floor": {name: found for name, found in peaks.items() if found},
        "rows": rows,
    }


def decode_rounds(task: str, batch_size: int, chunks: list, lengths: list, workers: dict) -> dict:
    """Everybody translates the same sentences, a chunk each in turn."""
    answers = {name: [] for name in workers}
    for worker in workers.values():  # a warm-up that is not counted
        worker.ask(task, chunks[0][:batch_size], lengths[0][:batch_size])
    for number, (rows, wanted) in enumerate(zip(chunks, lengths)):
        for name, worker in in_turn(workers, number):
            parts = [worker.ask(task, rows[at : at + batch_size], wanted[at : at + batch_size]) for at in range(0, len(rows), batch_size)]
            answers[name].append(parts)
    rows = []
    for name in workers:
        said = [ids for parts in answers[name] for part in parts for ids in part.value]
        expected = [ids for parts in answers["ours"] for part in parts for ids in part.value]
        same = sum(one == other for one, other in zip(said, expected, strict=True)) / len(said)
        weights = contender_class(name).weights
        tokens = sum(len(ids) + 1 for ids in said)
        check_decodes(name, task, said, expected, same if weights == "shipped" else None)
        rows.append(
            {
                "name": name,
                "weights": weights,
                "equal_to_ours": round(same, 4) if weights == "shipped" else None,
                "tokens": tokens,
                "cpu_seconds": [round(sum(part.cpu for part in parts), 6) for parts in answers[name]],
                "wall_seconds": [round(sum(part.wall for part in parts), 6) for parts in answers[name]],
            }
        )
    return {
        "task": task,
        "batch": batch_size,
        "sentences": sum(map(len, chunks)),
        "sentences_a_chunk": [len(chunk) for chunk in chunks],
        "rows": rows,
    }


# ---------------------------------------------------------------- nobody may be idle


def check_learns(name: str, losses: list[float], sizes: Sizes) -> None:
    """A step that does nothing is fast: the loss must start where ignorance starts, and fall."""
    first, last = losses[0], statistics.mean(losses[-3:])
    ignorant = start_of_loss(sizes)
    if not ignorant - 2 < first < ignorant + 4:
        raise ValueError(f"{name}: expected a first loss near {ignorant:.1f} nats, got {first:.2f}; is it the same loss on the same words?")
    if not last < first - LEARNT:
        raise ValueError(
            f"{name}: expected a loss that falls by {LEARNT} nats, got {first:.2f} → {last:.2f} in {len(losses)} steps; does it learn?"
        )


def check_decodes(name: str, task: str, said: list, expected: list, same: float | None) -> None:
    """As many tokens as we write; with our weights in float32, the very tokens."""
    if same is None:
        wanted, got = sum(map(len, expected)), sum(map(len, said))
        if got != wanted:
            raise ValueError(f"{name}: expected {wanted} tokens of {task} decoding, got {got}; are the lengths forced?")
    elif "int8" not in name and same < SAME_TOKENS[task]:
        raise ValueError(
            f"{name}: expected our tokens in at least {SAME_TOKENS[task]:.0%} of the sentences, got {same:.1%}; are the weights ours?"
        )
    elif not all(said):
        raise ValueError(f"{name}: expected a translation of every sentence, got an empty one; {task} decoding")


# ---------------------------------------------------------------- the two halves


def bench_training(sizes: Sizes, pairs: list, tokenizer: Tokenizer, options) -> list[dict]:
    names = [name for name in options.only if contender_class(name).trains]
    work = training_batches(pairs, tokenizer, sizes, options.distinct, options.distinct + options.rounds)
    tables = []
    for setting in options.settings:
        table = train_rounds(setting, sizes, work, options.distinct, names, options.threads)
        summarise_training(table, options.clock)
        peaks = ", ".join(f"{peak['median']:.0f} gigaflop/s in {precision}" for precision, peak in table["peaks"].items())
        print_table(f"Training, setting {setting!r}, {options.rounds} steps; floor: {peaks}", table["rows"], TRAINING_COLUMNS)
        tables.append(table)
    return tables


def decoding_work(pairs: list, tokenizer: Tokenizer, worker: Worker, task: str, count: int) -> tuple[list, list]:
    """Rows that end in <eos>, short to long, and how many tokens our answer to each has.

    A sentence whose translation runs into the limit on length is left out: there, lengths would be those of the limit.
    """
    encoded = [[*ids, 2] for ids in tokenizer.encode_batch([source for source, _ in pairs[: count + count // 4]])]
    encoded.sort(key=len)
    found = []
    for at in range(0, len(encoded), 64):
        rows = encoded[at : at + 64]
        said = worker.ask(task, rows, []).value
        found += [(row, len(ids) + 1) for row, ids in zip(rows, said) if 0 < len(ids) < 2 * len(row) + 10]
    kept = [found[n] for n in np.linspace(0, len(found) - 1, min(count, len(found))).astype(int)]
    return [row for row, _ in kept], [length for _, length in kept]


def bench_decoding(pairs: list, tokenizer: Tokenizer, options) -> list[dict]:
    workers = {name: Worker(contender_class(name), Sizes(), options.threads, threads=options.threads) for name in options.only}
    for worker in workers.values():
        worker.ask("load")
    tables = []
    for task, batch_size, repeats in options.decoding:
        able = {name: worker for name, worker in workers.items() if task == "greedy" or has_beam(name)}
        rows, lengths = decoding_work(pairs, tokenizer, workers["ours"], task, options.sentences)
        size = max(batch_size, 16)
        cuts = [slice(at, at + size) for at in range(0, len(rows), size)] * repeats
        table = decode_rounds(task, batch_size, [rows[cut] for cut in cuts], [lengths[cut] for cut in cuts], able)
        summarise_decoding(table, options.clock)
        print_table(f"{task}, {batch_size} at a time, {len(rows)} sentences, float32 unless it says int8", table["rows"], DECODING_COLUMNS)
        tables.append(table)
    for worker in workers.values():
        worker.close()
    return tables


def has_beam(name: str) -> bool:
    """Whether its class searches with a beam; the tutorial's loop and x-transformers do not."""
    from benchmarks.contenders import Contender

    return contender_class(name).beam is not Contender.beam


# ---------------------------------------------------------------- the command


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, few rounds: does it run?")
    parser.add_argument("--rounds", type=int, help="steps of training that count (default: 16)")
    parser.add_argument("--sentences", type=int, help="to translate (default: 256)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, help="these and ours")
    parser.add_argument("--settings", nargs="*", choices=SETTINGS, default=list(SETTINGS), help="of training; none: only decoding")
    parser.add_argument(
        "--tasks", nargs="*", choices=("greedy", "beam"), default=["greedy", "beam"], help="of decoding; none: only training"
    )
    parser.add_argument("--json", help="write every sample here")
    return parser


def main(arguments: list[str] | None = None) -> dict:
    options = build_parser().parse_args(arguments)
    options.distinct = 2 if options.smoke else 8  # batches, each taken several times
    options.rounds = options.rounds or (4 if options.smoke else 16)
    options.sentences = options.sentences or (12 if options.smoke else 256)
    options.clock = "cpu_seconds" if options.threads == 1 else "wall_seconds"
    wanted = [name for name in CONTENDERS if options.only is None or name == "ours" or name in options.only]
    options.only = [name for name in wanted if is_installed(name)]
    for name in set(wanted) - set(options.only):
        print(f"{name}: not here ({contender_class(name).package} is missing), left out.")
    repeats = 1 if options.smoke else 3
    options.decoding = [
        (task, size, n) for task, size, n in (("greedy", 1, 1), ("greedy", 64, repeats), ("beam", 64, 1)) if task in options.tasks
    ]
    began, tokenizer = time.perf_counter(), Tokenizer.load(SHIPPED / "tokenizer.json")
    corpus, train_pairs, test_pairs = read_corpus("fragment" if options.smoke else "multi30k")
    sizes = SMALL if options.smoke else Sizes()
    record = {
        "command": command_line(options),
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": options.threads,
        "clock": options.clock,
        "seed": sizes.seed,
        "versions": versions(),
        "corpus": corpus,
        "sizes": vars(sizes),
        "contenders": [{"name": name, "differs": contender_class(name).differs} for name in options.only],
        "training": bench_training(sizes, train_pairs, tokenizer, options) if options.settings else [],
        "decoding": bench_decoding(test_pairs, tokenizer, options) if options.decoding else [],
    }
    record["minutes"] = round((time.perf_counter() - began) / 60, 1)
    print(
        f"\n{record['minutes']} minutes. over_ours: seconds over ours, the median of the rounds and their "
        "middle half; above 1, ours is faster."
    )
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")
    return record


def command_line(options) -> str:
    """The command that makes the record again."""
    chosen = " --settings" * (not options.settings) + " --smoke" * options.smoke
    return f"python -m benchmarks.peers --threads {options.threads} --rounds {options.rounds} --sentences {options.sentences}{chosen}"


def versions() -> dict:
    """Of everyone who takes part."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
