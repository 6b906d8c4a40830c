"""The loss, whole and in chunks, and the two schedules."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.func import grad, hessian, jvp, vmap

from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import TrainConfig, validation_loss
from xformer_lib.training import loss as loss_module
from xformer_lib.training.loss import ChunkedCrossEntropy, chunked_cross_entropy, cross_entropy, masked_cross_entropy, translation_loss
from xformer_lib.training.schedule import inverse_sqrt, trapezoid

N, M, V = 2311, 7, 13  # more tokens than four chunks of 512


def sample(seed=0, n=N):
    torch.manual_seed(seed)
    states = torch.randn(n, M, dtype=torch.float64, requires_grad=True)
    embedding = torch.randn(V, M, dtype=torch.float64, requires_grad=True)
    return states, embedding, torch.randint(V, (n,))


def by_loop(states, embedding, targets, epsilon):
    """−Σ wanted · log p in plain Python, one token and one word at a time."""
    total = 0.0
    for x, target in zip(states.tolist(), targets.tolist(), strict=True):
        logits = [sum(a * b for a, b in zip(x, row, strict=True)) for row in embedding.tolist()]
        norm = math.log(sum(math.exp(z) for z in logits))
        for word, z in enumerate(logits):
            wanted = (1 - epsilon) * (word == target) + epsilon / V
            total -= wanted * (z - norm)
    return total


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.35])
def test_cross_entropy_is_the_formula(epsilon):
    states, embedding, targets = sample(n=17)
    expected = by_loop(states, embedding, targets, epsilon)
    got = cross_entropy(states, embedding, targets, label_smoothing=epsilon)
    assert got.item() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("n", [1, 511, 512, 513, 1024, N])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_chunks_give_the_whole_loss_and_its_gradients(n, epsilon):
    states, embedding, targets = sample(n=n)
    whole = torch.nn.functional.cross_entropy(states @ embedding.T, targets, label_smoothing=epsilon, reduction="sum")
    expected = torch.autograd.grad(whole, (states, embedding))
    chunked = ChunkedCrossEntropy.apply(states, embedding, targets, epsilon)
    got = torch.autograd.grad(chunked, (states, embedding))
    torch.testing.assert_close(chunked, whole, atol=1e-12 * n, rtol=0)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


def test_chunks_multiply_the_gradient_that_comes_in():
    states, embedding, targets = sample(n=1031)
    once = torch.autograd.grad(ChunkedCrossEntropy.apply(states, embedding, targets, 0.1), (states, embedding))
    thrice = torch.autograd.grad(3 * ChunkedCrossEntropy.apply(states, embedding, targets, 0.1), (states, embedding))
    for one, three in zip(once, thrice, strict=True):
        torch.testing.assert_close(3 * one, three, atol=1e-12, rtol=1e-12)


def no_gradient_may_be_taken(*_, **__):
    raise AssertionError("a gradient was taken")


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_chunks_without_gradients_give_the_same_number(epsilon, monkeypatch):
    """Validation: the states carry no gradient, the embedding still asks for one, and none is computed."""
    states, embedding, targets = sample()
    with_grad = ChunkedCrossEntropy.apply(states, embedding, targets, epsilon)
    monkeypatch.setattr(torch.autograd, "grad", no_gradient_may_be_taken)
    with torch.no_grad():
        without = chunked_cross_entropy(states.detach(), embedding, targets, label_smoothing=epsilon)
    frozen = chunked_cross_entropy(states.detach(), embedding.detach(), targets, label_smoothing=epsilon)
    assert not without.requires_grad and not frozen.requires_grad and torch.equal(without, frozen)
    torch.testing.assert_close(with_grad.detach(), without, atol=1e-9, rtol=0)


@pytest.mark.parametrize("training", [True, False])
def test_the_logits_never_exist_as_a_whole(training, monkeypatch):
    seen, whole = [], loss_module.full_logits

    def watched(states, *arguments, **settings):
        seen.append(len(states))
        return whole(states, *arguments, **settings)

    monkeypatch.setattr(loss_module, "full_logits", watched)
    states, embedding, targets = sample()
    with torch.set_grad_enabled(training):
        chunked_cross_entropy(states, embedding, targets, label_smoothing=0.1)
    assert seen == [512] * 4 + [N - 2048]


def test_only_the_gradients_of_a_chunk_wait_for_the_way_back():
    """What is kept between the passes is the inputs, uncopied, and two arrays of their sizes, not the logits."""
    states, embedding, targets = sample()
    loss = ChunkedCrossEntropy.apply(states, embedding, targets, 0.1)  # torch 2.5 frees what is kept with it
    *inputs, state_grad, embedding_grad = loss.grad_fn.saved_tensors
    assert [kept.data_ptr() for kept in inputs] == [given.data_ptr() for given in (states, embedding, targets)]
    assert (state_grad.shape, embedding_grad.shape) == (states.shape, embedding.shape)
    assert not state_grad.requires_grad and not embedding_grad.requires_grad


@pytest.mark.parametrize("n", [0, 1, 513, N])
@pytest.mark.parametrize("wanted", [(True, False), (False, True)])
def test_either_gradient_alone(n, wanted):
    """Frozen states, as when only the embedding learns; or a frozen embedding."""
    states, embedding, targets = sample(n=n)
    inputs = [value.requires_grad_() if asked else value.detach() for value, asked in zip((states, embedding), wanted, strict=True)]
    leaf = inputs[wanted.index(True)]
    whole = torch.nn.functional.cross_entropy(inputs[0] @ inputs[1].T, targets, label_smoothing=0.1, reduction="sum")
    chunked = chunked_cross_entropy(*inputs, targets, label_smoothing=0.1)
    torch.testing.assert_close(chunked, whole, atol=1e-12 * n, rtol=0)
    expected, got = (torch.autograd.grad(3 * loss, leaf)[0] for loss in (whole, chunked))
    torch.testing.assert_close(got, expected, atol=1e-12, rtol=1e-12)
    assert n == 0 or got.abs().max() > 0


@pytest.mark.parametrize("frozen", [None, 0, 1])
@pytest.mark.parametrize("n", [7, 1031])
def test_second_derivatives_are_those_of_the_plain_loss(n, frozen):
    """Of a loss that is used in another one, by both inputs at once: the stored gradients alone would leave a part out."""
    given = [value.detach() if number == frozen else value for number, value in enumerate(sample(n=n))]
    leaves, found = [value for value in given[:2] if value.requires_grad], []
    for loss in (cross_entropy, chunked_cross_entropy):
        first = torch.autograd.grad(loss(*given, label_smoothing=0.1).square() / n**2, leaves, create_graph=True)
        second = torch.autograd.grad(sum(value.square().sum() for value in first), leaves, create_graph=True)
        third = torch.autograd.grad(sum(value.square().sum() for value in second), leaves)
        found.append((*first, *second, *third))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, atol=1e-10, rtol=1e-9)
        assert one.abs().max() > 1e-6


def test_transforms_of_the_loss():
    """Gradients of each example, and a Hessian, by torch.func: with chunks as without."""
    states, embedding, targets = (x.detach() for x in sample(n=7))
    many, wanted = torch.stack([states, 2 * states]), torch.stack([targets, targets.flip(0)])
    found = [
        (
            grad(loss, (0, 1))(states, embedding, targets),
            vmap(grad(loss), (0, None, 0))(many, embedding, wanted),
            hessian(lambda s: loss(s * states, embedding, targets))(torch.tensor(0.7, dtype=torch.float64)),  # noqa: B023
            jvp(lambda x: loss(x, embedding, targets), (states,), (states.flip(0),)),  # noqa: B023
        )
        for loss in (cross_entropy, chunked_cross_entropy)
    ]
    torch.testing.assert_close(found[1], found[0], atol=1e-12, rtol=1e-12)


def test_a_hessian_through_a_model():
    """`translation_loss` of a real model, along one direction of all weights, beside differences of its gradient."""
    net = model()
    weights = list(net.parameters())
    torch.manual_seed(5)
    along = [torch.randn_like(weight) for weight in weights]

    def gradient(create_graph=False):
        loss, _ = translation_loss(net, SOURCE, TARGET_IN, TARGET_OUT, label_smoothing=0.1)
        return torch.autograd.grad(loss, weights, create_graph=create_graph)

    got = torch.autograd.grad(sum((one * other).sum() for one, other in zip(gradient(True), along, strict=True)), weights)
    ends = []
    for sign in (1e-5, -2e-5, 1e-5):  # forth, back, and home
        with torch.no_grad():
            for weight, direction in zip(weights, along, strict=True):
                weight += sign * direction
        ends.append(gradient())
    expected = [(forth - back) / 2e-5 for forth, back, _ in zip(*ends, strict=True)]
    largest = max(float(value.abs().max()) for value in expected)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6 * largest, rtol=0)


def test_nothing_is_smoothed_unless_asked():
    states, embedding, targets = sample(n=19)
    plain = cross_entropy(states, embedding, targets)
    torch.testing.assert_close(plain, cross_entropy(states, embedding, targets, label_smoothing=0.0), atol=0, rtol=0)
    assert plain.item() == pytest.approx(by_loop(states, embedding, targets, 0.0), abs=1e-10)
    net = model()
    default, zero = (translation_loss(net, SOURCE, TARGET_IN, TARGET_OUT, **settings)[0] for settings in ({}, {"label_smoothing": 0.0}))
    torch.testing.assert_close(default, zero, atol=0, rtol=0)
    assert default != translation_loss(net, SOURCE, TARGET_IN, TARGET_OUT, label_smoothing=0.1)[0]


@pytest.mark.parametrize("by_autocast", [False, True])
def test_chunks_in_low_precision_have_the_gradients_of_full_precision(by_autocast):
    states, embedding, targets = sample(n=1031)
    expected = torch.autograd.grad(cross_entropy(states, embedding, targets, label_smoothing=0.1), (states, embedding))
    dtype = torch.float32 if by_autocast else torch.bfloat16
    low = [value.detach().to(dtype).requires_grad_() for value in (states, embedding)]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=by_autocast):
        loss = chunked_cross_entropy(*low, targets, label_smoothing=0.1)
    assert loss.dtype == torch.float32
    for one, other in zip(torch.autograd.grad(loss, low), expected, strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.double(), other, atol=0.03 * float(other.abs().max()), rtol=0)


def test_low_precision_is_raised_before_the_exponentials():
    states, embedding, targets = sample(n=29)
    low = cross_entropy(states.bfloat16(), embedding.bfloat16(), targets)
    assert low.dtype == torch.float32
    assert cross_entropy(states, embedding, targets).dtype == torch.float64


CONFIG = TransformerConfig(
    vocab_size=V, d_model=14, num_heads=2, d_ff=11, num_encoder_layers=1, num_decoder_layers=1, dropout=0.0, max_len=17
)
SOURCE = torch.tensor([[5, 6, 7, 2, 0], [8, 2, 0, 0, 0], [4, 5, 9, 11, 2]])
TARGET_IN = torch.tensor([[1, 9, 8], [1, 12, 0], [1, 3, 4]])
TARGET_OUT = torch.tensor([[9, 8, 2], [12, 2, 0], [3, 4, 2]])


def model():
    torch.manual_seed(3)
    return Transformer(CONFIG).double()


def test_translation_loss_is_the_sum_over_real_tokens():
    net = model()
    loss, tokens = translation_loss(net, SOURCE, TARGET_IN, TARGET_OUT, label_smoothing=0.1)
    logits, total = net(SOURCE, TARGET_IN), 0.0
    for row, wanted in zip(logits, TARGET_OUT, strict=True):
        for place, target in zip(row, wanted, strict=True):
            if target != CONFIG.pad_id:
                log_p = place.log_softmax(-1)
                total = total - 0.9 * log_p[target] - 0.1 * log_p.mean()
    assert tokens == 8
    torch.testing.assert_close(loss, total, atol=1e-10, rtol=0)


def test_a_place_counts_if_its_target_is_real():
    """Whatever the decoder reads there; and padding is what the model's settings call so."""
    net, targets = model(), TARGET_OUT.clone()
    targets[0, 1] = CONFIG.pad_id
    whole, tokens = translation_loss(net, SOURCE, TARGET_IN, TARGET_OUT)
    less, fewer = translation_loss(net, SOURCE, TARGET_IN, targets)
    missing = -net(SOURCE, TARGET_IN)[0, 1].log_softmax(-1)[TARGET_OUT[0, 1]]
    assert (tokens, fewer) == (8, 7) and type(tokens) is int
    torch.testing.assert_close(whole - less, missing, atol=1e-10, rtol=0)


def test_another_padding_id():
    """The same batch with ids 0 and 10 changed places, in the rows, in the settings and in the embedding."""
    net = model()
    torch.manual_seed(3)
    other = Transformer(dataclasses.replace(CONFIG, pad_id=10)).double()
    order = torch.arange(V)
    order[[0, 10]] = order[[10, 0]]
    weights = net.state_dict()
    other.load_state_dict({**weights, "embedding.weight": weights["embedding.weight"][order]})
    expected = translation_loss(net, SOURCE, TARGET_IN, TARGET_OUT)
    got = translation_loss(other, order[SOURCE], order[TARGET_IN], order[TARGET_OUT])
    torch.testing.assert_close(got[0], expected[0], atol=1e-10, rtol=0)
    assert got[1] == expected[1] == 8


def test_trapezoid_by_hand():
    rates = [trapezoid(step, peak=2.0, warmup=4, total=16, decay=0.25, floor=0.1) for step in range(1, 17)]
    rise, level, fall = [0.5, 1.0, 1.5, 2.0], [2.0] * 8, [1.55, 1.1, 0.65, 0.2]
    assert rates == pytest.approx(rise + level + fall)


def test_trapezoid_may_warm_up_until_the_fall_begins():
    rates = [trapezoid(step, peak=2.0, warmup=12, total=16, decay=0.25, floor=0.1) for step in (6, 12, 13, 16)]
    assert rates == pytest.approx([1.0, 2.0, 1.55, 0.2])
    assert trapezoid(9, peak=2.0, warmup=9, total=90, decay=0.9) == 2.0  # 90 · (1 − 0.9) is 8.999…


@pytest.mark.parametrize(("warmup", "total", "decay", "latest"), [(13, 16, 0.25, 12), (600, 1000, 0.5, 500)])
def test_a_warm_up_that_reaches_into_the_fall_is_refused_where_it_is_set_and_where_it_is_used(warmup, total, decay, latest):
    message = (
        rf"^warmup_steps: expected at most {latest}, where the fall begins \(decay {decay} of {total} steps\), "
        rf"got {warmup}; warm up for fewer steps, or lower decay$"
    )
    with pytest.raises(ValueError, match=message):
        trapezoid(1, peak=2.0, warmup=warmup, total=total, decay=decay)
    settings = {"corpus": "fragment", "model": TransformerConfig(23), "max_steps": total, "warmup_steps": warmup}
    with pytest.raises(ValueError, match=message):
        TrainConfig(**settings, decay=decay)
    TrainConfig(**{**settings, "warmup_steps": latest}, decay=decay)
    TrainConfig(**settings, decay=decay, schedule="inverse_sqrt")  # falls from the warm-up on, whenever that ends


def test_inverse_sqrt_by_hand():
    rates = [inverse_sqrt(step, peak=2.0, warmup=4) for step in (1, 2, 4, 9, 16, 64)]
    assert rates == pytest.approx([0.5, 1.0, 2.0, 4 / 3, 1.0, 0.5])


@pytest.mark.parametrize(
    "rate", [lambda step: trapezoid(step, peak=0.7, warmup=37, total=211, decay=0.5), lambda step: inverse_sqrt(step, peak=0.7, warmup=37)]
)
def test_schedules_rise_to_the_peak_once_and_never_jump(rate):
    rates = np.array([rate(step) for step in range(1, 212)])
    assert rates[36] == pytest.approx(0.7) == rates.max()
    assert (rates > 0).all() and (np.diff(rates[:37]) > 0).all() and (np.diff(rates[36:]) <= 1e-12).all()
    assert np.abs(np.diff(rates)).max() <= 0.7 / 37 + 1e-12


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_mask_and_a_selection_leave_out_the_same_padding(smoothing):
    """A GPU masks the padding, a CPU cuts it out: one loss, the same gradients."""
    torch.manual_seed(5)
    states, embedding = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 7, 11), (13, 11)))
    targets = torch.randint(1, 13, (3, 7))
    targets[0, 4:] = targets[2, 1:] = 0
    real, found = targets != 0, []
    for loss in (
        masked_cross_entropy(states, embedding, targets, pad_id=0, label_smoothing=smoothing),
        chunked_cross_entropy(states[real], embedding, targets[real], label_smoothing=smoothing),
    ):
        found.append((loss, *torch.autograd.grad(loss, (states, embedding))))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("frozen", ["nothing", "encoder", "everything"])
def test_validation_leaves_each_module_in_its_mode(frozen):
    torch.manual_seed(3)
    sizes = dict(vocab_size=31, d_model=8, num_heads=2, d_ff=12, num_encoder_layers=1, num_decoder_layers=1, max_len=17)
    model = Transformer(TransformerConfig(**sizes, dropout=0.5))
    parts = {"nothing": [], "encoder": [model.encoder], "everything": [model]}[frozen]
    for part in parts:
        part.eval()
    modes = [part.training for part in model.modules()]
    pairs = [([5, 7, 9, 2], [1, 11, 13, 2]), ([4, 2], [1, 6, 8, 2])]
    losses = {validation_loss(model, pairs, max_tokens=23, device="cpu") for _ in range(3)}
    assert len(losses) == 1 and [part.training for part in model.modules()] == modes
    with pytest.raises(ValueError, match="^source: expected ids"):
        validation_loss(model, [([5, 99, 2], [1, 11, 2])], max_tokens=23, device="cpu")
    assert [part.training for part in model.modules()] == modes
