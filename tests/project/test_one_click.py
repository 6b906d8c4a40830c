"""What Binder and a dev container are told, held to pyproject.toml and the lock file; hooks and forms, held to what they name."""

import json
import re
import shlex
from importlib import metadata
from pathlib import Path

import pytest
import ranges
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKED = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(encoding="utf-8")))
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_binder_and_the_container_take_a_python_that_is_promised():
    promised = SpecifierSet(ranges.project()["requires-python"])
    [binder] = re.fullmatch(r"python-(3\.\d+)\n", read(".binder/runtime.txt")).groups()
    image, _, version = CONTAINER["image"].rpartition(":")
    assert image == "mcr.microsoft.com/devcontainers/python" and version == binder and binder in promised


def test_binder_pins_what_the_lock_file_pins():
    """And torch in its build for CPUs, where a bare one would bring gigabytes."""
    lines = [line for line in read(".binder/requirements.txt").splitlines() if line and not line.startswith(("#", "--"))]
    assert dict(line.split("==") for line in lines) == {name: LOCKED[name] for name in ("torch", "ipykernel")}
    assert "--extra-index-url https://download.pytorch.org/whl/cpu" in read(".binder/requirements.txt").splitlines()


def test_the_lock_file_names_what_its_packages_need():
    """Else two environments differ from one day to the next. Torch for a GPU needs more than torch for CPUs: it is left out."""
    named, missing = {canonicalize_name(name) for name in LOCKED}, set()
    for name in LOCKED.keys() - {"torch"}:
        for needed in map(Requirement, metadata.distribution(name).requires or []):
            if (needed.marker is None or needed.marker.evaluate({"extra": ""})) and canonicalize_name(needed.name) not in named:
                missing.add(needed.name)
    assert not missing, "requirements.lock: pin these, too"


def test_after_the_build_the_course_is_installed_and_nothing_else():
    lines = [line for line in read(".binder/postBuild").splitlines() if line and not line.startswith("#")]
    assert lines[0] == "set -eu" and len(lines) == 2
    words = shlex.split(lines[1])
    assert words[:4] == ["python", "-m", "pip", "install"] and words[-1] == ".[course]"
    assert (ROOT / words[words.index("--constraint") + 1]).is_file()
    assert set(re.findall(r"\w+", words[-1])) <= set(ranges.project()["optional-dependencies"])
    assert (ROOT / ".binder" / "postBuild").read_bytes().startswith(b"#!/bin/sh\n")


def test_the_container_is_made_as_binder_is():
    """One recipe for both, and every file that it names is there."""
    named = [word for word in shlex.split(CONTAINER["postCreateCommand"]) if "/" in word]
    assert named == [".binder/requirements.txt", ".binder/postBuild"] and all((ROOT / name).is_file() for name in named)
    assert CONTAINER["forwardPorts"] == [int(*re.findall(r"(?m)^FIRST, TRIES = (\d+)", read("book/serve.py")))]


def hooks():
    return {hook["id"]: hook for repo in HOOKS for hook in repo["hooks"]}


def test_hooks_come_from_here_and_name_what_exists():
    assert {repo["repo"] for repo in HOOKS} == {"local"}
    assert set(hooks()) == {"ruff-check", "ruff-format", "spelling", "workflows", "types", "bootstrap", "export", "notebooks"}
    for hook in hooks().values():
        for word in shlex.split(hook["entry"]):
            assert not word.endswith(".py") or (ROOT / word).is_file(), hook["id"]


def test_hooks_use_the_versions_of_the_test_run():
    """A formatter of another version would undo what `make test` asks for."""
    for hook in hooks().values():
        for name, version in (pin.split("==") for pin in hook.get("additional_dependencies", [])):
            assert LOCKED.get(name, version) == version, hook["id"]
    assert hooks()["ruff-format"]["additional_dependencies"] == [f"ruff=={LOCKED['ruff']}"]


def test_the_hooks_for_files_meet_such_files():
    paths = [path.relative_to(ROOT).as_posix() for top in ("chapters", "xformer_lib", ".github") for path in (ROOT / top).rglob("*.*")]
    for hook in hooks().values():
        assert "files" not in hook or any(re.search(hook["files"], path) for path in paths), hook["id"]


def test_words_that_the_spelling_knows_are_sorted_and_few():
    words = read(".codespell.txt").split()
    assert words == sorted(set(words)) and len(words) < 40


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_it_needs(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"] and form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) and any(field.get("validations") for field in fields)
    assert all(f"`{label}`" in read("MAINTAINING.md") for label in form["labels"]), "the owner makes the labels"


def test_there_is_a_form_for_each_kind_of_report():
    assert {path.stem for path in FORMS} == {"stumble", "exercise", "bug"}


def test_no_page_of_the_account_hides_the_readme():
    """A README.md in .github or docs would be shown in the place of our own."""
    assert [name for name in (".github/README.md", "docs/README.md") if (ROOT / name).exists()] == []


def test_urls_of_the_project_follow_the_address():
    import sync_bootstrap

    urls = ranges.project()["urls"]
    assert {"Homepage", "Source", "Issues", "Changelog"} <= set(urls)
    assert all(url.startswith(sync_bootstrap.repository_url()) for url in urls.values())
    assert "pyproject.toml" in sync_bootstrap.MARKED
