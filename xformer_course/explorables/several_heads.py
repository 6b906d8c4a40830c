"""The heads of chapter 6: who reads whom in each, what each brings, and what is left without it."""

import numpy as np

from xformer_course.explorables.explorable import Explorable
from xformer_course.explorables.pictures import matrix_table
from xformer_lib.reference.multi_head import multi_head_attention

WORDS = ("The", "big", "yellow", "cat")
COLUMNS = ("article", "adjective", "noun", "size", "colour", "animal")
TITLES = ("head 1: things and descriptions", "head 2: articles and colours", "head 3: asks nothing")
ANSWERS = (("size", "colour", "animal"), ("article", "adjective", "animal"), ("noun", "size", "animal"))
GOES_TO = ((3, 4, 5), (0, 1, 5), (2, 3, 5))  # the column that W_O sends each answer to
X = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]])
W_Q = np.zeros((3, 6, 2))
W_K, W_V, W_O = np.zeros((3, 6, 2)), np.zeros((3, 6, 3)), np.zeros((9, 6))
W_Q[0, [0, 1], 1] = W_Q[0, 2, 0] = 1
W_Q[1, [0, 1], 0] = W_Q[1, 2, 1] = 1  # the third head's query is zero: it reads all words alike
W_K[0, 1, 0], W_K[0, 2, 1], W_K[0, 4, 1] = 2, 3, 1
W_K[1, 0, 1] = W_K[1, 4, 0] = 4
W_V[0, [3, 4, 5], [0, 1, 2]] = 1
W_V[1, [0, 1, 5], [0, 1, 2]] = 1
W_V[2, [2, 3, 5], [0, 1, 2]] = 1
W_O[np.arange(9), np.ravel(GOES_TO)] = 1
QUERY = 3


def heads() -> Explorable:
    """Three heads over four words: the two of chapter 6, and one that reads all words alike.

    >>> heads().data["words"]
    ['The', 'big', 'yellow', 'cat']
    """
    output, weights = multi_head_attention(X, X, W_Q, W_K, W_V, W_O)
    blocks = W_O.reshape(3, 3, 6)
    added = [weights[n] @ X @ W_V[n] @ blocks[n] for n in range(3)]
    maps = "".join(matrix_table(weights[n], rows=WORDS, columns=WORDS, title=TITLES[n]) for n in range(3))
    table = matrix_table(
        np.stack([*(part[QUERY] for part in added), output[QUERY]], axis=1),
        rows=COLUMNS,
        columns=("head 1", "head 2", "head 3", "output"),
        title=f"What each head adds to {WORDS[QUERY]}, and their sum",
        axes=("column", ""),
        plain=True,
    )
    return Explorable(
        name="heads",
        label="Three heads over four words: weights, what each brings, and the output",
        caption='Choose the word that asks and follow it: its row in each map, what each head brings, where W<sub style="font-size:1em">O</sub> sends it. '
        "Switch a head off, and only its part of the output is missing. With one set of weights for all, <em>cat</em> can no longer "
        "read its article sharply and its adjectives too.",
        data={
            "words": list(WORDS),
            "columns": list(COLUMNS),
            "titles": list(TITLES),
            "answers": [list(names) for names in ANSWERS],
            "x": X.tolist(),
            "wQ": W_Q.tolist(),
            "wK": W_K.tolist(),
            "wV": W_V.tolist(),
            "wO": W_O.tolist(),
            "query": QUERY,
        },
        picture=maps + table,
    )
