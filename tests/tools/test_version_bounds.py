"""The ends of the ranges that pyproject.toml promises, as pip is asked for them."""

import pytest
import version_bounds
from packaging.version import Version

TABLE = {
    "name": "ours",
    "dependencies": ["numpy>=1.26"],
    "optional-dependencies": {
        "torch": ["torch>=2.4,<3"],
        "course": ["ours[torch]", "numpy>=1.26", "sound-lib>=0.2.30"],
        "test": ["ours[course]", "pytest>=8"],
        "other": ["numpy>=2"],
        "loose": ["numpy>=1.26", "anything"],
        "exact": ["one==3.1"],
    },
}


@pytest.fixture
def asked(monkeypatch, capsys):
    """The lines that are printed for a small table of our own."""
    monkeypatch.setattr(version_bounds, "project", lambda: TABLE)

    def lines(*arguments):
        assert version_bounds.main(list(arguments)) == 0
        return capsys.readouterr().out.splitlines()

    return lines


@pytest.mark.parametrize(
    ("extras", "pins"),
    [
        ([], ["numpy==1.26.*"]),
        (["torch"], ["numpy==1.26.*", "torch==2.4.*"]),
        (["test"], ["numpy==1.26.*", "torch==2.4.*", "sound-lib==0.2.30.*", "pytest==8.0.*"]),
        (["torch", "course"], ["numpy==1.26.*", "torch==2.4.*", "sound-lib==0.2.30.*"]),
    ],
)
def test_the_oldest_of_each_range(asked, extras, pins):
    """An extra of an extra counts, a package stands there once, and a bare major version is its first release."""
    assert asked(*extras) == pins


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ("nothing", "extra: expected one of torch, course, test, other, loose, exact, got 'nothing'; name one of these"),
        ("other", "numpy: expected one range, got >=1.26 and >=2; write the same"),
        ("loose", "anything: expected a range with one lower end, such as anything>=1.0; write it so"),
        ("exact", "one==3.1: expected a range with one lower end, such as one>=1.0; write it so"),
    ],
)
def test_what_has_no_oldest_is_named(asked, extra, sentence):
    with pytest.raises(SystemExit) as stopped:
        asked(extra)
    assert str(stopped.value) == sentence


def test_every_pin_of_the_project_lies_in_its_range(capsys):
    extras = [extra for extra in version_bounds.project()["optional-dependencies"] if extra != "bench"]
    assert version_bounds.main(extras) == 0
    pins = dict(line.split("==") for line in capsys.readouterr().out.splitlines())
    promised = {one.name: one.specifier for one in version_bounds.requirements(extras, version_bounds.project())}
    assert set(pins) == set(promised) and {"numpy", "torch", "matplotlib", "psutil", "ruff"} < set(pins)
    for name, pin in pins.items():
        assert Version(pin.replace("*", "99")) in promised[name], name
