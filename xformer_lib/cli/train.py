"""``xformer train``: train a translator, or go on with one."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from xformer_lib._shell import quoted
from xformer_lib.cli.models import chosen_model
from xformer_lib.cli.parser import say
from xformer_lib.cli.provenance import provenance
from xformer_lib.cli.settings import with_settings

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Train, print what became of the run, and return the exit status."""
    if options.resume is not None and (options.set or options.out is not None or options.start is not None):
        raise ValueError("--resume: expected no --set, --start-from and --out, the run keeps its settings; leave them out")

    from xformer_lib.training.distributed import process_group
    from xformer_lib.training.loop import resume

    with process_group(options.device) as (processes, device):
        how: dict[str, Any] = dict(device=device, progress=not options.quiet, processes=processes)
        done = new_run(options, how) if options.resume is None else resume(options.resume, **how)
    if processes.rank == 0:
        left_out = f"; {done.left_out:,} pairs longer than max_len were left out" if done.left_out else ""
        losses = done.history[-1]
        smoothed = f" (training loss {losses['train_loss']:.3f}, with smoothed labels)" if done.config.label_smoothing else ""
        print(
            f"{done.folder}: {done.step} steps, {done.tokens:,} target tokens in {done.seconds / 60:.1f} minutes; "
            f"validation loss {losses['validation_loss']:.3f} nats a token{smoothed}{left_out}",
            flush=True,
        )
        name = quoted(done.folder)
        say(options, f"model {name}; translate with it: --model {name}")
    return 0


def new_run(options: Namespace, how: dict[str, Any]):
    """Return the finished run that begins with these options."""
    from xformer_lib.data.pairs import read_pairs, split_pairs
    from xformer_lib.training.checkpoint import load_settings
    from xformer_lib.training.config import preset, preset_for
    from xformer_lib.training.loop import train
    from xformer_lib.training.memory import check_memory
    from xformer_lib.training.precision import pick_device

    folder = Path(options.out or f"runs/{options.preset or 'mine'}")
    corpus = None if options.pairs is None else split_pairs(read_pairs(*options.pairs))
    config = preset(options.preset) if corpus is None else preset_for(corpus["train"])
    start = None if options.start is None else chosen_model(options.start)
    if start is not None:
        config = replace(config, model=load_settings(start)[0].model)
    config = with_settings(config, options.set)
    check_memory(config.model)
    processes = how["processes"]
    origin = provenance(pick_device(options.device), processes.world) if processes.rank == 0 else None
    return train(config, folder, corpus=corpus, provenance=origin, start=start, **how)
