"""Where a model of exercise 9.9 goes wrong: switch its parts on one by one, compare after each, and only then ask which mistake it is.

A sublayer whose last matrix, W_O or W_2, is 0 adds nothing. So with all of them 0 only the embedding and the output compute, and
each part that is switched on is the only new thing. Torch is imported where it is used.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from xformer_course.exercises import isolation
from xformer_course.exercises.chapter_09.retyped import parts
from xformer_course.exercises.exercise import Complaint
from xformer_course.exercises.function_checks import Verdict

TOLERANCE = 1e-5
PARTS = (
    "the embedding, the positions and the output",
    "the decoder's feed-forward nets",
    "the decoder's self-attention",
    "cross-attention",
    "the encoder's feed-forward nets",
    "the encoder's self-attention",
)
LOOK = (
    "Print what goes into the first decoder layer, and what leaves the last norm.",
    "Print what one net adds to a vector, and where its norm comes.",
    "Print its mask, and the shape after each step.",
    "Print which sequence gives the queries, which the keys and values, and what the memory's last norm leaves.",
    "Print the memory of one word. Is the encoder's layer built like the decoder's?",
    "Print the encoder's mask. Who may read what?",
)


@dataclass(frozen=True)
class Setting:
    """Sizes and ids that a model is tried with, and what is special about them."""

    sizes: tuple
    source: object
    target_in: object
    seed: int
    words: str


@dataclass
class Slots:
    """Which drawn matrix each parameter of a model gets; found once, filled as often as one likes."""

    gains: list = field(default_factory=list)
    offsets: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    attention: list = field(default_factory=list)  # (parameter, numbers of its matrices)
    inner: list = field(default_factory=list)
    outer: list = field(default_factory=list)


def slots_of(model, d_model, d_ff, vocab_size=None, *, attentions, nets):
    """Sort a model's parameters by shape and order; complain where one is missing or too many."""
    m, f, v = d_model, d_ff, vocab_size
    slots, matrices = Slots(), 0
    for name, parameter in model.named_parameters():
        shape = tuple(parameter.shape)
        if not parameter.requires_grad:
            continue
        if len(shape) == 1:
            (slots.gains if bool((parameter == 1).all()) else slots.offsets).append(parameter)
        elif v is not None and shape == (v, m) and len(slots.tables) < 3:
            slots.tables.append(parameter)
        elif nets and shape == (f, m) and len(slots.inner) < nets:
            slots.inner.append(parameter)
        elif nets and shape == (m, f) and len(slots.outer) < nets:
            slots.outer.append(parameter)
        elif shape in ((m, m), (2 * m, m), (3 * m, m)) and matrices + shape[0] // m <= 4 * attentions:
            slots.attention.append((parameter, range(matrices, matrices + shape[0] // m)))
            matrices += shape[0] // m
        else:
            frozen = ". If it is the table of positions, it is not learned: keep it by `register_buffer`" if shape[-1:] == (m,) else ""
            raise Complaint(
                f"your module owns a parameter {name} of shape {shape}, which is one too many. Expected are "
                f"{4 * attentions} matrices (m, m) of attention, {nets} (f, m) and {nets} (m, f) of feed-forward nets"
                + (", one embedding (v, m), and vectors" if v is not None else ", and vectors")
                + frozen
            )
    owned = (matrices, len(slots.inner), len(slots.outer))
    if owned != (4 * attentions, nets, nets) or (v is not None and not slots.tables):
        raise Complaint(
            f"your module owns {owned[0]} matrices (m, m) of attention, {owned[1]} (f, m) and {owned[2]} (m, f) of feed-forward nets"
            + (f" and {len(slots.tables)} embeddings (v, m)" if v is not None else "")
            + f"; expected {4 * attentions}, {nets} and {nets}"
            + (" and at least 1" if v is not None else "")
            + ". PyTorch finds a list of layers only in an nn.ModuleList"
        )
    return slots


def fill(slots, d_model, d_ff, vocab_size, seed, *, attentions, nets, attentions_on=None, nets_on=None):
    """Give every parameter its drawn numbers; the last matrix of a sublayer that is off becomes 0."""
    import torch

    rng, m, f = np.random.default_rng(seed), d_model, d_ff
    square = [rng.normal(size=(m, m)) * 1.5 / np.sqrt(m) for _ in range(4 * attentions)]
    inner = [rng.normal(size=(f, m)) / np.sqrt(m) for _ in range(nets)]
    outer = [rng.normal(size=(m, f)) / np.sqrt(f) for _ in range(nets)]
    tables = [rng.normal(size=(vocab_size, m)) / np.sqrt(m) for _ in range(3 * (vocab_size is not None))]
    for number in range(attentions):
        if attentions_on is not None and number not in attentions_on:
            square[4 * number + 3] = np.zeros((m, m))
    for number in range(nets):
        if nets_on is not None and number not in nets_on:
            outer[number] = np.zeros((m, f))
    pairs = [(gain, np.linspace(0.5, 1.5, *gain.shape)) for gain in slots.gains]
    pairs += [(offset, np.zeros(tuple(offset.shape))) for offset in slots.offsets]
    pairs += [*zip(slots.tables, tables, strict=False), *zip(slots.inner, inner, strict=True), *zip(slots.outer, outer, strict=True)]
    pairs += [(parameter, np.concatenate([square[n] for n in numbers])) for parameter, numbers in slots.attention]
    with torch.no_grad():
        for parameter, values in pairs:
            parameter.copy_(torch.from_numpy(values))


def switched_on(stage, layers):
    """Numbers of the attentions and nets that compute at a stage, counted in the order of making."""
    attentions, nets = set(), set()
    if stage >= 1:
        nets |= set(range(layers, 2 * layers))
    if stage >= 2:
        attentions |= {layers + 2 * n for n in range(layers)}
    if stage >= 3:
        attentions |= {layers + 2 * n + 1 for n in range(layers)}
    if stage >= 4:
        nets |= set(range(layers))
    if stage >= 5:
        attentions |= set(range(layers))
    return attentions, nets


# ---------------------------------------------------------------- running a model


class Tried:
    """A model, made for one setting, to be run at any stage."""

    def __init__(self, build, setting):
        import torch

        self.setting = setting
        vocab_size, d_model, _, d_ff, layers = setting.sizes
        self.known = {"d_model": d_model, "d_ff": d_ff, "vocab_size": vocab_size, "attentions": 3 * layers, "nets": 2 * layers}
        with torch.random.fork_rng(devices=[]):
            model = build(*setting.sizes)
        if not isinstance(model, torch.nn.Module):
            raise Complaint(f"`build` returned {type(model).__name__}; return the model itself, a torch.nn.Module")
        self.model = model.double().eval()
        self.slots = slots_of(self.model, **self.known)

    def logits(self, stage, *, training=False):
        """Its logits at the real target places, zeros elsewhere."""
        import torch

        setting, layers = self.setting, self.setting.sizes[4]
        attentions_on, nets_on = switched_on(stage, layers)
        fill(self.slots, seed=setting.seed, attentions_on=attentions_on, nets_on=nets_on, **self.known)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            given = self.model.train(training)(setting.source, setting.target_in)
        self.model.eval()
        wanted = (*setting.target_in.shape, setting.sizes[0])
        if not isinstance(given, torch.Tensor) or tuple(given.shape) != wanted:
            shape = tuple(given.shape) if isinstance(given, torch.Tensor) else type(given).__name__
            raise Complaint(f"logits: expected shape (b, t, v) = {wanted}, got {shape}")
        return given.double().masked_fill((setting.target_in == 0)[..., None], 0.0)


def close(one, other):
    import torch

    return one.shape == other.shape and bool(torch.isclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True).all())


def rows_of(vocab_size, rng, *lengths, left=False):
    """Rows of word ids, filled up with 0 on the right, or on the left."""
    import torch

    longest, rows = max(lengths), []
    for length in lengths:
        words, padding = rng.integers(3, vocab_size, size=length).tolist(), [0] * (longest - length)
        rows.append(padding + words if left else words + padding)
    return torch.tensor(rows)


def settings(rng):
    """From the simplest to the hardest: each adds one thing that may go wrong."""
    seed = int(rng.integers(2**31))
    v, w = (int(one) for one in rng.choice([19, 23, 29], size=2))
    return [
        Setting((v, 12, 1, 31, 1), rows_of(v, rng, 5), rows_of(v, rng, 7), seed, "with one head and no padding"),
        Setting((v, 12, 3, 31, 1), rows_of(v, rng, 5), rows_of(v, rng, 7), seed, "with three heads"),
        Setting((w, 16, 2, 37, 2), rows_of(w, rng, 6), rows_of(w, rng, 5), seed, "with two layers"),
        Setting((w, 16, 2, 37, 2), rows_of(w, rng, 4, 7, 2), rows_of(w, rng, 5, 3, 1), seed, "with padding at the end of the rows"),
        Setting((w, 16, 2, 37, 2), rows_of(w, rng, 5, 3, left=True), rows_of(w, rng, 2, 6, left=True), seed, "with padding on the left"),
    ]


# ---------------------------------------------------------------- locating, then naming


def locate(build, hypotheses, rng):
    """Where a model first goes wrong and, if a known mistake does the same there, which; None when it is right.

    ``hypotheses`` maps a name to (changes of `retyped.RIGHT`, diagnosis).
    """
    tried = [(Tried(build, one), Tried(parts().Model, one)) for one in settings(rng)]
    mine, twin = tried[0]
    if not close(mine.logits(5), mine.logits(5)):
        return Verdict("misconception", hypotheses["dropout always on"][1], "dropout always on")
    for stage in range(len(PARTS)):
        for place, (mine, twin) in enumerate(tried):
            got, wanted = mine.logits(stage), twin.logits(stage)
            if not close(got, wanted):
                if place == len(tried) - 1 and got.isnan().any():  # a nan passes through every matrix, so it has no other place
                    return Verdict("misconception", hypotheses["rows of minus infinity"][1], "rows of minus infinity")
                return named(tried, stage, place, hypotheses) or unnamed(stage, place, tried, got, wanted)
    for stage, name in ((0, "dropout on the embedding"), (5, "dropout in the layers")):
        mine, _ = tried[-2]
        if not close(mine.logits(stage, training=True), mine.logits(stage)):
            return Verdict("misconception", hypotheses[name][1], name)
    return too_few_norms(tried[-1][0], hypotheses)


def too_few_norms(mine, hypotheses):
    """All numbers are right; a norm that serves two places would show only in training."""
    expected, owned = 5 * mine.setting.sizes[4] + 2, len(mine.slots.gains)
    if owned >= expected:
        return None
    words = f"{hypotheses['one norm for all'][1]} Your model owns {owned} of them in two layers, expected {expected}."
    return Verdict("misconception", words, "one norm for all")


def named(tried, stage, place, hypotheses):
    """The known mistake, or two of them, that give the same logits where the model first goes wrong."""
    mine, twin = tried[place]
    got, wanted = mine.logits(stage), twin.logits(stage)
    setting = mine.setting

    def tries(changes):
        try:
            return Tried(parts(**changes).Model, setting).logits(stage)
        except Exception:
            return None

    heard, fits = {}, []
    for name, (changes, _) in hypotheses.items():
        said = tries(changes)
        if said is None or close(said, wanted):
            continue  # not to be seen at this stage
        heard[name] = changes
        if close(said, got):
            fits.append((name,))
    if not fits:
        for pair in combinations(heard, 2):
            one, other = (heard[name] for name in pair)
            if not set(one) & set(other):
                said = tries({**one, **other})
                if said is not None and close(said, got):
                    fits.append(pair)
    if not fits:
        return None
    best = fits[0] if len(fits) == 1 else max(fits, key=lambda names: explained(tried, names, hypotheses))
    words = " Then: ".join(hypotheses[name][1] for name in best)
    return Verdict("misconception", f"{so_far(stage)}{words} (Seen {setting.words}.)", best[0])


def explained(tried, names, hypotheses):
    """How much of what a model does at all stages these mistakes explain."""
    changes = {key: value for name in names for key, value in hypotheses[name][0].items()}
    same = 0
    for mine, _ in tried:
        other = Tried(parts(**changes).Model, mine.setting)
        same += sum(close(mine.logits(stage), other.logits(stage)) for stage in range(len(PARTS)))
    return same


def so_far(stage):
    """Up to where the model is right, as a sentence and a space."""
    if stage == 0:
        return ""
    first = "the embedding, the positions"
    right = [first, "the output", *PARTS[1:stage]]
    words = f"{', '.join(right[:-1])} and {right[-1]}"
    return f"{words[0].upper()}{words[1:]} are right. "


def unnamed(stage, place, tried, got, wanted):
    """The place, where no known mistake fits."""
    import torch

    setting = tried[place][0].setting
    apart = ~torch.isclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    row, position, word = (int(one) for one in apart.nonzero()[0])
    later = f" It was right {' and '.join(one.setting.words for one, _ in tried[:place])}." if place else ""
    verb = "differ" if stage in (0, 1, 4) else "differs"
    return Verdict(
        "wrong",
        f"{so_far(stage)}{PARTS[stage][0].upper()}{PARTS[stage][1:]} {verb} first at target position {position} of row {row}, "
        f"{setting.words}: the logit of word {word} should be {float(wanted[row, position, word]):.4g} and is "
        f"{float(got[row, position, word]):.4g}.{later} {LOOK[stage]}",
    )


# ---------------------------------------------------------------- the steps on the way


def _own_copies(reads):
    return [one.clone() for one in reads]


def steps(rng):
    """For each step before the model: how to make it, with what it is called, and what it owns."""
    import torch

    seed, b = int(rng.integers(2**31)), 2
    x, read = torch.from_numpy(rng.normal(size=(b, 5, 12))), torch.from_numpy(rng.normal(size=(b, 7, 12)))
    mask = torch.from_numpy(rng.random((b, 5, 7)) < 0.6)
    mask[..., 0] = True
    mask[1, 2] = False  # a row that may attend to nothing
    own = torch.arange(5) < torch.tensor([[5], [3]])
    own = own[:, None, :]
    return {
        "attention": ("Attention(d_model, num_heads)", (12, 3), (x, read, mask), {"attentions": 1, "nets": 0}, seed),
        "layer": ("Layer(d_model, num_heads, d_ff)", (12, 3, 31), (x, own), {"attentions": 1, "nets": 1}, seed),
        "stack": ("Stack(num_layers, d_model, num_heads, d_ff)", (2, 12, 3, 31), (x, own), {"attentions": 2, "nets": 2}, seed),
    }


NEXT = {"attention": "the layer", "layer": "the stack", "stack": "the model: hand over `build`"}


def judge_step(name, make, hypotheses, rng):
    """The verdict on one step; a right one is no answer to the exercise yet."""
    signature, sizes, arguments, owns, seed = steps(rng)[name]

    def run(maker):
        import torch

        with torch.random.fork_rng(devices=[]):
            module = maker(*sizes)
        if not isinstance(module, torch.nn.Module):
            raise Complaint(f"{signature} gave {type(module).__name__}; expected a torch.nn.Module")
        slots = slots_of(module.double().eval(), 12, 31, **owns)
        fill(slots, 12, 31, None, seed, **owns)
        with torch.no_grad():
            return module(*_own_copies(arguments))

    def same_kind(**changes):
        return run(getattr(parts(**changes), name.capitalize()))

    import torch

    got, wanted = run(make), same_kind()
    if not isinstance(got, torch.Tensor) or got.shape != wanted.shape:
        said = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
        return Verdict("wrong", f"{name}: expected one tensor of shape {tuple(wanted.shape)}, got {said}.")
    closed = torch.zeros(wanted.shape[:2], dtype=torch.bool)
    if name == "attention":
        closed = ~arguments[2].any(dim=-1)
    finite = bool(got.isfinite().all())
    real = got.masked_fill(closed[..., None], 0.0)
    right = wanted.masked_fill(closed[..., None], 0.0)
    if close(real, right) and finite:
        return Verdict("wrong", f"but the {name} is right: the same numbers as the page's. Next comes {NEXT[name]}.")
    if close(real, right):
        return Verdict("misconception", hypotheses["rows of minus infinity"][1], "rows of minus infinity")
    for known, (changes, diagnosis) in hypotheses.items():
        try:
            said = same_kind(**changes).masked_fill(closed[..., None], 0.0)
        except Exception:
            continue
        if not close(said, right) and close(said, real):
            return Verdict("misconception", diagnosis, known)
    row, position, column = (int(one) for one in (~torch.isclose(real, right, rtol=TOLERANCE, atol=TOLERANCE)).nonzero()[0])
    return Verdict(
        "wrong", f"the {name} differs first at row {row}, position {position}, column {column}. Print the shape after each step."
    )


def examine(answer, rng, hypotheses):
    """The check of exercise 9.9: a dict of steps, or `build`; None leaves the answer to the usual check."""
    if type(answer) is dict and answer:
        return examine_steps(answer, rng, hypotheses)
    if isinstance(answer, type) or not callable(answer):
        return None
    try:
        probe = settings(rng)
        if not isolation.signature_fits(answer, isolation.Case(probe[0].sizes)) or answer(*probe[0].sizes) in (None, ...):
            return None
        return locate(answer, hypotheses, rng)
    except Complaint as reason:
        return Verdict("wrong", f"{reason}.")
    except Exception as error:
        return Verdict("crashed", f"your model raised {isolation.explain_error(error, answer)}.")


def examine_steps(answer, rng, hypotheses):
    """Each step that is filled in, in order; the first that is not right speaks, or else the last."""
    unknown = [str(name) for name in answer if name not in NEXT]
    if unknown:
        return Verdict(
            "wrong", f"there is no step {unknown[0]!r}. The steps are {', '.join(NEXT)}; for the model hand over `build` itself."
        )
    verdict = None
    for name in NEXT:
        if answer.get(name, ...) is ...:
            continue
        try:
            verdict = judge_step(name, answer[name], hypotheses, rng)
        except Complaint as reason:
            return Verdict("wrong", f"{name}: {reason}.")
        except Exception as error:
            return Verdict("crashed", f"your {name} raised {isolation.explain_error(error, answer[name])}.")
        if "is right" not in verdict.text:
            return verdict
    return verdict
