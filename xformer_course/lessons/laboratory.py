"""The laboratory: the Transformer of page 9b in NumPy, trained with some of its parts taken away; page 9c shows it.

The page in the browser asks `answer`, one JSON text after another, and so runs the code of page 9b as its reader has left it.
"""

import contextlib
import io
import json
import re
import time
import traceback
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from xformer_course.lessons.laboratory_parts import (
    GradientDescent,
    Grouped,
    Learned,
    Nothing,
    Recurrent,
    Rewired,
    Rotary,
    SwiGLU,
    Untied,
    become,
    size_of,
    smoothed,
)
from xformer_lib.data.fragment import fragment_split, split_words
from xformer_lib.reference import transformer

__all__ = ["Backwards", "Fragment", "Parts", "Run", "Sorting", "causes", "check_gradients", "views"]

PAD, BOS, EOS = transformer.PAD, transformer.BOS, transformer.EOS
PRINTED = 2_000  # characters of what the reader's code prints, the last ones
LEARNED = 0.5  # spread of learned positions at the start
ASKED = 100  # held-out rows that are written after every so many steps


KINDS = {
    "norm": ("pre", "post", "none"),
    "encoding": ("sinusoidal", "learned", "rotary"),
    "feed_forward": ("relu", "swiglu"),
    "descent": ("adam", "plain"),
    "model": ("transformer", "recurrent"),
}
# What has no effect on a recurrent model, whose size is that of a Transformer with the same width and layers.
NOT_RECURRENT = "positions causal_mask padding_mask scale residuals norm heads encoding feed_forward readers tied".split()


def _one_of(kinds):
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"


@dataclass(frozen=True)
class Parts:
    """What the model has, and how it is trained."""

    positions: bool = True
    causal_mask: bool = True  # in the decoder: no place reads a later one
    padding_mask: bool = True  # over the source
    scale: bool = True  # scores over √d
    residuals: bool = True
    norm: str = "pre"  # or "post", after the sum as in the paper, or "none"
    heads: int = 4
    width: int = 16
    layers: int = 1  # in each stack
    rate: float = 0.02  # the largest
    warm_up: bool = True  # over the first tenth of the steps
    steps: int = 800
    encoding: str = "sinusoidal"  # of the positions, or "learned", or "rotary" (in all attentions)
    feed_forward: str = "relu"  # or "swiglu"
    descent: str = "adam"  # or "plain", which wants a rate of about 0.5
    smoothing: float = 0.0  # of the labels
    readers: int = 1  # query heads that share a head of keys and values
    tied: bool = True  # one matrix for the source, the target and the logits
    model: str = "transformer"  # or "recurrent": two GRUs and one state between them

    def __post_init__(self):
        for name, kinds in KINDS.items():
            if getattr(self, name) not in kinds:
                raise ValueError(f"{name}: expected {_one_of(kinds)}, got {getattr(self, name)!r}; choose one of these")
        if self.width % self.heads:
            raise ValueError(f"heads: expected a number that divides the width of {self.width}, got {self.heads}; take 1, 2 or 4")
        if self.heads % self.readers:
            raise ValueError(f"readers: expected a number that divides the {self.heads} heads, got {self.readers}; take more heads, or 1")
        if self.positions and self.encoding == "rotary" and self.width // self.heads % 2:
            raise ValueError(
                f"encoding: expected heads of an even width for rotary, got {self.width // self.heads}; take fewer heads, or more width"
            )


class Unreadable(ValueError):
    """A text that the model cannot read; ``told`` says it to the one who typed it."""

    def __init__(self, message: str, told: str):
        super().__init__(message)
        self.told = told


class Task:
    """Pairs to learn from, others held out, and what a reader may ask for."""

    name: str
    settings: Parts  # with which it is learned in seconds
    example: str
    every: int  # steps between two tests on held-out rows
    vocabulary: tuple[str, ...] = ()  # the words that a reader's text may have, where it is made of words

    def __init__(self, pairs: list[tuple[list[int], list[int]]], names: list[str]):
        self.names = names  # of the ids
        longest = max(len(row) for pair in pairs for row in pair)
        self.sources, self.targets = (np.array([row + [PAD] * (longest - len(row)) for row in side]) for side in zip(*pairs))
        self.held_out, self.known = slice(0, ASKED), slice(500, None)

    def read(self, text: str) -> list[int]:
        """Return the ids of a text, with the end; `Unreadable` says what cannot be read."""
        raise NotImplementedError

    def spell(self, ids: list[int]) -> str:
        """Return the text that ids mean."""
        raise NotImplementedError

    def answer(self, ids: list[int]) -> list[int] | None:
        """Return the right answer to what `read` gave, with the end, if it is known."""
        raise NotImplementedError


class Backwards(Task):
    """Chapter 9's task: words of three to eight random letters, written backwards."""

    name = "backwards"
    settings = Parts()
    example = "engineer"
    every = 40
    letters = "abcdefghijklmnopqrstuvwxyz"

    def __init__(self):
        rng = np.random.default_rng(0)
        words = dict.fromkeys("".join(rng.choice(list(self.letters), rng.integers(3, 9))) for _ in range(10_500))
        pairs = [(ids, self.answer(ids)) for ids in map(self.ids, words)]
        super().__init__(pairs, ["<pad>", "<bos>", "<eos>", *self.letters])

    def ids(self, word):
        return [*(self.letters.index(letter) + 3 for letter in word), EOS]

    def read(self, text):
        word = text.strip().lower()
        if not 1 <= len(word) <= 8 or set(word) - set(self.letters):
            raise Unreadable(
                f"word: expected one to eight letters from a to z, got {text!r}; try {self.example}",
                "It reads one to eight letters from a to z, without accents and spaces.",
            )
        return self.ids(word)

    def spell(self, ids):
        return "".join(self.names[i] for i in ids)

    def answer(self, ids):
        return [*ids[-2::-1], EOS]


class Sorting(Backwards):
    """The same words with their letters in the order of the alphabet: for this a bag of letters is enough."""

    name = "sorting"

    def answer(self, ids):
        return [*sorted(ids[:-1]), EOS]


class Fragment(Task):
    """English to French sentences of the course's small grammar, a word a token."""

    name = "fragment"
    settings = Parts(width=24, rate=0.02, steps=1200)
    example = "The big yellow cat"
    every = 100

    def __init__(self):
        examples = [*fragment_split("val"), *fragment_split("train")]
        texts = [(self.words(one.source), self.words(one.target)) for one in examples]
        found = sorted({word for pair in texts for words in pair for word in words})
        self.place = {word: number for number, word in enumerate(found, start=3)}
        self.vocabulary = tuple(sorted({word for source, _ in texts for word in source}, key=str.lower))
        pairs = [(self.ids(source), self.ids(target)) for source, target in texts]
        super().__init__(pairs, ["<pad>", "<bos>", "<eos>", *found])
        self.answers = {tuple(source): target for source, target in pairs}

    def words(self, text):
        """The words of a sentence, without the capital that only its place gives."""
        first, *others = split_words(text)
        return [first if first == "I" else first[0].lower() + first[1:], *others]

    def ids(self, words):
        return [*(self.place[word] for word in words), EOS]

    def read(self, text):
        plain = re.sub(r"[^\w' ]", " ", text.replace("’", "'").replace("n't", " not"))
        words = [self.known_as(word) for word in self.words(plain)] if split_words(plain) else []
        unknown = [word for word in words if word not in self.vocabulary]
        if unknown or not 1 <= len(words) <= 10:
            what = f"{unknown[0]!r}, which this small grammar does not have" if unknown else f"{len(words)} words"
            told = f"It has never seen the word “{unknown[0]}”." if unknown else "It reads sentences of one to ten words."
            raise Unreadable(f"sentence: expected one to ten words of the grammar, got {what}; try {self.example}", told)
        return self.ids(words)

    def known_as(self, word):
        """The word in small letters or with a capital, if it is known only so."""
        return next((way for way in (word, word.lower(), word.capitalize()) if way in self.vocabulary), word)

    def spell(self, ids):
        text = " ".join(self.names[i] for i in ids).replace("' ", "'")
        return text[:1].upper() + text[1:]

    def answer(self, ids):
        return self.answers.get(tuple(ids))


TASKS = {task.name: cache(task) for task in (Backwards, Fragment, Sorting)}


def names_of(cells: list[str] | None) -> dict[str, Any]:
    """What the code of page 9b defines: the library's, or that of cells as somebody has changed them."""
    if cells is None:
        return dict(vars(transformer))
    names: dict[str, Any] = {}
    for number, source in enumerate(cells):
        defined = re.search(r"^(?:class|def) (\w+)", source, re.MULTILINE)
        exec(compile(source, f"the cell of {defined[1]}" if defined else f"cell {number + 1}", "exec"), names)
    return names


class Run:
    """A model in training: `train` goes some steps, `state` tells what has come of it.

    Args:
        task: a name of `TASKS`.
        parts: what the model has and how it is trained; by default as the task needs it.
        seed: of the first weights and of the batches.
        cells: the code of page 9b, if it is not to be the library's.

    >>> run = Run("backwards", Parts(steps=2))
    >>> run.train()
    >>> run.state()["step"]
    2
    """

    def __init__(self, task: str = "backwards", parts: Parts | None = None, *, seed: int = 0, cells: list[str] | None = None):
        if task not in TASKS:
            raise ValueError(f"task: expected one of {', '.join(TASKS)}, got {task!r}; choose one of these")
        self.task: Task = TASKS[task]()
        self.parts = parts or self.task.settings
        self.seed, self.cells = seed, cells
        self.code = names_of(cells)
        if self.parts.smoothing:
            self.code["cross_entropy"] = smoothed(self.code["cross_entropy"], self.parts.smoothing)
        self.rng = np.random.default_rng(seed)
        self.model = build(self.code, len(self.task.names), self.parts, self.rng)
        kind = self.code["Adam"] if self.parts.descent == "adam" else GradientDescent
        self.descent = kind(self.model.parameters())
        self.step = 0
        self.diverged = False  # a loss that is no finite number ends the training
        self.losses: list[float] = []
        self.right: list[tuple[int, float]] = []

    def train(self, seconds: float = float("inf")) -> None:
        """Train to the end, or for as long as that."""
        end = time.perf_counter() + seconds
        while self.step < self.parts.steps and not self.diverged and time.perf_counter() < end:
            self._one_step()
            if self.diverged:
                return
            if self.step % self.task.every == 0 or self.step == self.parts.steps:
                self.right.append((self.step, self.share_right()))

    def draw_batch(self, size: int = 32) -> tuple[np.ndarray, np.ndarray]:
        """Return the next sources and targets to learn from, padded."""
        rows = self.rng.integers(self.task.known.start, len(self.task.sources), size=size)
        return shortened(self.task.sources[rows]), shortened(self.task.targets[rows])

    def _one_step(self):
        steps = self.parts.steps
        source, target = self.draw_batch()
        loss, d_logits = self.code["cross_entropy"](self.model.forward(source, self.reads(target)), target)
        self.model.backward(d_logits)
        rising = (self.step + 1) / (0.1 * steps) if self.parts.warm_up else 1
        self.descent.step(self.parts.rate * min(1, rising, (steps - self.step) / (0.6 * steps)))
        self.step += 1
        self.diverged = not np.isfinite(loss)
        if not self.diverged:
            self.losses.append(float(loss))

    def reads(self, target):
        """Return what the decoder reads while it learns to write the target (b t)."""
        return shifted(target)

    def share_right(self) -> float:
        """Return the share of held-out rows that are written without a mistake."""
        return float(np.mean([row == target for row, target in self.held_out_rows()]))

    def held_out_rows(self) -> list[tuple[list[int], list[int]]]:
        """Return what the model makes of each held-out row, and what is right, both without the end."""
        sources, targets = self.task.sources[self.task.held_out], self.task.targets[self.task.held_out]
        written = self.code["greedy"](self.model, shortened(sources), targets.shape[1])
        return [(ended(row), ended(target)) for row, target in zip(written.tolist(), targets.tolist())]

    def write(self, text: str) -> dict:
        """Return what the model makes of a text: what was read and written, and where each head looked, in hundredths.

        ``cross`` is the decoder's look at the source while it writes, ``self`` its look at the right answer while it learns (or, where
        the answer is not known, at what it has written).
        """
        return self.look(self.task.read(text))

    def look(self, ids: list[int]) -> dict:
        """Return the same of ids that were read already; a recurrent model has no attention, and so no ``looks``."""
        model, source = self.model, np.array([ids])
        written = self.code["greedy"](model, source, self.task.targets.shape[1])[0].tolist()
        out = ended(written)
        text = self.task.spell([i for i in out if i > EOS])
        if self.parts.model == "recurrent":
            return {"text": text, "looks": None}
        rows = written[: len(out) + 1]
        cross = self._seen("cross_attention", rows, ids)
        answer = self.task.answer(ids) or rows
        model.forward(source, np.array([[BOS, *answer[:-1]]]))
        return {"text": text, "looks": {"cross": cross, "self": self._seen("self_attention", answer, [BOS, *answer[:-1]])}}

    def _seen(self, attention, rows, columns):
        weights = getattr(self.model.decoder[0], attention).f.weights[0][:, : len(rows)]
        names = self.task.names
        return {
            "rows": [names[i] for i in rows],
            "columns": [names[i] for i in columns],
            "heads": np.round(100 * np.nan_to_num(weights)).astype(int).tolist(),
        }

    def state(self) -> dict:
        """Return step, steps, losses, shares of held-out rows that came out right, and whether the loss has diverged."""
        return {"step": self.step, "steps": self.parts.steps, "losses": self.losses, "right": self.right, "diverged": self.diverged}


def views(run: Run) -> dict[str, Any]:
    """Return what shows why a run learns or does not: a forward and a backward pass of its model over one batch, which teaches nothing.

    ``likeness`` is the mean cosine of two rows of a source's memory, ``top`` the largest weight of a query, in the mean, of each attention
    in the model's order, ``encoder`` the norm of the loss's gradient in each encoder layer, ``queries_keys`` that
    in all W_Q and W_K, ``stream`` the root mean square of what each layer of the encoder returns, last that of the memory.
    """
    task, model = run.task, run.model
    rows = np.random.default_rng(0).integers(task.known.start, len(task.sources), size=32)
    source, target = shortened(task.sources[rows]), shortened(task.targets[rows])
    x, stream = model.embed(source), []
    for layer in model.encoder:
        x = layer.forward(x, model.source_mask(source))
        stream.append(x)
    stream.append(model.encoder_norm.forward(x))
    _, d_logits = run.code["cross_entropy"](model.forward(source, run.reads(target)), target)
    model.backward(d_logits)
    attentions = attentions_of(model)
    found = {
        "likeness": float(np.mean([_likeness(memory[ids != PAD]) for memory, ids in zip(stream[-1], source)])),
        "top": [float(part.weights.max(axis=-1).mean()) for part in attentions],
        "encoder": [_size(layer.parameters()) for layer in model.encoder],
        "queries_keys": _size([weight.w for part in attentions for weight in (part.w_q, part.w_k)]),
        "stream": [float(np.sqrt(np.mean(states[source != PAD] ** 2))) for states in stream],
    }
    for parameter in model.parameters():
        parameter.grad[:] = 0
    return found


def causes(run: Run) -> list[dict[str, Any]]:
    """Return what shows why a run does as it does, one for each part that it lacks and that leaves a trace.

    Each has its ``part``, a ``title``, a sentence of the numbers as ``told``, and ``bars`` (labels with values, of this run and of its twin
    that has the part, before the first step, and of this run now) or a ``map`` of weights in hundredths. A recurrent model has one cause,
    its state, with a bar for each length.

    >>> [one["told"] for one in causes(Run("backwards"))]
    []
    """
    parts, found = run.parts, []
    if parts.model == "recurrent":
        return [] if run.diverged else [_one_state(run)]
    here = replace(parts, steps=1)  # its own beginning

    def beginning(**whole):
        return views(Run(run.task.name, replace(here, **whole), seed=run.seed, cells=run.cells))

    def bars(part, title, value, labels, told, **whole):
        twin, start = value(beginning(**whole)), value(beginning())
        rows = [(f"{labels[0]}, at the start", twin), (f"{labels[1]}, at the start", start)]
        if run.step and not run.diverged:
            rows.append((f"{labels[1]}, after {run.step} steps", value(views(run))))
        marked = [{"label": label, "values": values, "twin": not number} for number, (label, values) in enumerate(rows)]
        found.append({"part": part, "title": title, "told": told(twin, start), "bars": marked})

    if not parts.residuals:
        bars(
            "residuals",
            "How alike the rows of the memory are (mean cosine)",
            lambda seen: [seen["likeness"]],
            ("with residuals", "without"),
            _told_likeness,
            residuals=True,
        )
    if not parts.scale:
        bars(
            "scale",
            "A query's largest weight (mean over all attentions)",
            lambda seen: [float(np.mean(seen["top"]))],
            ("with the scale", "without"),
            _told_top,
            scale=True,
        )
    if parts.norm != "pre":
        bars(
            "norm",
            "The gradient in each layer of the encoder, the first at the top",
            lambda seen: seen["encoder"],
            ("norm first", {"post": "norm after the sum", "none": "no norm"}[parts.norm]),
            _told_gradients,
            norm="pre",
        )
    if run.diverged:
        return found
    if not parts.padding_mask:
        found.append(_padded_pair(run))
    if not parts.causal_mask:
        found.append(_peeking(run))
    return found


def _told_likeness(whole, bare):
    numbers = (
        f"Before the first step, two rows of the memory have a mean cosine of {bare[0]:.3f} without residuals, {whole[0]:.3f} with them"
    )
    if bare[0] > 0.99:
        return f"{numbers}: the rows are nearly one and the same, so cross-attention has nothing to choose from."
    return f"{numbers}: the positions are {'harder' if bare[0] > whole[0] else 'no harder'} to tell apart."


def _told_top(scaled, raw):
    numbers = f"Before the first step, a query's largest weight is {raw[0]:.2f} in the mean without the scale, {scaled[0]:.2f} with it"
    if raw[0] > 0.7:
        return f"{numbers}: softmax has nearly decided before anything was learned."
    return f"{numbers}: softmax is still undecided."


def _told_gradients(first, other):
    ratio = max(other) / max(first)
    numbers = (
        f"Before the first step, the largest gradient of an encoder layer is {max(other):.2g}, and {max(first):.2g} with the norm first"
    )
    if 0.5 < ratio < 2:
        return f"{numbers}: of the same size, so the size of the gradient at the start makes no difference between them."
    return f"{numbers}: {ratio:.2g} times as much."


def _one_state(run):
    """What comes through the one state of a recurrent model, by the length of a row and by the place in it."""
    rows, model = run.held_out_rows(), run.model
    by_length = {
        length: float(np.mean([row == target for row, target in rows if len(target) == length]))
        for length in sorted({len(target) for _, target in rows})
    }
    first, fifth = (
        np.mean([row[place : place + 1] == target[place : place + 1] for row, target in rows if len(target) > place]) for place in (0, 4)
    )
    return {
        "part": "model",
        "title": "The share of held-out rows that come out right, by their length",
        "told": f"All that the decoder has of the source is one state of {model.encoder.width} numbers, however long the source is. "
        f"The first token that it writes is right in {first:.0%} of the held-out rows, the fifth in {fifth:.0%}. "
        f"{size_of(model):,} numbers learn here, {model.size_of_transformer:,} in the Transformer.",
        "bars": [{"label": f"length {length}", "values": [share], "twin": False} for length, share in by_length.items()],
    }


def _padded_pair(run):
    """Where the decoder looks in the shortest held-out source, padded as in a batch."""
    task, model = run.task, run.model
    row = int((task.sources[task.held_out] != PAD).sum(axis=1).argmin())
    source, answer = task.sources[row : row + 1], ended(task.targets[row].tolist())
    rows = [*answer, EOS]
    model.forward(source, np.array([[BOS, *answer]]))
    weights = np.nan_to_num(model.decoder[0].cross_attention.f.weights[0]).mean(axis=0)
    padding = source[0] == PAD
    return {
        "part": "padding_mask",
        "title": "What it reads of a padded source, in %",
        "told": f"{weights[:, padding].sum(axis=1).mean():.0%} of what it reads in the mean is padding, "
        f"in {padding.mean():.0%} of the places.",
        "map": _map_of(task, weights, rows, source[0].tolist()),
    }


def _peeking(run):
    """Where the decoder looks in the answer while it learns to write it."""
    task, model = run.task, run.model
    ids = task.read(task.example)
    rows = task.answer(ids)
    columns = [BOS, *rows[:-1]]
    model.forward(np.array([ids]), np.array([columns]))
    weights = np.nan_to_num(model.decoder[0].self_attention.f.weights[0]).mean(axis=0)
    right = np.diagonal(weights, offset=1).mean()
    return {
        "part": "causal_mask",
        "title": "What it reads of the answer while it learns, in %",
        "told": f"{right:.0%} of a row's weight in the mean lies one place to the right of the diagonal, on the token that it is to guess; "
        f"an even look would put {1 / len(rows):.0%} there.",
        "map": _map_of(task, weights, rows, columns),
    }


def _map_of(task, weights, rows, columns):
    names = task.names
    hundredths = np.round(100 * weights).astype(int).tolist()
    return {"rows": [names[i] for i in rows], "columns": [names[i] for i in columns], "weights": hundredths}


def check_gradients(run: Run, places: int = 5) -> list[dict[str, Any]]:
    """Compare the gradients of the model's code with what nudging a number by 1e-6 does to the output, in float64.

    One row for each array of a kind of layer, what is inside first: ``name``, and at the worst of ``places`` numbers ``backward`` and
    ``nudged``, and whether they agree, as ``right``. Each layer is checked alone, so the first wrong row names the faulty ``backward``.
    """
    model, rng = run.model, np.random.default_rng(0)
    kept = [(parameter, parameter.value, parameter.grad) for parameter in model.parameters()]
    for parameter, value, grad in kept:
        parameter.value, parameter.grad = value.astype(float), grad.astype(float)
    try:
        source, target = (np.array([row.tolist() for row in rows[:4]]) for rows in (run.task.sources, run.task.targets))
        layers: dict[str, tuple[Any, tuple]] = {}  # the first of each kind, with what it was given
        _listen(model, layers)
        logits = model.forward(source, run.reads(target))
        _listen(model, None)
        found = [
            _compared(
                "cross_entropy",
                logits,
                lambda: run.code["cross_entropy"](logits, target)[0],
                run.code["cross_entropy"](logits, target)[1],
                places,
                rng,
            )
        ]
        for name, (layer, given) in layers.items():
            given = tuple(one.astype(float) if one.dtype.kind == "f" else one for one in given)
            pull = rng.normal(size=np.shape(layer.forward(*given)))
            for parameter in layer.parameters():
                parameter.grad[:] = 0
            back = layer.backward(pull)
            back = back[0] if isinstance(back, tuple) else back

            def pulled(layer=layer, given=given, pull=pull):
                return (pull * layer.forward(*given)).sum()

            arrays = [(f"{name}.{path}", parameter.value, parameter.grad) for path, parameter in _named(layer)]
            if len(given) > 2 and hasattr(layer, "d_context"):
                arrays.append((f"{name}, context", given[1], layer.d_context))
            arrays.append((f"{name}, input", given[0], back))
            found += [_compared(label, value, pulled, np.array(grad), places, rng) for label, value, grad in arrays]
        for parameter in model.parameters():
            parameter.grad[:] = 0
        loss = lambda: run.code["cross_entropy"](model.forward(source, run.reads(target)), target)  # noqa: E731
        model.backward(loss()[1])
        whole = [(f"{type(model).__name__}.{path}", parameter.value, parameter.grad.copy()) for path, parameter in _named(model)]
        found += [_compared(label, value, lambda: loss()[0], grad, places, rng) for label, value, grad in whole]
    finally:
        _listen(model, None)
        for parameter, value, grad in kept:
            parameter.value, parameter.grad = value, grad
    return found


def _inner(layer):
    """The layers directly in a layer, with their names."""
    for name, part in vars(layer).items():
        if isinstance(part, list):
            yield from ((f"{name}[{place}]", one) for place, one in enumerate(part) if hasattr(one, "parameters"))
        elif hasattr(part, "parameters"):
            yield name, part


def _named(layer):
    """The arrays that learn in a layer, with their paths."""
    for name, part in vars(layer).items():
        if hasattr(part, "grad"):
            yield name, part
    for name, part in _inner(layer):
        yield from ((f"{name}.{path}", parameter) for path, parameter in _named(part))


def _listen(layer, heard):
    """Note what the first layer of each kind is given, inner ones before outer ones, or (None) no longer."""
    for _, part in _inner(layer):
        _listen(part, heard)
        part.__dict__.pop("forward", None)
        if heard is not None:

            def forward(*given, part=part, plain=part.forward):
                out = plain(*given)
                if given[0].dtype.kind == "f":
                    heard.setdefault(type(part).__name__, (part, given))
                return out

            part.forward = forward


def _compared(name, value, loss, grad, places, rng):
    """One row of `check_gradients`: nudge some numbers of ``value``, the one with the largest gradient among them."""
    if np.shape(grad) != value.shape:
        raise ValueError(f"{name}: expected a gradient of shape {value.shape}, got {np.shape(grad)}; backward returns one number for each")
    chosen = [np.abs(grad).argmax(), *rng.integers(value.size, size=places - 1)]
    worst = (-1.0, 0.0, 0.0)
    for place in (np.unravel_index(one, value.shape) for one in chosen):
        before, sides = value[place], []
        for nudge in (1e-6, -1e-6):
            value[place] = before + nudge
            sides.append(loss())
        value[place] = before
        nudged, back = (sides[0] - sides[1]) / 2e-6, float(grad[place])
        off = abs(nudged - back) / (1e-5 + 1e-3 * max(abs(nudged), abs(back)))
        worst = max(worst, (float(off) if np.isfinite(off) else float("inf"), back, float(nudged)))
    return {"name": name, "backward": worst[1], "nudged": worst[2], "right": worst[0] < 1}


def _likeness(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    count = len(unit)
    return ((unit @ unit.T).sum() - count) / (count * count - count)


def _size(parameters):
    return float(np.sqrt(sum((parameter.grad**2).sum() for parameter in parameters)))


def ended(ids: list[int]) -> list[int]:
    """The ids before the end, or all of them."""
    return ids[: ids.index(EOS)] if EOS in ids else ids


def shortened(rows):
    """Rows without the columns in which all have padding."""
    return rows[:, : (rows != PAD).any(axis=0).sum()]


def shifted(target):
    """What the decoder reads: the beginning of each row, which ends before the end."""
    begin = np.full((len(target), 1), BOS)
    moved = np.concatenate([begin, target[:, :-1]], axis=1)
    return np.where(moved == EOS, PAD, moved)


def recurrent(code: dict[str, Any], vocab_size: int, parts: Parts, rng: np.random.Generator) -> Any:
    """Return the widest recurrent model that has no more numbers than the Transformer of the same width and layers."""
    whole = code["Transformer"](vocab_size, parts.width, parts.heads, 2 * parts.width, parts.layers, rng=np.random.default_rng(0))
    most, width = size_of(whole), 1
    while (12 * (width + 1) + 6 + vocab_size) * (width + 1) <= most:  # two GRUs and the embedding
        width += 1
    model = type("Recurrent", (Recurrent, code["Transformer"]), {})(code, vocab_size, width, rng)
    model.size_of_transformer = most
    return model


def build(code: dict[str, Any], vocab_size: int, parts: Parts, rng: np.random.Generator) -> Any:
    """Return a model of page 9b, less the parts that are not there."""
    if parts.model == "recurrent":
        return recurrent(code, vocab_size, parts, rng)
    model = code["Transformer"](vocab_size, parts.width, parts.heads, 2 * parts.width, parts.layers, rng=rng, max_len=32)
    if not parts.positions or parts.encoding != "sinusoidal":
        model.positions[:] = 0
    if not parts.padding_mask:
        model.source_mask = lambda ids: np.ones((1, 1, 1, ids.shape[1]), dtype=bool)
    if not parts.causal_mask:
        model.target_mask = model.source_mask
    rewired, nothing = (type(kind.__name__, (kind, code["Layer"]), {}) for kind in (Rewired, Nothing))
    for layer in [*model.encoder, *model.decoder]:
        for name, part in list(vars(layer).items()):
            if not parts.scale and "attention" in name:
                if not hasattr(part.f, "scale"):
                    raise ValueError(
                        "scale: expected Attention to keep its factor as self.scale, got no such name; keep the name, or the scale"
                    )
                part.f.scale = 1.0
            if parts.norm != "pre" or not parts.residuals:
                before, after = {"pre": (part.norm, nothing()), "post": (nothing(), part.norm), "none": (nothing(), nothing())}[parts.norm]
                setattr(layer, name, rewired(part.f, before, after, 1.0 if parts.residuals else 0.0))
    if parts.norm == "none":
        model.encoder_norm = model.decoder_norm = nothing()
    _exchange(model, code, parts, rng)
    return model


def _exchange(model, code, parts, rng):
    """Put other parts in the place of those that page 9b has."""
    parameter, d_head = code["Parameter"], parts.width // parts.heads
    for attention in attentions_of(model):
        if parts.readers > 1:
            for name in ("w_k", "w_v"):
                fewer = code["Linear"](parts.width, parts.width // parts.readers, rng)
                setattr(attention, name, become(fewer, Grouped))
                fewer.readers, fewer.d_head = parts.readers, d_head
        if parts.positions and parts.encoding == "rotary":
            for linear in (attention.w_q, attention.w_k):
                become(linear, Rotary).d_head = d_head
    if parts.feed_forward == "swiglu":
        swiglu = type("SwiGLU", (SwiGLU, code["FeedForward"]), {})
        for layer in [*model.encoder, *model.decoder]:
            layer.feed_forward.f = swiglu(parts.width, 2 * parts.width, rng)
    if not parts.tied:
        become(model.embedding, Untied)
        for name in ("e_source", "e_out"):
            setattr(model.embedding, name, parameter(rng.normal(0, parts.width**-0.5, model.embedding.e.value.shape)))
    if parts.positions and parts.encoding == "learned":
        become(model.embedding, Learned).p = parameter(rng.normal(0, LEARNED, model.positions.shape))


def attentions_of(model):
    """The attentions of a model, in its order."""
    return [part.f for layer in [*model.encoder, *model.decoder] for part in vars(layer).values() if hasattr(part.f, "w_q")]


_now: dict[str, Run] = {}  # the run of the page


def answer(request: str) -> str:
    """Return what came of a request of the page; both are JSON.

    ``{"do": "begin", "task": …, "parts": …, "seed": …, "cells": …}`` makes a model, ``{"do": "train", "seconds": …}`` trains it,
    ``{"do": "write", "text": …}`` lets it write, ``"check"`` and ``"why"`` return what `check_gradients` and `causes` find. What the
    reader's own code raises comes back as ``error`` and ``trace``, the end of what it prints as ``printed``.
    """
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        found = answered(json.loads(request))
    return json.dumps({**found, "printed": said.getvalue()[-PRINTED:]})


def answered(asked: dict) -> dict:
    """Return `answer` before it is JSON, without what was printed."""
    try:
        if asked["do"] == "begin":
            _now["run"] = Run(asked["task"], Parts(**asked["parts"]), seed=asked["seed"], cells=asked["cells"])
        if asked["do"] == "train":
            _now["run"].train(asked["seconds"])
        if asked["do"] == "check":
            return {"rows": check_gradients(_now["run"])}
        if asked["do"] == "why":
            return {"causes": causes(_now["run"])}
        if asked["do"] == "write":
            try:
                ids = _now["run"].task.read(asked["text"])
            except Unreadable as error:
                return {"error": str(error), "refused": error.told}
            return _now["run"].look(ids)
        return _now["run"].state()
    except (Exception, SystemExit) as error:  # of the reader's code: the page shows it
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if re.match(r"the cell of |cell \d", frame.filename)]
        where = f" ({places[-1].filename}, line {places[-1].lineno})" if places else ""
        if isinstance(error, SyntaxError):
            where = f" ({error.filename}, line {error.lineno})"
        if not where and isinstance(error, AttributeError):
            where = " (the laboratory reads this name: keep it in your code)"
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        return {"error": f"{type(error).__name__}: {words}{where}", "trace": traceback.format_exc()}
