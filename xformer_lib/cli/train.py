"""``xformer train``: train a translator, or go on with one."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from xformer_lib import _needs
from xformer_lib._shell import quoted
from xformer_lib.cli.parser import say
from xformer_lib.cli.provenance import provenance
from xformer_lib.cli.settings import with_settings

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Train, print what became of the run, and return the exit status."""
    if options.resume is not None and (options.out is not None or options.start is not None):
        raise ValueError("--resume: expected no --start-from and --out, the run keeps its folder and settings; leave them out")
    if options.start is not None:
        _needs.check(_needs.COMMANDS["evaluate"])  # what became of the old sentences is said in BLEU

    from xformer_lib.training.distributed import process_group
    from xformer_lib.training.loop import resume

    with process_group(options.device) as (processes, device):
        how: dict[str, Any] = dict(device=device, progress=not options.quiet, processes=processes)
        done = new_run(options, how) if options.resume is None else resume(options.resume, max_steps=longer(options), **how)
    if processes.rank == 0:
        left_out = f"; {done.left_out:,} pairs longer than max_len were left out" if done.left_out else ""
        losses = done.history[-1]
        smoothed = f" (training loss {losses['train_loss']:.3f}, with smoothed labels)" if done.config.label_smoothing else ""
        early = ", where it fell no more" if done.step < done.config.max_steps else ""
        print(
            f"{done.folder}: {done.step} steps, {done.tokens:,} target tokens in {done.seconds / 60:.1f} minutes; "
            f"validation loss {losses['validation_loss']:.3f} nats a token{early}{smoothed}{left_out}",
            flush=True,
        )
        if done.kept is not None:
            print(*kept_lines(done.kept), sep="\n", flush=True)
        name = quoted(done.folder)
        say(options, f"model {name}; translate with it: --model {name}")
    return 0


def longer(options: Namespace) -> int | None:
    """Return the ``max_steps`` that a resumed run is prolonged to, if it is; it keeps its other settings."""
    names = [setting.partition("=")[0] for setting in options.set]
    if set(names) - {"max_steps"}:
        raise ValueError("--resume: expected no --set but max_steps, the run keeps its other settings; leave them out")
    from xformer_lib.training.checkpoint import load_settings

    return with_settings(load_settings(Path(options.resume))[0], options.set).max_steps if names else None


def kept_lines(kept: dict[str, Any]) -> list[str]:
    """Return what to say of the sentences that the model to begin with could translate."""
    rows = [row for row in zip(kept["sources"], kept["before"], kept["after"]) if row[1] != row[2]]
    said = f"{kept['same']} of {len(kept['sources'])} other sentences are translated as {kept['start']} did"
    return [
        f"{said}, all of them with BLEU {kept['bleu']:.0f} against it",
        *(f"  {source} | {old} | now: {new}" for source, old, new in rows[:3]),
    ]


def new_run(options: Namespace, how: dict[str, Any]):
    """Return the finished run that begins with these options."""
    from xformer_lib.data.pairs import read_pairs, split_pairs
    from xformer_lib.training.config import fine_tuned, preset, preset_for
    from xformer_lib.training.loop import train
    from xformer_lib.training.memory import check_memory
    from xformer_lib.training.precision import pick_device

    folder = Path(options.out or f"runs/{options.preset or 'mine'}")
    corpus = None if options.pairs is None else split_pairs(read_pairs(*options.pairs))
    start = options.start
    if corpus is not None:
        config = preset_for(corpus["train"], start=start)
    else:
        config = preset(options.preset) if start is None else fine_tuned(preset(options.preset), start)
    config = with_settings(config, options.set)
    check_memory(config.model)
    processes = how["processes"]
    origin = provenance(pick_device(options.device), processes.world) if processes.rank == 0 else None
    return train(config, folder, corpus=corpus, provenance=origin, start=start, **how)
