"""Exact versions: the lock file pins all that its packages need, and whoever names a version elsewhere names the same."""

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"([\w.-]+)==([\w.]+)")
LOCKED = dict(PIN.findall((ROOT / "requirements.lock").read_text(encoding="utf-8")))


def test_the_lock_file_names_what_its_packages_need():
    """Else two environments differ from one day to the next. Torch for a GPU needs more than torch for CPUs: it is left out."""
    named, missing = {canonicalize_name(name) for name in LOCKED}, set()
    for name in LOCKED.keys() - {"torch"}:
        for needed in map(Requirement, metadata.distribution(name).requires or []):
            if (needed.marker is None or needed.marker.evaluate({"extra": ""})) and canonicalize_name(needed.name) not in named:
                missing.add(needed.name)
    assert not missing, "requirements.lock: pin these, too"


def test_binder_and_hooks_use_the_versions_of_the_lock_file():
    """A formatter of another version would undo what `make test` asks for."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in (".binder/requirements.txt", ".pre-commit-config.yaml")]
    pins = [(name, version) for text in texts for name, version in PIN.findall(text) if name in LOCKED]
    assert {name for name, _ in pins} >= {"torch", "ruff"} and [(name, LOCKED[name]) for name, _ in pins] == pins
