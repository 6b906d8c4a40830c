"""Other parts for the Transformer of page 9b, each with its own way back: what the laboratory puts in the place of a part.

A class here says only what differs. `become` puts it before the class of a layer that is there already, which may be the reader's own, and
so ``super()`` is that class.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from xformer_lib.reference.attention import softmax
from xformer_lib.reference.positions import rotary
from xformer_lib.reference.transformer import BOS, PAD

_Layer: Any = object  # the class that `become` will put there


def become(layer: Any, kind: type) -> Any:
    """Put the methods of a class of this module before a layer's own; return the layer, whose parameters stay."""
    layer.__class__ = type(kind.__name__ + type(layer).__name__, (kind, type(layer)), {})
    return layer


class Nothing:
    """Leaves its input as it is."""

    def forward(self, x):
        return x

    def backward(self, d_y):
        return d_y


class Rewired:
    """A residual whose norm is elsewhere, or whose x is not added."""

    def __init__(self, f, before, after, keep):
        self.f, self.before, self.after, self.keep = f, before, after, keep

    def forward(self, x, *others):
        return self.after.forward(self.keep * x + self.f.forward(self.before.forward(x), *others))

    def backward(self, d_y):
        d_y = self.after.backward(d_y)
        return self.keep * d_y + self.before.backward(self.f.backward(d_y))


class Learned(_Layer):
    """An embedding that adds to each row a row of P (place m), which learns as E does."""

    def forward(self, ids):
        return super().forward(ids) + self.p.value[: ids.shape[1]]

    def backward(self, d_x, ids):
        self.p.grad[: ids.shape[1]] += d_x.sum(axis=0)  # every sentence has used the same rows
        super().backward(d_x, ids)


class Rotary(_Layer):
    """W_Q or W_K, whose output is turned in each head, pair by pair, by an angle that grows with the place."""

    def forward(self, x):
        return self.turn(super().forward(x), 1)

    def backward(self, d_y):
        return super().backward(self.turn(d_y, -1))  # the way back turns back

    def turn(self, x, sign):
        heads = x.reshape(*x.shape[:2], -1, self.d_head).swapaxes(1, 2)  # (b h i d)
        return rotary(heads, sign * np.arange(x.shape[1])).swapaxes(1, 2).reshape(x.shape)


class Grouped(_Layer):
    """W_K or W_V with fewer heads than the queries: each is read by several in a row, so its gradients add."""

    def forward(self, x):
        heads = super().forward(x)
        heads = heads.reshape(*heads.shape[:2], -1, 1, self.d_head)  # (b j group 1 d)
        return heads.repeat(self.readers, axis=3).reshape(*x.shape[:2], -1)

    def backward(self, d_y):
        heads = d_y.reshape(*d_y.shape[:2], -1, self.readers, self.d_head)
        return super().backward(heads.sum(axis=3).reshape(*d_y.shape[:2], -1))


class SwiGLU(_Layer):
    """y = (silu(x W₁ + b₁) · (x W₃ + b₃)) W₂ + b₂, where silu(a) = a / (1 + e⁻ᵃ); two thirds as wide, so that it has as many numbers."""

    def __init__(self, d_model, d_ff, rng):
        super().__init__(d_model, 2 * d_ff // 3, rng)
        self.w_3 = type(self.w_1)(d_model, 2 * d_ff // 3, rng)

    def forward(self, x):
        self.a, self.c = self.w_1.forward(x), self.w_3.forward(x)
        self.gate = 1 / (1 + np.exp(-self.a))
        return self.w_2.forward(self.a * self.gate * self.c)

    def backward(self, d_y):
        d_hidden = self.w_2.backward(d_y)
        slope = self.gate * (1 + self.a * (1 - self.gate))  # of silu
        return self.w_1.backward(d_hidden * self.c * slope) + self.w_3.backward(d_hidden * self.a * self.gate)


class Untied(_Layer):
    """An embedding of three matrices: E for the target, ``e_source``, and ``e_out`` for the logits."""

    def forward(self, ids):
        return self.table(ids).value[ids] * self.root

    def backward(self, d_x, ids):
        np.add.at(self.table(ids).grad, ids, d_x * self.root)

    def table(self, ids):
        return self.e if ids[0, 0] == BOS else self.e_source  # only a target begins with BOS

    def logits(self, x):
        self.x = x
        return x @ self.e_out.value.T

    def logits_backward(self, d_logits):
        self.e_out.grad += np.einsum("biv,bim->vm", d_logits, self.x)
        return d_logits @ self.e_out.value


class GRU(_Layer):
    """One place after another changes a state: h ← z h + (1 − z) tanh(x W + b + r (h U)), where the gates r and z are between 0 and 1.

    ``x`` (b i m), ``context`` (b m), the state to begin with, ``real`` (b i) of booleans, where it changes; returns all states (b i m).
    """

    def __init__(self, code, width, rng):
        self.width = width
        self.w = code["Linear"](width, 3 * width, rng)  # of r, z and the proposal, side by side
        self.u = code["Parameter"](rng.normal(0, width**-0.5, (width, 3 * width)))

    def forward(self, x, context, real):
        m, h, self.steps = self.width, context, []
        from_x, states = self.w.forward(x), []
        for i in range(x.shape[1]):
            from_h = h @ self.u.value  # (b 3m)
            gates = 0.5 + 0.5 * np.tanh(0.5 * (from_x[:, i, : 2 * m] + from_h[:, : 2 * m]))  # a sigmoid that cannot overflow
            r, z = gates[:, :m], gates[:, m:]
            proposal = np.tanh(from_x[:, i, 2 * m :] + r * from_h[:, 2 * m :])
            self.steps.append((h, r, z, proposal, from_h[:, 2 * m :], real[:, i, None]))
            h = np.where(real[:, i, None], z * h + (1 - z) * proposal, h)
            states.append(h)
        return np.stack(states, axis=1)

    def backward(self, d_y):
        d_h, d_from_x = np.zeros_like(d_y[:, 0]), []
        for i, (h, r, z, proposal, from_h, real) in reversed([*enumerate(self.steps)]):
            d_h = d_h + d_y[:, i]
            d_new, d_h = np.where(real, d_h, 0), np.where(real, 0, d_h)
            d_proposal = d_new * (1 - z) * (1 - proposal**2)  # before its tanh
            d_r = d_proposal * from_h * r * (1 - r)
            d_z = d_new * (h - proposal) * z * (1 - z)
            d_from_h = np.concatenate([d_r, d_z, d_proposal * r], axis=1)
            self.u.grad += h.T @ d_from_h
            d_h = d_h + d_new * z + d_from_h @ self.u.value.T
            d_from_x.append(np.concatenate([d_r, d_z, d_proposal], axis=1))
        self.d_context = d_h
        return self.w.backward(np.stack(d_from_x[::-1], axis=1))


class Recurrent(_Layer):
    """A Transformer whose stacks are a GRU each: all that the decoder has of the source is the encoder's last state, its first."""

    def __init__(self, code, vocab_size, width, rng):
        gru = type("GRU", (GRU, code["Layer"]), {})
        self.embedding = code["Embedding"](vocab_size, width, rng)
        self.encoder, self.decoder = gru(code, width, rng), gru(code, width, rng)

    def encode(self, source):
        nothing = np.zeros((len(source), self.encoder.width), dtype=self.encoder.u.value.dtype)
        return self.encoder.forward(self.embedding.forward(source), nothing, source != PAD)[:, -1]

    def states(self, target_in, memory, source):
        return self.decoder.forward(self.embedding.forward(target_in), memory, target_in >= 0)

    def backward(self, d_logits):
        d_x = self.decoder.backward(self.embedding.logits_backward(d_logits))
        self.embedding.backward(d_x, self.target_in)
        d_states = np.zeros((*self.source.shape, self.encoder.width), dtype=d_x.dtype)
        d_states[:, -1] = self.decoder.d_context
        self.embedding.backward(self.encoder.backward(d_states), self.source)


def size_of(model: Any) -> int:
    """Return how many numbers of a model learn."""
    return sum(parameter.value.size for parameter in model.parameters())


def smoothed(cross_entropy: Callable, share: float) -> Callable:
    """Return a cross-entropy whose target gives a share of its weight to all words alike, as label smoothing does."""

    def loss(logits, target):
        plain, d_plain = cross_entropy(logits, target)
        real = target != PAD
        p = softmax(logits[real])
        d_even = np.zeros_like(logits)
        d_even[real] = (p - 1 / p.shape[1]) / len(p)
        even = -np.log(p + 1e-30).mean()
        return (1 - share) * plain + share * even, (1 - share) * d_plain + share * d_even

    return loss


class GradientDescent:
    """Moves every number against its gradient, by the rate times the gradient."""

    def __init__(self, parameters):
        self.parameters = parameters

    def step(self, rate):
        for p in self.parameters:
            p.value -= rate * p.grad
            p.grad[:] = 0
