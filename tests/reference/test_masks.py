"""Masks against small drawings: # may attend, . may not."""

import numpy as np
import pytest

from xformer_lib.reference.masks import causal_mask, length_mask, local_mask


def drawn(text):
    return np.array([[symbol == "#" for symbol in line] for line in text.split()])


CASES = [
    (causal_mask(1), "#"),
    (causal_mask(4), "#... ##.. ###. ####"),
    (length_mask([3, 0, 5], 5), "###.. ..... #####"),
    (length_mask(np.array([2, 1]), 3), "##. #.."),
    (local_mask(5, 0), "#.... .#... ..#.. ...#. ....#"),
    (local_mask(5, 1), "##... ###.. .###. ..### ...##"),
    (local_mask(5, 2), "###.. ####. ##### .#### ..###"),
    (local_mask(3, 7), "### ### ###"),
]


@pytest.mark.parametrize("mask,drawing", CASES)
def test_mask_is_as_drawn(mask, drawing):
    assert mask.dtype == np.bool_
    np.testing.assert_array_equal(mask, drawn(drawing))


EMPTY = [(causal_mask(0), (0, 0)), (local_mask(0, 3), (0, 0)), (length_mask([], 3), (0, 3))]


@pytest.mark.parametrize("mask,shape", EMPTY)
def test_nothing_to_mask(mask, shape):
    assert mask.shape == shape and mask.dtype == np.bool_


@pytest.mark.errors  # more than the signature promises
def test_numpy_integers_are_lengths_too():
    np.testing.assert_array_equal(causal_mask(np.int64(3)), causal_mask(3))


@pytest.mark.errors
@pytest.mark.parametrize(
    "make,fragment",
    [
        (lambda: causal_mask(-1), "length: expected a whole number, 0 or more, got -1; pass an int"),
        (lambda: causal_mask(3.0), "length: expected a whole number, 0 or more, got 3.0"),
        (lambda: local_mask("3", 1), "length: expected a whole number, 0 or more, got '3'"),
        (lambda: local_mask(3, -2), "window: expected a whole number, 0 or more, got -2"),
        (lambda: length_mask([2], None), "max_len: expected a whole number, 0 or more, got None"),
        (lambda: length_mask([2, -1], 3), "lengths: expected a whole number, 0 or more, got -1"),
        (lambda: length_mask([2.5], 3), "lengths: expected a whole number, 0 or more, got 2.5"),
        (lambda: length_mask([2, 4], 3), "lengths: expected at most max_len=3, got 4; shorten that row"),
    ],
)
def test_errors_say_what_to_do(make, fragment):
    with pytest.raises(ValueError) as caught:
        make()
    assert fragment in str(caught.value)
