"""The commands of the workflows, which nobody sees fail here: each file, target, step and extra that they name exists."""

import re
import shlex
from pathlib import Path

import run_tests
import version_bounds
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
STEPS = [
    (name, job, step) for name, workflow in WORKFLOWS.items() for job, spec in workflow["jobs"].items() for step in spec.get("steps", [])
]
TARGETS = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))


def commands():
    """Each line of shell with its words, and where it stands."""
    for name, job, step in STEPS:
        for line in step.get("run", "").splitlines():
            yield f"{name}.{job}", line, shlex.split(re.sub(r"\$\{\{.*?\}\}", "VALUE", line))


def test_every_command_exists():
    """Targets of make, files that Python runs or pip reads, modules, and paths given to pytest."""
    seen = set()
    for place, line, words in commands():
        seen.add(words[0])
        if words[0] == "make":
            targets = [word for word in words[1:] if re.fullmatch("[a-z]+", word)]
            assert targets and set(targets) <= TARGETS | {"tee"}, (place, line)
        if words[0] == "python":
            assert words[1] in ("-m", "-c") or (ROOT / words[1]).is_file(), (place, line)
            assert words[1] != "-m" or words[2] in ("pip", "pytest"), (place, line)
        for word in words:
            if word.startswith(("tests/", "tools/")) or word.endswith(".lock"):
                assert (ROOT / word).exists(), (place, line)
    assert seen <= {"make", "python", "cat", "test", "gh", "export", "echo"}


def test_steps_of_the_test_run_are_its_own():
    chosen = [words[words.index("--only") + 1 : words.index("--jobs")] for _, _, words in commands() if "--only" in words]
    known = set(run_tests.steps(1)) | {"library"}
    assert len(chosen) == 3 and all("library" in one and set(one) <= known for one in chosen)


def test_extras_that_are_asked_for_exist():
    offered = set(version_bounds.project()["optional-dependencies"])
    asked = [set(found.split(",")) for _, line, _ in commands() for found in re.findall(r"\.\[([\w,]+)\]", line)]
    asked += [set(words[2:]) & offered for _, _, words in commands() if words[1:2] == ["tools/version_bounds.py"]]
    assert len(asked) == 3 and all(one and one <= offered for one in asked)
