"""Who computes a step: one process here, several in `training.distributed`."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import torch

from xformer_lib.data.batching import Batch
from xformer_lib.nn.protocols import TrainableModel
from xformer_lib.training.compiled import compiled_loss
from xformer_lib.training.loss import translation_loss

__all__: list[str] = []  # for the library itself


class SingleProcess:
    """Who computes a step: here one process, the whole of it.

    ``rank`` counts the processes from 0 and ``world`` is their number. The group of
    `training.distributed` stands in for it where there are several.
    """

    rank, world = 0, 1
    patience = 0.0  # seconds in which a second signal counts as the first
    loss: Callable[
        ..., tuple[torch.Tensor, int | torch.Tensor]
    ]  # `translation_loss` of the run's model

    def join(self, model: TrainableModel) -> None:
        """Take on the model that a run trains."""
        self.loss = partial(translation_loss, model)

    def compile(self, model: TrainableModel, **options) -> None:
        """Have the loss computed by compiled code from now on; see `torch.compile` for the options."""
        self.loss = compiled_loss(model, **options)

    def begin_step(self, seed: int, step: int) -> None:
        """Called before the gradients of a step."""

    def rows(self, batch: Batch) -> Batch:
        """The rows of a batch that this process computes."""
        return Batch(*(array[self.rank :: self.world] for array in batch))

    def total(self, *numbers: float) -> list[float]:
        """Each number, summed over all processes."""
        return list(numbers)

    def sharing(self, last: bool):
        """Around one part of a step: gradients are shared with the ``last``."""
        return nullcontext()
