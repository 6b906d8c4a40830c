"""Chapter 09, the last exercise: a whole Transformer from a blank cell. Torch is imported where it is used."""

from xformer_course.exercises.chapter_09 import locate
from xformer_course.exercises.chapter_09.retyped import retyped
from xformer_course.exercises.exercise import Exercise, case


def _cases(rng):
    """Sizes alone, for that is what ``build`` takes; ids and weights follow from them in the probe."""

    def words():
        return int(rng.choice([19, 23, 29]))  # no width, and no multiple of one

    return [
        case(words(), 12, 1, 31, 1, note="one head, one layer"),
        case(words(), 12, 3, 31, 1, note="three heads, one layer"),
        case(words(), 16, 2, 37, 2, note="two layers, and padding on both sides"),
    ]


def _with_given_weights(build):
    """The logits of what ``build`` makes, with weights copied into it by shape and order; padded positions are left out."""

    def logits(*sizes):
        import numpy as np

        rng = np.random.default_rng(sizes)
        lengths = ((5, 4), (7, 3)) if sizes[4] == 1 else ((4, 7, 2), (5, 3, 1))
        sources, targets = (locate.rows_of(sizes[0], rng, *rows, left=rng.random() < 0.5) for rows in lengths)
        setting = locate.Setting(sizes, sources, targets, int(rng.integers(2**31)), "")
        return locate.Tried(build, setting).logits(5)

    return logits


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


# name: (what is changed in `retyped`, what is said about it); where two do the same, the first is told
HYPOTHESES = {
    # the embedding, the positions and the output
    "embedding not scaled": (
        {"root": "no"},
        "Your words are too faint beside their positions. By what factor does the page multiply the embedding, and why?",
    ),
    "only the source scaled": (
        {"root": "source"},
        "You scale the embedding of the source, and not that of the target. Both go into a stack.",
    ),
    "only the target scaled": (
        {"root": "target"},
        "You scale the embedding of the target, and not that of the source. Both go into a stack.",
    ),
    "no positions": (
        {"positions": ""},
        "Your model does not know the order of its words. Exchange two source words: do the logits change?",
    ),
    "positions in the source alone": (
        {"positions": "source"},
        "The target's words get no positions. Which of the two embeddings goes through another function?",
    ),
    "positions in the target alone": (
        {"positions": "target"},
        "The source's words get no positions. Which of the two embeddings goes through another function?",
    ),
    "sines and cosines in halves": (
        {"positions": "in halves"},
        "Your positions have all sines first, then all cosines. What does the statement say of their columns?",
    ),
    "places scaled too": (
        {"positions": "scaled"},
        "You multiply words and positions together, so the positions stay as loud as before. What does the factor belong to?",
    ),
    "places from one": (
        {"positions": "from one"},
        "Your first position has the number 1. At position 0 every sine is 0: print the first row.",
    ),
    "another base": (
        {"positions": "other base"},
        "Your angles have another base. Print the angles of position 1, and compare them with chapter 7.",
    ),
    "clocks too fast": (
        {"positions": "other clocks"},
        "Your slow clocks run too fast. A pair of columns shares one angle: what is its exponent divided by?",
    ),
    "tables not tied": ({"output": "own"}, "Your logits come from a matrix of their own. Which matrix does the page use for them?"),
    "probabilities": ({"output": "softmax"}, "Your model returns probabilities. Logits come before the softmax: the loss takes it."),
    "logits scaled too": ({"output": "scaled"}, "You multiply the logits by √m as well. The factor belongs to the input alone."),
    "target shifted twice": (
        {"shift": True},
        "Your model shifts the target once more. `target_in` begins with its start word already: the caller has shifted it.",
    ),
    "post-norm": ({"norm": "post", "ends": "none"}, "Your norm comes after the sum, as in the paper. Where does pre-norm put it?"),
    "post-norm with norms at the end": (
        {"norm": "post"},
        "Your norm comes after the sum, as in the paper, and your stacks end in one more. Where does pre-norm put it?",
    ),
    "no norm at the end": (
        {"ends": "none"},
        "Your stacks pass on the bare sum, which nothing has normalised. What does a pre-norm stack end with?",
    ),
    "no norm after the decoder": (
        {"ends": "encoder"},
        "Your encoder ends in a LayerNorm and your decoder does not. What turns into logits?",
    ),
    "no norm after the encoder": (
        {"ends": "decoder"},
        "Your decoder ends in a LayerNorm and your encoder does not. What does cross-attention read?",
    ),
    "no plus": ({"plus": "no"}, "A sublayer's result replaces its input. It should be added: without the plus a word forgets itself."),
    "plus the normed": ({"plus": "norm(x)"}, "You add to the normalised x. The direct path carries x itself, as it was before the norm."),
    # the feed-forward nets
    "no kink": ({"kink": "no"}, "Your feed-forward net is one matrix in disguise. What comes between its two halves?"),
    "another kink": (
        {"kink": "gelu"},
        "Your feed-forward net bends smoothly. Which function comes between its two halves in the statement?",
    ),
    "kinked twice": (
        {"kink": "twice"},
        "Your net cuts off its own result: it can only add numbers of 0 or more. After which half does the kink come?",
    ),
    # attention
    "scores not scaled": ({"scale": "no"}, "Your attention leaves out one division. What keeps the scores of wide heads from growing?"),
    "scaled by the model's width": (
        {"scale": "model"},
        "Right for one head. With more, your weights are too even: how wide are the vectors that one head multiplies?",
    ),
    "scaled without the root": (
        {"scale": "no root"},
        "Your weights are too even: you divide the scores by the width itself. What does the page divide by?",
    ),
    "softmax over queries": (
        {"over": "queries"},
        "Your weights add up to 1 down the columns. Whose attention is shared out, a query's or a key's?",
    ),
    "softmax over heads": (
        {"over": "heads"},
        "Your heads share one softmax. Print the sum of the weights over the keys: it should be 1 for each head.",
    ),
    "one head": ({"heads": "one"}, "Right for one head. Give every head an axis of its own before the scores, not after."),
    "heads cut without transposing": (
        {"split": "untransposed"},
        "Right for one head. Your heads get slices of the sentence, not slices of each vector. Which axis must move before (b, h, i, d)?",
    ),
    "heads joined without transposing": (
        {"join": "untransposed"},
        "Right for one head. You join the heads while their axis still comes before the words, so words are mixed. Which axis must go back first?",
    ),
    "heads joined in turns": (
        {"join": "backwards"},
        "Right for one head. Your heads are shuffled into each other. After joining, the first d numbers should all be the first head's.",
    ),
    "K and V swapped": (
        {"making": "qvko"},
        "Your second matrix makes values and your third makes keys. The statement has the order W_Q, W_K, W_V, W_O.",
    ),
    "Q and K swapped": (
        {"making": "kqvo"},
        "Your first matrix makes keys and your second makes queries. The statement has the order W_Q, W_K, W_V, W_O.",
    ),
    "W_O made first": ({"making": "oqkv"}, "You make W_O before the other three. The check fills them in the order W_Q, W_K, W_V, W_O."),
    # masks
    "mask upside down": (
        {"hide": "inverted"},
        "Your attention hides what it may read, and reads the rest. `masked_fill` fills where its mask is True.",
    ),
    "hidden scores of 0": ({"hide": "zero"}, "You give a hidden key the score 0, and e⁰ is 1, not 0. Which score becomes a weight of 0?"),
    "hidden after softmax": (
        {"hide": "afterwards"},
        "You hide keys after the softmax, so they have had their share already, and your rows no longer add up to 1.",
    ),
    "rows of minus infinity": (
        {"hide": "-inf"},
        "With padding on the left, the first row of a mask is closed from end to end, and its softmax over −∞ gives nan. Which finite number hides a key just as well?",
    ),
    "the future open": (
        {"causal": None},
        "Your decoder sees the words that it must guess. Change the last token of `target_in`: which logits move?",
    ),
    "one word too far": (
        {"causal": 1},
        "Your triangle is one diagonal too large: each position reads the next word. `target_in` is already shifted by one.",
    ),
    "one word too few": (
        {"causal": -1},
        "Your triangle is one diagonal too small: a position cannot read its own word, and the first reads nothing.",
    ),
    "triangle upside down": (
        {"causal": "upside down"},
        "Each position reads itself and everything after it. Print the mask for length 4, with the queries as rows.",
    ),
    "padding of the target read": (
        {"target_padding": False},
        "Right while padding comes last, because then it lies in the future. With padding on the left your decoder reads it. Which keys are real?",
    ),
    "padding of the source read": (
        {"encoder_padding": False, "memory_padding": False},
        "Right without padding, wrong with it. Which of the three attentions read source positions, and what hides there?",
    ),
    "padding of the memory read": ({"memory_padding": False}, "Right without padding. Which source positions may cross-attention read?"),
    "padding read in the encoder": (
        {"encoder_padding": False},
        "Right without padding. Cross-attention closes it, but which positions does the encoder itself read?",
    ),
    "encoder under the triangle": (
        {"causal_encoder": True},
        "Your encoder hides the future. The whole source is there from the first step: who may read all of it?",
    ),
    "cross-attention under the triangle": (
        {"causal_cross": True},
        "Your cross-attention hides source words that come later. Target position 2 has no reason to stop at source word 2.",
    ),
    # who reads what
    "memory not read": (
        {"memory": "not read"},
        "Change the source: your logits do not move. Where do cross-attention's keys and values come from?",
    ),
    "memory normed again": (
        {"memory": "normed again"},
        "Your decoder normalises the memory once more. The norm belongs to x; the memory has already been through its own.",
    ),
    "a memory for each layer": (
        {"memory": "each layer"},
        "Your decoder's first layer reads what the encoder's first layer left. All decoder layers read the same memory, the finished one.",
    ),
    "cross-attention first": (
        {"layer": "cross self net"},
        "Your decoder layer reads the memory before its own words. Which of the two attentions comes first?",
    ),
    "net first": ({"layer": "net self cross"}, "Your layers begin with the feed-forward net. What comes first, the net or attention?"),
    # the order of making
    "decoder made first": (
        {"first": "decoder"},
        "You make the decoder before the encoder, and the check fills matrices in the order in which they are made.",
    ),
    "cross-attention made first": (
        {"inner": "cross"},
        "In a decoder layer you make cross-attention before self-attention, and the check fills matrices in the order in which they are made.",
    ),
    # in training
    "dropout always on": (
        {"dropout": "always"},
        "Asked twice, your model gives two different answers, even after `eval()`. Is there a dropout that does not know when training is over?",
    ),
    "dropout on the embedding": (
        {"dropout": "embedding"},
        "In training mode your embedding drops numbers. The statement wants no dropout.",
    ),
    "dropout in the layers": (
        {"dropout": "layers"},
        "In training mode something in your layers drops numbers. The statement wants no dropout.",
    ),
    "one norm for all": (
        {"shared_norm": True},
        "All logits are right, but some sublayers share a LayerNorm. In training each needs gains of its own.",
    ),
}


def _examine(answer, rng):
    return locate.examine(answer, rng, HYPOTHESES)


RETYPE = Exercise(
    id="9.9",
    title="Close the page and retype it",
    kind="implement",
    minutes=60,
    difficulty=3,
    requires="torch",
    statement="""\
Close this page and chapter 8. Write the Transformer with `torch` alone. `build(vocab_size, d_model, num_heads, d_ff, num_layers)` \
returns it; `model(source, target_in)` takes ids (b, s) and (b, t), where 0 is padding, and gives logits (b, t, v).

- *Layers:* pre-norm, `nn.LayerNorm` with its eps of 1e-5; max(0, ·) between the two `nn.Linear` of the net; no dropout.
- *Stacks:* `num_layers` layers each, then a LayerNorm.
- *Ends:* one `nn.Embedding` for source, target and output; times √m at the input. Positions have sines in even columns and their \
cosines next to them.
- *Masks:* nobody reads padding, wherever it is; no target position reads a later one; no nan.

Three steps on the way can be checked alone, in a dict such as `{"attention": Attention}`:

1. `Attention(d_model, num_heads)`, key `"attention"`; called with `x` (b, i, m), `read` (b, j, m) and a boolean `mask` (b, i, j), it gives (b, i, m).
2. `Layer(d_model, num_heads, d_ff)`, key `"layer"`: an encoder layer, called with `x` and `mask`.
3. `Stack(num_layers, d_model, num_heads, d_ff)`, key `"stack"`: the encoder, called in the same way.

The check sets biases to 0 and copies its own matrices into yours, in the order in which they are made: encoder before decoder, \
self-attention before cross-attention, and W_Q, W_K, W_V, W_O.""",
    hints=(
        "Begin with attention and its step. Four lines do the work: project and split, score and hide, softmax and mix, join. "
        "Which shape has each of them?",
        "One class each for attention, encoder layer, decoder layer, stack and model is enough. The triangle and the padding are "
        "booleans; `&` joins them. `~mask` is what `masked_fill` wants.",
        "Compare with `xformer_lib.nn.Transformer` yourself. Names differ, so copy by order: `[p for p in model.parameters() if p.dim() == 2]` "
        "gives the matrices of either model, in the same order; copy them pair by pair with `mine.data.copy_(theirs)`, and set the vectors "
        "called `bias` to 0 in both. Then compare the embeddings, one layer, `encode`, and finally the logits.",
    ),
    stub="""\
# your classes, from memory


def build(vocab_size, d_model, num_heads, d_ff, num_layers):
    return ...""",
    reference=_library,
    cases=_cases,
    returns=("logits",),
    probe=_with_given_weights,
    examine=_examine,
    tolerance=1e-5,
    wrong={name: (retyped(**changes), diagnosis) for name, (changes, diagnosis) in HYPOTHESES.items()},
    alternatives={"from a blank cell": retyped(), "q, k and v in one matrix": retyped(joint=True)},
    success="You have written a Transformer. The library's own is the same to five digits.",
    solution=r'''
We write it from the inside out. Attention comes first: project, give every head its axis, score, hide, mix, join. It hides with
−1e9 and not with −∞: `exp` makes 0 of both, but in a row where everything is hidden −∞ gives nan.

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

Is the first step right? Hand it to the check as `{"attention": Attention}` before you go on.

```python
class Layer(nn.Module):
    """An encoder layer, or with a memory to read a decoder layer; pre-norm."""

    def __init__(self, d_model, num_heads, d_ff, reads_memory=False):
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

A stack is its layers and a norm. The same class serves both sides.

```python
class Stack(nn.Module):
    def __init__(self, num_layers, d_model, num_heads, d_ff, reads_memory=False):
        super().__init__()
        layers = [Layer(d_model, num_heads, d_ff, reads_memory) for _ in range(num_layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, mask, memory=None, memory_mask=None):
        for layer in self.layers:
            x = layer(x, mask, memory, memory_mask)
        return self.norm(x)
```

Positions are a small module with a table that is not learned: a buffer.

```python
class Positions(nn.Module):
    def __init__(self, d_model, max_len=256):
        super().__init__()
        angles = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
        self.register_buffer("table", torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1))

    def forward(self, x):
        return x + self.table[:x.shape[1]]
```

The model puts them together, and makes the two masks.

```python
class Model(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = Positions(d_model)
        self.encoder = Stack(num_layers, d_model, num_heads, d_ff)
        self.decoder = Stack(num_layers, d_model, num_heads, d_ff, reads_memory=True)

    def embed(self, ids):
        return self.positions(self.embedding(ids) * math.sqrt(self.d_model))

    def forward(self, source, target_in):
        real_source = (source != 0)[:, None, :]
        length = target_in.shape[1]
        past = torch.ones(length, length, dtype=torch.bool).tril() & (target_in != 0)[:, None, :]

        memory = self.encoder(self.embed(source), real_source)
        x = self.decoder(self.embed(target_in), past, memory, real_source)
        return x @ self.embedding.weight.T
```

```python
def build(vocab_size, d_model, num_heads, d_ff, num_layers):
    return Model(vocab_size, d_model, num_heads, d_ff, num_layers)


check(...)
```
''',
)

EXERCISES = (RETYPE,)
