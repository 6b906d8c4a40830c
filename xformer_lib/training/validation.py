"""The loss on held-out pairs; page w2 explains it."""

from collections.abc import Iterable

import torch

from xformer_lib.data.batching import Batch, batches
from xformer_lib.nn.protocols import TrainableModel
from xformer_lib.training.loss import translation_loss
from xformer_lib.training.precision import autocast
from xformer_lib.training.run import Run
from xformer_lib.training.step import check_finite, learning_rate, read_loss, to_tensors

__all__ = ["validation_loss"]


def validation_loss(
    model: TrainableModel, data: list, *, max_tokens: int, device: str
) -> float:
    """Return the mean loss of a target token over a set of pairs, in nats.

    It is computed without dropout; then each module is in its own mode again.
    """
    if not data:
        raise ValueError(
            "data: expected at least one pair, got none; a mean needs "
            "something to be taken over"
        )
    total, count = summed_loss(model, batches(data, max_tokens=max_tokens), device)
    return total / count


@torch.no_grad()
def summed_loss(
    model: TrainableModel, data: Iterable[Batch], device: str
) -> tuple[float, int]:
    """−log p of all target tokens, in nats, and their number;
    no smoothing, no dropout."""
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    total, count = 0.0, 0
    try:
        for batch in data:
            loss, tokens = translation_loss(model, *to_tensors(batch, device))
            total, count = total + float(loss), count + int(tokens)
    finally:
        for part, mode in modes:  # one by one: a frozen encoder stays without dropout
            part.training = mode
    return total, count


def validate(run: Run) -> None:
    """Add a line to the history: the losses in training and on held-out pairs."""
    read_loss(run)
    held_out = batches(run.validation_data, max_tokens=run.config.max_tokens)
    own = (part for part in map(run.processes.rows, held_out) if len(part.source))
    with autocast(run.config, run.device):
        total, count = run.processes.total(
            *summed_loss(run.engine_model, own, run.device)
        )
    loss = total / count
    check_finite(run, "validation loss", loss, run.step)
    run.history.append(
        {
            "step": run.step,
            "tokens": run.tokens,
            "seconds": round(run.seconds, 1),
            "rate": learning_rate(run.config, run.step),
            "train_loss": run.loss_sum / run.loss_tokens,
            "validation_loss": loss,
        }
    )
    run.loss_sum, run.loss_tokens = 0.0, 0


def is_best(run: Run) -> bool:
    """Whether no earlier validation had so low a loss as that of the step just done."""
    best = min(run.history, key=lambda line: line["validation_loss"], default={})
    return best.get("step") == run.step


def out_of_patience(run: Run) -> bool:
    """Whether the last ``patience`` validations found no loss below an earlier one."""
    losses = [line["validation_loss"] for line in run.history]
    since_best = len(losses) - 1 - losses.index(min(losses)) if losses else 0
    return 0 < run.config.patience <= since_best
