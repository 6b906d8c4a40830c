"""The processes that torchrun started share a step; page w4 explains it."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from xformer_lib.data.batching import Batch
from xformer_lib.nn.protocols import TrainableModel
from xformer_lib.shapes import Int
from xformer_lib.training.compiled import compiled_loss
from xformer_lib.training.loss import translation_loss
from xformer_lib.training.precision import pick_device
from xformer_lib.training.processes import SingleProcess

__all__: list[str] = []  # for the library itself


class Shares(SingleProcess):
    """Process ``rank`` of ``world`` computes rows rank, rank + world, … of a batch."""

    def __init__(self, rank: int, world: int, pad_id: int = 0):
        self.rank, self.world, self.pad_id = rank, world, pad_id

    def rows(self, batch: Batch) -> Batch:
        """Its rows. Where none is left, one row without target tokens, so that the
        process still takes part in the sums, with zeros."""
        own = super().rows(batch)
        if len(own.source):
            return own
        first = Batch(*(array[:1] for array in batch))
        return first._replace(target_out=np.full_like(first.target_out, self.pad_id))


class LossOf(nn.Module):
    """The `translation_loss` of a model as the forward pass of a module, which is what
    DistributedDataParallel wraps."""

    def __init__(self, model: TrainableModel):
        super().__init__()
        self.model = model
        self.loss = partial(translation_loss, model)

    def forward(
        self,
        source: Int[Tensor, "b s"],
        target_in: Int[Tensor, "b t"],
        target_out: Int[Tensor, "b t"],
        *,
        label_smoothing: float = 0.0,
    ) -> tuple[Tensor, int | Tensor]:
        """The summed loss and the number of target tokens."""
        return self.loss(source, target_in, target_out, label_smoothing=label_smoothing)


class ProcessGroup(Shares):
    """The processes that ``torchrun`` started, as `train` and `resume` take them.

    Gradients are summed over them and divided by the target tokens of the whole batch:
    the step of one process alone, up to rounding and to what dropout draws.
    """

    patience = 2.0  # seconds: a terminal and a launcher may both pass Ctrl-C on
    loss: DistributedDataParallel
    sums: Tensor

    def __init__(self, device: str):
        super().__init__(dist.get_rank(), dist.get_world_size())
        self.device = device

    def join(self, model: TrainableModel) -> None:
        """Wrap the model; process 0 gives its weights to the others."""
        self.pad_id = model.config.pad_id
        self.loss = DistributedDataParallel(LossOf(model))

    def compile(self, model: TrainableModel, **options) -> None:
        """Compile inside of the wrapper, which goes on sharing gradients."""
        self.loss.module.loss = compiled_loss(model, **options)

    def sharing(self, last: bool):
        """Gradients are added up here, and travel with the last part of a step."""
        return nullcontext() if last else self.loss.no_sync()

    def total(self, *numbers: float) -> list[float]:
        """Each number, summed over the processes; all wait for all."""
        self.sums = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(self.sums)  # kept: a thread that freed it would wait for Python
        return self.sums.tolist()

    def begin_step(self, seed: int, step: int) -> None:
        """Draws that follow from seed, step and process: nothing to store for them."""
        own = np.random.SeedSequence([seed, step, self.rank])
        torch.manual_seed(int(own.generate_state(1)[0]))


def own_device(name: str | None) -> str:
    """The GPU of this process on its host, or the processor for all of them."""
    kind = pick_device(name).split(":")[0]
    if kind == "cuda":
        local, there = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if local >= there:
            raise ValueError(
                "device: expected a GPU for each process, got "
                f"{there} here and a process {local} (from 0); start "
                "fewer with --nproc-per-node, or take --device cpu"
            )
        torch.cuda.set_device(local)
        return f"cuda:{local}"
    if name == "mps":
        raise ValueError(
            "device: expected cpu or cuda for several processes, got mps; "
            "leave torchrun out, or take --device cpu"
        )
    return "cpu"


def speaks_first(store: "dist.Store") -> bool:
    """Whether no other process has reported an error yet."""
    try:
        restarts = os.environ.get(
            "TORCHELASTIC_RESTART_COUNT", "0"
        )  # the store outlives them
        return store.add(f"failed {restarts}", 1) == 1
    except RuntimeError:  # the store went with a process that did
        return False


@contextmanager
def process_group(device: str | None = None) -> Iterator[tuple[SingleProcess, str]]:
    """Give the processes that torchrun started, or this one alone, and the device."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield SingleProcess(), pick_device(device)
        return
    device = own_device(device)
    store, rank, world = next(dist.rendezvous("env://"))
    dist.init_process_group(
        "nccl" if device.startswith("cuda") else "gloo",
        store=store,
        rank=rank,
        world_size=world,
    )
    group = ProcessGroup(device)
    try:
        yield group, device
    except (Exception, KeyboardInterrupt) as error:
        traceback.clear_frames(error.__traceback__)  # they hold the wrapped model, too
        if not speaks_first(store):
            raise SystemExit(
                130 if isinstance(error, KeyboardInterrupt) else 1
            ) from None
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise ConnectionError(
                f"processes: one of {world} was lost; start them "
                "again with --resume and the run's folder"
            ) from error
        raise
    finally:
        vars(group).pop(
            "loss", None
        )  # whoever frees the group last waits for its threads
        dist.destroy_process_group()
