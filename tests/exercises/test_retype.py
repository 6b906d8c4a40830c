"""Exercise 9.9 finds the place of a mistake before it names it: a table of broken models, one line each."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.ci import in_ci  # noqa: E402
from xformer_course.exercises import check, hint  # noqa: E402
from xformer_course.exercises.chapter_09.locate import PARTS  # noqa: E402
from xformer_course.exercises.chapter_09.retyped import parts, retyped  # noqa: E402
from xformer_course.exercises.registry import find  # noqa: E402

EMBEDDING, DECODER_NET, DECODER_SELF, CROSS, ENCODER_NET, ENCODER_SELF = PARTS
SEEDS = in_ci((0, 1, 2), (0,))


def patched(change, **changes):
    """``build``, with the finished model changed by a function."""

    def build(*sizes):
        model = retyped(**changes)(*sizes)
        change(model)
        return model

    return build


def after(modules, work):
    """Change what some modules give."""

    def change(model):
        for module in modules(model):
            module.register_forward_hook(lambda _, given, result: work(result))

    return change


def nets(stack):
    return lambda model: [layer.w_2 for layer in getattr(model, stack).layers]


def attentions(stack, kind):
    return lambda model: [layer.attentions[kind] for layer in getattr(model, stack).layers]


# a mistake that the exercise does not know by name: which part does it speak of, and which parts does it call right?
UNNAMED = {
    "words louder": (patched(after(lambda model: [model.embedding], lambda x: 1.1 * x)), EMBEDDING),
    "positions twice": (patched(lambda model: setattr(model, "places", lambda n, f=model.places: 2 * f(n))), EMBEDDING),
    "positions backwards": (patched(lambda model: setattr(model, "places", lambda n, f=model.places: f(n).flip(0))), EMBEDDING),
    "positions from five": (patched(lambda model: setattr(model, "places", lambda n, f=model.places: f(n + 5)[5:])), EMBEDDING),
    "decoder's end twice": (patched(after(lambda model: [model.decoder.norm], lambda x: 2 * x)), EMBEDDING),
    "layer norms with another eps": (patched(lambda model: setattr(model.decoder.norm, "eps", 0.1)), EMBEDDING),
    "decoder's nets doubled": (patched(after(nets("decoder"), lambda x: 2 * x)), DECODER_NET),
    "decoder's nets negative": (patched(after(nets("decoder"), lambda x: -x)), DECODER_NET),
    "decoder's nets cut off": (patched(after(nets("decoder"), lambda x: x.clamp(-1, 1))), DECODER_NET),
    "self-attention doubled": (patched(after(attentions("decoder", "self"), lambda x: 2 * x)), DECODER_SELF),
    "self-attention delayed": (patched(after(attentions("decoder", "self"), lambda x: x.roll(1, dims=1))), DECODER_SELF),
    "self-attention forgotten": (patched(after(attentions("decoder", "self"), torch.zeros_like)), DECODER_SELF),
    "cross-attention forgotten": (patched(after(attentions("decoder", "cross"), torch.zeros_like)), CROSS),
    "cross-attention halved": (patched(after(attentions("decoder", "cross"), lambda x: x / 2)), CROSS),
    "memory doubled": (patched(after(lambda model: [model.encoder], lambda x: 2 * x)), CROSS),
    "memory of the first word": (patched(after(lambda model: [model.encoder], lambda x: x[:, :1].expand_as(x))), CROSS),
    "memory averaged": (patched(after(lambda model: [model.encoder], lambda x: x.mean(1, keepdim=True).expand_as(x))), CROSS),
    "encoder's nets doubled": (patched(after(nets("encoder"), lambda x: 2 * x)), ENCODER_NET),
    "encoder's nets forgotten": (patched(after(nets("encoder"), torch.zeros_like)), ENCODER_NET),
    "encoder's attention doubled": (patched(after(attentions("encoder", "self"), lambda x: 2 * x)), ENCODER_SELF),
    "encoder's attention of the first word": (patched(after(attentions("encoder", "self"), lambda x: x[:, :1].expand_as(x))), ENCODER_SELF),
    "encoder's second layer left out": (
        patched(after(lambda model: [layer.w_2 for layer in model.encoder.layers[1:]], torch.zeros_like)),
        ENCODER_NET,
    ),
}

# mistakes that were accepted, or got one differing logit and no name, before the check looked for their place
KNOWN = {
    "dropout on the embedding": {"dropout": "embedding"},
    "padding of the target read": {"target_padding": False},
    "rows of minus infinity": {"hide": "-inf"},
    "mask upside down": {"hide": "inverted"},
    "post-norm with norms at the end": {"norm": "post"},
    "heads joined without transposing": {"join": "untransposed"},
    "one word too far": {"causal": 1},
    "one word too few": {"causal": -1},
    "target shifted twice": {"shift": True},
    "no norm after the encoder": {"ends": "decoder"},
    "no norm after the decoder": {"ends": "encoder"},
    "dropout always on": {"dropout": "always"},
    "K and V swapped": {"making": "qvko"},
    "decoder made first": {"first": "decoder"},
}

# two mistakes at once: the name told is that of one of them, and mending it leaves the other
PAIRS = [
    {"root": "no", "scale": "no"},
    {"causal": None, "memory_padding": False},
    {"causal": 1, "kink": "gelu"},
    {"hide": "inverted", "scale": "model"},
    {"join": "untransposed", "scale": "no"},
    {"positions": "in halves", "root": "no"},
    {"positions": "", "output": "own"},
    {"norm": "post", "kink": "no"},
    {"ends": "encoder", "root": "source"},
    {"making": "qvko", "causal": -1},
    {"heads": "one", "encoder_padding": False},
    {"shift": True, "causal": None},
    {"memory": "normed again", "over": "queries"},
    {"encoder_padding": False, "target_padding": False},
    {"first": "decoder", "positions": "from one"},
    {"dropout": "layers", "scale": "no"},
    {"hide": "-inf", "causal_encoder": True},
]


def judged(answer, seed=0):
    return check("9.9", answer, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("name", UNNAMED)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_mistake_without_a_name_has_a_place(name, seed):
    build, part = UNNAMED[name]
    result = judged(build, seed)
    assert (result.status, result.misconception) == ("wrong", ""), result.message
    place = PARTS.index(part)
    wrong = result.message.partition("first at target position")[0]
    assert f"{part[0].upper()}{part[1:]} differ" in wrong, result.message
    right = wrong.partition(" are right. ")[0] if place else ""
    assert all(one in right for one in ("the output", *PARTS[1:])[:place]) and ("right. " in wrong) == (place > 0), result.message


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_mistake_has_a_name(name):
    for seed in SEEDS:
        result = judged(retyped(**KNOWN[name]), seed)
        assert (result.status, result.misconception) == ("misconception", name), result.message


@pytest.mark.parametrize("changes", PAIRS, ids=lambda changes: " and ".join(changes))
def test_of_two_mistakes_one_is_named(changes):
    known = find("9.9").misconceptions
    result = judged(retyped(**changes))
    assert result.status == "misconception", result.message
    alone = [{key: value} for key, value in changes.items()]
    told = {judged(retyped(**one)).misconception for one in alone}
    assert result.misconception in told & {one.name for one in known}, (result.message, told)


def by_hand(vocab_size, d_model, num_heads, d_ff, num_layers):
    """Another style: functions of PyTorch's own where it has them, masks of numbers, a table of places kept as a buffer."""
    from torch import nn
    from torch.nn import functional as F

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

        def forward(self, x, read, mask):
            b, i, m = x.shape
            pairs = ((self.q, x), (self.k, read), (self.v, read))
            q, k, v = (f(y).view(b, -1, num_heads, m // num_heads).transpose(1, 2) for f, y in pairs)
            bias = (~mask).double() * -1e9
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias[:, None])
            return self.o(y.transpose(1, 2).reshape(b, i, m))

    class Sublayers(nn.Module):
        def __init__(self, cross):
            super().__init__()
            self.n1, self.own = nn.LayerNorm(d_model), Attention()
            if cross:
                self.n2, self.other = nn.LayerNorm(d_model), Attention()
            self.n3, self.net = nn.LayerNorm(d_model), nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

        def forward(self, x, mask, memory=None, memory_mask=None):
            y = self.n1(x)
            x = x + self.own(y, y, mask)
            if memory is not None:
                x = x + self.other(self.n2(x), memory, memory_mask)
            return x + self.net(self.n3(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(vocab_size, d_model, padding_idx=0)
            place = torch.arange(64)[:, None] * torch.exp(torch.arange(0, d_model, 2) * (-np.log(10000) / d_model))
            table = torch.zeros(64, d_model)
            table[:, 0::2], table[:, 1::2] = place.sin(), place.cos()
            self.register_buffer("table", table)
            self.enc = nn.ModuleList(Sublayers(False) for _ in range(num_layers))
            self.dec = nn.ModuleList(Sublayers(True) for _ in range(num_layers))
            self.enc_end, self.dec_end = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

        def forward(self, source, target_in):
            x, y = (self.words(ids) * d_model**0.5 + self.table[: ids.shape[1]] for ids in (source, target_in))
            t = target_in.shape[1]
            real = source.ne(0).unsqueeze(1)
            past = target_in.ne(0).unsqueeze(1) & torch.arange(t)[:, None].ge(torch.arange(t))
            for layer in self.enc:
                x = layer(x, real.expand(-1, x.shape[1], -1))
            for layer in self.dec:
                y = layer(y, past, self.enc_end(x), real.expand(-1, t, -1))
            return F.linear(self.dec_end(y), self.words.weight)

    return Model()


def weight_shared_linear(*sizes):
    """The output as an nn.Linear that holds the embedding's matrix."""
    model = parts(output="own").Model(*sizes)
    model.output.weight = model.embedding.weight
    return model


@pytest.mark.parametrize("build", [by_hand, weight_shared_linear, retyped(joint=True)], ids=["by hand", "a tied Linear", "joint"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_model_of_another_style_passes(build, seed):
    result = judged(build, seed)
    assert result.status == "passed", result.message


def test_an_error_in_a_class_of_the_learners_has_its_line_and_its_words():
    def build(vocab_size, d_model, num_heads, d_ff, num_layers):
        model = retyped()(vocab_size, d_model, num_heads, d_ff, num_layers)

        def forward(source, target_in):
            x = model.embed(source, "source")
            return x @ target_in

        model.forward = forward
        return model

    result = judged(build)
    assert result.status == "crashed" and "(line 3 of your forward: return x @ target_in" in result.message, result.message


# ---------------------------------------------------------------- the steps


@pytest.mark.parametrize("step, following", [("attention", "the layer"), ("layer", "the stack"), ("stack", "the model")])
def test_a_right_step_is_right_and_not_yet_the_answer(step, following):
    result = judged({step: getattr(parts(), step.capitalize())})
    assert result.status == "wrong" and f"the {step} is right" in result.message and following in result.message


STEPS = {
    "K and V swapped": ("attention", {"making": "qvko"}),
    "heads joined without transposing": ("attention", {"join": "untransposed"}),
    "rows of minus infinity": ("attention", {"hide": "-inf"}),
    "mask upside down": ("attention", {"hide": "inverted"}),
    "scores not scaled": ("attention", {"scale": "no"}),
    "no plus": ("layer", {"plus": "no"}),
    "no kink": ("layer", {"kink": "no"}),
    "no norm at the end": ("stack", {"ends": "none"}),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_mistake_in_a_step_has_its_name(name):
    step, changes = STEPS[name]
    result = judged({step: getattr(parts(**changes), step.capitalize())})
    assert (result.status, result.misconception) == ("misconception", name), result.message


def test_several_steps_in_one_answer():
    own = parts()
    right = {"attention": own.Attention, "layer": own.Layer, "stack": own.Stack}
    assert "Next comes the model" in judged(right).message
    assert judged({**right, "layer": parts(kink="no").Layer}).misconception == "no kink"
    assert "no step 'model'" in judged({**right, "model": retyped()}).message
    assert judged({"attention": ..., "layer": ...}).status == "not attempted"
    assert "nn.ModuleList" in judged({"stack": lambda n, *sizes: own.Layer(*sizes)}).message


def test_the_third_hint_copies_every_matrix(capsys):
    hint("9.9", level=3)
    assert "p.dim() == 2" in " ".join(capsys.readouterr().out.split())
    sizes = (23, 12, 3, 31, 2)
    mine, theirs = retyped()(*sizes), find("9.9").reference(*sizes)
    with torch.no_grad():
        for one, other in zip(*([p for p in model.parameters() if p.dim() == 2] for model in (mine, theirs)), strict=True):
            one.copy_(other)
        for model in (mine, theirs):
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    parameter.zero_()
    source, target = torch.randint(3, 23, (2, 5)), torch.randint(3, 23, (2, 4))
    assert torch.allclose(mine.eval()(source, target), theirs.eval()(source, target), atol=1e-5)
