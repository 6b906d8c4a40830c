"""Five models of page 9b with one fault each, and a healthy one: exercise 9.18 asks which is which."""

from dataclasses import replace
from typing import Any

import numpy as np

from xformer_course.lessons.laboratory import Parts, Run
from xformer_lib.reference.attention import softmax

__all__ = ["FAULTS", "Broken", "broken"]

FAULTS = ("no causal mask", "no positions", "padding in the loss", "scaled twice", "wrong shift")
_PARTS = Parts(heads=1, steps=200)
_FAULT_OF = dict(zip("ABCDE", (FAULTS[n] for n in (2, 4, 1, 0, 3)))) | {"healthy": ""}


class Broken(Run):
    """A model that learns to write words backwards, with a fault or without.

    ``model`` is a `Transformer` of page 9b, `train` trains it, `write` lets it write; `batch`, `loss` and `logits` are for experiments.
    """

    def __init__(self, letter: str):
        if letter not in _FAULT_OF:
            raise ValueError(f"letter: expected one of {', '.join(_FAULT_OF)}, got {letter!r}; choose one of these")
        self.letter = letter
        self._fault = _FAULT_OF[letter]
        parts = replace(_PARTS, causal_mask=self._fault != "no causal mask", positions=self._fault != "no positions")
        super().__init__("backwards", parts)
        if self._fault == "scaled twice":
            decoder, (encoder,) = self.model.decoder[0], self.model.encoder
            for part in (encoder.attention, decoder.self_attention, decoder.cross_attention):
                part.f.scale **= 2
        if self._fault == "padding in the loss":
            self.code["cross_entropy"] = _every_place

    def __repr__(self) -> str:
        return f"broken({self.letter!r})"

    def reads(self, target):
        return target if self._fault == "wrong shift" else super().reads(target)

    def train(self, seconds: float = float("inf")) -> Any:
        """Train for 200 steps and return the loss of each."""
        super().train(seconds)
        return np.array(self.losses)

    def batch(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and targets (b 9), held-out words of eight letters at most with the end, padded."""
        return self.task.sources[:size].copy(), self.task.targets[:size].copy()

    def logits(self, source, target) -> np.ndarray:
        """Return the logits (b t v) with which the model would learn this target."""
        return self.model.forward(source, self.reads(target))

    def loss(self, source, target) -> float:
        """Return the loss that it would see, in nats."""
        return float(self.code["cross_entropy"](self.logits(source, target), target)[0])

    def write_words(self, words: list[str]) -> list[str]:
        """Return what the model writes for each word."""
        return [self.write(word)["text"] for word in words]


def broken(letter: str) -> Broken:
    """Return the model of that letter, A to E, or the healthy one, all with the same first weights.

    >>> broken("A")
    broken('A')
    """
    return Broken(letter)


def _every_place(logits, target):
    """The mean of -log p over all places, padding among them."""
    p = softmax(logits)
    b, t = np.indices(target.shape)
    loss = -np.log(p[b, t, target] + 1e-30).mean()
    p[b, t, target] -= 1
    return loss, p / target.size
