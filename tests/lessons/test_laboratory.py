"""The laboratory: what each switch takes away, what a reader may type, and that a reader's own code is what is trained."""

import inspect
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.func import functional_call
from torch.nn import functional

from tests.ci import continuous
from xformer_course.explorables.laboratory_page import EXPERIMENTS
from xformer_course.lessons.laboratory import NOT_RECURRENT, TASKS, Parts, Run, answer, build, causes, check_gradients, views
from xformer_course.lessons.laboratory_parts import Grouped, become, size_of, smoothed
from xformer_lib.reference import transformer

SOURCE = np.array([[4, 5, 6, 2], [7, 8, 2, 0]])
TARGET = np.array([[1, 6, 5, 4], [1, 8, 7, 0]])


def made(**parts):
    return build(dict(vars(transformer)), 29, Parts(**parts), np.random.default_rng(0))


def moved(model, source, target, change):
    """The places of the first row at which logits move when an id is changed."""
    before = model.forward(source, target)
    source, target = source.copy(), target.copy()
    change(source, target)
    return (abs(model.forward(source, target) - before)[0].max(axis=-1) > 1e-6).tolist()


def later(source, target):
    target[0, 3] = 20


def test_the_causal_mask():
    assert moved(made(), SOURCE, TARGET, later) == [False, False, False, True]
    assert moved(made(causal_mask=False), SOURCE, TARGET, later) == [True] * 4


def test_the_padding_mask():
    padded = SOURCE[::-1].copy(), TARGET[::-1].copy()

    def shown(model):
        short = model.forward(padded[0][:1, :3], padded[1][:1])
        return bool(abs(model.forward(padded[0][:1], padded[1][:1]) - short).max() > 1e-6)

    assert not shown(made()) and shown(made(padding_mask=False))


def test_positions_scale_norm_and_residuals():
    swapped = SOURCE[:, [1, 0, 2, 3]]
    for positions in (True, False):
        model = made(positions=positions)
        same = np.allclose(model.forward(SOURCE, TARGET), model.forward(swapped, TARGET), atol=1e-5)
        assert same is not positions
    assert {made(scale=scale).decoder[0].cross_attention.f.scale for scale in (True, False)} == {0.5, 1.0}
    outputs = [made(**parts).forward(SOURCE, TARGET) for parts in ({}, {"norm": "post"}, {"norm": "none"}, {"residuals": False})]
    for one in range(4):
        for other in range(one):
            assert not np.allclose(outputs[one], outputs[other], atol=1e-2)


EXCHANGED = [
    {"encoding": "learned"},
    {"encoding": "rotary"},
    {"feed_forward": "swiglu"},
    {"smoothing": 0.1},
    {"readers": 2},
    {"readers": 4},
    {"tied": False},
    {"encoding": "learned", "tied": False, "norm": "post"},
    {"encoding": "rotary", "readers": 2, "feed_forward": "swiglu", "layers": 2},
    {"model": "recurrent"},
]


@pytest.mark.parametrize(
    "parts", [{}, {"norm": "post"}, {"norm": "none"}, {"residuals": False, "layers": 2}, {"norm": "post", "residuals": False}, *EXCHANGED]
)
def test_every_gradient_whatever_is_taken_away(parts):
    """A switch that broke the way back would teach the wrong lesson."""
    run = Run("backwards", Parts(width=8, **parts))
    model, cross_entropy, target_out = run.model, run.code["cross_entropy"], np.array([[6, 5, 4, 2], [8, 7, 2, 0]])
    for p in model.parameters():
        p.value, p.grad = p.value.astype(float), p.grad.astype(float)

    def loss():
        return cross_entropy(model.forward(SOURCE, TARGET), target_out)

    model.backward(loss()[1])
    rng = np.random.default_rng(1)
    for p in model.parameters():
        place = tuple(rng.integers(size) for size in p.value.shape)
        kept, sides = p.value[place], []
        for nudge in (1e-6, -1e-6):
            p.value[place] = kept + nudge
            sides.append(loss()[0])
        p.value[place] = kept
        assert abs((sides[0] - sides[1]) / 2e-6 - p.grad[place]) < 1e-6


def test_what_is_not_exchanged_is_as_it_was():
    """The given parts take no further random number, so all that was known of them holds to the last digit."""
    rng, plain_rng = np.random.default_rng(0), np.random.default_rng(0)
    model = build(dict(vars(transformer)), 29, Parts(), rng)
    plain = transformer.Transformer(29, 16, 4, 32, 1, rng=plain_rng, max_len=32)
    assert [type(part) for part in vars(model).values()] == [type(part) for part in vars(plain).values()]
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert (one.value == other.value).all()
    assert rng.random() == plain_rng.random() and np.array_equal(model.positions, plain.positions)
    run = Run("backwards")
    assert run.code["cross_entropy"] is transformer.cross_entropy and type(run.descent) is transformer.Adam


def as_autograd_says(layer, *given, formula):
    """Compare a layer's output and its gradients, in float64, with a formula in PyTorch, of the parameters and the inputs."""
    parameters = layer.parameters()
    for p in parameters:
        p.value, p.grad = p.value.astype(float), p.grad.astype(float)
    rng = np.random.default_rng(2)
    tensors = [torch.tensor(p.value, requires_grad=True) for p in parameters]
    given = [one if one.dtype.kind == "i" else one.astype(float) for one in given]
    inputs = [torch.tensor(one, requires_grad=one.dtype.kind == "f") for one in given]
    y = layer.forward(*given)
    pull = rng.normal(size=y.shape)
    expected = formula(*inputs, *tensors)
    expected.backward(torch.tensor(pull))
    back = layer.backward(pull, *(one for one in given if one.dtype.kind == "i"))
    assert np.allclose(y, expected.detach(), atol=1e-12)
    for p, tensor in zip(parameters, tensors):
        assert np.allclose(p.grad, tensor.grad, atol=1e-12)
    if back is not None:
        assert np.allclose(back, inputs[0].grad, atol=1e-12)


def turned(x, d_head):
    """Pairs of columns as complex numbers, turned by the place times 10000^(-2k/d)."""
    places, pairs = torch.arange(x.shape[1]), torch.arange(d_head // 2)
    angles = (places[:, None] * 10_000.0 ** (-2.0 * pairs / d_head)).repeat(1, x.shape[2] // d_head)
    numbers = torch.view_as_complex(x.reshape(*x.shape[:2], -1, 2)) * torch.polar(torch.ones_like(angles), angles).to(torch.complex128)
    return torch.view_as_real(numbers).reshape(x.shape)


def test_other_parts_agree_with_autograd():
    rng = np.random.default_rng(1)
    x, ids = rng.normal(size=(2, 5, 12)), np.array([[1, 6, 5, 4, 6], [1, 8, 6, 7, 0]])
    model = build(dict(vars(transformer)), 29, Parts(width=12, heads=3, readers=3, encoding="rotary"), rng)
    attention = model.decoder[0].cross_attention.f
    as_autograd_says(attention.w_q, x, formula=lambda x, w, b: turned(x @ w + b, 4))
    as_autograd_says(attention.w_v, x, formula=lambda x, w, b: (x @ w + b).repeat(1, 1, 3))
    as_autograd_says(attention.w_k, x, formula=lambda x, w, b: turned((x @ w + b).repeat(1, 1, 3), 4))
    pairs = become(transformer.Linear(12, 8, rng), Grouped)  # heads 0 0 1 1 of width 4
    pairs.readers, pairs.d_head = 2, 4
    as_autograd_says(
        pairs, x[..., :12], formula=lambda x, w, b: (x @ w + b).reshape(2, 5, 2, 4).repeat_interleave(2, dim=2).reshape(2, 5, 16)
    )
    feed_forward = build(dict(vars(transformer)), 29, Parts(width=12, feed_forward="swiglu"), rng).encoder[0].feed_forward.f
    assert feed_forward.w_1.w.value.shape == (12, 16)  # as many numbers as ReLU's 12 · 24 · 2, but for the biases
    as_autograd_says(
        feed_forward, x, formula=lambda x, w_1, b_1, w_2, b_2, w_3, b_3: (functional.silu(x @ w_1 + b_1) * (x @ w_3 + b_3)) @ w_2 + b_2
    )
    embedding = build(dict(vars(transformer)), 29, Parts(width=12, encoding="learned", tied=False), rng).embedding
    for table, rows in ((0, ids), (1, ids[:, 1:])):  # a target begins with 1, a source does not

        def formula(rows, *tables, table=table):
            return tables[table][rows] * 12**0.5 + tables[3][: rows.shape[1]] + 0 * sum(one.sum() for one in tables)

        for p in embedding.parameters():
            p.grad[:] = 0
        as_autograd_says(embedding, rows, formula=formula)
    for p in embedding.parameters():
        p.grad[:] = 0
    output = SimpleNamespace(parameters=embedding.parameters, forward=embedding.logits, backward=embedding.logits_backward)
    as_autograd_says(output, x, formula=lambda x, e, source, out, p: x @ out.T + 0 * (e.sum() + source.sum() + p.sum()))


def test_the_gru_agrees_with_pytorch():
    gru, theirs = made(model="recurrent", width=12).encoder, torch.nn.GRU(15, 15, batch_first=True).double()
    x, context = np.random.default_rng(1).normal(size=(2, 5, 15)), np.random.default_rng(2).normal(size=(2, 15))

    def formula(x, w, b, u):
        learned = {"weight_ih_l0": w.T, "weight_hh_l0": u.T, "bias_ih_l0": b, "bias_hh_l0": torch.zeros(45).double()}
        return functional_call(theirs, learned, (x, torch.tensor(context)[None]))[0]

    layer = SimpleNamespace(
        parameters=gru.parameters, forward=lambda x: gru.forward(x, context, np.ones((2, 5), dtype=bool)), backward=gru.backward
    )
    as_autograd_says(layer, x, formula=formula)


def test_a_recurrent_model_reads_in_order_and_has_one_state():
    """As many numbers as the Transformer or a little fewer; no padding, no look ahead, and of the switches only those that it has."""
    model = made(model="recurrent")
    assert model.encode(SOURCE).shape == (2, 21) and (size_of(model), size_of(made())) == (6027, 6096)
    assert np.array_equal(model.encode(SOURCE)[1:], model.encode(SOURCE[1:, :3]))
    assert moved(model, SOURCE, TARGET, later) == [False, False, False, True]
    assert not np.allclose(model.encode(SOURCE), model.encode(SOURCE[:, [1, 0, 2, 3]]), atol=1e-3)
    task = {"steps": 20, "width": 24, "model": "recurrent"}
    others = {"norm": "none", "heads": 2, "encoding": "rotary", "feed_forward": "swiglu", "readers": 2}
    losses = []
    for parts in ({}, {name: others.get(name, False) for name in NOT_RECURRENT}, {"warm_up": False}, {"layers": 2}):
        run = Run("backwards", Parts(**task, **parts))
        run.train()
        losses.append(run.losses)
    assert losses[0] == losses[1] and losses[0] != losses[2] and losses[0] != losses[3]
    assert run.write("cat")["looks"] is None


def test_why_a_recurrent_model_fails():
    """Page 9c: its one state tells what was read last, and a word is the less often right the longer it is."""
    run = Run("backwards", Parts(model="recurrent"))
    run.train()
    (cause,) = causes(run)
    shares = [value for bar in cause["bars"] for value in bar["values"]]
    assert [bar["label"] for bar in cause["bars"]] == [f"length {n}" for n in range(3, 9)]
    assert run.right[-1][1] < 0.2 and shares[0] > 0.3 and max(shares[3:]) < 0.1
    first, fifth = map(int, re.findall(r"(\d+)%", cause["told"]))
    assert first > 60 and fifth < 25 and "21 numbers" in cause["told"] and "6,027 numbers learn here, 6,096" in cause["told"]


def test_smoothed_labels_agree_with_pytorch():
    logits, target = np.random.default_rng(3).normal(size=(2, 4, 29)), np.array([[6, 5, 4, 2], [8, 7, 2, 0]])
    loss, d_logits = smoothed(transformer.cross_entropy, 0.1)(logits, target)
    z = torch.tensor(logits, requires_grad=True)
    expected = functional.cross_entropy(z.flatten(0, 1), torch.tensor(target).flatten(), ignore_index=0, label_smoothing=0.1)
    expected.backward()
    assert loss == pytest.approx(expected.item(), abs=1e-12) and np.allclose(d_logits, z.grad, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_a_run_goes_on_where_it_stopped(task):
    whole, parts = Run(task, replace(TASKS[task]().settings, steps=4)), Run(task, replace(TASKS[task]().settings, steps=4))
    whole.train()
    while parts.step < 4:
        parts.train(seconds=0.001)
    assert parts.losses == whole.losses and parts.right == whole.right and parts.state()["step"] == 4
    seen = parts.write(parts.task.example)
    for look in seen["looks"].values():
        assert np.shape(look["heads"]) == (4, len(look["rows"]), len(look["columns"]))
        assert abs(np.sum(look["heads"], axis=-1) - 100).max() < 5
    assert len(seen["looks"]["self"]["rows"]) == len(parts.task.answer(parts.task.read(parts.task.example)))


def test_it_learns_words_backwards():
    run = Run("backwards")
    run.train()
    assert run.right[-1][1] >= 0.97 and run.write("engineer")["text"] == "reenigne"


def test_letters_are_sorted():
    task = TASKS["sorting"]()
    assert task.spell(task.answer(task.read("engineer"))[:-1]) == "eeeginnr"
    assert task.targets[0].tolist() == [
        *sorted(i for i in task.sources[0].tolist() if i > 2),
        *[2],
        *[0] * task.sources[0].tolist().count(0),
    ]
    assert (task.sources == TASKS["backwards"]().sources).all()


def test_held_out_rows_are_held_out():
    for make in TASKS.values():
        task = make()
        known = {tuple(row) for row in task.sources[task.known].tolist()}
        assert not known & {tuple(row) for row in task.sources[task.held_out].tolist()} and len(known) > 9_000


@pytest.mark.parametrize(
    "task, text, said",
    [
        ("backwards", "ça", "expected one to eight letters"),
        ("backwards", "", "try engineer"),
        ("backwards", "abcdefghi", "got 'abcdefghi'"),
        ("fragment", "The elephant", "'elephant', which this small grammar does not have"),
        ("fragment", " . ", "got 0 words; try The big yellow cat"),
    ],
)
def test_a_text_that_cannot_be_read(task, text, said):
    with pytest.raises(ValueError, match=said):
        TASKS[task]().read(text)


def test_a_sentence_with_its_full_stop():
    task = TASKS["fragment"]()
    assert task.read("The big yellow cat.") == task.read("the big yellow cat")
    assert task.spell(task.read("I am an engineer")[:-1]) == "I am an engineer"


def cells(change=("", "")):
    source = inspect.getsource(transformer)
    assert change[0] in source
    return [part for part in source.replace(*change).split("# %% ")[1:] for part in [part.partition("\n")[2]]]


def begun(code):
    return json.loads(answer(json.dumps({"do": "begin", "task": "backwards", "parts": {"steps": 3}, "seed": 0, "cells": code})))


def asked(**request):
    return json.loads(answer(json.dumps(request)))


IMPORTS = inspect.getsource(transformer).partition("__all__")[0]


def test_the_readers_code_is_trained():
    assert begun(None)["steps"] == 3
    book = asked(do="train", seconds=60)["losses"]
    begun([IMPORTS, *cells()])
    assert asked(do="train", seconds=60)["losses"] == book
    begun([IMPORTS, *cells(("np.maximum(0, ", "np.sin(1 * "))])
    assert asked(do="train", seconds=60)["losses"] != book
    looks = asked(do="write", text="cat")["looks"]
    assert looks["cross"]["columns"] == ["c", "a", "t", "<eos>"] and looks["self"]["rows"] == ["t", "a", "c", "<eos>"]
    assert "one to eight letters" in asked(do="write", text="?")["refused"]


def test_an_error_of_the_readers_code_names_its_line():
    begun([IMPORTS, *cells(("np.maximum(0, ", "np.maximum(nothing, "))])
    told = asked(do="train", seconds=60)
    assert (
        told["error"].startswith("NameError: name 'nothing' is not defined (the cell of FeedForward, line") and "Traceback" in told["trace"]
    )
    assert begun(["def f(:"])["error"].startswith("SyntaxError: ")


def test_page_9b_says_what_does_not_fit():
    with pytest.raises(ValueError, match="num_heads: expected a divisor of the width 10, got 3; change one of them"):
        transformer.Transformer(29, 10, 3, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="target: expected a word that is not padding, got none; leave this batch out"):
        transformer.cross_entropy(np.zeros((2, 3, 29)), np.zeros((2, 3), dtype=int))


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"norm": "last"}, "norm: expected pre, post or none"),
        ({"descent": "sgd"}, "descent: expected adam or plain, got 'sgd'"),
        ({"heads": 3}, "heads: expected a number that divides"),
        ({"heads": 1, "readers": 2}, "readers: expected a number that divides the 1 heads, got 2"),
        ({"heads": 8, "width": 8, "encoding": "rotary"}, "encoding: expected heads of an even width for rotary, got 1"),
    ],
)
def test_parts_that_do_not_fit(wrong, said):
    with pytest.raises(ValueError, match=said):
        Parts(**wrong)


@pytest.mark.parametrize("change, least, most", [((" - along", ""), 0.5, 0.97), ((" + self.d_context", ""), 0.97, 1.0)])
def test_a_false_gradient_that_nobody_would_notice(change, least, most):
    """Page 9b: without a part of LayerNorm's it learns less, without one of self-attention's as well as before."""
    run = Run("backwards", cells=[IMPORTS, *cells(change)])
    run.train()
    assert least <= run.right[-1][1] <= most


@continuous
def test_a_bag_of_words_nearly_tells_the_sentence():
    """Page 9c: without positions three sentences in four come out right."""
    run = Run("fragment", replace(TASKS["fragment"]().settings, positions=False))
    run.train()
    assert 0.65 < run.right[-1][1] < 0.9


def test_a_run_ends_where_its_loss_is_no_number_and_what_is_printed_comes_back():
    begun([IMPORTS, *cells(("loss = -np.log(", "print('hello'); loss = np.nan * np.log("))])
    told = asked(do="train", seconds=60)
    assert told["diverged"] and told["losses"] == [] and told["step"] == 1 and told["printed"] == "hello\n"


@pytest.mark.parametrize(
    "typed, read",
    [
        ("THE CAT", "the cat"),
        ("the cat, the dog.", "the cat the dog"),
        ("I don't see her", "I do not see her"),
        ("i am an engineer", "I am an engineer"),
    ],
)
def test_a_sentence_is_read_as_people_type_it(typed, read):
    task = TASKS["fragment"]()
    assert task.read(typed) == task.read(read)


@pytest.mark.parametrize(
    "change, named",
    [
        ((" - along", ""), "LayerNorm, input"),
        (("(d_hat - mean(d_hat) - along)", "(d_hat - along)"), "LayerNorm, input"),
        (("d_scores @ self.k * self.scale", "d_scores @ self.k"), "SelfAttention.w_q.w"),
        (("self.q * self.scale       #", "self.q       #"), "SelfAttention.w_k.w"),
        ((" + self.d_context", ""), "SelfAttention, input"),
        (("d_hidden * (self.hidden > 0)", "d_hidden"), "FeedForward.w_1.w"),
        (("return d_y + self.norm.backward", "return self.norm.backward"), "Residual, input"),
        (("self.w.grad += np.einsum", "self.w.grad -= np.einsum"), "Linear.w"),
        (("p[right] -= 1 ", "p[right] -= 2 "), "cross_entropy"),
        (("d_memory = d_memory + d_part", "d_memory = d_part * 0"), "Transformer."),
    ],
)
def test_a_faulty_gradient_is_named(change, named):
    rows = check_gradients(Run("backwards", cells=[IMPORTS, *cells(change)]))
    wrong = [row["name"] for row in rows if not row["right"]]
    assert wrong and wrong[0].startswith(named), wrong[:4]


@pytest.mark.parametrize(
    "parts",
    [{}, {"norm": "post"}, {"norm": "none"}, {"residuals": False, "layers": 3}, {"positions": False}, {"causal_mask": False}]
    + [{"padding_mask": False}, {"scale": False, "heads": 1}, {"encoding": "learned", "tied": False, "readers": 4}]
    + [{"encoding": "rotary", "readers": 2, "feed_forward": "swiglu"}, {"smoothing": 0.1, "descent": "plain"}, {"model": "recurrent"}],
)
def test_no_false_alarm_and_nothing_is_moved(parts):
    run, twin = (Run("backwards", Parts(steps=3, **parts)) for _ in range(2))
    assert all(row["right"] for row in check_gradients(run))
    causes(run)
    run.train()
    twin.train()
    assert run.losses == twin.losses


def test_attention_with_another_function_is_checked():
    change = ("d_weights = d_out @ transposed(self.v) ", "d_weights = 2 * d_out @ transposed(self.v) ")
    begun([IMPORTS, *cells(change)])
    rows = asked(do="check")["rows"]
    first = next(row for row in rows if not row["right"])
    assert first["name"] == "SelfAttention.w_q.w" and first["backward"] == pytest.approx(2 * first["nudged"], rel=1e-3)


def test_why_no_residuals_and_no_scale_fail():
    """Page 9c, over three seeds: the rows of the memory become one though more gradient comes back; no scale saturates softmax."""
    for seed in (0, 1, 2):
        whole, bare = (views(Run("backwards", Parts(layers=3, residuals=kept), seed=seed)) for kept in (True, False))
        assert bare["likeness"] > 0.999 > 0.6 > whole["likeness"]
        assert all(one > other for one, other in zip(bare["encoder"], whole["encoder"]))
        scaled, raw = (views(Run("backwards", Parts(heads=1, width=32, rate=0.01, scale=kept), seed=seed)) for kept in (True, False))
        assert min(raw["top"]) > 0.75 > 0.6 > max(scaled["top"]) and raw["queries_keys"] > 2 * scaled["queries_keys"]


@pytest.mark.parametrize(
    "change, said",
    [
        (("self.weights = softmax", "raise SystemExit(7); self.weights = softmax"), "SystemExit: 7 (the cell of Attention, line"),
        (("self.weights", "self.shares"), "(the laboratory reads this name: keep it in your code)"),
    ],
)
def test_what_ends_the_readers_code_is_told(change, said):
    begun([IMPORTS, *cells(change)])
    told = [asked(do="train", seconds=60), asked(do="write", text="cat")]
    assert any(said in one.get("error", "") for one in told), told


def test_a_switch_never_does_nothing():
    with pytest.raises(ValueError, match="scale: expected Attention to keep its factor as self.scale"):
        Run("backwards", Parts(scale=False), cells=[IMPORTS, *cells(("self.scale", "self.factor"))])


@pytest.mark.parametrize(
    "parts, part, told",
    [
        (
            {"residuals": False, "layers": 3},
            "residuals",
            "a mean cosine of 1.000 without residuals, 0.338 with them: the rows are nearly one",
        ),
        ({"residuals": False}, "residuals", "the positions are harder to tell apart"),
        (
            {"scale": False, "heads": 1, "width": 32},
            "scale",
            "0.83 in the mean without the scale, 0.43 with it: softmax has nearly decided",
        ),
        ({"scale": False}, "scale", "softmax is still undecided"),
        ({"norm": "none"}, "norm", "4.7, and 0.31 with the norm first: 15 times as much"),
        ({"norm": "post", "layers": 3}, "norm", "0.5, and 0.57 with the norm first: of the same size"),
        ({"padding_mask": False}, "padding_mask", "of what it reads in the mean is padding, in 56% of the places"),
        ({"causal_mask": False}, "causal_mask", "one place to the right of the diagonal"),
    ],
)
def test_a_missing_part_has_its_cause(parts, part, told):
    run = Run("backwards", Parts(steps=1, **parts))
    (before,) = causes(run)
    run.train()
    (after,) = causes(run)
    assert before["part"] == after["part"] == part and told in after["told"]
    if "bars" in after:
        assert [one["twin"] for one in after["bars"]] == [True, False, False] and after["bars"][:2] == before["bars"]
    else:
        shown = after["map"]
        assert np.shape(shown["weights"]) == (len(shown["rows"]), len(shown["columns"]))
        assert abs(np.sum(shown["weights"], axis=1) - 100).max() < 5


def test_the_peekers_map_and_the_padding_are_what_the_sentence_says():
    """A model trained with the part has none of the fault; one with everything in place has no cause to show."""
    peeking = Run("backwards", Parts(causal_mask=False, steps=400))
    peeking.train()
    (cause,) = causes(peeking)
    weights = np.array(cause["map"]["weights"])
    share = np.diagonal(weights, offset=1).mean()
    assert share > 40 and abs(share - int(cause["told"].split("%")[0])) <= 1
    padded = causes(Run("backwards", Parts(padding_mask=False)))[0]
    padding = np.array(padded["map"]["columns"]) == "<pad>"
    share = np.array(padded["map"]["weights"])[:, padding].sum(axis=1).mean()
    assert padding.any() and abs(share - int(padded["told"].split("%")[0])) <= 2
    assert causes(Run("backwards")) == [] and "causes" in asked_why()


def test_every_question_of_the_laboratory_has_a_closed_answer():
    page = json.loads((Path(__file__).parents[2] / "chapters" / "09c_laboratory.ipynb").read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in page["cells"] if cell["cell_type"] == "markdown").lower()
    closed = re.findall(r"[*]{2}predict[.][*]{2}(?:(?!predict).)*<details>.*?</details>", text, re.DOTALL)
    assert len(closed) == text.count("**predict.**")
    for title, *_ in EXPERIMENTS:
        assert any(f"*{title}*" in one for one in closed), title


def asked_why():
    begun([IMPORTS, *cells()])
    return asked(do="why")
