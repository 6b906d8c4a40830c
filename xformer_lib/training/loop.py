"""The training loop: train, stop, resume; page w2 explains it."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from xformer_lib._progress import progress_bar
from xformer_lib._shell import quoted
from xformer_lib._shipped import model_folder
from xformer_lib.data.batching import batches
from xformer_lib.data.files import check_writable, write_atomically
from xformer_lib.data.pairs import load_pairs, save_pairs
from xformer_lib.nn.protocols import TrainableModel
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import checkpoint as files
from xformer_lib.training._folder import WEIGHTS, check_free, lock_run_folder
from xformer_lib.training.checkpoint import load_checkpoint, save_checkpoint, save_setup
from xformer_lib.training.checks import check_longer
from xformer_lib.training.compiled import is_worth_compiling
from xformer_lib.training.config import TrainConfig
from xformer_lib.training.memory import (
    bound_memory,
    keep_few_kernels,
    keep_freed_memory,
    resident_memory,
    return_unused_memory,
)
from xformer_lib.training.precision import fast_products, pick_device
from xformer_lib.training.processes import SingleProcess
from xformer_lib.training.rehearsal import compare, note_before, write_record
from xformer_lib.training.run import Run, build_run, new_run, state_of
from xformer_lib.training.signals import Stopped, stop_signals
from xformer_lib.training.step import READ_EVERY, read_loss, train_step
from xformer_lib.training.validation import is_best, out_of_patience, validate

__all__ = ["resume", "train"]


def train(
    config: TrainConfig,
    folder: str | Path,
    *,
    corpus: dict | None = None,
    device: str | None = None,
    progress: bool = True,
    build: Callable[[TransformerConfig], TrainableModel] = Transformer,
    processes: SingleProcess | None = None,
    provenance: dict | None = None,
    engine: str = "fast",
    start: str | Path | None = None,
) -> Run:
    """Train from step 0; ``folder`` gets config, tokenizer, checkpoint, best model.

    ``corpus`` may bring its own {"train": pairs, "val": pairs}, whose quotes and spaces
    are made plain (`data.normalise`) and which stay in the folder, and ``build``
    another model: it is called with ``config.model``, and what it returns is a
    `nn.protocols.TrainableModel`, as `Transformer` is one. The tokenizer learns from the training sentences alone.
    Two runs with equal settings give equal weights on one CPU, with the same versions
    and number of threads. ``processes`` may be a group that shares the work; it shares
    the folder, too. ``provenance`` is stored beside the settings. A folder that holds
    a run or a model is refused.
    ``engine="fast"`` computes the model by `engine.accelerate`, "plain" by its definition. On a GPU "fast" compiles
    a run of 5,000 steps or more where it can; "eager" compiles none, "compiled" any.
    ``start``, the folder of a model of the same settings or the name of a shipped one,
    gives its weights and its tokenizer to begin with (fine-tuning); the optimiser is new,
    dropout may differ. `preset_for(pairs, start=…)` has settings for it. ``run.kept``
    then says how much of what that model wrote is still written.
    """
    folder, processes = Path(folder), processes or SingleProcess()
    device = pick_device(device)
    if processes.rank == 0:
        check_free(folder)
        check_writable(folder / "config.json")
    begin = None if start is None else model_folder(start)
    run, corpus = new_run(
        config, folder, corpus, device, build, processes, engine, begin
    )
    with lock_run_folder(folder, processes.rank, new=True):
        if processes.rank == 0:
            save_setup(folder, run.config, run.tokenizer, run=run.id)
            if corpus is not None:
                save_pairs(folder, corpus)
            if provenance is not None:
                text = json.dumps(provenance, ensure_ascii=False, indent=1) + "\n"
                write_atomically(folder / "provenance.json", text.encode())
            if begin is not None and build is Transformer:
                note_before(folder, begin, device)
        return finish(run, progress)


def resume(
    folder: str | Path,
    *,
    max_steps: int | None = None,
    corpus: dict | None = None,
    device: str | None = None,
    progress: bool = True,
    build: Callable[[TransformerConfig], TrainableModel] = Transformer,
    processes: SingleProcess | None = None,
    engine: str = "fast",
) -> Run:
    """Go on from a run's last checkpoint, with its pairs and its ``build``: on a CPU, to
    the very weights of an unbroken run, if as many ``processes`` share it. More
    ``max_steps`` than the run was begun with prolong it: it takes them all, at the rates
    that the schedule has for so many."""
    folder, processes = Path(folder), processes or SingleProcess()
    files.load_settings(folder)  # if it is no run, it is left alone
    corpus = load_pairs(folder) if corpus is None else corpus
    with lock_run_folder(folder, processes.rank):
        config, tokenizer = files.load_setup(folder)
        if max_steps is not None:
            check_longer(max_steps, config)
            config = replace(config, max_steps=max_steps, patience=0)
        run = build_run(
            config,
            folder,
            tokenizer,
            corpus,
            pick_device(device),
            build=build,
            processes=processes,
            engine=engine,
        )
        run.id = files.load_settings(folder)[1]
        restore(run)
        if processes.rank == 0:
            restore_model(run)
            if max_steps is not None:
                save_setup(folder, config, tokenizer)
        return finish(run, progress)


def finish(run: Run, progress: bool) -> Run:
    """Train to the end, and say what a fine-tuned model has kept."""
    run = continue_run(run, progress)
    run.kept = compare(run.folder, run.device)
    if run.kept is not None and run.processes.rank == 0:
        write_record(run.folder, run.kept)
    return run


def continue_run(run: Run, progress: bool) -> Run:
    """Train to ``max_steps`` or until patience ends, validating and saving a checkpoint
    every ``validate_every`` steps; `Stopped` after Ctrl-C, SIGTERM or SIGHUP."""
    config, processes = run.config, run.processes
    if run.step < config.max_steps and processes.rank == 0:
        for name in WEIGHTS:
            check_writable(run.folder / name)
    run.model.train()
    run.engine_model.train()
    if run.device == "cpu":
        keep_few_kernels()
        keep_freed_memory()
    bar = progress_bar(
        config.max_steps,
        initial=run.step,
        unit="step",
        shown=progress and processes.rank == 0,
    )
    smoothed = " with smoothed labels" if config.label_smoothing else ""
    if is_worth_compiling(
        run.engine_model,
        engine=run.engine,
        device=run.device,
        steps=config.max_steps - run.step,
    ):
        bar.set_postfix_str("compiles at its first steps")
        processes.compile(run.engine_model)
    floor, products = resident_memory(), fast_products(run.device)
    tokens, seconds = run.tokens, run.seconds
    with bar, products, stop_signals(processes.patience) as asked:
        for batch in batch_stream(run):
            if run.step >= config.max_steps or out_of_patience(run):
                break
            train_step(run, batch)
            bar.update()
            if run.device == "cpu":
                floor = bound_memory(floor)
            if run.step % READ_EVERY == 0:
                speed = (run.tokens - tokens) / (run.seconds - seconds)
                bar.set_postfix_str(
                    f"training loss {run.loss_sum / run.loss_tokens:.3f}{smoothed}, "
                    f"{speed:,.0f} tokens/s"
                )
            save_or_stop(run, asked)
    run.model.eval()
    run.engine_model.eval()
    return run


def batch_stream(run: Run):
    """Batches for ever, in an order that follows from seed and epoch, from where the
    run stands."""
    while True:
        rng = np.random.default_rng([run.config.seed, run.epoch])
        epoch = batches(run.train_data, max_tokens=run.config.max_tokens, rng=rng)
        yield from islice(epoch, run.batch, None)
        run.epoch, run.batch = run.epoch + 1, 0


def save_or_stop(run: Run, asked: list) -> None:
    """After a step: validate and save where it is time, or save and raise `Stopped`
    where any process was asked to stop."""
    done = run.step == run.config.max_steps
    due = done or run.step % run.config.validate_every == 0
    if due:
        return_unused_memory()  # validating and writing need some of their own
        validate(run)
    stop = run.processes.total(len(asked))[0] > 0 and not done
    if stop:
        read_loss(run)
    if (due or stop) and run.processes.rank == 0:
        save_checkpoint(run.folder, run.model, run.optimizer, state_of(run))
        if is_best(run):  # after the checkpoint, so that no model is ever without one
            files.save_model(run.folder, run.model, state_of(run))
    if due or stop:
        run.processes.total(0)  # all wait for the file
        return_unused_memory()  # before the next step asks for its own
    if stop:
        raise Stopped(
            f"stopped after step {run.step} of {run.config.max_steps}, all "
            f"is saved; go on with: xformer train --resume {quoted(run.folder)}"
        )


def restore(run: Run) -> None:
    """Put a run where its checkpoint stood; one of another run is a ValueError."""
    path, fresh = run.folder / "checkpoint.safetensors", state_of(run)
    fingerprint, run_id, pairs = map(fresh.pop, ("made_for", "run", "pairs"))

    def check(state: dict) -> None:
        files.check_fingerprint(path, state.get("made_for", {}), fingerprint)
        files.check_run(path, state, run_id)
        if state.get("pairs", pairs) != pairs:
            raise ValueError(
                f"checkpoint: {path} was written by a run with other pairs; "
                "leave corpus out where its folder has pairs.tsv, or give the one that train had"
            )
        if missing := fresh.keys() - state.keys():
            raise ValueError(
                f"checkpoint: {path} lacks {', '.join(sorted(missing))}; "
                "restore it from a copy or train again"
            )

    state = load_checkpoint(
        run.folder, run.model, run.optimizer, device=run.device, check=check
    )
    for name in fresh:
        setattr(run, name, state[name])


def restore_model(run: Run) -> None:
    """Write the best model if the run died between its checkpoint and that file."""
    path = run.folder / "model.safetensors"
    state = files.load_tensors(path)[1] if path.exists() else {"run": run.id}
    files.check_run(path, state, run.id)
    if is_best(run) and state.get("step") != run.step:
        files.save_model(run.folder, run.model, state_of(run))
