"""One change at a time: what each saves in translating twenty everyday sentences with the shipped model.

    python -m benchmarks.one_change --json results/bench-one-change.json [--compile]

The base decodes greedily, one sentence at a time, with the cache, in float32, explicit attention, on one thread. Each line differs from
it in one thing, the last two in two. *No cache* forgets the keys and values of the words before each step, and nothing else. *Packed
steps* are what the library does by itself: joined products, the fused kernel, and nothing computed that is not read. *Guess ahead* takes
its guesses from a table of what came next in 1,500 translations of the fragment. All are taken in turn, once a round, and each round
begins with another one; the median of the ratios to the base, and their lowest and highest. *Shared keys* compares two models of the
shipped one's sizes that were never trained, with 4 heads of keys and with 1; both are told the words. Times are those of the processor,
summed over its threads. ``--compile`` also measures torch.compile: processor seconds until the first result, the C++ compiler's included,
then the ratio.
"""

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
import torch._inductor.config

from xformer_lib import load_pretrained
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data import load_corpus
from xformer_lib.decoding import translate
from xformer_lib.engine.decode import CachedSteps, PackedSteps
from xformer_lib.engine.modules import accelerate
from xformer_lib.engine.quantized import quantize_int8
from xformer_lib.nn import Transformer
from xformer_lib.speculation import speculative

EVERYDAY = Path(__file__).with_name("everyday.txt")


class ForgetfulSteps(CachedSteps):
    """`CachedSteps` without a cache of words: each step sends all of them through the decoder, and makes the logits of the last."""

    def next_logits(self, tokens):
        self.length = 0
        for own, _ in self.caches:
            own.cut(0)
        return super().next_logits(tokens)


@torch.inference_mode()
def write(kind, model, source, longest: int = 60) -> list[int]:
    """Write one sentence greedily, <bos> first."""
    steps, words = kind(model, source), [model.config.bos_id]
    while words[-1] != model.config.eos_id and len(words) < longest:
        words.append(int(steps.next_logits(torch.tensor([words])).argmax()))
    return words


@torch.inference_mode()
def follow(model, source, words: list[int]) -> None:
    """Make the steps of a sentence that is known."""
    steps = CachedSteps(model, source)
    for end in range(1, len(words)):
        steps.next_logits(torch.tensor([words[:end]]))


def clues(english: list[int], french: list[int], eos_id: int) -> tuple:
    """What to look up for the next word, the most telling first."""
    place = len(french) - 1
    padded = english + [eos_id] * len(french)
    return (french[-1], *padded[place : place + 2]), (french[-1], padded[place]), (french[-1],)


def table_of(translator) -> dict:
    """What came next most often after each clue, in the model's translations of 1,500 sentences of the fragment."""
    config, encode = translator.model.config, translator.tokenizer.encode
    practice = [english for english, _ in load_corpus("fragment", "train")[:1500]]
    seen = defaultdict(Counter)
    for english, french in zip(practice, translator.translate(practice), strict=True):
        ids, line = [*encode(english), config.eos_id], [config.bos_id, *encode(french), config.eos_id]
        for place in range(1, len(line)):
            for clue in clues(ids, line[:place], config.eos_id):
                seen[clue][line[place]] += 1
    return {clue: nexts.most_common(1)[0][0] for clue, nexts in seen.items()}


def guesses(table: dict, source, eos_id: int):
    """A draft for one sentence."""

    def draft(words, count):
        line = list(words)
        while len(line) < len(words) + count:
            known = [clue for clue in clues(source[0].tolist(), line, eos_id) if clue in table]
            if not known:
                break
            line.append(table[known[0]])
        return line[len(words) :]

    return draft


def rotated(works: dict, rounds: int) -> dict:
    """Processor seconds of each work: all once a round, and each round begins with the next of them; the first round warms up."""
    times, names = {name: [] for name in works}, list(works)
    for turn in range(rounds + 1):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            begun = time.process_time()
            works[name]()
            times[name].append(time.process_time() - begun)
    return {name: values[1:] for name, values in times.items()}


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
    tokenizer, config = translator.tokenizer, translator.model.config
    sources = [torch.tensor([[*tokenizer.encode(text), config.eos_id]]) for text in texts]
    base = accelerate(translator.model, path="explicit")
    packed, whole = accelerate(translator.model), quantize_int8(base)
    fused, table = accelerate(translator.model, path="fused"), table_of(translator)

    def one_by_one(model, kind=CachedSteps):
        return [tokenizer.decode(write(kind, model, source)) for source in sources]

    def guess_ahead():
        return [tokenizer.decode(speculative(base, source, guesses(table, source, config.eos_id), ahead=3).ids) for source in sources]

    def at_once(model):
        return translate(model, tokenizer, texts, batch_size=len(texts))

    works = {
        "base": partial(one_by_one, base),
        "no cache": partial(one_by_one, base, ForgetfulSteps),
        "all sentences at once": partial(at_once, base),
        "packed steps": partial(one_by_one, packed, PackedSteps),
        "fused attention": partial(one_by_one, fused),
        "int8 weights": partial(one_by_one, whole),
        "guess ahead": guess_ahead,
        "at once, packed steps": partial(at_once, packed),
        "at once, and int8": partial(at_once, whole),
    }
    return against("base", rotated(works, rounds), len(texts))


def shared_rows(rounds: int) -> list[dict]:
    """Two models that were never trained, with as many heads of keys as of queries and with one, on known sentences."""
    translator, texts = load_pretrained("en-fr"), EVERYDAY.read_text(encoding="utf-8").splitlines()
    tokenizer, model = translator.tokenizer, translator.model
    sources = [torch.tensor([[*tokenizer.encode(text), model.config.eos_id]]) for text in texts]
    known = [(source, write(CachedSteps, model, source)) for source in sources]

    def one_by_one(model):
        for source, words in known:
            follow(model, source, words)

    works = {}
    for heads in (model.config.num_heads, 1):
        fresh = Transformer(replace(model.config, num_kv_heads=heads)).eval()
        works[f"heads of keys: {heads}"] = partial(one_by_one, accelerate(fresh, path="explicit"))
    return against(next(iter(works)), rotated(works, rounds), len(texts))


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
        rows += against(name, rotated(works, rounds), 1)
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
        "shared_keys": shared_rows(options.rounds),
        "compile": compiled,
    }
    record["minutes"] = round((time.perf_counter() - start) / 60, 1)
    for row in record["decoding"] + record["shared_keys"] + record["compile"]:
        warm = f"   after {row['warm_up_seconds']} s of compiling" if "warm_up_seconds" in row else ""
        print(
            f"{row['change']:24}{row['ms']:9.2f} ms  {row['times_as_fast']:6.2f} times as fast ({row['lowest']} to {row['highest']}){warm}"
        )
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
