"""What makes the caption translator better in the same time? One change at a time, judged on validation captions alone.

    python benchmarks/quality.py --json results/quality.json [--only NAME …] [--seeds 1 2 3] [--steps 1000]

A trial reads ``--steps`` batches of 2,048 target tokens, or as many more of smaller ones; those that say ``steps`` read more, to last as
long as the one they are held against. The base is 256 wide, with 8,000 pieces, a dropout of 0.1 and a fall over half of the steps; its
warm-up takes a quarter of them, at most 400. Every other trial changes one thing. At half of the steps, at four fifths
and at the end the validation loss and BLEU are taken, of the weights and of means of the weights whose memory goes back about 50, 100 or
200 steps. The test part is not read. ``cpu_seconds`` is the processor time of training alone. The file is rewritten after every trial,
and a second call does only those that it lacks. A trial of 1,000 steps takes 10 to 20 minutes of one core.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from xformer_lib._json import json_text  # noqa: E402
from xformer_lib.cli.provenance import cpu_name, git_commit  # noqa: E402
from xformer_lib.data.corpora import load_corpus  # noqa: E402
from xformer_lib.decoding import translate  # noqa: E402
from xformer_lib.evaluation import bleu  # noqa: E402
from xformer_lib.nn.transformer import Transformer  # noqa: E402
from xformer_lib.training import loop, preset, validation_loss  # noqa: E402
from xformer_lib.training.config import TrainConfig  # noqa: E402
from xformer_lib.training.memory import keep_freed_memory  # noqa: E402

TOKENS = 2048  # of a batch of the base
NARROW = {"model.d_model": 192, "model.d_ff": 768}
SMALL = {**NARROW, "max_tokens": 1024}
TRIALS: dict[str, dict] = {  # what differs from the base; "model.x" is a setting of the model
    "base": {},
    "batches of 1,024": {"max_tokens": 1024},
    "narrower": {"steps": 1.45, **NARROW},  # more steps, in the time of the base
    "narrower, 4,000 pieces": {"steps": 1.55, **NARROW, "model.vocab_size": 4000},
    "narrower, no dropout": {"steps": 1.55, **NARROW, "model.dropout": 0.0},
    "narrower, batches of 1,024": {"steps": 1.27, **SMALL},
    "narrower, 1,024, rate 0.003": {"steps": 1.27, **SMALL, "peak_rate": 3e-3},
    "narrower, 1,024, longer fall": {"steps": 1.27, **SMALL, "decay": 0.8},
    "narrower, 1,024, 12,000 pieces": {"steps": 1.1, **SMALL, "model.vocab_size": 12000},
    "narrower, 1,024, rotary": {"steps": 1.21, **SMALL, "model.positions": "rotary"},
    "narrower, 1,024, relative": {"steps": 1.22, **SMALL, "model.positions": "relative"},
    "narrow, four layers": {
        "steps": 1.85,
        "model.d_model": 128,
        "model.d_ff": 512,
        "model.num_encoder_layers": 4,
        "model.num_decoder_layers": 4,
    },
    "Muon": {"muon": 2e-3},
    "as long as Muon": {"steps": 1.44},  # more steps, which take the time of Muon's
}
MEANS = (0.98, 0.99, 0.995)


def orthogonal(gradient: Tensor, turns: int = 5) -> Tensor:
    """A stack of matrices with their singular values near 1, by Jordan et al.'s (2024) polynomial."""
    x = gradient / (gradient.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    for _ in range(turns):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * (gram @ gram)) @ x
    return x.mT if tall else x


class Muon(torch.optim.Adam):
    """Adam for embedding, norms and biases; for all other matrices a momentum made orthogonal, of the size of an Adam step."""

    def __init__(self, model: nn.Module, rate: float, matrix_rate: float):
        named = dict(model.named_parameters())
        inner = {name: weight for name, weight in named.items() if weight.ndim == 2 and "embedding" not in name}
        super().__init__([weight for name, weight in named.items() if name not in inner], lr=rate, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.stacks: dict[tuple, list] = {}
        for weight in inner.values():
            self.stacks.setdefault(tuple(weight.shape), []).append(weight)
        self.momenta = {shape: torch.zeros(len(stack), *shape) for shape, stack in self.stacks.items()}
        self.ratio = matrix_rate / rate

    @torch.no_grad()
    def step(self, closure=None):
        super().step(closure)
        for shape, stack in self.stacks.items():
            gradient = torch.stack([weight.grad for weight in stack])
            momentum = self.momenta[shape].lerp_(gradient, 0.05)
            change = orthogonal(gradient.lerp(momentum, 0.95)) * 0.2 * math.sqrt(max(shape))
            rate = self.param_groups[0]["lr"] * self.ratio
            torch._foreach_add_(stack, list(change.unbind()), alpha=-rate)

    def zero_grad(self, set_to_none: bool = True) -> None:
        super().zero_grad(set_to_none)
        for weight in (weight for stack in self.stacks.values() for weight in stack):
            weight.grad = None


def config_of(name: str, seed: int, steps: int) -> TrainConfig:
    """The settings of a trial."""
    base = preset("multi30k")
    changes = {key: value for key, value in TRIALS[name].items() if key not in ("muon", "steps")}
    model = {key.removeprefix("model."): changes.pop(key) for key in [*changes] if key.startswith("model.")}
    steps = round(steps * TRIALS[name].get("steps", 1)) * TOKENS // changes.get("max_tokens", TOKENS)
    model = replace(base.model, **{"d_model": 256, "d_ff": 1024, "dropout": 0.1, "positions": "sinusoidal", **model})
    warmup = min(400, steps // 4)
    changes = {"max_steps": steps, "max_tokens": TOKENS, "decay": 0.5, "seed": seed, "warmup_steps": warmup, "model": model, **changes}
    return replace(base, **changes)


class Means:
    """Running means of a model's weights, each with its own memory."""

    def __init__(self, model: nn.Module):
        self.weights = list(model.parameters())
        self.means = {decay: [weight.detach().clone() for weight in self.weights] for decay in MEANS}

    @torch.no_grad()
    def add(self, step: int) -> None:
        for decay, mean in self.means.items():
            torch._foreach_lerp_(mean, self.weights, 1 - min(decay, (1 + step) / (10 + step)))

    @torch.no_grad()
    def each(self) -> Iterator[str]:
        """Puts the weights themselves and then each mean into the model, and says which."""
        own = [weight.detach().clone() for weight in self.weights]
        for name, values in {"weights": own, **{str(decay): mean for decay, mean in self.means.items()}}.items():
            torch._foreach_copy_(self.weights, values)
            yield name
        torch._foreach_copy_(self.weights, own)


def scores(run: loop.Run, pairs: list) -> dict[str, float]:
    """Validation loss in nats and BLEU of what the model writes greedily."""
    run.engine_model.eval()
    loss = validation_loss(run.engine_model, run.validation_data, max_tokens=TOKENS, device="cpu")
    said = translate(run.model.eval(), run.tokenizer, [source for source, _ in pairs])
    run.model.train(), run.engine_model.train()
    return {"loss": round(loss, 4), "bleu": round(bleu(said, [target for _, target in pairs]).value, 2)}


def trial(name: str, seed: int, steps: int, corpus: dict, **model: int) -> dict:
    """Train one system, with these settings of the model besides its own, and score it on the way."""
    config = config_of(name, seed, steps)
    config = replace(config, model=replace(config.model, **model))
    run, _ = loop.new_run(config, Path(tempfile.gettempdir()), corpus, "cpu", Transformer, loop.SingleProcess(), "fast")
    if "muon" in TRIALS[name]:
        run.optimizer = Muon(run.model, config.peak_rate, TRIALS[name]["muon"])
    run.model.train(), run.engine_model.train()
    means, looks = Means(run.model), []
    for batch in loop.batch_stream(run):
        loop.train_step(run, batch)
        means.add(run.step)
        if run.step in (config.max_steps // 2, config.max_steps * 4 // 5, config.max_steps):
            look = {"step": run.step, "tokens": run.tokens, "cpu_seconds": round(run.cpu_seconds, 1)}
            looks.append(look | {which: scores(run, corpus["val"]) for which in means.each()})
        if run.step >= config.max_steps:
            break
    size = sum(weight.numel() for weight in run.model.parameters())
    return {"name": name, "seed": seed, "changes": TRIALS[name], "parameters": size, "looks": looks}


def write(record: dict, path: Path | None) -> None:
    """The record as a file; its commit is that of the trial made last."""
    if path is not None:
        record = {**record, "commit": record["trials"][-1]["commit"]}
        path.write_text(json_text(record), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=TRIALS, default=[*TRIALS], metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--smoke", action="store_true", help="the fragment instead of Multi30k, a few steps: does it run?")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    steps = 5 if options.smoke else options.steps
    record: dict = {"command": "python benchmarks/quality.py --json results/quality.json", "steps": steps, "trials": []}
    if options.json and options.json.exists():
        record = json.loads(options.json.read_text(encoding="utf-8"))
    if record["steps"] != steps:
        parser.error(f"--steps: expected {record['steps']}, as in {options.json}, got {steps}; name another file")
    torch.set_num_threads(1)
    keep_freed_memory()
    corpus, small = {split: load_corpus("fragment" if options.smoke else "multi30k", split) for split in ("train", "val")}, {}
    if options.smoke:
        corpus = {"train": corpus["train"][:400], "val": corpus["val"][:20]}
        small = {"max_len": 24, "d_model": 64, "d_ff": 128}  # what has learned nothing ends its sentences at the last place
    for seed in options.seeds:
        for name in options.only:
            if any((done["name"], done["seed"]) == (name, seed) for done in record["trials"]):
                continue
            made = trial(name, seed, steps, corpus, **small)
            made |= {"commit": git_commit(), "device": cpu_name(), "threads": 1, "torch": torch.__version__}
            record["trials"].append(made)
            last = made["looks"][-1]
            print(
                f"{name}, seed {seed}: {last['cpu_seconds']:.0f} s, {last['weights']}, means {[last[str(decay)] for decay in MEANS]}",
                flush=True,
            )
            write(record, options.json)
    write(record, options.json)


if __name__ == "__main__":
    main()
