"""How time and memory grow: with the length for six layers, and with width, depth, batch, vocabulary and corpus for a training step.

    python benchmarks/growth.py --json results/bench-growth.json        (about 6 minutes; --smoke: seconds, tiny sizes)

One thread. All sizes and all layers are taken in turn, once a round; times are those of the processor. In each round an exponent is
fitted, by least squares on logarithmic axes, to the three largest sizes; what is printed is the mean of these exponents and the
95 % interval of that mean over the rounds. Memory is counted, not measured: numbers in the largest tensor made in the forward pass of
a layer, or numbers kept for the backward pass of a training step. Exponents and ratios travel from one machine to another; seconds do not.
"""

import argparse
import math
import statistics
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from xformer_course.plots.bands import T_95
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.batching import batches
from xformer_lib.data.fragment import sample_pairs
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.engine.efficient import local_attention, tiled_attention
from xformer_lib.engine.modules import accelerate
from xformer_lib.engine.quantized import int_product
from xformer_lib.nn import MultiHeadAttention, Transformer, TransformerConfig
from xformer_lib.nn.cost import measure_cost
from xformer_lib.training.loss import translation_loss
from xformer_lib.training.memory import keep_freed_memory
from xformer_lib.training.run import encode_pairs
from xformer_lib.training.step import to_tensors

LONG, SHORT = (128, 256, 512, 1024, 2048, 4096), (16, 32, 64, 128)
D_MODEL, NUM_HEADS, WINDOW, TILE = 64, 4, 32, 128
AXES = {  # what changes in a training step, and its values
    "width": (64, 128, 256, 512),
    "depth": (1, 2, 4, 8),
    "batch": (1, 4, 16, 64),
    "vocabulary": (1000, 4000, 16000, 64000),
}
CORPUS = (1000, 4000, 16000, 64000)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def in_turn(works: dict, rounds: int) -> dict:
    """Processor seconds of each work, all taken once a round; the first round warms up."""
    times = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            start = time.process_time()
            work()
            times[name].append(time.process_time() - start)
    return {name: values[1:] for name, values in times.items()}


def slope(sizes, costs) -> float:
    """The exponent of the three largest sizes: least squares on logarithmic axes."""
    return float(np.polyfit(np.log(sizes[-3:]), np.log(costs[-3:]), 1)[0])


def interval(values: list[float]) -> tuple[float, float]:
    """Mean of the rounds and half the length of its 95 % interval (Student's t)."""
    t = T_95[min(len(values) - 1, len(T_95)) - 1]
    return statistics.mean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def row(name: str, sizes, times: list[list[float]], memory: list[int] | None = None) -> dict:
    """Medians and exponents of one line; ``times`` has a list of rounds for each size."""
    exponent, half = interval([slope(sizes, one) for one in zip(*times, strict=True)])
    made = {
        "name": name,
        "sizes": list(sizes),
        "ms": [round(1e3 * statistics.median(one), 4) for one in times],
        "time_exponent": round(exponent, 3),
        "time_exponent_half_width": round(half, 3),
    }
    if memory is not None:
        made |= {"numbers": memory, "memory_exponent": round(slope(sizes, memory), 3)}
    return made


# ---------------------------------------------------------------- length


class WithProjections(nn.Module):
    """Self-attention of a length by a function of q, k, v, with the projections around it."""

    def __init__(self, attention):
        super().__init__()
        self.layer, self.attention = accelerate(MultiHeadAttention(D_MODEL, NUM_HEADS)), attention

    def forward(self, x):
        layer = self.layer
        q, k, v = (layer.split(w(x), layer.d_head) for w in (layer.w_q, layer.w_k, layer.w_v))
        return layer.w_o(self.attention(q, k, v).transpose(1, 2).flatten(2))


class SelfAttention(nn.Module):
    """One input for the layer's three."""

    def __init__(self, path: str):
        super().__init__()
        self.layer = accelerate(MultiHeadAttention(D_MODEL, NUM_HEADS), path=path)

    def forward(self, x):
        return self.layer(x, x, x)[0]


class Convolution(nn.Module):
    """Three taps over (1, length, width)."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(D_MODEL, D_MODEL, 3, padding=1)

    def forward(self, x):
        return self.layer(x.transpose(1, 2))


class Dense(nn.Module):
    """One matrix over the flattened sequence."""

    def __init__(self, length: int):
        super().__init__()
        self.layer = nn.Linear(length * D_MODEL, length * D_MODEL, bias=False)

    def forward(self, x):
        return self.layer(x.flatten(1))


def length_rows(rounds: int, long=LONG, short=SHORT) -> list[dict]:
    """Forward pass of one layer of width 64 over one sequence."""
    layers = {
        "self-attention, explicit": SelfAttention("explicit"),
        "self-attention, fused": SelfAttention("fused"),
        "self-attention in tiles": WithProjections(partial(tiled_attention, tile=TILE)),
        "local attention": WithProjections(partial(local_attention, window=WINDOW)),
        "recurrence": nn.RNN(D_MODEL, D_MODEL, batch_first=True),
        "convolution": Convolution(),
    }
    works = {(name, size): partial(layer, torch.randn(1, size, D_MODEL)) for name, layer in layers.items() for size in long}
    works |= {("dense", size): partial(Dense(size), torch.randn(1, size, D_MODEL)) for size in short}
    with torch.no_grad():
        times = in_turn(works, rounds)
        numbers = {key: measure_cost(work).largest for key, work in works.items()}
    lines = {**dict.fromkeys(layers, long), "dense": short}
    return [
        row(name, sizes, [times[name, size] for size in sizes], [numbers[name, size] for size in sizes]) for name, sizes in lines.items()
    ]


# ---------------------------------------------------------------- a training step


def config_for(axis: str, value: int) -> tuple[TransformerConfig, int]:
    """The model and the number of sentences of a step in which one thing differs."""
    sizes = {
        "vocab_size": 4000,
        "d_model": 128,
        "num_heads": 4,
        "d_ff": 512,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "dropout": 0.0,
    }
    sizes |= {
        "width": {"d_model": value, "d_ff": 4 * value},
        "depth": {"num_encoder_layers": value, "num_decoder_layers": value},
        "vocabulary": {"vocab_size": value},
        "batch": {},
    }[axis]
    return TransformerConfig(**sizes), value if axis == "batch" else 8


def step(model: Transformer, *ids: torch.Tensor) -> None:
    """Forward and backward."""
    loss, _ = translation_loss(model, *ids, label_smoothing=0.1)
    loss.backward()
    model.zero_grad()


def numbers_kept(model: Transformer, *ids: torch.Tensor) -> int:
    """Numbers that the forward pass keeps for the backward pass, parameters included; each array counts once."""
    sizes = {}

    def keep(x):
        sizes[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes() // x.element_size()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        translation_loss(model, *ids, label_smoothing=0.1)
    return sum(sizes.values())


def step_rows(rounds: int, axes=None, length: int = 24) -> list[dict]:
    """A training step over sentences of 24 tokens on both sides."""
    rows = []
    for axis, values in (axes or AXES).items():
        works, numbers = {}, []
        for value in values:
            config, sentences = config_for(axis, value)
            model, ids = accelerate(Transformer(config)), torch.randint(3, config.vocab_size, (3, sentences, length))
            works[value] = partial(step, model, *ids)
            numbers.append(numbers_kept(model, *ids))
        times = in_turn(works, rounds)
        rows.append(row(axis, values, [times[value] for value in values], numbers))
    return rows


def corpus_row(rounds: int, sizes=CORPUS, steps: int = 12) -> dict:
    """Time for a training token against the size of the corpus: cutting it into batches, and some of its steps."""
    examples = sample_pairs(max(sizes), rng=np.random.default_rng(0))
    pairs = [(example.source, example.target) for example in examples]
    tokenizer = Tokenizer.train([side for pair in pairs[:2000] for side in pair], vocab_size=600)
    model = accelerate(
        Transformer(
            TransformerConfig(
                vocab_size=tokenizer.vocab_size, d_model=128, d_ff=512, num_encoder_layers=2, num_decoder_layers=2, dropout=0.0
            )
        )
    )
    times = {size: [] for size in sizes}
    for number in range(rounds + 1):
        for size in sizes:
            start = time.process_time()
            encoded = encode_pairs(pairs[:size], tokenizer, model.config.max_len)
            epoch = batches(encoded, max_tokens=1024, rng=np.random.default_rng(number))
            prepared = list(epoch)
            data = (time.process_time() - start) / sum((batch.target_out > 0).sum() for batch in prepared)
            start, some = time.process_time(), prepared[:steps]
            for batch in some:
                step(model, *to_tensors(batch, "cpu"))
            training = (time.process_time() - start) / sum((batch.target_out > 0).sum() for batch in some)
            times[size].append(data + training)
    found = row("corpus", sizes, [times[size][1:] for size in sizes])
    return found | {"ms": [round(1e3 * statistics.median(times[size][1:]), 5) for size in sizes]}


# ---------------------------------------------------------------- the machine


def machine(rounds: int, size: int = 2048, megabytes: int = 256) -> dict:
    """Most products a second, in float32 and int8, and bytes a second, read and written, on one thread."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    whole = [x.mul(30).round().clamp(-127, 127).to(torch.int8) for x in (a, b)]
    long = torch.ones(megabytes * 2**18)
    target = torch.empty_like(long)
    times = in_turn(
        {
            "float32": partial(torch.mm, a, b),
            "int8": partial(int_product, *whole),
            "sum": partial(torch.sum, long),
            "copy": partial(target.copy_, long),
        },
        rounds,
    )
    best = {name: min(values) for name, values in times.items()}
    gigabytes = megabytes * 2**20 / 1e9
    return {
        "gflops": round(2e-9 * size**3 / best["float32"], 1),
        "int8_gops": round(2e-9 * size**3 / best["int8"], 1),
        "gigabytes_per_second": round(max(gigabytes / best["sum"], 2 * gigabytes / best["copy"]), 1),
    }


def roofline_rows(rounds: int, rows=ROWS, width: int = 2048) -> list[dict]:
    """One matrix product, rows × width by width × 4·width, against its arithmetic intensity."""
    layer = nn.Linear(width, 4 * width, bias=False)
    works = {n: partial(layer, torch.randn(n, width)) for n in rows}
    with torch.no_grad():
        times, costs = in_turn(works, rounds), {n: measure_cost(work) for n, work in works.items()}
    return [
        {
            "rows": n,
            "intensity": round(costs[n].intensity, 3),
            "ms": round(1e3 * statistics.median(times[n]), 3),
            "gflops": round(2e-9 * costs[n].products / statistics.median(times[n]), 2),
        }
        for n in rows
    ]


def smoke(rounds: int = 2) -> dict:
    """Everything at sizes that take seconds."""
    return {
        "length": length_rows(rounds, (16, 32, 64, 128), (4, 8, 16, 32)),
        "step": step_rows(rounds, {"width": (8, 16), "depth": (1, 2), "batch": (1, 2), "vocabulary": (50, 100)}, length=5),
        "corpus": corpus_row(rounds, (60, 120), steps=2),
        "machine": machine(rounds, 64, 1),
        "roofline": roofline_rows(rounds, (1, 2), 32),
    }


def full(rounds: int) -> dict:
    return {
        "length": length_rows(rounds),
        "step": step_rows(rounds),
        "corpus": corpus_row(rounds),
        "machine": machine(rounds),
        "roofline": roofline_rows(rounds),
    }


def table(measured: dict) -> None:
    """Exponents, one line each."""
    for one in [*measured["length"], *measured["step"], measured["corpus"]]:
        memory = f"   memory {one['memory_exponent']:5.2f}" if "numbers" in one else ""
        print(f"{one['name']:26} time {one['time_exponent']:5.2f} ± {one['time_exponent_half_width']:.2f}{memory}")
    print(measured["machine"])
    for one in measured["roofline"]:
        print(f"{one['rows']:4} rows  {one['intensity']:7.2f} FLOP a byte  {one['gflops']:7.2f} GFLOP/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    keep_freed_memory()
    start = time.perf_counter()
    measured = smoke() if options.smoke else full(options.rounds)
    table(measured)
    if options.json:
        record = {
            "command": f"python benchmarks/growth.py --rounds {options.rounds}",
            "commit": git_commit(),
            "device": cpu_name(),
            "threads": 1,
            "torch": torch.__version__,
            "seed": 0,
            "minutes": round((time.perf_counter() - start) / 60, 1),
            "d_model": D_MODEL,
            "num_heads": NUM_HEADS,
            "window": WINDOW,
            "tile": TILE,
            **measured,
        }
        Path(options.json).write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
