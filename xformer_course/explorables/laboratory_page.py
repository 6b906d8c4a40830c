"""The laboratory: a Transformer that the reader takes apart and trains in the page."""

from dataclasses import asdict

from xformer_course.explorables.explorable import Explorable, asset
from xformer_course.lessons.laboratory import TASKS, Backwards, Fragment

ELSEWHERE = (
    "The laboratory trains in the built book, where Python runs in the page. In a notebook, the cells below do the same: "
    'Run("backwards", Parts(causal_mask=False)).'
)
EXPERIMENTS: tuple[tuple[str, dict], ...] = (
    ("everything in place", {}),
    ("a decoder that peeks", {"causal_mask": False}),
    ("no positions", {"positions": False}),
    ("no residuals, three layers", {"residuals": False, "layers": 3}),
    ("three layers, everything in place", {"layers": 3}),
    ("the paper's norm, no warm-up, three layers", {"norm": "post", "warm_up": False, "layers": 3}),
    ("one wide head, everything in place", {"heads": 1, "width": 32, "rate": 0.01}),
    ("one wide head, no scale", {"scale": False, "heads": 1, "width": 32, "rate": 0.01}),
)
_TASKS = (
    (Backwards, "words backwards", "A word", ("engineer", "computer", "level", "abcdefgh")),
    (
        Fragment,
        "English → French",
        "A sentence",
        ("The big yellow cat", "I am an engineer", "She does not see the small birds", "There are two red books under the table"),
    ),
)


def laboratory() -> Explorable:
    """Switches for the parts of a Transformer, a button that trains it, and what one sees meanwhile.

    >>> [task["name"] for task in laboratory().data["tasks"]]
    ['backwards', 'fragment']
    """
    assert [kind.name for kind, *_ in _TASKS] == list(TASKS)
    rows = "".join(f"<li>{title}</li>" for title, _ in EXPERIMENTS)
    return Explorable(
        name="laboratory",
        label="A Transformer to take apart and train in the page",
        caption="Choose a task and an experiment, or switch parts off yourself, and press the button: the NumPy Transformer of page 9b is trained here, in your "
        "browser, while you watch. The run before stays in the figure, dashed. Under <em>Change the code</em> you edit the model itself.",
        data={
            "tasks": [
                {"name": kind.name, "title": title, "asks": asks, "examples": list(examples), "parts": asdict(kind.settings)}
                for kind, title, asks, examples in _TASKS
            ],
            "experiments": [{"title": title, "parts": parts} for title, parts in EXPERIMENTS],
            "megabytes": 10,
            "elsewhere": ELSEWHERE,
        },
        picture=f"<p>Experiments, each a press away in the page:</p><ul>{rows}</ul>",
        style=asset("laboratory.css"),
    )
