"""Chapter 09, exercises on the shifted target and on shapes."""

import numpy as np

from xformer_course.exercises import comparison
from xformer_course.exercises.exercise import Exercise, case


def _table(rows, pad_id, *, left=False):
    """Rows of different lengths in one array, filled up with padding."""
    width = max(len(row) for row in rows)
    fill = [[pad_id] * (width - len(row)) for row in rows]
    return np.array([f + r if left else r + f for r, f in zip(map(list, rows), fill, strict=True)])


def _shifted(first, second, **options):
    """A function from sentences to a pair of tables, given how a row of each is made."""

    def shift_target(sentences, pad_id, bos_id, eos_id):
        return (
            _table([first(list(s), bos_id, eos_id) for s in sentences], pad_id, **options),
            _table([second(list(s), bos_id, eos_id) for s in sentences], pad_id, **options),
        )

    return shift_target


def _with_bos(ids, bos, eos):
    return [bos, *ids]


def _with_eos(ids, bos, eos):
    return [*ids, eos]


def _with_both(ids, bos, eos):
    return [bos, *ids, eos]


_shift = _shifted(_with_bos, _with_eos)


def _eos_after_padding(sentences, pad_id, bos_id, eos_id):
    plain = _table(sentences, pad_id)
    return (np.insert(plain, 0, bos_id, axis=1), np.insert(plain, plain.shape[1], eos_id, axis=1))


def _by_slicing(sentences, pad_id, bos_id, eos_id):
    whole = _table([[bos_id, *s, eos_id] for s in sentences], pad_id)
    target_in = whole[:, :-1].copy()
    target_in[target_in == eos_id] = pad_id
    return target_in, whole[:, 1:]


def _slicing_keeps_eos(sentences, pad_id, bos_id, eos_id):
    whole = _table([[bos_id, *s, eos_id] for s in sentences], pad_id)
    return whole[:, :-1], whole[:, 1:]


def _slicing_twice(sentences, pad_id, bos_id, eos_id):
    whole = _table([[bos_id, *s, eos_id] for s in sentences], pad_id)
    return whole[:, :-1], whole[:, :-1]


def _padding_for_eos(sentences, pad_id, bos_id, eos_id):
    return _table([[bos_id, *s] for s in sentences], pad_id), _table([[*s, pad_id] for s in sentences], pad_id)


def _by_filling(sentences, pad_id, bos_id, eos_id):
    shape = (len(sentences), 1 + max(map(len, sentences)))
    target_in, target_out = np.full(shape, pad_id), np.full(shape, pad_id)
    target_in[:, 0] = bos_id
    for row, ids in enumerate(sentences):
        target_in[row, 1 : len(ids) + 1] = ids
        target_out[row, : len(ids) + 1] = [*ids, eos_id]
    return [target_in, target_out.tolist()]


def _shift_cases(rng):
    def sentences(*lengths):
        return [rng.integers(10, 90, size=length).tolist() for length in lengths]

    return [
        case([[12, 15], [11, 18, 13]], 0, 1, 2),
        case(sentences(5), 0, 1, 2),
        case(sentences(2, 7, 4), 3, 5, 4),
        case([[0, 12], [14, 0, 11, 0]], 3, 5, 4, note="a word whose id is 0, which is not the padding"),
        case(sentences(6, 1, 3, 2, 5), 0, 1, 2),
    ]


def _whole_numbers(expected, got):
    """As usual, and whole numbers must be integers: a table is not looked up by 12.0."""
    found = comparison.returned(expected, got, SHIFT_TARGET.returns, SHIFT_TARGET.tolerance)
    if found is None:
        for name, want, have in zip(SHIFT_TARGET.returns, expected, got, strict=True):
            (wanted, _), (given, dtype) = comparison.as_array(want), comparison.as_array(have)
            if wanted.dtype.kind in "iu" and given.dtype.kind not in "iu":
                return f"{name}: expected integers, got dtype {dtype}"
    return found


SHIFT_TARGET = Exercise(
    id="9.4",
    title="Shift the target",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `shift_target(sentences, pad_id, bos_id, eos_id)`. `sentences` is a list of targets, each a list of ids without \
the special ones. Return two integer arrays (b, t): `target_in`, what the decoder reads, and `target_out`, what it must say at \
the same position. It reads `bos_id` first, and says `eos_id` last. Fill short rows with `pad_id` at the end.""",
    hints=(
        "Before the first word is known, what does the decoder read, and what must it say?",
        "Write the two rows for a sentence of two words, one under the other. Both have three entries.",
        "A row of `target_in` is bos and the words; a row of `target_out` is the words and eos. Fill up afterwards.",
    ),
    stub="def shift_target(sentences, pad_id, bos_id, eos_id):\n    return ...",
    reference=_shift,
    cases=_shift_cases,
    returns=("target_in", "target_out"),
    compare=_whole_numbers,
    wrong={
        "no shift": (
            _shifted(_with_both, _with_both),
            "Both arrays are the same: at every position the decoder already reads the word that it must say. What would it learn?",
        ),
        "no shift, no bos": (
            _shifted(_with_eos, _with_eos),
            "Both arrays are the same: at every position the decoder already reads the word that it must say. What would it learn?",
        ),
        "shifted the wrong way": (
            _shifted(_with_eos, _with_bos),
            "Your decoder reads a word first and must then say the one before it. Which of the two arrays should run ahead, and in which order do you return them?",
        ),
        "eos in the input": (
            _slicing_keeps_eos,
            "In short rows `target_in` still holds eos: cutting off the last column removed padding there. What does the decoder never need to read?",
        ),
        "eos after the padding": (
            _eos_after_padding,
            "In short rows your eos comes after the padding. It should follow the last word: when do you fill up?",
        ),
        "padding in front": (
            _shifted(_with_bos, _with_eos, left=True),
            "Your short rows begin with padding. The book fills up at the end.",
        ),
        "no eos": (
            _shifted(_with_bos, lambda ids, bos, eos: ids + []),
            "Nothing tells the decoder to stop, and the two arrays differ in length. What must it say after the last word?",
        ),
        "floats": (
            lambda *given: tuple(part.astype(float) for part in _shift(*given)),
            "The right numbers, as floats. They are row numbers of the embedding: look at `dtype`.",
        ),
        "0 taken for padding": (
            lambda sentences, pad_id, bos_id, eos_id: tuple(
                np.where(part == 0, pad_id, part) for part in _shift(sentences, 0, bos_id, eos_id)
            ),
            "Some words became padding: those whose id is 0. Which positions are filled up does not follow from the ids.",
        ),
        "eos at both": (
            _shifted(lambda ids, bos, eos: [eos, *ids], _with_eos),
            "Your input begins with eos. Which special id says that a sentence begins?",
        ),
        "no shift, no eos": (
            _shifted(_with_bos, _with_bos),
            "Both arrays are the same: at every position the decoder already reads the word that it must say. What would it learn?",
        ),
        "no shift, a column cut": (
            _slicing_twice,
            "Both arrays are the same: at every position the decoder already reads the word that it must say. Which column should each one lose?",
        ),
        "padding in place of eos": (
            _padding_for_eos,
            "After the last word your `target_out` has padding, so nothing tells the decoder to stop. What must it say there?",
        ),
        "input not shortened": (
            _shifted(_with_both, _with_eos),
            "Your `target_in` holds eos and is one position longer than `target_out`. What does the decoder never need to read?",
        ),
        "bos to be said": (_shifted(_with_bos, _with_both), "Your `target_out` begins with bos. Does the decoder have to say it?"),
        "plain words read": (
            _shifted(lambda ids, bos, eos: ids, _with_eos),
            "Your input begins with the first word. What does the decoder read before it has said any?",
        ),
    },
    alternatives={"slicing one table": _by_slicing, "filling arrays": _by_filling},
    success="At every position the decoder has read all words before the one it must say.",
    solution=r"""
At the first position nothing has been said, so the decoder reads bos and must say the first word; at the last it reads the last word and
must say eos. Both arrays begin as padding, and each row is written over it with its special id, so eos comes directly after the
last word.

```python
def shift_target(sentences, pad_id, bos_id, eos_id):
    length = 1 + max(len(ids) for ids in sentences)
    target_in = torch.full((len(sentences), length), pad_id)
    target_out = torch.full((len(sentences), length), pad_id)
    for row, ids in enumerate(sentences):
        target_in[row, : len(ids) + 1] = torch.tensor([bos_id, *ids])
        target_out[row, : len(ids) + 1] = torch.tensor([*ids, eos_id])
    return target_in, target_out


check(...)
```

```python
target_in, target_out = shift_target([[12, 15], [11, 18, 13]], pad_id=0, bos_id=1, eos_id=2)
print("reads", target_in.tolist())
print("says ", target_out.tolist())
```
""",
)


def _any_shape(answer, test):
    return any(test(key, tuple(int(size) for size in shape)) for key, shape in answer.items())


SHAPES_OF_A_PAIR = Exercise(
    id="9.5",
    title="Every shape of one pair",
    kind="predict",
    minutes=5,
    difficulty=2,
    statement="""\
A batch has 2 pairs. `source` is (2, 7), `<eos>` included. The targets have 5 words each, so `target_in`, with `<bos>`, is (2, 6). The model \
has d_model = 12, 3 heads and a vocabulary of 23. Write down four shapes: the memory; the weights of one self-attention in the \
decoder; the weights of one cross-attention; the logits.""",
    hints=(
        "Which of the four shapes depend on the source, which on the target, which on both?",
        "Weights have the axes batch, head, query, key. Who asks in cross-attention, and who answers?",
        "Memory keeps a vector for each source token. Cross-attention: 6 queries from the target, 7 keys from the source.",
    ),
    stub='answer = {"memory": ..., "self": ..., "cross": ..., "logits": ...}',
    reference={"memory": (2, 7, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 7), "logits": (2, 6, 23)},
    wrong={
        "memory as one vector": (
            {"memory": (2, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 7), "logits": (2, 6, 23)},
            "The encoder does not fold a sentence into one vector. What would cross-attention have to choose from?",
            lambda answer: tuple(answer["memory"]) in {(2, 12), (2, 1, 12)},
        ),
        "source asks": (
            {"memory": (2, 7, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 7, 6), "logits": (2, 6, 23)},
            "Your cross-attention has a row for each source token. Who is being written, and therefore asks?",
        ),
        "target asks itself": (
            {"memory": (2, 7, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 6), "logits": (2, 6, 23)},
            "Your cross-attention has a column for each target token. Whose tokens does it read?",
        ),
        "heads merged": (
            {"memory": (2, 7, 12), "self": (2, 6, 6), "cross": (2, 6, 7), "logits": (2, 6, 23)},
            "Each head has weights of its own. Which axis is missing?",
        ),
        "logits for the source": (
            {"memory": (2, 7, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 7), "logits": (2, 7, 23)},
            "The logits have a row for each word to be said. How many are those?",
        ),
        "logits as wide as the model": (
            {"memory": (2, 7, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 7), "logits": (2, 6, 12)},
            "Those are the decoder's vectors. A logit is a score for each token of the vocabulary.",
        ),
        "one word at a time": (
            {"memory": (2, 7, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 7), "logits": (2, 23)},
            "That is one step of translating. In training all positions of `target_in` are answered at once.",
        ),
        "five words, five places": (
            {"memory": (2, 7, 12), "self": (2, 3, 5, 5), "cross": (2, 3, 5, 7), "logits": (2, 5, 23)},
            "Each target has five words. What else must be said, and how long is `target_in`?",
            lambda answer: _any_shape(answer, lambda key, shape: 5 in shape),
        ),
        "memory cut into heads": (
            {"memory": (2, 3, 7, 4), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 7), "logits": (2, 6, 23)},
            "Your memory has an axis of heads. Who turns it into keys: the encoder, or each cross-attention for itself?",
            lambda answer: len(answer["memory"]) == 4,
        ),
        "memory of the target": (
            {"memory": (2, 6, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 7), "logits": (2, 6, 23)},
            "Your memory has a vector for each target token. Which sentence does the encoder read?",
            lambda answer: len(answer["memory"]) == 3 and answer["memory"][1] == 6,
        ),
        "source reads itself": (
            {"memory": (2, 7, 12), "self": (2, 3, 7, 7), "cross": (2, 3, 6, 7), "logits": (2, 6, 23)},
            "Those are weights of the encoder's self-attention. Whose tokens ask in the decoder's?",
        ),
        "outputs for weights": (
            {"memory": (2, 7, 12), "self": (2, 6, 12), "cross": (2, 6, 12), "logits": (2, 6, 23)},
            "That is the output of attention, a vector for each query. A weight belongs to a query and a key.",
            lambda answer: any(answer[key][-1] in (4, 12) for key in ("self", "cross")),
        ),
        "batch left out": (
            {"memory": (7, 12), "self": (3, 6, 6), "cross": (3, 6, 7), "logits": (6, 23)},
            "Those are the shapes for a single pair. How many sentences are in the batch?",
            lambda answer: _any_shape(answer, lambda key, shape: shape == SHAPES_OF_A_PAIR.reference[key][1:]),
        ),
        "axes in another order": (
            {"memory": (2, 12, 7), "self": (2, 6, 6, 3), "cross": (2, 6, 7, 3), "logits": (2, 6, 23)},
            "The right sizes, in the wrong order. Weights have the axes batch, head, query, key; vectors lie along the last axis.",
            lambda answer: _any_shape(
                answer,
                lambda key, shape: shape != SHAPES_OF_A_PAIR.reference[key] and sorted(shape) == sorted(SHAPES_OF_A_PAIR.reference[key]),
            ),
        ),
    },
    alternatives={"lists": {"memory": [2, 7, 12], "self": [2, 3, 6, 6], "cross": [2, 3, 6, 7], "logits": [2, 6, 23]}},
    success="The source enters the decoder only through the key axis of cross-attention.",
    solution=r"""
The memory holds a vector for each source token. Weights have the axes batch, head, query, key: in the decoder's self-attention the
target attends to itself, in cross-attention to the source. The logits hold a number for each token of the vocabulary, at each position of
the target.

```python
answer = {"memory": (2, 7, 12), "self": (2, 3, 6, 6), "cross": (2, 3, 6, 7), "logits": (2, 6, 23)}
check(...)
```

A model of these sizes agrees.

```python
from xformer_lib.inspection import record_attention

config = TransformerConfig(vocab_size=23, d_model=12, num_heads=3, d_ff=17, num_encoder_layers=1, num_decoder_layers=1)
model = Transformer(config).eval()
source, target_in = torch.full((2, 7), 5), torch.full((2, 6), 5)
with record_attention(model) as weights:
    logits = model(source, target_in)
found = {"memory": model.encode(source), "self": weights["decoder.layers.0.self_attention"],
         "cross": weights["decoder.layers.0.cross_attention"], "logits": logits}
assert {name: tuple(tensor.shape) for name, tensor in found.items()} == answer
print({name: tuple(tensor.shape) for name, tensor in found.items()})
```
""",
)

EXERCISES = (SHIFT_TARGET, SHAPES_OF_A_PAIR)
