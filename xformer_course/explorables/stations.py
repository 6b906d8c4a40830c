"""The encoder–decoder of chapter 9, station by station, with every shape."""

from html import escape

from xformer_course.explorables.explorable import Explorable

SIZES = {"m": 20, "h": 4, "d": 5, "f": 48, "v": 23}
LETTERS = {
    "b": "sentences in the batch",
    "s": "source tokens",
    "t": "target tokens",
    "m": "width of the model",
    "h": "heads",
    "d": "width of a head",
    "f": "inner width of the feed-forward net",
    "v": "words in the vocabulary",
}
PAIRS = (("I am an engineer", "Je suis ingénieur"), ("Hello world", "Bonjour le monde"), ("The big yellow cat", "Le gros chat jaune"))
START = {"step": 0, "batch": 1, "source": 5, "target": 4, "sentence": 0}

# id, text, column, row from below
BOXES = (
    ("source", "source ids", 0, 0),
    ("source-in", "embedding, positions", 0, 1),
    ("encoder-attention", "self-attention", 0, 2),
    ("encoder-forward", "feed-forward", 0, 3),
    ("memory", "norm: memory Z", 0, 4),
    ("target", "target_in ids", 1, 0),
    ("target-in", "embedding, positions", 1, 1),
    ("decoder-attention", "masked self-attention", 1, 2),
    ("cross", "cross-attention", 1, 3),
    ("decoder-forward", "feed-forward", 1, 4),
    ("decoder-norm", "norm", 1, 5),
    ("logits", "logits", 1, 6),
    ("softmax", "softmax", 1, 7),
)
_ENCODER, _DECODER = "encoder.layers.0", "decoder.layers.0"
# name, box, shape, formula, what happens, where it is in the library, axes of a mask
_STEPS = (
    ("source ids", "source", "b s", "source", "Each word is a number; the sentence ends in <eos>.", "source", ""),
    (
        "source embedding",
        "source-in",
        "b s m",
        "E[source] · √m",
        "Each id picks its row of the one shared matrix E, made √m times longer.",
        "embedding",
        "",
    ),
    ("plus positions", "source-in", "b s m", "x = E[source] · √m + p", "The row of the place is added; the shape stays.", "positions", ""),
    (
        "norm first",
        "encoder-attention",
        "b s m",
        "norm(x)",
        "Pre-norm: what enters the sublayer is normalised, x itself is kept for later.",
        f"{_ENCODER}.residuals.0.norm",
        "",
    ),
    (
        "queries, keys, values",
        "encoder-attention",
        "b s h·d",
        "norm(x) W_Q, norm(x) W_K, norm(x) W_V",
        "Three projections of this shape, each cut into heads (b, h, s, d).",
        f"{_ENCODER}.self_attention.w_q",
        "",
    ),
    (
        "self-attention weights",
        "encoder-attention",
        "b h s s",
        "softmax(Q Kᵀ / √d)",
        "Every source token reads all real source tokens, in each head; <pad> is closed.",
        f"{_ENCODER}.self_attention@weights",
        "source source",
    ),
    (
        "heads joined",
        "encoder-attention",
        "b s m",
        "[head 1 … head h] W_O",
        "The weighted values of all heads, side by side, times W_O.",
        f"{_ENCODER}.self_attention.w_o",
        "",
    ),
    (
        "added to x",
        "encoder-attention",
        "b s m",
        "x + attention(norm(x))",
        "The residual: nothing of x is lost.",
        f"{_ENCODER}.residuals.0",
        "",
    ),
    (
        "feed-forward, inside",
        "encoder-forward",
        "b s f",
        "max(0, norm(x) W_1 + b_1)",
        "Each token by itself is made wider.",
        f"{_ENCODER}.feed_forward.w_1",
        "",
    ),
    (
        "feed-forward, added",
        "encoder-forward",
        "b s m",
        "x + (…) W_2 + b_2",
        "Back to the width m, and added to x: the end of one encoder layer.",
        f"{_ENCODER}.residuals.1",
        "",
    ),
    (
        "two more encoder layers",
        "encoder-forward",
        "b s m",
        "the same, twice, with matrices of their own",
        "Layers can be stacked because they keep the shape.",
        "encoder.layers.2",
        "",
    ),
    (
        "memory",
        "memory",
        "b s m",
        "Z = norm(x)",
        "A pre-norm stack ends in a LayerNorm. Z is all that the decoder knows of the source.",
        "encoder.norm",
        "",
    ),
    ("target_in ids", "target", "b t", "target_in", "The target moved one place to the right behind <bos>.", "target_in", ""),
    (
        "target embedding plus positions",
        "target-in",
        "b t m",
        "y = E[target_in] · √m + p",
        "The same matrix E, the same positions.",
        "positions",
        "",
    ),
    (
        "masked self-attention weights",
        "decoder-attention",
        "b h t t",
        "softmax(Q Kᵀ / √d), future closed",
        "A target token reads itself and what came before; the future and <pad> are closed.",
        f"{_DECODER}.self_attention@weights",
        "target target",
    ),
    (
        "added to y",
        "decoder-attention",
        "b t m",
        "y + attention(norm(y))",
        "The heads are joined, multiplied by W_O and added, as in the encoder.",
        f"{_DECODER}.residuals.0",
        "",
    ),
    (
        "queries from the target",
        "cross",
        "b t h·d",
        "norm(y) W_Q",
        "In cross-attention the target asks …",
        f"{_DECODER}.cross_attention.w_q",
        "",
    ),
    (
        "keys and values from the memory",
        "cross",
        "b s h·d",
        "Z W_K and Z W_V",
        "… and the memory answers: two projections of this shape.",
        f"{_DECODER}.cross_attention.w_k",
        "",
    ),
    (
        "cross-attention weights",
        "cross",
        "b h t s",
        "softmax(Q Kᵀ / √d)",
        "Rows are target tokens, columns source tokens, so the map need not be square. Only <pad> is closed.",
        f"{_DECODER}.cross_attention@weights",
        "target source",
    ),
    (
        "added to y again",
        "cross",
        "b t m",
        "y + attention(norm(y), Z)",
        "Now each target token knows something of the source.",
        f"{_DECODER}.residuals.1",
        "",
    ),
    (
        "feed-forward, inside the decoder",
        "decoder-forward",
        "b t f",
        "max(0, norm(y) W_1 + b_1)",
        "Each target token by itself.",
        f"{_DECODER}.feed_forward.w_1",
        "",
    ),
    (
        "feed-forward, added to y",
        "decoder-forward",
        "b t m",
        "y + (…) W_2 + b_2",
        "The end of one decoder layer.",
        f"{_DECODER}.residuals.2",
        "",
    ),
    (
        "two more decoder layers",
        "decoder-forward",
        "b t m",
        "the same, twice, with matrices of their own",
        "Each reads the same memory Z.",
        "decoder.layers.2",
        "",
    ),
    ("last norm", "decoder-norm", "b t m", "norm(y)", "The states from which words are made.", "decoder.norm", ""),
    (
        "logits",
        "logits",
        "b t v",
        "norm(y) Eᵀ",
        "A score for each word of the vocabulary, at each target place; E once more.",
        "logits",
        "",
    ),
    (
        "probabilities",
        "softmax",
        "b t v",
        "softmax(logits)",
        "At each place they add up to 1: the next word after each beginning.",
        "logits",
        "",
    ),
)
STEPS = tuple(dict(zip(("name", "box", "shape", "formula", "what", "where", "mask"), step, strict=True)) for step in _STEPS)


def _size(part: str, sizes: dict[str, int]) -> int:
    size = 1
    for letter in part.split("·"):
        size *= sizes[letter]
    return size


def _picture() -> str:
    """Every station with its shape, for one sentence of five tokens and four of the target."""
    sizes = {**SIZES, "b": START["batch"], "s": START["source"], "t": START["target"]}
    rows = []
    for step in STEPS:
        parts = step["shape"].split()
        numbers = ", ".join(str(_size(part, sizes)) for part in parts)
        cells = (step["formula"], f"({', '.join(parts)})", f"({numbers})")
        rows.append(f'<tr><th scope="row">{escape(step["name"])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>')
    head = "".join(f'<th scope="col">{word}</th>' for word in ("station", "formula", "shape", "for our pair"))
    title = f"{PAIRS[0][0]} → {PAIRS[0][1]}: every station and its shape (biases of attention left out)"
    return f'<div class="xf-scroll"><table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def architecture() -> Explorable:
    """The model of chapter 9: width 20, 4 heads, 3 encoder and 3 decoder layers, 23 words, and its three pairs.

    >>> architecture().data["steps"][-1]["name"]
    'probabilities'
    """
    return Explorable(
        name="architecture",
        label="The encoder–decoder station by station, with the shape of every array",
        caption="Walk from the ids to the probabilities, or press a box, and say each shape before you read it. Then add sentences to the batch, or "
        "make source and target longer: rows longer than their words are filled up with &lt;pad&gt;, and the masks close it. See which shapes "
        "hold s, which t, and which both.",
        data={
            "sizes": SIZES,
            "letters": LETTERS,
            "pairs": [[[*english.split(), "<eos>"], ["<bos>", *french.split()]] for english, french in PAIRS],
            "boxes": [list(box) for box in BOXES],
            "steps": list(STEPS),
            "longest": 9,
            "start": START,
        },
        picture=_picture(),
    )
