"""What a GPU makes of the course's translators: one command, in a given number of minutes.

    python -m benchmarks.gpu --minutes 9 --out runs/gpu [--data FOLDER] [--commit NAME] [--device cuda] [--smoke]

It needs this folder, torch ≥ 2.5, tokenizers, safetensors, sacrebleu and tqdm, and finds the corpora in ``--data``, in ``XFORMER_DATA``
or in ``.data``. Each part writes its file as soon as it is done, and a part that no time is left for is named in ``summary.json``:

- ``words.json``: milliseconds per word of the shipped model: cached steps, a room of fixed size, and the room captured as one graph
- ``decoding-….json``: sentences per second at 1, 64 and 512, greedily and with a beam of 4, captured and not, beside HuggingFace Marian
- ``training-….json``: target tokens per second, as it is and compiled, beside Marian; memory, host waits, programs, the first round
- ``multi30k-….json``: translators of two widths, trained for a share of the time; curves, BLEU greedily and with a beam of 4 on test_2016
- ``torchrun.json``: a short training by torchrun, one process, gradients through NCCL, beside the same training without

Marian takes part where ``transformers`` is installed (requirements-bench.lock). Float32 products are TF32 on a GPU, for all. What one
device does by width, batch and length is `benchmarks.device`.

With ``--smoke`` all parts run in tiny sizes, on a CPU too, and prove nothing but that they run.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from benchmarks import device as device_table
from benchmarks.contenders import Sizes, is_installed
from benchmarks.contenders.marian import Marian
from benchmarks.contenders.ours import SHIPPED, shipped_model
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.batching import batches, make_batch, pad_rows
from xformer_lib.data.corpora import load_corpus
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.decoding import beam_search, greedy, translate
from xformer_lib.engine import CapturedSteps, start_decoding
from xformer_lib.evaluation import bleu, chrf
from xformer_lib.training import pick_device, train, train_step
from xformer_lib.training.checkpoint import load_model
from xformer_lib.training.config import TrainConfig, preset
from xformer_lib.training.precision import fast_products
from xformer_lib.training.run import build_run, encode_pairs
from xformer_lib.training.step import to_tensors

ROOT = Path(__file__).resolve().parent.parent
ROW = WORDS = 24  # tokens per sentence, about that of a caption


class Clock:
    """The minutes that were given."""

    def __init__(self, minutes: float):
        self.began, self.seconds = time.perf_counter(), 60 * minutes

    @property
    def left(self) -> float:
        return self.seconds - (time.perf_counter() - self.began)


def write(folder: Path, name: str, record: dict) -> dict:
    (folder / name).write_text(json_text(record), encoding="utf-8")
    return record


# ---------------------------------------------------------------- work for both


def random_run(config: TrainConfig, device: str, folder: Path):
    """A run that no corpus is needed for, and a batch of full rows of random ids for it."""
    tokenizer, pair = Tokenizer.load(SHIPPED / "tokenizer.json"), [("a", "a")]
    config = replace(config, model=replace(config.model, vocab_size=tokenizer.vocab_size))
    run = build_run(config, folder, tokenizer, {"train": pair, "val": pair}, device)
    run.engine_model.train()
    rng = np.random.default_rng(config.seed)
    ids = rng.integers(4, tokenizer.vocab_size, size=(config.max_tokens // ROW, 2, ROW - 1))
    return run, make_batch([(source.tolist(), target.tolist()) for source, target in ids])


def corpus_or_fragment(name: str, split: str) -> list[tuple[str, str]]:
    here = Path(os.environ.get("XFORMER_DATA", "/nowhere")) / name
    return load_corpus(name if here.is_dir() else "fragment", split)


def encoded(split: str, count: int) -> list:
    """Captions, or sentences of the fragment, as ids of the shipped tokenizer."""
    return encode_pairs(corpus_or_fragment("multi30k", split)[:count], Tokenizer.load(SHIPPED / "tokenizer.json"), 100)


class Size(NamedTuple):
    """Of both models, pre-norm ours and post-norm Marian's, with sinusoidal positions and a shared vocabulary."""

    width: int
    layers: int
    heads: int
    batch_tokens: int

    def config(self, precision: str) -> TrainConfig:
        options = {"num_encoder_layers": self.layers, "num_decoder_layers": self.layers, "num_heads": self.heads}
        config = replace(preset("tatoeba"), max_steps=100_000, max_tokens=self.batch_tokens, precision=precision, peak_rate=1e-4)
        return replace(config, model=replace(config.model, d_model=self.width, d_ff=4 * self.width, **options))

    def marian(self):
        """HuggingFace's, as `benchmarks.peers` builds it."""
        own = {"d_model": self.width, "d_ff": 4 * self.width, "num_heads": self.heads, "num_layers": self.layers}
        vocab_size = Tokenizer.load(SHIPPED / "tokenizer.json").vocab_size
        return Marian(Sizes(vocab_size=vocab_size, **own), torch.get_num_threads()).new_model()


SMALL, BASE, LARGE = Size(256, 3, 4, 8192), Size(512, 6, 8, 8192), Size(512, 6, 8, 32768)
SMOKE = Size(32, 1, 2, 480)


def in_turns(ways: dict, device: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of each, in rounds in which all take turns, forwards and backwards."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds):
        for name in sorted(ways, reverse=turn % 2 == 1):
            device_table.wait(device)
            began = time.perf_counter()
            ways[name]()
            device_table.wait(device)
            found[name].append(time.perf_counter() - began)
    return found


def forget_peak(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()


# ---------------------------------------------------------------- one word


def words(device: str, smoke: bool) -> dict:
    """Milliseconds per word of the shipped model, 24 words without a look for an end: cached steps, a room, and a room that is captured."""
    model = shipped_model()[0].to(device)
    kinds = {"cached": partial(start_decoding, engine="cached"), "room": partial(CapturedSteps, capture=False)}
    if device.startswith("cuda"):
        kinds["captured"] = CapturedSteps
    rows = []
    for at_once in (1, 4) if smoke else (1, 64, 512):
        ids = torch.randint(4, model.config.vocab_size, (at_once, 16), generator=torch.Generator().manual_seed(at_once))
        ways = {name: partial(said, kind, model, ids.to(device)) for name, kind in kinds.items()}
        expected = ways["cached"]()
        same = {name: (way() == expected).all(dim=1).double().mean().item() for name, way in ways.items()}
        for name, seconds in in_turns(ways, device, 2 if smoke else 9).items():
            ms = [1e3 * one / WORDS for one in seconds]
            row = {"at_once": at_once, "way": name, "equal_to_cached": round(same[name], 4), "ms_per_word": round(statistics.median(ms), 3)}
            rows.append({**row, "ms_range": [round(min(ms), 3), round(max(ms), 3)]})
            print(rows[-1], flush=True)
    return {"rows": rows}


@torch.inference_mode()
def said(kind, model, source: torch.Tensor) -> torch.Tensor:
    steps, tokens = kind(model, source), torch.full_like(source[:, :1], model.config.bos_id)
    for _ in range(WORDS):
        tokens = torch.cat([tokens, steps.next_logits(tokens).argmax(dim=-1, keepdim=True)], dim=1)
    return tokens


# ---------------------------------------------------------------- sentences


def decoding(size: Size, device: str, folder: Path, smoke: bool) -> dict:
    """Sentences per second, 24 words each, greedily and with a beam of 4: ours captured and cached, and Marian's."""
    run, _ = random_run(size.config("float32"), device, folder)
    model, marian = run.model.eval(), size.marian().to(device).eval() if is_installed("HuggingFace Marian") else None
    with torch.no_grad():
        model.embedding.weight[model.config.eos_id] = 0.0  # so that nobody ends before the others
    sources = sorted((source for source, _ in encoded("test", 1024)), key=len)
    rows = []
    for at_once in (1, 8) if smoke else (1, 64, 512):
        groups = [sources[start : start + at_once] for start in range(0, len(sources) - at_once + 1, at_once)]
        groups = groups[:: max(1, len(groups) // 4)][: 1 if smoke else 4]
        tensors = [torch.from_numpy(pad_rows(group, 0)).to(device) for group in groups]
        for beam_size in (1, 4):
            ways = {engine: partial(ours, model, tensors, beam_size, engine) for engine in ("captured", "cached")}
            if marian is not None:
                ways["marian"] = partial(theirs, marian, tensors, beam_size)
            answers, memory = {}, {}
            for name, way in ways.items():
                forget_peak(device)
                way()  # warms up, and captures
                answers[name], memory[name] = way(), device_table.memory_mb(device)
            times = in_turns(ways, device, 1 if smoke else 3)
            rows.append(
                {
                    "at_once": at_once,
                    "beam_size": beam_size,
                    "sentences": sum(map(len, groups)),
                    "sentences_per_second": {name: round(sum(map(len, groups)) / statistics.median(times[name]), 1) for name in ways},
                    "memory_mb": memory,
                    "captured_equals_cached": answers["captured"] == answers["cached"],
                }
            )
            print(rows[-1], flush=True)
    return {"size": size._asdict(), "rows": rows}


def ours(model, sources: list, beam_size: int, engine: str) -> list:
    if beam_size == 1:
        return [greedy(model, source, max_len=WORDS, engine=engine) for source in sources]
    found = [beam_search(model, source, max_len=WORDS, beam_size=beam_size, engine=engine) for source in sources]
    return [[best[0].ids for best in group] for group in found]


@torch.inference_mode()
def theirs(marian, sources: list, beam_size: int) -> list:
    options = {"num_beams": beam_size, "do_sample": False, "min_new_tokens": WORDS, "max_new_tokens": WORDS}
    return [marian.generate(source, attention_mask=(source != 0).long(), **options) for source in sources]


# ---------------------------------------------------------------- one step


def training(size: Size, precision: str, device: str, folder: Path, smoke: bool) -> dict:
    """Target tokens per second on the same batches: ours and Marian's, as it is and compiled; memory, waits, the first round."""
    data = encoded("train", 400 if smoke else 12000)
    many = batches(data, max_tokens=size.batch_tokens, rng=np.random.default_rng(1))
    work = list(islice((batch for batch in many if batch.source.shape[1] > 10), 2 if smoke else 16))
    ways = {
        "ours": lambda: our_step(size, precision, device, folder, None),
        "ours compiled": lambda: our_step(size, precision, device, folder, smoke),
    }
    if is_installed("HuggingFace Marian"):
        ways["marian"] = lambda: marian_step(size, precision, device, None)
        ways["marian compiled"] = lambda: marian_step(size, precision, device, smoke)
    rounds, rows = {}, {}
    tokens = sum(int((batch.target_out != 0).sum()) for batch in work)
    torch._dynamo.reset()  # a program of an earlier part would fit, too
    with fast_products(device):
        for name, make in ways.items():
            forget_peak(device)
            torch._dynamo.utils.counters.clear()
            step = make()
            rounds[name] = partial(all_of, step, work)
            seconds = in_turns({name: rounds[name]}, device, 1)[name][0]
            rows[name] = {"first_round_seconds": round(seconds, 1), "memory_mb": device_table.memory_mb(device)}
            rows[name]["programs"] = torch._dynamo.utils.counters["stats"]["unique_graphs"]
            if name.startswith("ours"):
                rows[name]["host_waits_per_step"] = host_waits(rounds[name], device, len(work))
        for name, seconds in in_turns(rounds, device, 1 if smoke else 5).items():
            rows[name]["tokens_per_second"] = round(tokens / statistics.median(seconds))
            rows[name]["tokens_per_second_range"] = [round(tokens / max(seconds)), round(tokens / min(seconds))]
            print(name, rows[name], flush=True)
    return {"size": size._asdict(), "precision": precision, "batches": len(work), "tokens": tokens, "rows": rows}


def all_of(step, work: list) -> None:
    for batch in work:
        step(batch)


def how(smoke: bool) -> dict:
    """Inductor takes a minute of a CPU; its calls alone show whether the program runs."""
    return {"backend": "eager"} if smoke else {}


def our_step(size: Size, precision: str, device: str, folder: Path, compiled: bool | None):
    run, _ = random_run(size.config(precision), device, folder)
    run.model.train()
    if compiled is not None:
        run.processes.compile(run.engine_model, **how(compiled))
    return partial(train_step, run)


def marian_step(size: Size, precision: str, device: str, compiled: bool | None):
    """A step as its documentation has it, with what ours has besides the model: clipping, a fused optimiser, pinned memory."""
    model = size.marian().to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    forward = model if compiled is None else torch.compile(model, dynamic=True, **how(compiled))

    def step(batch):
        source, target_in, target_out = to_tensors(batch, device)
        with torch.autocast(device.split(":")[0], torch.bfloat16, enabled=precision == "bfloat16"):
            logits = forward(input_ids=source, attention_mask=(source != 0).long(), decoder_input_ids=target_in, use_cache=False).logits
        rows = logits.flatten(0, 1).float()
        loss = torch.nn.functional.cross_entropy(rows, target_out.flatten(), ignore_index=0, label_smoothing=0.1)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def host_waits(work, device: str, steps: int) -> float | None:
    """How often per step the processor waits for the device, as PyTorch counts it."""
    if not device.startswith("cuda"):
        return None
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        work()
    torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(one.message) for one in seen) / steps


# ---------------------------------------------------------------- torchrun


def by_torchrun(device: str, folder: Path, smoke: bool) -> dict:
    """Two short trainings of the fragment, by torchrun with one process and by train alone: seconds and last losses."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", "-m", "benchmarks.gpu"]
    steps = 4 if smoke else 200
    found = subprocess.run(
        [*command, "--worker", "--device", device, "--steps", str(steps), "--out", str(folder / "torchrun")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=150,
    )
    if found.returncode:
        return {"failed": found.stderr[-2000:]}
    grouped = json.loads(found.stdout.splitlines()[-1])
    alone = fragment_training(device, folder / "alone", steps)
    return {"steps": steps, "torchrun": grouped, "alone": alone, "loss_gap": abs(grouped["validation_loss"] - alone["validation_loss"])}


def fragment_training(device: str, folder: Path, steps: int, processes=None) -> dict:
    config = replace(preset("fragment"), max_steps=steps, warmup_steps=min(100, steps // 2), validate_every=steps)
    config = replace(config, model=replace(config.model, dropout=0.0))
    run = train(config, folder, device=device, progress=False, processes=processes)
    return {
        "seconds": round(run.seconds, 2),
        "tokens_per_second": round(run.tokens / run.seconds),
        "validation_loss": run.history[-1]["validation_loss"],
    }


def worker(device: str, folder: Path, steps: int) -> None:
    """What torchrun starts: a group of one, whose gradients and sums go through NCCL (gloo on a CPU) all the same."""
    import torch.distributed as dist

    from xformer_lib.training.distributed import ProcessGroup

    if device.startswith("cuda"):
        torch.cuda.set_device(0)
    backend = "nccl" if device.startswith("cuda") else "gloo"
    dist.init_process_group(backend)
    found = fragment_training(device, folder, steps, processes=ProcessGroup(device))
    dist.destroy_process_group()
    print(json.dumps({"backend": backend, **found}))


# ---------------------------------------------------------------- translators


def sized(config: TrainConfig, width: int, **changes) -> TrainConfig:
    """A preset with another width, the feed-forward nets four times as wide and heads of 64."""
    own = {key.removeprefix("model."): changes.pop(key) for key in [*changes] if key.startswith("model.")}
    model = replace(config.model, d_model=width, num_heads=max(4, width // 64), d_ff=4 * width, **own)
    return replace(config, model=model, **changes)


def translator(name: str, config: TrainConfig, seconds: float, device: str, folder: Path, commit: str, smoke: bool) -> dict:
    """Train for about ``seconds``, by a first look at the speed, and score what came out."""
    corpus = {split: corpus_or_fragment("multi30k", split)[: 300 if smoke else None] for split in ("train", "val")}
    test = corpus_or_fragment("multi30k", "test")[: 8 if smoke else None]
    trial = replace(config, max_steps=8 if smoke else 120, warmup_steps=3, validate_every=1000)
    look = train(trial, folder / f"{name}-look", corpus=corpus, device=device, progress=False)
    steps = 8 if smoke else max(200, round(seconds * 0.9 * look.step / look.seconds))
    config = replace(config, max_steps=steps, warmup_steps=min(1000, steps // 8), validate_every=max(4, steps // 8))
    began = time.perf_counter()
    run = train(config, folder / name, corpus=corpus, device=device, progress=False)
    minutes = (time.perf_counter() - began) / 60
    model, tokenizer = load_model(folder / name, device=device)
    sources, references = ([pair[side] for pair in test] for side in (0, 1))
    scores = {}
    for beam in (1, 4):
        said = translate(model, tokenizer, sources, beam_size=beam, batch_size=256)
        scores[f"beam {beam}" if beam > 1 else "greedy"] = {
            "bleu": round(bleu(said, references).value, 2),
            "chrf": round(chrf(said, references).value, 2),
            "hypotheses": said,
        }
    settings = json.loads(json.dumps(asdict(config)))
    return {
        "corpus": "multi30k" if (Path(os.environ.get("XFORMER_DATA", "/nowhere")) / "multi30k").is_dir() else "fragment",
        "minutes": round(minutes, 2),
        "training_minutes": round(run.seconds / 60, 2),
        "tokens_per_second": round(run.tokens / run.seconds),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "seed": config.seed,
        **scores,
        "history": run.history,
        "config": settings,
        "commit": commit,
    }


def translators(smoke: bool) -> dict[str, tuple[float, TrainConfig]]:
    """Name → share of the minutes, and settings: the preset's width, and a wide one."""
    tokens = 240 if smoke else 4096
    base = dict(max_tokens=tokens, precision="float32", decay=0.6)
    widths = (32, 48) if smoke else (192, 512)
    return {
        f"multi30k-{widths[0]}": (0.13, sized(preset("multi30k"), widths[0], **{**base, "model.dropout": 0.25})),
        f"multi30k-{widths[1]}": (0.2, sized(preset("multi30k"), widths[1], **{**base, "peak_rate": 1e-3, "model.dropout": 0.4})),
    }


# ---------------------------------------------------------------- the command


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--device")
    parser.add_argument("--commit")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    device, folder = pick_device(options.device), options.out
    if options.worker:
        worker(device, folder, options.steps)
        return 0
    clock = Clock(options.minutes)
    folder.mkdir(parents=True, exist_ok=True)
    data = options.data or (ROOT / ".data" if "XFORMER_DATA" not in os.environ else None)
    if data and data.is_dir():
        os.environ["XFORMER_DATA"] = str(data.resolve())
    smoke, commit = options.smoke, options.commit or git_commit()
    about = {
        "command": f"python -m benchmarks.gpu --minutes {options.minutes:g}" + " --smoke" * smoke,
        "commit": commit,
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else cpu_name(),
        "torch": torch.__version__,
        "python": sys.version.split()[0],
    }
    runs, parts = folder / "runs", {}
    small, base, large = (SMOKE, SMOKE._replace(width=48), SMOKE._replace(batch_tokens=960)) if smoke else (SMALL, BASE, LARGE)

    def step(size, precision):
        return partial(training, size, precision, device, runs, smoke)

    parts["words"] = partial(words, device, smoke)
    parts["decoding-small"] = partial(decoding, small, device, runs, smoke)
    parts["training-small-float32"] = step(small, "float32")
    for name, (share, config) in translators(smoke).items():
        parts[name] = partial(translator, name, config, share * clock.seconds, device, runs, commit, smoke)
    parts["training-large-float32"] = step(large, "float32")
    parts["training-small-bfloat16"] = step(small, "bfloat16")
    parts["decoding-base"] = partial(decoding, base, device, runs, smoke)
    parts["torchrun"] = partial(by_torchrun, device, runs, smoke)
    parts["training-base-float32"] = step(base, "float32")
    summary = {**about, "parts": {}}
    for name, part in parts.items():
        needs = 0 if smoke else 90 if name.startswith("training") else 45  # a part ends in about that time; compiling takes most of it
        if clock.left < needs:
            summary["parts"][name] = "no time left"
            continue
        began = time.perf_counter()
        try:
            write(folder, f"{name}.json", {**about, **part()})
            summary["parts"][name] = f"{time.perf_counter() - began:.0f} s"
        except Exception as error:  # the next part may still succeed; the summary and the exit status say that this one did not
            summary["parts"][name] = f"failed: {type(error).__name__}: {error}"
        print(name, summary["parts"][name], flush=True)
        write(folder, "summary.json", summary)
    print(json.dumps(summary, indent=1))
    return int(any(str(state).startswith("failed") for state in summary["parts"].values()))


if __name__ == "__main__":
    sys.exit(main())
