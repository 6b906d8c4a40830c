"""The commands of the workflows, which nobody sees fail here: each file and target that they name exists."""

import re
import shlex
from pathlib import Path

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
