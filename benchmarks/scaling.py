"""How does the loss of a language model fall with its size? Six sizes, the same text, the same steps.

    python benchmarks/scaling.py --json results/scaling.json        (about 15 minutes of one thread; --smoke: seconds, tiny)

A decoder-only model guesses the next letter of this book's own prose: the Markdown cells of all notebooks below ``chapters/``, every
tenth of them held out. So the text is that of the commit that the record names. The models differ in width alone; depth, steps, batch and
schedule are the same. Each size runs with every learning rate of a small grid and the first seed; with the best of them it runs again,
with the other seeds. What counts is the loss on the held-out cells, in nats a letter. Losses do not depend on the machine's speed, up to
rounding. The file is rewritten after every run, so that a call that is stopped leaves the runs it has made.
"""

import argparse
import hashlib
import json
import math
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from xformer_lib._json import json_text  # noqa: E402
from xformer_lib.cli.provenance import cpu_name, git_commit  # noqa: E402
from xformer_lib.engine.modules import accelerate  # noqa: E402
from xformer_lib.nn import LanguageModel, TransformerConfig  # noqa: E402

WIDTHS = (16, 24, 32, 48, 64, 96)
SEEDS = (1, 2, 3)
RATES = (0.002, 0.004, 0.008, 0.016, 0.032, 0.064)
STEPS, WARMUP = 500, 50
ROWS, LENGTH = 32, 64
LETTERS, FIRST = 95, 3  # kinds of letters kept; the ids before the first are the library's special ones
LOOKS = 8


def prose(root: Path = ROOT) -> tuple[str, str]:
    """The Markdown of all notebooks, in the order of their paths: for training, and every tenth cell for the test."""
    texts = []
    for path in sorted((root / "chapters").rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    held_out = texts[9::10]
    return "\n\n".join(text for n, text in enumerate(texts) if n % 10 != 9), "\n\n".join(held_out)


def ids_of(texts: tuple[str, str]) -> tuple[Tensor, Tensor, int]:
    """Both texts as ids, and the size of the vocabulary; letters that are rare in the first share one id."""
    common = [letter for letter, _ in Counter(texts[0]).most_common(LETTERS)]
    numbers = {letter: FIRST + n for n, letter in enumerate(common)}
    rare = FIRST + len(common)
    train, held_out = (torch.tensor([numbers.get(letter, rare) for letter in text]) for text in texts)
    return train, held_out, rare + 1


def rows_of(ids: Tensor, most: int | None = None) -> Tensor:
    """Rows of ``LENGTH`` + 1 letters, each beginning with the last letter of the one before."""
    starts = torch.arange(0, len(ids) - LENGTH, LENGTH)[:most]
    return ids[starts[:, None] + torch.arange(LENGTH + 1)]


def loss_of(model, rows: Tensor) -> Tensor:
    return cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


@torch.no_grad()
def held_out_loss(model, rows: Tensor) -> float:
    return sum(loss_of(model, part).item() * len(part) for part in rows.split(128)) / len(rows)


def config_of(width: int, vocab_size: int) -> TransformerConfig:
    return TransformerConfig(
        vocab_size, d_model=width, num_heads=max(1, width // 16), d_ff=4 * width, num_encoder_layers=2, dropout=0.0, max_len=LENGTH
    )


def rate_at(step: int, steps: int, peak: float) -> float:
    """Up in a straight line, then down along half a cosine to a tenth of the peak; steps count from 1."""
    if step <= WARMUP:
        return peak * step / WARMUP
    share = (step - WARMUP) / max(1, steps - WARMUP)
    return peak * (0.55 + 0.45 * math.cos(math.pi * share))


def train(width: int, rate: float, seed: int, steps: int, data: tuple[Tensor, Tensor, int]) -> dict:
    """One run: its size, its loss on the held-out text at the end and, on a part of it, on the way."""
    train_ids, held_out, vocab_size = data
    torch.manual_seed(seed)
    start = time.process_time()
    model = accelerate(LanguageModel(config_of(width, vocab_size)))
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    chance = torch.Generator().manual_seed(seed)
    some, curve = rows_of(held_out, 200), []
    for step in range(1, steps + 1):
        starts = torch.randint(len(train_ids) - LENGTH, (ROWS,), generator=chance)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps, rate)
        loss = loss_of(model, train_ids[starts[:, None] + torch.arange(LENGTH + 1)])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % max(1, steps // LOOKS) == 0:
            curve.append([step, round(held_out_loss(model, some), 4)])
    return {
        "width": width,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "rate": rate,
        "seed": seed,
        "loss": round(held_out_loss(model, rows_of(held_out)), 5),
        "curve": curve,
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def best_rate(runs: list[dict], width: int) -> float:
    """Of the runs of this width and the first seed, the rate with the lowest loss."""
    return min((run for run in runs if (run["width"], run["seed"]) == (width, SEEDS[0])), key=lambda run: run["loss"])["rate"]


def measure(record: dict, write: Callable[[dict], None], widths=WIDTHS, rates=RATES, steps: int = STEPS) -> None:
    """Add to the record what the text is, and run after run."""
    texts = prose()
    data = ids_of(texts)
    counts = torch.bincount(data[0], minlength=data[2]).double() + 1
    record |= {
        "rows": ROWS,
        "length": LENGTH,
        "letters": [len(ids) for ids in data[:2]],
        "vocab_size": data[2],
        "sha256": hashlib.sha256("\0".join(texts).encode()).hexdigest(),
        "loss_of_frequencies": round(-(counts / counts.sum()).log()[data[1]].mean().item(), 4),
        "steps": steps,
        "tokens": steps * ROWS * LENGTH,
        "runs": [],
    }
    for seed in SEEDS:
        for width in widths:
            for rate in rates if seed == SEEDS[0] else [best_rate(record["runs"], width)]:
                record["runs"].append(train(width, rate, seed, steps, data))
                write(record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="two tiny models, a few steps")
    parser.add_argument("--json", type=Path, help="write the record here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.time()
    record = {
        "command": shlex.join(["python", "benchmarks/scaling.py", *sys.argv[1:]]),
        "commit": git_commit(),  # now, when the text is read
        "device": cpu_name(),
        "threads": 1,
        "minutes": 0.0,
        "cpu_minutes": 0.0,
        "seeds": list(SEEDS),
        "versions": {"torch": torch.__version__},
    }

    def write(record: dict) -> None:
        print({name: value for name, value in record["runs"][-1].items() if name != "curve"}, flush=True)
        record |= {"minutes": round((time.time() - start) / 60, 1), "cpu_minutes": round(time.process_time() / 60, 1)}
        if options.json:
            options.json.write_text(json_text(record), encoding="utf-8")

    if options.smoke:
        measure(record, write, (8, 16), (0.008, 0.016), 8)
    else:
        measure(record, write)


if __name__ == "__main__":
    main()
