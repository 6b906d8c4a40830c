"""Models compile without a graph break, are exported with open sizes, and run in ONNX Runtime: the same numbers each time.

Sizes of the second batch differ from those of the first, so that none of them can be a constant of the program.
"""

import onnxruntime
import pytest
import torch
from torch import nn
from torch.export import Dim, export

from tests.ci import in_ci
from xformer_lib.engine import accelerate
from xformer_lib.nn import Encoder, LanguageModel, SequenceClassifier, Transformer, TransformerConfig
from xformer_lib.nn.variants import TokenEncoder

SIZES = dict(vocab_size=31, d_model=24, num_heads=4, d_ff=40, num_encoder_layers=1, num_decoder_layers=1, max_len=40, dropout=0.0)
KINDS = {name: {"positions": name} for name in ("sinusoidal", "learned", "relative", "rotary", "alibi", "none")}
KINDS |= {"post-norm": {"norm": "post"}, "grouped": {"num_kv_heads": 2}, "multi-query": {"num_kv_heads": 1, "positions": "rotary"}}
B, S, T = Dim("b", min=2, max=64), Dim("s", min=2, max=40), Dim("t", min=2, max=40)
FIRST, SECOND = (3, 7, 5), (5, 9, 11)  # batch, source, target


class Encode(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, source):
        return self.model.encode(source)


class Decode(Encode):
    def forward(self, target_in, memory, source):
        return self.model.decode(target_in, memory, source)


class Encoding(Encode):
    """An `Encoder` alone, with the mask that hides the padding."""

    def forward(self, x, mask):
        return self.model(x, mask=mask)


def build(kind, fast=False):
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**SIZES | KINDS[kind])).eval()
    return accelerate(model) if fast else model


def ids(rows, length):
    found = torch.randint(3, 31, (rows, length), generator=torch.Generator().manual_seed(rows * length))
    found[0, -2:] = 0
    return found


def parts(model):
    """Name → module, its inputs for a batch of given sizes, and which of their axes are open."""
    source, target = {0: B, 1: S}, {0: B, 1: T}
    memory = lambda b, s: model.encode(ids(b, s)).detach()
    return {
        "model": (model, lambda b, s, t: (ids(b, s), ids(b, t)), (source, target)),
        "encode": (Encode(model), lambda b, s, t: (ids(b, s),), (source,)),
        "decode": (Decode(model), lambda b, s, t: (ids(b, t), memory(b, s), ids(b, s)), (target, source, source)),
    }


def holds(program, module, inputs, **tolerance):
    """The program gives what the module gives, on sizes that it has not seen when it was made, too."""
    for sizes in (FIRST, SECOND):
        given = inputs(*sizes)
        torch.testing.assert_close(program(*given), module(*given), **{"rtol": 1e-5, "atol": 1e-5} | tolerance)


CASES = [(kind, False) for kind in in_ci([*KINDS], ["relative", "multi-query"])]
CASES += [(kind, True) for kind in in_ci(["sinusoidal", "relative", "multi-query"], ["sinusoidal"])]


@pytest.mark.parametrize("kind, fast", CASES)
def test_a_translator_compiles_and_exports(kind, fast):
    module, inputs, open_axes = parts(build(kind, fast))["model"]
    torch._dynamo.reset()
    holds(torch.compile(module, fullgraph=True, backend="eager", dynamic=True), module, inputs)
    holds(export(module, inputs(*FIRST), dynamic_shapes=open_axes).module(), module, inputs)


@pytest.mark.parametrize("part", ["encode", "decode"])
def test_its_halves_do_too(part):
    module, inputs, open_axes = parts(build("rotary"))[part]
    torch._dynamo.reset()
    holds(torch.compile(module, fullgraph=True, backend="eager", dynamic=True), module, inputs)
    holds(export(module, inputs(*FIRST), dynamic_shapes=open_axes).module(), module, inputs)


@pytest.mark.parametrize("make", [lambda c: Encoder(c), lambda c: LanguageModel(c), lambda c: SequenceClassifier(TokenEncoder(c), 3)])
def test_other_models_do_too(make):
    torch.manual_seed(3)
    module = make(TransformerConfig(**SIZES)).eval()
    inputs, open_axes = (lambda b, s, t: (ids(b, s),)), ({0: B, 1: S},)
    if isinstance(module, Encoder):
        module, open_axes = Encoding(module), ({0: B, 1: S}, {0: B, 2: S})
        inputs = lambda b, s, t: (torch.randn(b, s, 24, generator=torch.Generator().manual_seed(b)), (ids(b, s) > 0)[:, None])
    torch._dynamo.reset()
    holds(torch.compile(module, fullgraph=True, backend="eager", dynamic=True), module, inputs)
    holds(export(module, inputs(*FIRST), dynamic_shapes=open_axes).module(), module, inputs)


@pytest.mark.parametrize("kind", in_ci(["sinusoidal", "relative", "multi-query"], ["relative"]))
def test_onnx_runtime_gives_the_same_numbers(kind, tmp_path):
    module, inputs, open_axes = parts(build(kind))["model"]
    path = str(tmp_path / "model.onnx")
    torch.onnx.export(module, inputs(*FIRST), path, dynamo=True, dynamic_shapes=open_axes, verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]

    def program(*given):
        return torch.from_numpy(session.run(None, {name: x.numpy() for name, x in zip(names, given)})[0])

    holds(program, module, inputs, atol=1e-4)


def test_gradients_survive_the_compiler():
    model = build("sinusoidal").train()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    found = []
    for one in (model, compiled):
        model.zero_grad()
        one(ids(3, 7), ids(3, 5)).square().sum().backward()
        found.append([weight.grad.clone() for weight in model.parameters()])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("fast", [False, True])
def test_training_with_dropout_is_one_graph(fast):
    model = Transformer(TransformerConfig(**SIZES | {"dropout": 0.2}))
    model = (accelerate(model) if fast else model).train()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    first, second = (compiled(ids(3, 7), ids(3, 5)) for _ in range(2))
    assert first.shape == (3, 5, 31) and not torch.equal(first, second)
