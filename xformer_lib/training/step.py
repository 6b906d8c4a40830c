"""One step of training; page w2 explains it."""

import math
import time

import torch

from xformer_lib.data.batching import Batch
from xformer_lib.training.config import TrainConfig
from xformer_lib.training.precision import autocast
from xformer_lib.training.run import Run
from xformer_lib.training.schedule import inverse_sqrt, trapezoid

__all__: list[str] = []  # for the library itself


READ_EVERY = 20  # steps, on a GPU


def train_step(run: Run, batch: Batch) -> tuple[float, int]:
    """Take one optimiser step; return the summed loss that was read, that of the step on a
    CPU, and the number of target tokens. A GPU is asked every `READ_EVERY` steps."""
    config, wall, cpu = run.config, time.perf_counter(), time.process_time()
    for group in run.optimizer.param_groups:
        group["lr"] = learning_rate(config, run.step + 1)
    tokens = int((batch.target_out != config.model.pad_id).sum())
    loss = add_gradients(run, batch, tokens)
    norm = torch.nn.utils.clip_grad_norm_(run.model.parameters(), config.clip)
    new = torch.stack([loss, norm.to(loss.dtype)])
    run.unread = new if run.unread is None else run.unread + new
    waits = run.device.startswith("cpu") or (run.step + 1) % READ_EVERY == 0
    read = read_loss(run) if waits else 0.0
    run.optimizer.step()
    run.optimizer.zero_grad()
    run.step, run.batch, run.tokens = run.step + 1, run.batch + 1, run.tokens + tokens
    run.loss_tokens += tokens
    run.seconds += time.perf_counter() - wall
    run.cpu_seconds += time.process_time() - cpu
    return read, tokens


def add_gradients(run: Run, batch: Batch, tokens: int) -> torch.Tensor:
    """Add up the gradient of the mean loss of a batch's ``tokens``, part by part;
    returns the summed loss of this process's rows."""
    processes, own = run.processes, run.processes.rows(batch)
    processes.begin_step(run.config.seed, run.step)
    parts = min(run.config.accumulate, len(own.source))
    losses = []
    for n in range(parts):
        part = Batch(*(array[n::parts] for array in own))
        with processes.sharing(last=n + 1 == parts):
            with autocast(run.config, run.device):
                loss, _ = processes.loss(
                    *to_tensors(part, run.device),
                    label_smoothing=run.config.label_smoothing,
                )
            (loss / (tokens / processes.world)).backward()
        losses.append(loss.detach())
    return torch.stack(losses).sum()


def to_tensors(
    batch: Batch, device: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the three arrays of a batch as tensors on the device; a GPU fetches them when it
    comes to it, from memory that stays in its place."""
    source, target_in, target_out = map(torch.from_numpy, batch)
    if device.startswith("cuda"):
        source, target_in, target_out = (
            x.pin_memory() for x in (source, target_in, target_out)
        )
    return (
        source.to(device, non_blocking=True),
        target_in.to(device, non_blocking=True),
        target_out.to(device, non_blocking=True),
    )


def learning_rate(config: TrainConfig, step: int) -> float:
    """Return the rate of a step (from 1) under the schedule that the settings name."""
    if config.schedule == "inverse_sqrt":
        return inverse_sqrt(step, peak=config.peak_rate, warmup=config.warmup_steps)
    return trapezoid(
        step,
        peak=config.peak_rate,
        warmup=config.warmup_steps,
        total=config.max_steps,
        decay=config.decay,
    )


def read_loss(run: Run) -> float:
    """Fetch the loss summed since the last call, over all processes, and add it to the
    run's; the one place where a step waits for its device. Numbers that have overflowed
    stop the run."""
    if run.unread is None:
        return 0.0
    loss, norm = run.unread.tolist()
    run.unread, (loss,) = None, run.processes.total(loss)
    check_finite(run, "loss", loss, run.step + 1)
    check_finite(run, "gradient", norm, run.step + 1)
    run.loss_sum += loss
    return loss


def check_finite(run: Run, name: str, value: float, step: int) -> None:
    """Stop a run whose numbers have overflowed, before anything is written."""
    if not math.isfinite(value):
        raise FloatingPointError(
            f"{name}: expected a finite number, got {value} in step {step} (epoch "
            f"{run.epoch}, batch {run.batch}, both from 0); train again with a lower "
            "peak_rate, a longer warm-up or precision=float32; what "
            f"{run.folder} holds is whole"
        )
