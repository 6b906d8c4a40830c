"""Chapter 09, the last exercise: a whole Transformer from a blank cell. Torch is imported where it is used."""

import numpy as np

from xformer_course.exercises.exercise import Complaint, Exercise, case

NAMES = ("vocab_size", "d_model", "num_heads", "d_ff", "num_layers")


def _cases(rng):
    """Sizes alone, for that is what ``build`` takes; ids and weights follow from them in the probe."""

    def words():
        return int(rng.choice([19, 23, 29]))  # no width, and no multiple of one

    return [
        case(words(), 12, 1, 31, 1, note="one sentence, one head, one layer"),
        case(words(), 12, 3, 31, 1, note="one sentence, three heads, one layer"),
        case(words(), 16, 2, 37, 2, note="three sentences with padding, two layers"),
    ]


def _ids(vocab_size, rng, *lengths):
    import torch

    return torch.tensor([[*rng.integers(3, vocab_size, size=n).tolist(), *([0] * (max(lengths) - n))] for n in lengths])


# ---------------------------------------------------------------- weights, by shape and order


def _drawn(sizes, rng):
    """Matrices in the order in which the page creates them: tables, attentions, and both halves of the feed-forward nets."""
    m, f, layers = sizes["d_model"], sizes["d_ff"], sizes["num_layers"]
    tables = [rng.normal(size=(sizes["vocab_size"], m)) / np.sqrt(m) for _ in range(3)]
    attentions = [rng.normal(size=(m, m)) / np.sqrt(m) for _ in range(12 * layers)]
    inner = [rng.normal(size=(f, m)) / np.sqrt(m) for _ in range(2 * layers)]
    outer = [rng.normal(size=(m, f)) / np.sqrt(f) for _ in range(2 * layers)]
    return tables, attentions, inner, outer


def _fill(model, sizes, rng):
    """Give a model the drawn matrices; gains become unequal numbers, offsets 0, and what is frozen stays: a table of places."""
    import torch

    m, f, v, layers = sizes["d_model"], sizes["d_ff"], sizes["vocab_size"], sizes["num_layers"]
    tables, attentions, inner, outer = _drawn(sizes, rng)
    rooms = {(v, m): tables, (f, m): inner, (m, f): outer}
    for name, parameter in model.named_parameters():
        shape = tuple(parameter.shape)
        if not parameter.requires_grad:
            continue
        if len(shape) == 1:
            values = np.linspace(0.5, 1.5, *shape) if bool((parameter == 1).all()) else np.zeros(shape)
        elif shape in rooms and rooms[shape]:
            values = rooms[shape].pop(0)
        elif len(shape) == 2 and shape[1] == m and shape[0] in (m, 2 * m, 3 * m) and len(attentions) >= shape[0] // m:
            values = np.concatenate([attentions.pop(0) for _ in range(shape[0] // m)])
        else:
            raise Complaint(
                f"your model owns a parameter {name} of shape {shape}, one more than the page's has of this "
                "shape, or one that it has not at all. The model of the page owns an embedding (v, m), for each "
                "attention four matrices (m, m), for each feed-forward net one (f, m) and one (m, f), and vectors"
            )
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(values))
    if len(tables) == 3 or attentions or inner or outer:
        owned = (3 - len(tables), 12 * layers - len(attentions), 2 * layers - len(inner), 2 * layers - len(outer))
        raise Complaint(
            "your model owns {} tables (v, m), {} matrices of attention, {} and {} of feed-forward nets; expected at least 1, then {}, {} and {}. A list of layers is found only inside nn.ModuleList".format(
                *owned, 12 * layers, 2 * layers, 2 * layers
            )
        )


def _with_given_weights(build):
    """The logits of what ``build`` makes, with weights copied into it by shape and order; padded places are left out."""

    def logits(*values):
        import torch

        sizes = dict(zip(NAMES, values, strict=True))
        rng = np.random.default_rng(values)
        sources, targets = ((5,), (7,)) if sizes["num_layers"] == 1 else ((4, 7, 2), (5, 3, 1))
        source, target_in = (_ids(sizes["vocab_size"], rng, *lengths) for lengths in (sources, targets))
        with torch.random.fork_rng(devices=[]):
            model = build(*values)
        if not isinstance(model, torch.nn.Module):
            raise Complaint(f"`build` returned {type(model).__name__}; return the model itself, a torch.nn.Module")
        model = model.double().eval()
        _fill(model, sizes, rng)
        with torch.no_grad():
            given = model(source, target_in)
        wanted = (*target_in.shape, sizes["vocab_size"])
        if not isinstance(given, torch.Tensor) or tuple(given.shape) != wanted:
            shape = tuple(given.shape) if isinstance(given, torch.Tensor) else type(given).__name__
            raise Complaint(f"logits: expected shape (b, t, v) = {wanted}, got {shape}")
        return given * (target_in != 0)[..., None]

    return logits


# ---------------------------------------------------------------- the model, with one thing left out


def _retyped(
    *,
    scale="head",
    causal=True,
    source_padding=True,
    encoder_padding=True,
    memory_padding=True,
    root=True,
    order="pre",
    last_norm=True,
    positions="beside",
    tied=True,
    kink="relu",
    over_keys=True,
    memory_read=True,
    one_head=False,
    joint=False,
):
    """``build`` as a learner may write it; each argument leaves one thing out."""

    def build(vocab_size, d_model, num_heads, d_ff, num_layers):
        import torch
        from torch import nn

        m, heads = d_model, 1 if one_head else num_heads
        divisors = {"head": (m // heads) ** 0.5, "model": m**0.5, "no": 1.0, "no root": m // heads}
        kinks = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "no": lambda inner: inner}

        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([nn.Linear(m, 3 * m)] if joint else [nn.Linear(m, m) for _ in "qkv"])
                self.out = nn.Linear(m, m)

            def forward(self, x, read, mask):
                if joint:
                    weight = self.parts[0].weight.chunk(3)
                    q, k, v = (given @ w.t() for given, w in zip((x, read, read), weight, strict=True))
                else:
                    q, k, v = (part(given) for part, given in zip(self.parts, (x, read, read), strict=True))
                q, k, v = (y.unflatten(-1, (heads, -1)).transpose(1, 2) for y in (q, k, v))
                scores = q @ k.transpose(-2, -1) / divisors[scale]
                weights = scores.masked_fill(~mask[:, None], -1e30).softmax(dim=-1 if over_keys else -2)
                return self.out((weights @ v).transpose(1, 2).flatten(2))

        class Layer(nn.Module):
            def __init__(self, cross):
                super().__init__()
                self.attentions = nn.ModuleList(Attention() for _ in range(1 + cross))
                self.first, self.second = nn.Linear(m, d_ff), nn.Linear(d_ff, m)
                self.norms = nn.ModuleList(nn.LayerNorm(m) for _ in range(2 + cross))

            def around(self, n, x, f):
                return x + f(self.norms[n](x)) if order == "pre" else self.norms[n](x + f(x))

            def forward(self, x, mask, memory=None, memory_mask=None):
                x = self.around(0, x, lambda x: self.attentions[0](x, x, mask))
                if memory is not None:
                    x = self.around(
                        1, x, lambda x: self.attentions[1](x, memory if memory_read else x, memory_mask if memory_read else mask)
                    )
                inner = lambda x: self.second(kinks[kink](self.first(x)))
                return self.around(len(self.norms) - 1, x, inner)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(vocab_size, m)
                self.encoder = nn.ModuleList(Layer(0) for _ in range(num_layers))
                self.decoder = nn.ModuleList(Layer(1) for _ in range(num_layers))
                ends = order == "pre" and last_norm
                self.ends = nn.ModuleList(nn.LayerNorm(m) if ends else nn.Identity() for _ in range(2))
                if not tied:
                    self.output = nn.Linear(m, vocab_size, bias=False)

            def embed(self, ids):
                x = self.table(ids) * (m**0.5 if root else 1.0)
                if not positions:
                    return x
                place = torch.arange(ids.shape[1])[:, None].double()
                angles = place / 10000 ** (torch.arange(0, m, 2) / m).double()
                places = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
                if positions == "in halves":
                    places = torch.cat([angles.sin(), angles.cos()], dim=-1)
                return x + places * (m**0.5 if positions == "scaled" else 1.0)

            def forward(self, source, target_in):
                hidden = (source != 0)[:, None, :] if source_padding else torch.ones_like(source)[:, None, :].bool()
                length = target_in.shape[1]
                past = torch.ones(length, length, dtype=torch.bool)
                past = (past.tril() if causal else past) & (target_in != 0)[:, None, :]
                read = hidden if memory_padding else torch.ones_like(hidden)
                hidden = hidden if encoder_padding else torch.ones_like(hidden)
                x, y = self.embed(source), self.embed(target_in)
                for layer in self.encoder:
                    x = layer(x, hidden)
                x = self.ends[0](x)
                for layer in self.decoder:
                    y = layer(y, past, x, read)
                y = self.ends[1](y)
                return y @ self.table.weight.t() if tied else self.output(y)

        return Model()

    return build


def _library(vocab_size, d_model, num_heads, d_ff, num_layers):
    from xformer_lib.nn.transformer import Transformer, TransformerConfig

    return Transformer(
        TransformerConfig(
            vocab_size=vocab_size,
            d_model=d_model,
            num_heads=num_heads,
            d_ff=d_ff,
            dropout=0.0,
            num_encoder_layers=num_layers,
            num_decoder_layers=num_layers,
        )
    )


RETYPE = Exercise(
    id="9.9",
    title="Close the page and retype it",
    kind="implement",
    minutes=60,
    difficulty=3,
    requires="torch",
    statement="""\
Close this page and chapter 8. With `torch` alone, write the whole Transformer. \
`build(vocab_size, d_model, num_heads, d_ff, num_layers)` returns it (`num_layers` in each stack); \
`model(source, target_in)`, ids (b, s) and (b, t) with 0 as padding, gives logits (b, t, v):

- pre-norm, a LayerNorm ending both stacks, max(0, ·) in the feed-forward net, no dropout;
- one `nn.Embedding` for all three uses, times √m at the input; sine in even columns, its cosine in the next;
- no place reads padding, no decoder place a later one.

The check fills both models with equal matrices, of one shape in the order of making: encoder before decoder, self-attention before \
cross-attention, W_Q, W_K, W_V, W_O, each an `nn.Linear`. Biases become 0; rows have at most ten ids.""",
    hints=(
        "Begin at the top: which two lines does `forward` have, and which two methods do they call?",
        "One class each for attention, feed-forward net, encoder layer, decoder layer and the model is enough. Print every shape.",
        "Compare with the library as you go: `xformer_lib.nn` has each of these classes, and `state_dict()` copies weights across.",
    ),
    stub="""\
# your classes, from memory


def build(vocab_size, d_model, num_heads, d_ff, num_layers):
    return ...""",
    reference=_library,
    cases=_cases,
    returns=("logits",),
    probe=_with_given_weights,
    tolerance=1e-5,
    wrong={
        "scores not scaled": (
            _retyped(scale="no"),
            "Your attention leaves out one division. What keeps the scores of wide heads from growing?",
        ),
        "the future open": (
            _retyped(causal=False),
            "Your decoder sees the words that it is to say. Change the last token of `target_in`: which logits move?",
        ),
        "padding of the source read": (
            _retyped(source_padding=False),
            "Right without padding, wrong with it. Which of the three attentions read source places, and what hides there?",
        ),
        "embedding not scaled": (
            _retyped(root=False),
            "Your words are too faint beside their places. By which factor does the page multiply the embedding, and why?",
        ),
        "post-norm": (_retyped(order="post"), "Your norm stands behind the sum, as in the paper. In which place does pre-norm have it?"),
        "no norm at the end": (
            _retyped(last_norm=False),
            "The sum on the straight way leaves your stacks as it is. What does a pre-norm stack end with?",
        ),
        "no positions": (
            _retyped(positions=""),
            "Your model does not know the order of its words. Exchange two source words: do the logits change?",
        ),
        "tables not tied": (_retyped(tied=False), "Your logits come from a matrix of their own. Which matrix does the page use for them?"),
        "no kink": (_retyped(kink="no"), "Your feed-forward net is one matrix in disguise. What stands between its two halves?"),
        "softmax over queries": (
            _retyped(over_keys=False),
            "Your weights add up to 1 down the columns. Whose attention is shared out, a query's or a key's?",
        ),
        "memory not read": (
            _retyped(memory_read=False),
            "Change the source: your logits do not move. From where do cross-attention's keys and values come?",
        ),
        "one head": (_retyped(one_head=True), "Right for one head. Give every head an axis of its own before the scores, not after."),
        "scaled by the model's width": (
            _retyped(scale="model"),
            "Right for one head. With more, your weights are too even: how wide are the vectors that one head multiplies?",
        ),
        "scaled without the root": (
            _retyped(scale="no root"),
            "Your weights are too even: the scores are divided by the width itself. What does the page divide by?",
        ),
        "padding of the memory read": (
            _retyped(memory_padding=False),
            "Your encoder is right. With padding the decoder goes astray: which places may cross-attention read?",
        ),
        "padding read in the encoder": (
            _retyped(encoder_padding=False),
            "Right without padding. Cross-attention closes it, but which places does the encoder itself read?",
        ),
        "sines and cosines in halves": (
            _retyped(positions="in halves"),
            "Your places have all sines first, then all cosines. What does the statement say of their columns?",
        ),
        "places scaled too": (
            _retyped(positions="scaled"),
            "Words and places are multiplied together, so the places stay as loud as before. What does the factor belong to?",
        ),
        "another kink": (
            _retyped(kink="gelu"),
            "Your feed-forward net bends smoothly. Which function stands between its two halves in the statement?",
        ),
    },
    alternatives={"from a blank cell": _retyped(), "q, k and v in one matrix": _retyped(joint=True)},
    success="You have written a Transformer. The library's own is the same to five digits.",
    solution=r'''
Three short classes, from the inside out. Where they differ from the library's, they are plainer: one kind of positions, one order of
norm and plus, masks made where they are used. Attention first: project, give every head its axis, score, hide, mix, join. It hides with
−1e9 and not with −∞: `exp` makes 0 of both, but in a row where all is hidden −∞ would give NaN.

```python
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_v, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def heads(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (b, h, i, d)

    def forward(self, x, read, mask):
        q, k, v = self.heads(self.w_q(x)), self.heads(self.w_k(read)), self.heads(self.w_v(read))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(~mask[:, None], -1e9).softmax(dim=-1)
        return self.w_o((weights @ v).transpose(1, 2).flatten(2))
```

```python
class Layer(nn.Module):
    """An encoder layer, or with a memory to read a decoder layer; pre-norm."""

    def __init__(self, d_model, num_heads, d_ff, reads_memory):
        super().__init__()
        self.self_attention = Attention(d_model, num_heads)
        self.cross_attention = Attention(d_model, num_heads) if reads_memory else None
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3 if reads_memory else 2))

    def forward(self, x, mask, memory=None, memory_mask=None):
        y = self.norms[0](x)
        x = x + self.self_attention(y, y, mask)
        if self.cross_attention is not None:
            x = x + self.cross_attention(self.norms[1](x), memory, memory_mask)
        return x + self.feed_forward(self.norms[-1](x))
```

The model's `forward` is that of the page, with `encode` and `decode` written out, and with what they need: the scaled embedding with
its places, and the two masks.

```python
class Model(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.encoder, self.decoder = (nn.ModuleList(Layer(d_model, num_heads, d_ff, reads) for _ in range(num_layers))
                                      for reads in (False, True))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def embed(self, ids):
        places = torch.arange(ids.shape[1])[:, None]
        angles = places / 10000 ** (torch.arange(0, self.d_model, 2) / self.d_model)
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
        return self.embedding(ids) * math.sqrt(self.d_model) + table

    def forward(self, source, target_in):
        real_source = (source != 0)[:, None, :]
        length = target_in.shape[1]
        past = torch.ones(length, length, dtype=torch.bool).tril() & (target_in != 0)[:, None, :]

        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory, real_source)
        memory = self.encoder_norm(memory)

        x = self.embed(target_in)
        for layer in self.decoder:
            x = layer(x, past, memory, real_source)
        return self.decoder_norm(x) @ self.embedding.weight.T
```

```python
def build(vocab_size, d_model, num_heads, d_ff, num_layers):
    return Model(vocab_size, d_model, num_heads, d_ff, num_layers)


check(...)
```
''',
)

EXERCISES = (RETYPE,)
