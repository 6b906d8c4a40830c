"""What a GPU makes of the course's translators: one command, in a given number of minutes.

    python -m benchmarks.gpu --minutes 9 --out runs/gpu [--data FOLDER] [--commit NAME] [--device cuda] [--smoke]

It needs this folder, torch ≥ 2.5, tokenizers, safetensors, sacrebleu and tqdm, and finds the corpora in ``--data``, in ``XFORMER_DATA``
or in ``.data``. Each part writes its file as soon as it is done, and a part that no time is left for is named in ``summary.json``:

- ``device.json``: tokens per second, share of the peak and memory by width and batch; both attention paths by length (`benchmarks.device`)
- ``steps.json``: one training step as it is, with TF32 products, and compiled; how often the processor waits for the device
- ``decoding.json``: sentences per second of the shipped model, 1, 64 and 512 at a time, with the cache and without
- ``captured.json``: a word of the cached step as the library makes it, with a room of fixed size, and captured as one graph
- ``torchrun.json``: a short training by torchrun, one process, gradients through NCCL, beside the same training without
- ``multi30k-….json``: translators of two widths, trained for a share of the time; BLEU greedily and with a beam of 4 on test_2016

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
from pathlib import Path

import numpy as np
import torch

from benchmarks import captured
from benchmarks import device as device_table
from benchmarks.contenders.ours import SHIPPED, shipped_model
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.batching import make_batch
from xformer_lib.data.corpora import load_corpus
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.decoding import translate
from xformer_lib.evaluation import bleu, chrf
from xformer_lib.training import pick_device, train, train_step
from xformer_lib.training.checkpoint import load_model
from xformer_lib.training.config import TrainConfig, preset
from xformer_lib.training.loss import translation_loss
from xformer_lib.training.run import build_run
from xformer_lib.training.step import READ_EVERY

ROOT = Path(__file__).resolve().parent.parent
ROW = 24  # tokens per sentence, about that of a caption


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


# ---------------------------------------------------------------- one step


def random_run(config: TrainConfig, device: str, folder: Path):
    """A run that no corpus is needed for, and a batch of full rows of random ids for it."""
    tokenizer, pair = Tokenizer.load(SHIPPED / "tokenizer.json"), [("a", "a")]
    config = replace(config, model=replace(config.model, vocab_size=tokenizer.vocab_size))
    run = build_run(config, folder, tokenizer, {"train": pair, "val": pair}, device)
    run.engine_model.train()
    rng = np.random.default_rng(config.seed)
    ids = rng.integers(4, tokenizer.vocab_size, size=(config.max_tokens // ROW, 2, ROW - 1))
    return run, make_batch([(source.tolist(), target.tolist()) for source, target in ids])


def host_waits(run, batch, steps: int) -> float | None:
    """How often per step the processor waits for the device, as PyTorch counts it."""
    if not run.device.startswith("cuda"):
        return None
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(steps):
            train_step(run, batch)
    torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(one.message) for one in seen) / steps


WAYS = {  # precision, products of float32 numbers, torch.compile's mode or None
    "float32": ("float32", "highest", None),
    "float32, TF32 products": ("float32", "high", None),
    "bfloat16": ("bfloat16", "highest", None),
    "TF32, compiled": ("float32", "high", "default"),
    "bfloat16, compiled": ("bfloat16", "highest", "default"),
    "TF32, compiled, captured graph": ("float32", "high", "reduce-overhead"),
}


def one_step(device: str, folder: Path, clock: Clock, smoke: bool) -> dict:
    """The same step in several ways: milliseconds, tokens per second, waits, seconds until the first is done."""
    rows = []
    for width in (32,) if smoke else (192, 512):
        for name, (precision, products, mode) in WAYS.items():
            if not smoke and clock.left < (75 if mode else 20) or width == 512 and mode == "reduce-overhead":
                continue
            torch.set_float32_matmul_precision(products)
            torch._dynamo.reset()
            config = sized(preset("multi30k"), width, max_tokens=240 if smoke else 8192, precision=precision)
            run, batch = random_run(config, device, folder)
            if mode:
                how = {"backend": "aot_eager"} if smoke else {"mode": mode}
                run.processes.loss = torch.compile(partial(translation_loss, run.engine_model), **how)
            began = time.perf_counter()
            train_step(run, batch)
            device_table.wait(device)
            first = time.perf_counter() - began
            times = []
            for _ in range(3 if smoke else 8):
                began = time.perf_counter()
                for _ in range(READ_EVERY):
                    train_step(run, batch)
                device_table.wait(device)
                times.append((time.perf_counter() - began) / READ_EVERY)
            seconds = statistics.median(times)
            rows.append(
                {
                    "way": name,
                    "width": width,
                    "batch_tokens": len(batch.source) * ROW,
                    "step_ms": round(1e3 * seconds, 3),
                    "step_ms_range": [round(1e3 * min(times), 3), round(1e3 * max(times), 3)],
                    "tokens_per_second": round(len(batch.source) * ROW / seconds),
                    "host_waits_per_step": host_waits(run, batch, READ_EVERY),
                    "first_step_seconds": round(first, 2),
                }
            )
            print(rows[-1], flush=True)
    torch.set_float32_matmul_precision("highest")
    return {"rows": rows}


# ---------------------------------------------------------------- decoding


def decoding(device: str, clock: Clock, smoke: bool) -> dict:
    """Greedy translations of the shipped model: captions where they are at hand, else sentences of the fragment."""
    model, tokenizer = shipped_model()
    model = model.to(device)
    sources = [source for source, _ in corpus_or_fragment("multi30k", "test")]
    rows = []
    for size, count in ((1, 4), (8, 16)) if smoke else ((1, 60), (64, 1000), (512, 1000)):
        texts = (sources * 4)[:count]
        said = {}
        for engine in ("fast", "plain"):
            translate(model, tokenizer, texts[: 2 * size], batch_size=size, engine=engine)
            times = []
            for _ in range(1 if smoke else 3):
                device_table.wait(device)
                began = time.perf_counter()
                said[engine] = translate(model, tokenizer, texts, batch_size=size, engine=engine)
                device_table.wait(device)
                times.append(time.perf_counter() - began)
            speed = round(len(texts) / statistics.median(times), 1)
            rows.append({"at_once": size, "engine": engine, "sentences": len(texts), "sentences_per_second": speed})
            print(rows[-1], flush=True)
        rows[-1]["equal_to_fast"] = sum(one == other for one, other in zip(said["fast"], said["plain"])) / len(texts)
    return {"rows": rows}


def corpus_or_fragment(name: str, split: str) -> list[tuple[str, str]]:
    here = Path(os.environ.get("XFORMER_DATA", "/nowhere")) / name
    return load_corpus(name if here.is_dir() else "fragment", split)


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
    torch.set_float32_matmul_precision("high")
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
    torch.set_float32_matmul_precision("highest")
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
    small = ["--smoke"] if smoke else ["--rounds", "5"]
    parts["device"] = lambda: device_table.main(["--device", device, *small])
    parts["decoding"] = lambda: decoding(device, clock, smoke)
    parts["captured"] = lambda: captured.measure(device, smoke)
    parts["torchrun"] = lambda: by_torchrun(device, runs, smoke)
    for name, (share, config) in translators(smoke).items():
        parts[name] = partial(translator, name, config, share * clock.seconds, device, runs, commit, smoke)
    parts["steps"] = lambda: one_step(device, runs, clock, smoke)
    summary = {**about, "parts": {}}
    for name, part in parts.items():
        needs = 0 if smoke else 45
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
