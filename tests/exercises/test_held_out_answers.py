"""What is said of particular answers."""

import decimal
import fractions

import numpy as np
import pytest

from tests.ci import in_ci
from tests.exercises.held_out import judged, must_not_pass, must_pass
from xformer_course.exercises import catalogue
from xformer_course.exercises.registry import find


def spreads(draw, measure=np.std):
    rng = np.random.default_rng(7)
    return {d: measure((draw(rng, (5000, d)) * draw(rng, (5000, d))).sum(axis=1)) for d in (4, 16, 64, 256)}


def test_small_entries_are_not_told_of_means():
    must_not_pass("3.4", spreads(lambda rng, shape: rng.random(shape) - 0.5), "one factor at every width")


def must_be_told(id, answer, words):
    """The message holds these words, whatever the cases."""
    for seed in (0, 1):
        result = judged(id, answer, seed)
        assert not result.passed and words in result.message, f"seed {seed}: {result.message}"


def test_a_mean_of_sizes_is_asked_for_its_measure():
    sizes = spreads(lambda rng, shape: rng.normal(size=shape), measure=lambda scores: abs(scores).mean())
    must_not_pass("3.4", sizes, "one factor at every width")
    must_be_told("3.4", sizes, "`std`")


def test_a_cut_at_the_width_of_the_keys_is_told_of_its_place():
    def scores(q, k, w, w_v):
        from_queries, from_keys = q @ w[: k.shape[1]], k @ w[k.shape[1] :]
        return from_queries, from_keys, np.tanh(from_queries[:, None] + from_keys) @ w_v

    must_be_told("3.10", scores, "d_q rows")


def with_step(id, step, function):
    """A proof whose other steps are right."""
    return {**find(id).reference, step: function}


@pytest.mark.parametrize("crossing", [lambda m, d, e: m + m // (d + e) + 1, lambda m, d, e: m * (2 + e) // (1 + e) + 1])
def test_a_crossing_that_holds_for_queries_of_width_1_alone(crossing):
    must_not_pass("4.4", with_step("4.4", "crossing", crossing), None)


@pytest.mark.parametrize("undo", [lambda p: p[::-1, ::-1], lambda p: np.linalg.matrix_power(p, len(p) - 1), lambda p: p @ p])
def test_what_undoes_a_turn_alone_does_not_undo_an_order(undo):
    must_not_pass("5.5", with_step("5.5", "undo", undo), None)
    must_not_pass("5.5", with_step("5.5", "scores", lambda s, p: p @ s @ undo(p)), None)
    must_not_pass("5.6", with_step("5.6", "weights", lambda a, p: p @ a @ undo(p)), None)
    must_not_pass("5.13", with_step("5.13", "repair", lambda e, p: undo(p).T @ e), None)


def softmax(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raw / raw.sum(axis=axis, keepdims=True)


def test_a_softmax_of_logarithms_gives_the_weights():
    must_pass("5.6", with_step("5.6", "weights", lambda a, p: softmax(p @ np.log(a) @ p.T)))


def contribution(heads, w_o, n):
    return heads[n] @ np.split(w_o, len(heads))[n]


def rows_closed_up(full, heads, w_o, n):
    rest = np.delete(heads, n, axis=0)
    return sum(contribution(rest, w_o[: rest.shape[0] * rest.shape[2]], place) for place in range(len(rest)))


@pytest.mark.parametrize(
    "without",
    [
        rows_closed_up,
        lambda full, heads, w_o, n: full - contribution(heads, w_o, len(heads) - 1),
        lambda full, heads, w_o, n: full - contribution(heads, w_o, n if n == len(heads) - 1 else 0),
    ],
)
def test_any_head_may_be_silenced(without):
    must_not_pass("6.4", with_step("6.4", "without", without), None)


def cancelled_layer(seed, values=1.0, rows=1.0, dtype=float):
    """Head 1 writes along one direction, and its rows of W_O listen across it; the sizes of W_V and W_O may be chosen."""
    rng = np.random.default_rng(seed)
    along, across = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    layer = {
        "w_q": rng.normal(size=(2, 4, 2)) * 20,
        "w_k": rng.normal(size=(2, 4, 2)),
        "w_v": rng.normal(size=(2, 4, 2)) * values,
        "w_o": rng.normal(size=(4, 4)) * rows,
    }
    layer["w_v"][0] = rng.normal(size=(4, 1)) @ (turn @ along).T * values
    layer["w_o"][:2] = turn @ across @ rng.normal(size=(1, 4)) * rows
    return {name: part.astype(dtype) for name, part in layer.items()}


@pytest.mark.parametrize("seed", range(5))
def test_a_cancelled_head_may_be_of_any_size_and_precision(seed):
    must_pass("6.5", cancelled_layer(seed))
    must_pass("6.5", cancelled_layer(seed, dtype=np.float32))
    must_pass("6.5", cancelled_layer(seed, values=0.02, rows=0.02))
    must_pass("6.5", cancelled_layer(seed, values=1e-6, rows=0.1, dtype=np.float32))
    must_pass("6.5", cancelled_layer(seed, values=1e6))


@pytest.mark.parametrize(
    ("id", "entries", "name"),
    [
        ("2.3", {"B": "yes", "C": "no"}, "C thought out of reach"),
        ("2.3", {"A": "No"}, "A thought out of reach"),
        ("3.8", {"weights": (7, 5)}, "weights turned round"),
        ("3.8", {"scores": [7, 5]}, "keys by queries"),
        ("6.1", {"rows of W_O": 4096}, "eight full widths joined"),
        ("6.1", {"shape of W_Q": [64, 64]}, "a matrix for a slice"),
        ("6.1", {"shape of W_Q": (512, 512)}, "every head is full width"),
        ("6.1", {"columns read": 64, "shape of W_Q": (64, 64)}, "heads get slices"),
        ("7.1", {3: 10000}, "ends at the base"),
    ],
)
def test_a_prediction_is_told_of_the_entries_that_are_wrong(id, entries, name):
    must_not_pass(id, {**find(id).reference, **entries}, name)


def exact(value, kind):
    """The same answer with every number written exactly, or None where there is no number."""
    if isinstance(value, dict):
        return {key: exact(item, kind) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(exact(item, kind) for item in value)
    if isinstance(value, np.ndarray):
        return exact(value.tolist(), kind)
    if isinstance(value, (float, int, np.number)) and not isinstance(value, bool):
        return kind(str(float(value)))
    return value


@pytest.mark.parametrize("kind", [fractions.Fraction, decimal.Decimal])
@pytest.mark.parametrize("exercise", [one for one in catalogue() if one.kind == "predict"], ids=lambda one: one.id)
def test_a_prediction_may_be_an_exact_number(exercise, kind):
    result = judged(exercise.id, exact(exercise.reference, kind))
    assert result.status == "passed", result.message


@pytest.mark.parametrize(
    "answer",
    [
        fractions.Fraction(1, 3),
        fractions.Fraction(10**400),
        decimal.Decimal("NaN"),
        [fractions.Fraction(1, 4), decimal.Decimal("0.25"), 0.25, 0.24],
        decimal.Decimal("sNaN"),
    ],
)
def test_an_exact_number_may_be_wrong(answer):
    assert judged("3.1", answer).status in ("wrong", "crashed")


@pytest.mark.parametrize(
    "twins",
    [
        ("\u2000", "\u2002"),
        ["\u2003", "\u2001"],
        ("\u0340", "\u0300"),
        ("\u212b", "\u00c5"),
        ("\u037e", ";"),
        ("\u1fef", "`"),
        ("\uf900", "\u8c48"),
    ],
)
def test_every_pair_that_the_tokenizer_makes_equal_is_accepted(twins):
    result = judged("10.2", twins)
    assert result.status == "passed", result.message


def test_the_tokenizers_agree_on_every_single_character():
    """What the check calls equal is equal for the tokenizer of the library."""
    from xformer_lib.data import Tokenizer

    tokenizer = Tokenizer.train(["one two three"], vocab_size=270)
    assert tokenizer.encode("\u2000") == tokenizer.encode("\u2002") != tokenizer.encode(" ")


@pytest.mark.parametrize("pair", [("\u2002", "\u2003"), (" ", "\u2002"), ("\u00b5", "\u03bc"), ("A", "\u0391"), ("\ufb01", "f")])
def test_pairs_that_only_look_alike_are_refused(pair):
    assert judged("10.2", pair).status in ("wrong", "misconception")


def renamed(*answers):
    return dict(zip(find("10.5").reference, answers, strict=True))


@pytest.mark.parametrize(
    ("id", "answer"),
    [
        ("13.5", {"words a pass": 1.94, "without end": 2.0, "four ahead": 0.97, "one ahead": 1.2}),
        ("10.5", renamed(1, 0, 1, 0)),
        ("10.5", renamed(np.int64(1), False, np.True_, 0.0)),
        ("11.8", {name: np.int64(needed) for name, needed in find("11.8").reference.items()}),
        ("11.1", {"plain": 3.91, "smoothed": 3.912}),
    ],
)
def test_a_right_prediction_passes_in_any_style(id, answer):
    result = judged(id, answer)
    assert result.status == "passed", result.message


@pytest.mark.parametrize("value", [3.9, 3.92, np.log(49)])
def test_a_loss_is_asked_for_to_two_decimals(value):
    assert judged("11.1", {"plain": value, "smoothed": value}).status == "wrong"


@pytest.mark.parametrize("id", ["10.5", "11.8"])
def test_true_in_quotes_is_no_answer_and_the_message_says_so(id):
    result = judged(id, {name: str(value) for name, value in find(id).reference.items()})
    assert (result.status, result.misconception) == ("wrong", "")
    assert "rite True or False, without quotes, in place of 'True'" in result.message
    assert judged(id, {name: 2 * value for name, value in find(id).reference.items()}).status == "wrong"


MODELS, KEPT, NORMS = (find(id).reference for id in ("15.5", "15.1", "15.2"))


@pytest.mark.parametrize(
    ("id", "answer", "name"),
    [
        ("7.1", {0: 1.0, 1: 10.0, 2: 1000.0, 3: 1000.0}, ""),  # each of them belongs to the next pair
        ("7.1", {0: 1000.0, 1: 10.0, 2: 100.0, 3: 1000.0}, ""),  # the right four numbers
        ("7.1", {0: 1.0, 1: 10.0, 2: 100.0, 3: 10000.0}, "ends at the base"),
        ("10.3", {"Elle": 1, "ne": 2, "les": 4, "voit": 3, "pas": 2}, ""),  # numbers that begin at 1
        ("10.3", {"Elle": 0, "ne": 2, "les": 4, "voit": 3, "pas": 4}, ""),  # counted along, and yet the pronoun is right
        ("10.3", {"Elle": 0, "ne": 1, "les": 2, "voit": 3, "pas": 2}, "word by word"),
        ("10.5", renamed(False, False, True, False), "links not looked at"),  # a name never changes
        (
            "14.8",
            {"steps": 2.0, "tokens": 2.0, "steps, batch 4 times critical": 1.25, "tokens, batch 4 times critical": 1.0},
            "tokens do not change",  # a quarter of the steps
        ),
        ("15.1", dict.fromkeys(KEPT, KEPT["without"]), ""),  # under each other's name
        ("15.5", {**MODELS, "BERT": "past", "Whisper decoder": "all"}, ""),  # each answer is the opposite
        ("15.2", {**NORMS, "LayerNorm": NORMS["RMSNorm"]}, ""),  # under each other's name
    ],
)
def test_what_is_said_of_a_whole_answer_is_true_of_all_of_it(id, answer, name):
    result = judged(id, answer)
    assert result.status in ("wrong", "misconception") and result.misconception == name, result.message


FALSELY_TOLD = []


def told_nothing_false(id):
    """Marks a wrong answer that shares a symptom with a misconception and not its cause: it is told the first case that fails."""
    return lambda answer: FALSELY_TOLD.append(pytest.param(id, answer, id=f"{id}-{answer.__name__}")) or answer


@told_nothing_false("9.4")
def shifted_with_padding_0(sentences, pad_id, bos_id, eos_id):
    return find("9.4").reference(sentences, 0, bos_id, eos_id)


@told_nothing_false("9.6")
def mask_of_ids_above_0(target_in, pad_id):
    return np.tri(target_in.shape[1], dtype=bool) & (target_in.numpy() != 0)[:, None]


def best_extensions(totals, log_probs):
    extended = totals[:, None] + log_probs
    best = np.argsort(-extended, axis=None)[: len(totals)]
    return extended.ravel()[best], *np.divmod(best, log_probs.shape[1])


@told_nothing_false("12.2")
def extensions_turned_round(totals, log_probs):
    return tuple(part[::-1] for part in best_extensions(totals, log_probs))


@told_nothing_false("12.2")
def extensions_with_the_newest_log_p(totals, log_probs):
    sums, parents, words = best_extensions(totals, log_probs)
    return sums - totals[parents], parents, words


@told_nothing_false("15.6")
def last_vector_of_each_row(x, mask):
    return x[:, -1]


@pytest.mark.parametrize(("id", "answer"), FALSELY_TOLD)
def test_an_answer_with_another_mistake_is_not_taken_for_a_misconception(id, answer):
    for seed in (0, 1):
        result = judged(id, answer, seed)
        assert (result.status, result.misconception) == ("wrong", ""), result.message


def blank_cell(*sizes):
    return next(iter(find("9.9").alternatives.values()))(*sizes)


@pytest.mark.parametrize("spoil", ["a matrix too many", "layers out of sight", "no model"])
def test_a_complaint_about_the_model_ends_in_one_full_stop(spoil):
    torch = pytest.importorskip("torch")

    def build(*sizes):
        model = blank_cell(*sizes)
        if spoil == "a matrix too many":
            model.more = torch.nn.Linear(5, 3)
        elif spoil == "layers out of sight":
            layers = list(model.encoder.layers)
            del model.encoder.layers
            model.encoder.__dict__["layers"] = layers
        return list(model.parameters()) if spoil == "no model" else model

    result = judged("9.9", build)
    assert result.status == "wrong" and ".." not in result.message.replace("...", ""), result.message


def test_a_quotient_of_means_is_never_decided_by_a_tie_of_chance():
    def by_means(first, second, draws):
        a, b = first[draws].mean(axis=1), second[draws].mean(axis=1)
        return float(np.mean(b[:, 0] / b[:, 1] > a[:, 0] / a[:, 1]))

    for seed in in_ci(range(100), range(30)):
        result = judged("12.12", by_means, seed)
        assert result.status == "passed", f"seed {seed}: {result.message}"


def quiet_layer(scale):
    """Head 1 writes the same into both of its numbers, and W_O takes their difference, as loudly as it is told."""
    rng = np.random.default_rng(11)
    layer = {
        "w_q": rng.normal(size=(2, 4, 2)) * 5,
        "w_k": rng.normal(size=(2, 4, 2)),
        "w_v": rng.normal(size=(2, 4, 2)),
        "w_o": rng.normal(size=(4, 4)),
    }
    layer["w_v"][0, :, 1] = layer["w_v"][0, :, 0]
    layer["w_o"][:2] = scale * np.array([[1.0, -2.0, 3.0, 0.5], [-1.0, 2.0, -3.0, -0.5]])
    return layer


def test_a_head_that_is_cancelled_is_not_heard():
    must_pass("6.5", quiet_layer(1.0))
    must_pass("6.5", {name: part.tolist() for name, part in quiet_layer(1.0).items()})


def test_a_head_that_is_whispered_to_is_not_unheard():
    """Rows of W_O that are almost zeros are zeros by hand, and the output does change."""
    layer = quiet_layer(1.0)
    layer["w_o"][:2] = 1e-12 * np.random.default_rng(5).normal(size=(2, 4))
    must_not_pass("6.5", layer, "zero rows in W_O")
    must_not_pass("6.5", {**layer, "w_v": layer["w_v"] * 1e6}, "zero rows in W_O")
