"""What a page prints from a file of the library is what is in that file."""

import inspect

import pytest

from xformer_course.source import show_source
from xformer_lib.training import config, loop


def test_a_definition_is_shown_as_it_is_written():
    shown = show_source("training.loop", "train", "resume")
    assert shown._repr_markdown_() == (
        f"```python\n# xformer_lib/training/loop.py\n{inspect.getsource(loop.train)}\n\n{inspect.getsource(loop.resume)}```"
    )
    assert repr(shown) == "xformer_lib/training/loop.py"


def test_decorators_comments_and_constants_are_shown():
    text = show_source("training.config", "TrainConfig", "PRESETS").lines
    assert text.startswith("@dataclass(frozen=True)\nclass TrainConfig:") and "\n\n\nPRESETS = {\n" in text
    assert text.count("max_steps=") == sum(1 for _ in config.PRESETS)
    assert show_source("training.checkpoint", "CHANGEABLE").lines.startswith("# ")


def test_a_name_that_is_not_there():
    with pytest.raises(ValueError, match="^names: expected definitions of training.loop, got trained; look into "):
        show_source("training.loop", "train", "trained")
