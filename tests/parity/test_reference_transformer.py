"""The NumPy Transformer of page 9b beside the PyTorch one, with its weights: the same logits, loss, words, and every gradient."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.parity.copying import perturb
from xformer_lib.decoding import greedy
from xformer_lib.nn import Transformer, TransformerConfig
from xformer_lib.reference import transformer as plain

SOURCE = np.array([[4, 5, 6, 5, 2], [8, 9, 2, 0, 0], [3, 2, 0, 0, 0]])
TARGET_IN = np.array([[1, 3, 4, 5], [1, 7, 0, 0], [1, 9, 9, 0]])
TARGET_OUT = np.array([[3, 4, 5, 2], [7, 2, 0, 0], [9, 9, 2, 0]])


def linear(ours, theirs):
    return [(ours.w, theirs.weight, np.transpose), (ours.b, theirs.bias, np.asarray)]


def norm(ours, theirs):
    return [(ours.g, theirs.weight, np.asarray), (ours.b, theirs.bias, np.asarray)]


def layer(ours, theirs):
    """The residuals of both in their order, and in each of them a norm, and attention or the feed-forward net."""
    pairs = []
    for residual, other in zip(vars(ours).values(), theirs.residuals, strict=True):
        pairs += norm(residual.norm, other.norm)
    for name, residual in vars(ours).items():
        module = getattr(theirs, "self_attention" if name == "attention" else name)
        for part in ("w_1", "w_2") if name == "feed_forward" else ("w_q", "w_k", "w_v", "w_o"):
            pairs += linear(getattr(residual.f, part), getattr(module, part))
    return pairs


def all_pairs(ours, theirs):
    """(our parameter, PyTorch's, how its array is turned into ours); every parameter of both, once."""
    pairs = [(ours.embedding.e, theirs.embedding.weight, np.asarray)]
    for stack in ("encoder", "decoder"):
        for one, other in zip(getattr(ours, stack), getattr(theirs, stack).layers, strict=True):
            pairs += layer(one, other)
        pairs += norm(getattr(ours, f"{stack}_norm"), getattr(theirs, stack).norm)
    assert {id(one) for one, *_ in pairs} == {id(one) for one in ours.parameters()} and len(pairs) == len(ours.parameters())
    assert {id(one) for _, one, _ in pairs} == {id(one) for one in theirs.parameters()}
    return pairs


def both(dtype):
    torch.manual_seed(0)
    theirs = Transformer(TransformerConfig(23, 20, 4, 40, 2, 2, dropout=0.0, max_len=16)).to(dtype).eval()
    perturb(theirs)
    ours = plain.Transformer(23, 20, 4, 40, 2, rng=np.random.default_rng(0))
    pairs = all_pairs(ours, theirs)
    for one, other, turned in pairs:
        one.value = turned(other.detach().numpy()).copy()
        one.grad = np.zeros_like(one.value)
    ours.positions = theirs.positions(torch.zeros(1, 16, 20, dtype=dtype))[0].numpy()
    return ours, theirs, pairs


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_output_and_every_gradient(dtype, tolerance):
    ours, theirs, pairs = both(dtype)
    logits = ours.forward(SOURCE, TARGET_IN)
    loss, d_logits = plain.cross_entropy(logits, TARGET_OUT)
    ours.backward(d_logits)
    expected = theirs(torch.from_numpy(SOURCE), torch.from_numpy(TARGET_IN))
    expected_loss = F.cross_entropy(expected.mT, torch.from_numpy(TARGET_OUT), ignore_index=0)
    expected_loss.backward()
    assert logits.dtype == expected.detach().numpy().dtype
    np.testing.assert_allclose(logits, expected.detach().numpy(), atol=tolerance)
    assert abs(loss - expected_loss.item()) < tolerance
    for one, other, turned in pairs:
        np.testing.assert_allclose(one.grad, turned(other.grad.numpy()), atol=tolerance)
    still = sum(abs(one.grad).max() < 1e-6 for one, *_ in pairs)
    assert still == 6, "a gradient of zeros proves nothing; a key's bias has none, since it moves all scores of a query alike"


def test_the_same_words():
    ours, theirs, _ = both(torch.float64)
    written = [[i for i in row[: row.index(2) if 2 in row else None]] for row in plain.greedy(ours, SOURCE, 8).tolist()]
    assert written == greedy(theirs, torch.from_numpy(SOURCE), max_len=8)


def test_adam_is_pytorchs():
    start = np.random.default_rng(0).normal(size=(4, 3))
    ours, theirs = plain.Parameter(start), torch.nn.Parameter(torch.from_numpy(start))
    ours.value, ours.grad = start.copy(), np.zeros_like(start)
    adam, other = plain.Adam([ours]), torch.optim.Adam([theirs], lr=0.03, betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, 6):
        ours.grad += np.sin(step * ours.value)
        theirs.grad = torch.sin(step * theirs.detach())
        adam.step(0.03)
        other.step()
        np.testing.assert_allclose(ours.value, theirs.detach().numpy(), rtol=1e-9)
        assert not ours.grad.any()
