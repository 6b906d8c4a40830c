"""Chapter 15, exercise on patches."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _patches(images, size):
    b, height, width = images.shape
    grid = images.reshape(b, height // size, size, width // size, size)
    return grid.transpose(0, 1, 3, 2, 4).reshape(b, -1, size * size)


def _ordered(order, *, pixels_swapped=False):
    def patches(images, size):
        b, height, width = images.shape
        grid = images.reshape(b, height // size, size, width // size, size).transpose(order)
        if pixels_swapped:
            grid = grid.swapaxes(3, 4)
        return grid.reshape(b, -1, size * size)

    return patches


def _overlapping(images, size):
    windows = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(1, 2))
    return windows.reshape(len(images), -1, size * size)


def _by_loop(images, size):
    return np.array(
        [
            [image[y : y + size, x : x + size].ravel() for y in range(0, image.shape[0], size) for x in range(0, image.shape[1], size)]
            for image in images
        ]
    )


def _by_windows(images, size):
    windows = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(1, 2))
    return windows[:, ::size, ::size].reshape(len(images), -1, size * size)


PATCHES = Exercise(
    id="15.11",
    title="An image as a row of words",
    kind="implement",
    minutes=12,
    difficulty=2,
    statement="""\
Write `patches(images, size)`: cut `images` (b, y, x), NumPy arrays, into squares of `size` × `size` pixels that \
do not overlap, and return them as (b, i, size²). The squares come row by row from the top left, and so do the pixels \
inside each. `size` divides both sides.""",
    hints=(
        "For 4 × 4 pixels numbered from 0 and size 2, which four numbers are in the first square?",
        "`reshape` alone never moves a number past another. Split each side into two axes, then swap two axes.",
        "Reshape to (b, y / size, size, x / size, size), transpose the middle two, reshape to (b, −1, size²).",
    ),
    stub="def patches(images, size):\n    return ...",
    reference=_patches,
    cases=lambda rng: [
        case(np.arange(16.0).reshape(1, 4, 4), 2),
        case(rng.normal(size=(2, 6, 9)), 3, note="a wide image"),
        case(rng.normal(size=(3, 10, 4)), 2, note="a high image"),
        case(rng.normal(size=(2, 5, 7)), 1),
    ],
    returns=("patches",),
    wrong={
        "stripes": (
            lambda images, size: images.reshape(len(images), -1, size * size),
            "Your pieces are runs of neighbouring pixels in a row of the image. Print the first one for an image numbered from 0.",
        ),
        "column by column": (_ordered((0, 3, 1, 2, 4)), "Each square is right, but they come column by column."),
        "pixels turned": (
            _ordered((0, 1, 3, 2, 4), pixels_swapped=True),
            "The squares are in the right order, but inside each, rows and columns are swapped.",
        ),
        "a sieve": (
            _ordered((0, 2, 4, 1, 3)),
            "Each of your pieces takes every `size`-th pixel of the whole image, like a sieve. Which pixels are neighbours?",
        ),
        "overlapping": (_overlapping, "Your squares begin at every pixel, not at every `size`-th."),
        "one number a square": (
            lambda images, size: _patches(images, size).mean(axis=-1, keepdims=True),
            "You averaged the pixels of each square. Here a word keeps all its numbers.",
        ),
    },
    alternatives={"loop": _by_loop, "windows": _by_windows},
    success="Now an image is a sequence, and the encoder need not know.",
    page="15c_pixels_and_sounds",
    solution=r"""
Splitting each side in two gives the axes (b, row of squares, y inside, column of squares, x inside). The two axes that count squares
must be neighbours, and so must the two inside. Then flattening is safe.

```python
def patches(images, size):
    b, height, width = images.shape
    grid = images.reshape(b, height // size, size, width // size, size)
    return grid.transpose(0, 1, 3, 2, 4).reshape(b, -1, size * size)


check(...)
```
""",
)

EXERCISES = (PATCHES,)
