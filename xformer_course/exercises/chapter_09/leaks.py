"""Chapter 09, exercises on finding leaks. Torch is imported where it is used."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _tiny_model(rng, vocab_size, d_model, num_heads):
    import torch

    from xformer_lib.nn.transformer import Transformer, TransformerConfig

    config = TransformerConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        num_heads=num_heads,
        d_ff=10,
        num_encoder_layers=1,
        num_decoder_layers=1,
        dropout=0.0,
        max_len=16,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        return Transformer(config).double().eval().requires_grad_(False)


def _leak_cases(rng):
    import torch

    def ids(vocab_size, *lengths):
        rows = [[*rng.integers(3, vocab_size, size=n).tolist(), *([0] * (max(lengths) - n))] for n in lengths]
        return torch.tensor(rows)

    return [
        case(_tiny_model(rng, 11, 4, 2), ids(11, 3), ids(11, 2)),
        case(_tiny_model(rng, 17, 6, 3), ids(17, 5), ids(17, 7)),
        case(_tiny_model(rng, 13, 8, 2), ids(13, 4, 6), ids(13, 5, 3), note="padding"),
    ]


def _logits(*, mask=None, source_padding=True, target_padding=True, diagonal=0):
    """The function of exercise 9.7 with one thing changed."""

    def logits_for(model, source, target_in):
        import torch

        length, pad_id = target_in.shape[1], model.config.pad_id
        past = torch.ones(length, length, dtype=torch.bool)
        past = past.tril(diagonal=diagonal) if mask is None else mask(past)
        if target_padding:
            past = past & (target_in != pad_id)[:, None, :]
        memory_mask = (source != pad_id)[:, None, :] if source_padding else None
        x = model.decoder(model.embed(target_in), model.encode(source), mask=past, memory_mask=memory_mask)
        return model.embedding.logits(x)

    return logits_for


def _one_prefix_at_a_time(model, source, target_in):
    import torch

    return torch.stack([model(source, target_in[:, : t + 1])[:, t] for t in range(target_in.shape[1])], dim=1)


def _one_of_two(model, source, target_in):
    import torch

    pad_id = model.config.pad_id
    past = torch.ones(2 * target_in.shape[1:], dtype=torch.bool).tril()
    mask = past | (target_in != pad_id)[:, None, :]
    x = model.decoder(model.embed(target_in), model.encode(source), mask=mask, memory_mask=(source != pad_id)[:, None, :])
    return model.embedding.logits(x)


ONE_WORD_TOO_FAR = Exercise(
    id="9.7",
    title="One word too far",
    kind="find the bug",
    minutes=10,
    difficulty=2,
    requires="torch",
    statement="""\
A model trained with this function reached an almost perfect loss within minutes, but its translations are nonsense. What \
can its decoder see in training that it cannot see later? Fix the function: its logits should be those of \
`model(source, target_in)`.""",
    hints=(
        "Change one token of `target_in` and look at which logits change. Which is the earliest?",
        "Print the triangle for length 4. May row 0 see column 1?",
        "`tril(diagonal=1)` keeps one diagonal above the main one: the very word to be said.",
    ),
    stub="""\
def logits_for(model, source, target_in):
    length = target_in.shape[1]
    past = torch.ones(length, length, dtype=torch.bool).tril(diagonal=1)
    mask = past & (target_in != 0)[:, None, :]  # 0 is padding
    memory_mask = (source != 0)[:, None, :]
    x = model.decoder(model.embed(target_in), model.encode(source),
                      mask=mask, memory_mask=memory_mask)
    return model.embedding.logits(x)""",
    reference=_logits(),
    cases=_leak_cases,
    returns=("logits",),
    tolerance=1e-7,
    wrong={
        "still one word too far": (
            _logits(diagonal=1),
            "The word at the next position still comes through. Change `target_in[:, 3]` and see whether the logits at position 2 change.",
        ),
        "one word too few": (
            _logits(diagonal=-1),
            "Now a position cannot see its own input, and the first one sees nothing. `target_in` is already shifted by one: what may be read?",
        ),
        "triangle upside down": (
            _logits(mask=lambda square: square.triu()),
            "Each position now sees itself and everything after it. Print the mask for length 4, with rows as queries.",
        ),
        "no triangle": (
            _logits(mask=lambda square: square),
            "Without the triangle every position sees the whole target: a larger leak than before.",
        ),
        "padding of the source forgotten": (
            _logits(source_padding=False),
            "The future is closed, but padding of the source is now read. Which mask did you change?",
        ),
        "padding of the target forgotten": (
            _logits(target_padding=False),
            "The future is closed, but padded positions of the target are now read by those after them.",
        ),
        "True taken for hidden": (
            _logits(mask=lambda square: square.triu(diagonal=1)),
            "Each position now sees only what comes after it. In this course True means *may attend*: print the mask for length 4.",
        ),
        "only itself": (
            _logits(mask=lambda square: square.tril().triu()),
            "Each position sees its own word and none before. Print the mask for length 4.",
        ),
        "either is enough": (
            _one_of_two,
            "Your mask opens a pair when *one* of the two conditions holds, so every real token may be read. How many must hold?",
        ),
    },
    alternatives={
        "the model itself": lambda model, source, target_in: model(source, target_in),
        "one prefix at a time": _one_prefix_at_a_time,
        "upper triangle, turned round": _logits(mask=lambda square: ~square.triu(diagonal=1)),
    },
    success="The triangle ends at the diagonal: no position reads the word that it must say.",
    solution=r"""
`tril(diagonal=1)` leaves the diagonal above the main one open. Since `target_in` is shifted by one, that is exactly the word to be
said: in training the decoder copies it; when the model translates, it is not there. The main diagonal is the last one that may stay.

```python
def logits_for(model, source, target_in):
    length = target_in.shape[1]
    past = torch.ones(length, length, dtype=torch.bool).tril()
    mask = past & (target_in != 0)[:, None, :]
    memory_mask = (source != 0)[:, None, :]
    x = model.decoder(model.embed(target_in), model.encode(source), mask=mask, memory_mask=memory_mask)
    return model.embedding.logits(x)


check(...)
```
""",
)

LENGTH, LAYERS = 6, 3
PAST = np.triu(np.ones((LENGTH, LENGTH), dtype=bool))
REACHED = PAST & ~np.triu(PAST, k=LAYERS + 1)  # each layer carries a word one place on


def _square(answer):
    array = np.asarray(answer)
    return array.astype(bool) if array.shape == (LENGTH, LENGTH) else None


def _is(pattern):
    return lambda answer: _square(answer) is not None and bool((_square(answer) == pattern).all())


def _band(reach):
    """Each token reaches this many positions on."""
    return PAST & ~np.triu(PAST, k=reach + 1)


def _accept_changed(answer):
    square = _square(answer)
    if square is None:
        return f"the answer is a square of {LENGTH} × {LENGTH} entries; yours has shape {np.asarray(answer).shape}."
    wrong = np.argwhere(square != REACHED)
    if not len(wrong):
        return None
    p, t = (int(n) for n in wrong[0])
    said = "changes" if square[p, t] else "does not change"
    return (
        f"you found that a change of token {p} {said} the logits at position {t}. Repeat that one measurement by "
        f"hand: does the decoder get the narrow mask, does it run in eval mode, is one token really exchanged for "
        "another, and are the logits compared with a small tolerance?"
    )


WHO_CHANGES_WHAT = Exercise(
    id="9.8",
    title="Who can change what",
    kind="explore",
    minutes=10,
    difficulty=2,
    statement="""\
Take this page's untrained `model` with its three decoder layers, a source without padding and a `target_in` (1, 6). Let \
each decoder position read only itself and the *one* position before it. Exchange the token at each position p in turn. Fill a \
boolean square `changed` (6, 6): `changed[p, t]` says whether the logits at position t moved. How far does a word get?""",
    hints=(
        "Word 0 changes what the first layer says at positions 0 and 1. At which positions does the second layer read it?",
        "The mask is `torch.ones(6, 6).bool().tril().triu(-1)`; `model.decoder(model.embed(target_in), model.encode(source), mask=mask)` gives the vectors before the logits. Dropout must be off.",
        "`other = target_in.clone(); other[0, p] = new_id`; then `changed[p] = ((after - before).abs().amax(-1)[0] > 1e-9)` in float64.",
    ),
    stub="changed = ...",
    reference=REACHED,
    accepts=_accept_changed,
    wrong={
        "mask of the whole past": (
            PAST,
            "According to your square a word reaches everything after it: that is the causal mask. Print the mask that the decoder got.",
            _is(PAST),
        ),
        "one layer": (
            PAST & ~np.triu(PAST, k=2),
            "According to your square a word gets one position further. That is what one layer does; how many are there?",
            _is(PAST & ~np.triu(PAST, k=2)),
        ),
        "rows and columns swapped": (
            REACHED.T,
            "According to your square a late token changes early logits. Is the first axis the position you changed, and the second the position you looked at?",
            lambda answer: any(_is(_band(reach).T)(answer) for reach in range(1, LENGTH)),
        ),
        "everything changes": (
            np.ones((LENGTH, LENGTH), dtype=bool),
            "Everything changes everything, even the past. Did the decoder get a mask at all? If so, run the same input twice: is dropout on?",
            _is(np.ones((LENGTH, LENGTH), dtype=bool)),
        ),
        "nothing changes": (
            np.zeros((LENGTH, LENGTH), dtype=bool),
            "Nothing changes at all. Is a token really exchanged for another one, or is the copy never used?",
            _is(np.zeros((LENGTH, LENGTH), dtype=bool)),
        ),
        "own place left out": (
            np.triu(REACHED, k=1),
            "A token does not move the logits at its own position in your square. `target_in` is shifted: may position p read its own token?",
            _is(np.triu(REACHED, k=1)),
        ),
        "only its own place": (
            np.eye(LENGTH, dtype=bool),
            "Only the diagonal moves. Did you compare all positions of the target, or only the one you changed?",
            _is(np.eye(LENGTH, dtype=bool)),
        ),
        "one place short": (
            _band(LAYERS - 1),
            "Your words get one position less far. Count the layers: the first of them carries a word on, too.",
            _is(_band(LAYERS - 1)),
        ),
        "one place too far": (
            _band(LAYERS + 1),
            "Your words get one position too far. How far does one layer carry, and how many layers are there?",
            _is(_band(LAYERS + 1)),
        ),
        "own place left out, one short": (
            np.triu(_band(LAYERS - 1), k=1),
            "A token does not move the logits at its own position in your square, nor those furthest away. `target_in` is shifted: may position p read its own token?",
            lambda answer: any(_is(np.triu(_band(reach), k=1))(answer) for reach in range(1, LENGTH) if reach != LAYERS),
        ),
        "reach in both directions": (
            REACHED | REACHED.T,
            "According to your square a token moves logits before it as well as after it. Which positions may a decoder read?",
            lambda answer: any(_is(_band(reach) | _band(reach).T)(answer) for reach in range(1, LENGTH)),
        ),
    },
    alternatives={"zeros and ones": REACHED.astype(int), "lists": REACHED.tolist()},
    success="Each layer carries a word one position further: three layers, three positions.",
    solution=r"""
Dropout must be off, or two runs on the same input already differ. Then one token at a time is exchanged and the logits are compared
position by position. Each layer hands a word on to the next position only, so three layers carry it three positions: a band, not a triangle.

```python
torch.manual_seed(0)
config = TransformerConfig(vocab_size=23, d_model=20, num_heads=4, d_ff=48, num_encoder_layers=2, num_decoder_layers=3)
model = Transformer(config).double().eval()
source, target_in = torch.tensor([[5, 9, 7, 4]]), torch.tensor([[1, 8, 12, 6, 20, 15]])
narrow = torch.ones(6, 6, dtype=torch.bool).tril().triu(-1)


def logits(target_in):
    states = model.decoder(model.embed(target_in), model.encode(source), mask=narrow)
    return model.embedding.logits(states)


changed = torch.zeros(6, 6, dtype=torch.bool)
with torch.no_grad():
    for p in range(6):
        other = target_in.clone()
        other[0, p] = 3
        changed[p] = (logits(other) - logits(target_in)).abs().amax(dim=-1)[0] > 1e-9
print(changed.int())
check(...)
```
""",
)

EXERCISES = (ONE_WORD_TOO_FAR, WHO_CHANGES_WHAT)
