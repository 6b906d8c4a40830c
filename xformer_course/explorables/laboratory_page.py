"""The laboratory: a Transformer that the reader takes apart and trains in the page."""

from dataclasses import asdict

from xformer_course.explorables.explorable import Explorable, asset
from xformer_course.lessons.laboratory import NOT_RECURRENT, TASKS, Backwards, Fragment, Sorting
from xformer_lib.reference import transformer

ELSEWHERE = (
    "The laboratory trains in the built book, where Python runs in the page. In a notebook, the cells below do the same: "
    'Run("backwards", Parts(causal_mask=False)).'
)
# What is switched, and what to ask oneself before the press.
EXPERIMENTS: tuple[tuple[str, dict, str], ...] = (
    ("everything in place", {}, "After how many steps will it get half of the held-out {rows} right?"),
    ("a decoder that peeks", {"causal_mask": False}, "Does the loss fall faster or slower? How many held-out {rows} does it get right?"),
    ("no positions", {"positions": False}, "What does it still know about what it reads, and what does it write?"),
    ("no residuals", {"residuals": False}, "The layer's output replaces its input. How many {rows} come out right?"),
    (
        "no residuals, three layers",
        {"residuals": False, "layers": 3},
        "Each layer replaces its input. What becomes of the rows of the memory, and so of what the decoder reads?",
    ),
    ("three layers, everything in place", {"layers": 3}, "Does it learn faster than one layer?"),
    (
        "the paper's norm, no warm-up, three layers",
        {"norm": "post", "warm_up": False, "layers": 3},
        "Two changes at once: which one hurts?",
    ),
    ("one wide head, everything in place", {"heads": 1, "width": 32, "rate": 0.01}, "Is one head enough?"),
    (
        "one wide head, no scale",
        {"scale": False, "heads": 1, "width": 32, "rate": 0.01},
        "A score now adds up 32 products. What does softmax make of such scores?",
    ),
    (
        "a recurrent model",
        {"model": "recurrent"},
        "As many numbers, but no attention: one state passes from what it reads to what it writes. How many {rows} come out right?",
    ),
)
_TASKS = (
    (Backwards, "words backwards", "A word", "words", ("engineer", "computer", "level", "abcdefgh")),
    (
        Fragment,
        "English → French",
        "A sentence",
        "sentences",
        ("The big yellow cat", "I am an engineer", "She does not see the small birds", "There are two red books under the table"),
    ),
    (Sorting, "letters sorted", "A word", "words", ("engineer", "computer", "level", "hgfedcba")),
)


def laboratory() -> Explorable:
    """Switches for the parts of a Transformer, a button that trains it, and what one sees meanwhile.

    >>> [task["name"] for task in laboratory().data["tasks"]]
    ['backwards', 'fragment', 'sorting']
    """
    assert [kind.name for kind, *_ in _TASKS] == list(TASKS)
    listed = "".join(f"<li>{title}</li>" for title, *_ in EXPERIMENTS)
    return Explorable(
        name="laboratory",
        label="A Transformer to take apart and train in the page",
        caption="Choose a task and an experiment, or switch parts off yourself, and press the button: the NumPy Transformer of page 9b is trained here, in your "
        "browser, while you watch. Each run is a row below the charts, and its box puts it into them. Under <em>Settings</em> are the switches, the sizes and the seed; under <em>Change the code</em> you edit the model itself and check its gradients.",
        data={
            "tasks": [
                {
                    "name": kind.name,
                    "title": title,
                    "asks": asks,
                    "rows": rows,
                    "examples": list(examples),
                    "words": TASKS[kind.name]().vocabulary,
                    "parts": asdict(kind.settings),
                }
                for kind, title, asks, rows, examples in _TASKS
            ],
            "experiments": [{"title": title, "parts": parts, "ask": ask} for title, parts, ask in EXPERIMENTS],
            "idle": NOT_RECURRENT,
            "names": [name for name, one in vars(transformer).items() if getattr(one, "__module__", "") == transformer.__name__],
            "megabytes": 9,
            "elsewhere": ELSEWHERE,
        },
        picture=f"<p>Experiments, each a press away in the page:</p><ul>{listed}</ul>",
        scripts=("laboratory_bets.js", "laboratory_lecture.js", "laboratory_bench.js"),
        style=asset("laboratory.css"),
    )
