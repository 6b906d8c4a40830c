"""One change at a time: what each saves in translating twenty everyday sentences with the shipped model.

    python -m benchmarks.one_change --json results/bench-one-change.json [--compile]

The base decodes greedily, one sentence at a time, with the cache, in float32, explicit attention, on one thread. Each line differs from it
in one thing, the last two in two. *Packed steps* are what the library does by itself. All are taken in turn, once a round; the median of
the ratios to the base, and their lowest and highest. Times are those of the processor, summed over its threads. ``--compile`` also
measures torch.compile: processor seconds until the first result, the C++ compiler's included, then the ratio.
"""

import argparse
import os
import resource
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import torch
import torch._inductor.config

from benchmarks.growth import in_turn
from xformer_lib import load_pretrained
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.decoding import greedy, translate
from xformer_lib.decoding.sentences import encode_sentences
from xformer_lib.engine.modules import accelerate
from xformer_lib.engine.quantized import quantize_int8

EVERYDAY = Path(__file__).with_name("everyday.txt")


def uncached(model, tokenizer, texts: list[str]) -> None:
    for ids in encode_sentences(model, tokenizer, texts):
        greedy(model, torch.tensor([ids]), engine="plain")


def against(base: str, times: dict, count: int) -> list[dict]:
    """Milliseconds of each work, and how many times as long the base takes: median, lowest, highest of the rounds."""
    rows = []
    for name, values in times.items():
        ratios = sorted(a / b for a, b in zip(times[base], values, strict=True))
        rows.append(
            {
                "change": name,
                "ms": round(1e3 * statistics.median(values) / count, 2),
                "times_as_fast": round(statistics.median(ratios), 2),
                "lowest": round(ratios[0], 2),
                "highest": round(ratios[-1], 2),
            }
        )
    return rows


def decoding_rows(rounds: int) -> list[dict]:
    translator, texts = load_pretrained("en-fr"), EVERYDAY.read_text(encoding="utf-8").splitlines()
    base = accelerate(translator.model, path="explicit")
    packed, whole = accelerate(translator.model), quantize_int8(base)
    say = lambda model, size: partial(translate, model, translator.tokenizer, texts, batch_size=size)
    works = {
        "base": say(base, 1),
        "no cache": partial(uncached, base, translator.tokenizer, texts),
        "packed steps": say(packed, 1),
        "fused attention": say(accelerate(base, path="fused"), 1),
        "int8 weights": say(whole, 1),
        "all sentences at once": say(base, len(texts)),
        "at once, packed steps": say(packed, len(texts)),
        "at once, and int8": say(whole, len(texts)),
    }
    return against("base", in_turn(works, rounds), len(texts))


def work_done() -> float:
    """Processor seconds of this process and of the compilers that it has called."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def compile_rows(rounds: int, folder: str, sentences: int = 32, length: int = 24) -> list[dict]:
    """The encoder's stack, forward alone and with its backward pass, as it is and compiled for this shape."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder  # an empty one: nothing from an earlier run
    torch._inductor.config.compile_threads = 1  # in this process, so that its time is counted
    encoder, rows = load_pretrained("en-fr").model.encoder, []
    x, mask = torch.randn(sentences, length, encoder.norm.weight.shape[0]), torch.ones(sentences, 1, length, dtype=torch.bool)
    compiled = torch.compile(encoder)

    def run(stack, backward: bool):
        with torch.set_grad_enabled(backward):
            output = stack(x, mask=mask)
            if backward:
                output.sum().backward()

    for backward, name in ((False, "encoder, forward"), (True, "encoder, both ways")):
        works = {name: partial(run, encoder, backward), f"{name}, compiled": partial(run, compiled, backward)}
        start = work_done()
        run(compiled, backward)
        warm_up = work_done() - start
        rows += against(name, in_turn(works, rounds), 1)
        rows[-1]["warm_up_seconds"] = round(warm_up, 1)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile_rows(options.rounds, folder) if options.compile else []
    record = {
        "command": f"python -m benchmarks.one_change --rounds {options.rounds}" + " --compile" * options.compile,
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": 1,
        "torch": torch.__version__,
        "decoding": decoding_rows(options.rounds),
        "compile": compiled,
    }
    record["minutes"] = round((time.perf_counter() - start) / 60, 1)
    for row in record["decoding"] + record["compile"]:
        warm = f"   after {row['warm_up_seconds']} s of compiling" if "warm_up_seconds" in row else ""
        print(
            f"{row['change']:24}{row['ms']:9.2f} ms  {row['times_as_fast']:6.2f} times as fast ({row['lowest']} to {row['highest']}){warm}"
        )
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
