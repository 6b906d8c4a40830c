"""Whatever stands where an array or a number belongs: one line that names the argument and says what to write instead.

Every argument of every public function is exchanged in turn, the others stay right; then those whose shapes do not fit.
"""

import inspect
import itertools
import re
from importlib import import_module

import numpy as np
import pytest
import torch

from xformer_lib import reference

pytestmark = pytest.mark.errors

I, J, M, D, E, H, A, C = 5, 7, 6, 2, 3, 2, 11, 2  # queries, keys, widths, heads, hidden numbers, clipped offset


def drawn(*shape):
    return np.random.default_rng(3).normal(size=shape)


X, CONTEXT = drawn(I, M), drawn(J, M)
Q, K, V = drawn(I, D), drawn(J, D), drawn(J, E)
OPEN = np.ones((I, J), dtype=bool)
RIGHT = {
    "additive_attention": {"q": Q, "k": K, "v": V, "w_q": drawn(D, A), "w_k": drawn(D, A), "w_v": drawn(A), "mask": OPEN},
    "alibi_bias": {"num_heads": 3, "query_len": I, "key_len": J, "start": 2},
    "alibi_slopes": {"num_heads": 3},
    "causal_mask": {"length": I},
    "check_equivariant": {"fn": np.square, "x": X},
    "check_invariant": {"fn": np.square, "x": X},
    "cross_attention": {"x": X, "context": CONTEXT, "w_q": drawn(M, D), "w_k": drawn(M, D), "w_v": drawn(M, E), "mask": OPEN},
    "frequencies": {"dim": M, "base": 100.0},
    "hard_lookup": {"query": Q, "keys": K, "values": V},
    "layer_cost": {"kind": "dense", "length": I, "width": M, "taps": 3},
    "learned_positions": {"table": X, "positions": [1, 0]},
    "local_mask": {"length": I, "window": 2},
    "multi_head_attention": {
        "x": X,
        "context": CONTEXT,
        "w_q": drawn(H, M, D),
        "w_k": drawn(H, M, D),
        "w_v": drawn(H, M, E),
        "w_o": drawn(H * E, M),
        "mask": OPEN,
    },
    "length_mask": {"lengths": [3, 1], "max_len": 4},
    "per_head": {"wide": drawn(M, H * D), "num_heads": H},
    "permutation_matrix": {"order": [2, 0, 1]},
    "relative_attention": {"q": Q, "k": K, "v": V, "key_table": drawn(2 * C + 1, D), "value_table": drawn(2 * C + 1, E), "mask": OPEN},
    "relative_index": {"query_len": I, "key_len": J, "max_offset": C},
    "rotary": {"x": Q, "positions": range(I), "base": 100.0},
    "scaled_dot_product_attention": {"q": Q, "k": K, "v": V, "mask": OPEN},
    "self_attention": {"x": X, "w_q": drawn(M, D), "w_k": drawn(M, D), "w_v": drawn(M, E), "mask": np.ones((I, I), dtype=bool)},
    "shift_matrix": {"dim": M, "offset": 1.5, "base": 100.0},
    "sinusoidal_positions": {"length": I, "dim": M, "base": 100.0},
    "soft_lookup": {"query": Q, "keys": K, "values": V, "temperature": 0.5},
    "softmax": {"scores": Q},
}
OBJECTS = np.array([[None, 1.0], [2.0, "three"]], dtype=object)
WRONG = {"None": None, "a text": "rotary!", "an array of objects": OBJECTS}


FILES = [
    import_module(f"xformer_lib.reference.{name}")
    for name in "attention lookup masks multi_head permutations positions single_head".split()
]
FUNCTIONS = {name: found for file in FILES for name, found in vars(file).items() if name in RIGHT and found.__module__ == file.__name__}


def test_no_function_is_left_out():
    functions = {name: found for name in reference.__all__ if inspect.isfunction(found := getattr(reference, name))}
    plain = "xformer_lib.reference.transformer"  # it checks nothing
    public = {name for name, found in functions.items() if found.__module__ != plain}
    assert public <= RIGHT.keys() == FUNCTIONS.keys(), "give a new function right arguments in RIGHT"
    for name, right in RIGHT.items():
        FUNCTIONS[name](**right)
        left = inspect.signature(FUNCTIONS[name]).parameters.keys() - right.keys()
        assert left <= {"axis", "rng"}, f"{name}: {left}"


@pytest.mark.parametrize("name", RIGHT)
def test_one_line_names_the_argument(name):
    for argument, kind in itertools.product(RIGHT[name], WRONG):
        if (argument, kind) == ("mask", "None"):  # which is none at all
            continue
        with pytest.raises(ValueError) as caught:
            FUNCTIONS[name](**{**RIGHT[name], argument: WRONG[kind]})
        said = str(caught.value)
        assert re.fullmatch(rf"[\w, ]*\b{argument}\b[\w, ]*: expected [^\n]+, got [^\n]+; [^\n]+", said), said


ATTENTION, HEADS, W = "scaled_dot_product_attention", "multi_head_attention", RIGHT["multi_head_attention"]
MATRIX, SCORER = RIGHT["cross_attention"], RIGHT["additive_attention"]
MISFITS = [  # what is changed, and what is said, with … for what stands between
    (ATTENTION, {"q": Q[0]}, "q: expected an array (*b, position, width), got shape (2,)…for a single vector write q[None]"),
    (ATTENTION, {"v": V[0]}, "v: expected an array (*b, position, width), got shape (3,)…write v[None]"),
    (ATTENTION, {"q": Q[None]}, "q, k, v: expected the same batch axes, got (1,), () and ()"),
    (ATTENTION, {"v": V[:-1]}, "v: expected one value for each of the 7 keys, got 6"),
    (ATTENTION, {"k": K[:, :1]}, "q, k: expected the same width of at least 1, got 2 and 1"),
    (ATTENTION, {"q": Q[:, :0], "k": K[:, :0]}, "q, k: expected the same width of at least 1, got 0 and 0"),
    (ATTENTION, {"mask": np.ones((I, J))}, "mask: expected booleans (True = may attend), got float64; write a"),
    (ATTENTION, {"mask": OPEN.tolist()}, "mask: expected booleans (True = may attend), got list"),
    (ATTENTION, {"mask": OPEN.T}, "fits the scores (5, 7), got (7, 5)"),
    (ATTENTION, {"mask": OPEN[None]}, "fits the scores (5, 7), got (1, 5, 7)"),
    (ATTENTION, {"mask": OPEN[:2]}, "fits the scores (5, 7), got (2, 7)"),
    ("additive_attention", {"w_q": SCORER["w_q"].T}, "w_q: expected shape (2, 11), got shape (11, 2)"),
    ("additive_attention", {"w_k": SCORER["w_k"].tolist()[:-1]}, "w_k: expected shape (2, 11), got list"),
    ("additive_attention", {"w_v": SCORER["w_v"][:, None]}, "w_v: expected one vector (a,), got shape (11, 1)"),
    ("additive_attention", {"v": V[0]}, "v: expected an array"),
    ("additive_attention", {"mask": np.ones((I, J))}, "mask: expected booleans"),
    (HEADS, {"x": X[0]}, "x: expected an array (*b, position, width), got shape (6,); for one word write x[None]"),
    (HEADS, {"context": CONTEXT[0]}, "context: expected an array"),
    (HEADS, {"x": X[None]}, "x, context: expected the same batch axes, got (1,) and (); repeat one until they agree"),
    (HEADS, {"w_q": W["w_q"][0]}, "w_q: expected (h, 6, head width), got shape (6, 2); per_head cuts a wide one"),
    (HEADS, {"w_k": W["w_k"].swapaxes(1, 2)}, "w_k: expected (2, 6, head width), got shape (2, 2, 6); per_head cuts a wide one"),
    (HEADS, {"w_v": W["w_v"][:1]}, "w_v: expected (2, 6, head width)"),
    (HEADS, {"w_q": W["w_q"][..., 1:]}, "w_k: expected head width 1 as in w_q, got 2"),
    (HEADS, {"w_o": W["w_o"][:-1]}, "w_o: expected 6 rows, one for each number of the joined heads, got shape (5, 6)"),
    (HEADS, {"w_o": W["w_o"][0]}, "w_o: expected 6 rows, one for each number of the joined heads, got shape (6,)"),
    (HEADS, {"mask": OPEN.T}, "mask: expected a shape that fits the scores (2, 5, 7), got (7, 5)"),
    ("per_head", {"wide": np.ones((5, 7))}, "wide: expected (m, h·d) with h = 2 equal heads…got shape (5, 7); change the number of heads"),
    ("per_head", {"wide": np.ones((2, 3, 6))}, "wide: expected (m, h·d)…got shape (2, 3, 6)"),
    *(("per_head", {"num_heads": n}, f"num_heads: expected a whole number, 1 or more, got {n}; pass the number") for n in (0, -2, 1.5)),
    ("cross_attention", {"x": X[0]}, "x: expected an array (*b, position, width), got shape (6,); for a"),
    ("cross_attention", {"context": CONTEXT[0]}, "context: expected an array (*b, position, width), got shape (6,); for a"),
    ("cross_attention", {"w_q": MATRIX["w_q"].T}, "w_q: expected (6, columns), got shape (2, 6); one row for each number"),
    ("cross_attention", {"w_v": MATRIX["w_v"].T}, "w_v: expected (6, columns), got shape (3, 6); one row for each number"),
    ("cross_attention", {"w_q": MATRIX["w_q"][:, 1:]}, "w_q, w_k: expected the same number of columns, got 1 and 2; queries meet keys"),
    ("self_attention", {"w_k": MATRIX["w_k"].tolist()}, "w_k: expected (6, columns), got list; write np.array(w_k)"),
    ("self_attention", {"w_q": MATRIX["w_q"][None]}, "w_q: expected (6, columns), got shape"),
    ("self_attention", {"mask": np.ones((I, I))}, "mask: expected booleans"),
    *(
        (lookup, change, said)
        for lookup in ("soft_lookup", "hard_lookup")
        for change, said in (
            ({"query": np.float64(1.0)}, f"query: expected an array (*b, width), got {np.float64(1.0)!r}"),
            ({"keys": K[0]}, "keys: expected a matrix (key, width), got shape (2,); add the missing axis"),
            ({"values": V[:, 0]}, "values: expected a matrix (key, width), got shape (7,)"),
            ({"keys": K[None]}, "keys: expected a matrix (key, width), got shape (1, 7, 2); index the others away"),
            ({"values": V[:-1]}, "keys, values: expected one value for each key, and at least one pair, got 7 keys and 6 values; they are"),
            ({"keys": K[:0], "values": V[:0]}, "at least one pair, got 0 keys and 0 values"),
            ({"query": Q[:, 1:]}, "query: expected the width of the keys, 2, got 1; make"),
        )
    ),
    *(
        ("soft_lookup", {"temperature": t}, f"temperature: expected a positive number, got {t!r}; for the limit at 0")
        for t in (0, -0.5, np.nan, "warm", None)
    ),
]


@pytest.mark.parametrize(("name", "change", "said"), MISFITS)
def test_what_does_not_fit_is_named(name, change, said):
    with pytest.raises(ValueError) as caught:
        FUNCTIONS[name](**RIGHT[name] | change)
    assert all(part in str(caught.value) for part in said.split("…")), caught.value


@pytest.mark.parametrize(
    "convert, given",
    [("np.array(q)", Q.tolist()), ("q.detach().numpy()", torch.from_numpy(Q).requires_grad_()), ("q.astype(float)", Q.astype(object))],
)
def test_the_advice_works_when_it_is_followed(convert, given):
    with pytest.raises(ValueError, match=re.escape(f"; write {convert}")):
        reference.scaled_dot_product_attention(given, K, V)
    output, _ = reference.scaled_dot_product_attention(eval(convert, {"np": np, "q": given}), K, V)
    np.testing.assert_allclose(output, reference.scaled_dot_product_attention(Q, K, V)[0])


def test_booleans_are_no_scores():
    """NumPy's product of two boolean arrays is boolean: three matches would count as one."""
    with pytest.raises(ValueError, match=r"q: expected numbers, got an array of bool; write q.astype\(float\)"):
        reference.scaled_dot_product_attention(Q > 0, K > 0, V)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int8, np.int16])
def test_whole_numbers_that_would_wrap_round(dtype):
    """100 · 100 is 16 in eight bits, and 0 - 1 is no negative number without a sign."""
    given = np.array([[100, 0]], dtype=dtype)
    for right, name in ((reference.scaled_dot_product_attention, "q"), (FUNCTIONS["soft_lookup"], "query")):
        with pytest.raises(ValueError, match=rf"^{name}: expected .* got an array of {dtype.__name__}; write {name}\.astype"):
            right(given, K, V)
    assert FUNCTIONS["check_invariant"](lambda x: x.sum(axis=0), given.T)
    np.testing.assert_array_equal(reference.softmax(np.array([[100, 0]])), reference.softmax(np.array([[100.0, 0.0]])))
