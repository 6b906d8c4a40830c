"""The workflows, held to the files and targets that they name and to what pyproject.toml promises."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import ranges
import run_tests
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
JOBS = {(name, job): spec for name, workflow in WORKFLOWS.items() for job, spec in workflow["jobs"].items()}
STEPS = [(*place, step) for place, job in JOBS.items() for step in job.get("steps", [])]
WIDER = {  # what a job may do beyond reading
    ("book", "deploy"): {"pages": "write", "id-token": "write"},
    ("release", "publish"): {"id-token": "write"},
    ("release", "attach"): {"contents": "write"},
}
TARGETS = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
ACTION = re.compile(r"[\w-]+/[\w-]+@(v\d+|release/v\d+|[0-9a-f]{40})")


def commands():
    """Each line of shell with its words, and where it stands."""
    for name, job, step in STEPS:
        for line in step.get("run", "").splitlines():
            yield f"{name}.{job}", line, shlex.split(re.sub(r"\$\{\{.*?\}\}", "VALUE", line))


def test_the_four_workflows_run_when_they_should():
    assert set(WORKFLOWS) == {"tests", "book", "nightly", "release"}
    triggers = {name: set(workflow[True]) for name, workflow in WORKFLOWS.items()}  # YAML reads the key `on` as true
    assert {"push", "pull_request"} <= triggers["tests"] and triggers["release"] == {"push"}
    assert WORKFLOWS["release"][True]["push"] == {"tags": ["v*"]}
    assert "schedule" in triggers["nightly"] and WORKFLOWS["book"][True]["push"] == {"branches": ["main"]}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_reads_and_no_two_of_one_kind_run_at_once(name):
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert WORKFLOWS[name]["concurrency"]["group"]


@pytest.mark.parametrize("place", JOBS, ids=".".join)
def test_a_job_asks_for_what_it_needs_and_ends(place):
    assert JOBS[place].get("permissions", {}) == WIDER.get(place, {})
    assert "uses" in JOBS[place] or 5 <= JOBS[place]["timeout-minutes"] <= 180
    assert {*([needs] if isinstance(needs := JOBS[place].get("needs", []), str) else needs)} <= set(WORKFLOWS[place[0]]["jobs"])


def test_actions_are_pinned():
    used = [step["uses"] for _, _, step in STEPS if "uses" in step]
    assert used and [one for one in used if not ACTION.fullmatch(one)] == []
    for job in JOBS.values():
        assert "uses" not in job or (ROOT / job["uses"]).is_file()
    keeper = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    assert [one["package-ecosystem"] for one in keeper["updates"]] == ["github-actions"]


def test_an_action_has_one_version():
    versions = dict(step["uses"].split("@") for _, _, step in STEPS if "uses" in step)
    assert {step["uses"] for _, _, step in STEPS if "uses" in step} == {f"{name}@{version}" for name, version in versions.items()}


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
    offered = set(ranges.project()["optional-dependencies"])
    asked = [set(found.split(",")) for _, line, _ in commands() for found in re.findall(r"\.\[([\w,]+)\]", line)]
    asked += [set(words[2:]) & offered for _, _, words in commands() if words[1:2] == ["tools/ranges.py"]]
    assert len(asked) == 3 and all(one and one <= offered for one in asked)


def test_versions_of_python_are_those_that_are_promised():
    """The matrix, the classifiers, and requires-python say the same; each end of the ranges is tried with its end of the Pythons."""
    project = ranges.project()
    classified = [one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r":: 3\.\d+$", one)]
    matrix = WORKFLOWS["tests"]["jobs"]["systems"]["strategy"]["matrix"]
    assert matrix["python"] == classified == sorted(classified, key=lambda one: int(one[2:]))
    assert {one.split("-")[0] for one in matrix["system"]} == {"ubuntu", "macos", "windows"}
    lowest, promised = int(classified[0][2:]), SpecifierSet(project["requires-python"])
    assert all(one in promised for one in classified) and f"3.{lowest - 1}" not in promised
    ends = {one["end"]: one for one in WORKFLOWS["tests"]["jobs"]["ranges"]["strategy"]["matrix"]["include"]}
    assert (ends["oldest"]["python"], ends["newest"]["python"]) == (classified[0], classified[-1])
    assert ends["newest"]["option"] == "--newest" and ends["oldest"]["option"] == ""
    alone = {step["with"]["python-version"] for _, _, step in STEPS if "setup-python" in step.get("uses", "")}
    assert alone == {classified[0], "${{ matrix.python }}"}


def test_this_python_is_one_of_them():
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in WORKFLOWS["tests"]["jobs"]["systems"]["strategy"]["matrix"]["python"]


def test_a_release_is_what_was_built_and_tested():
    jobs = WORKFLOWS["release"]["jobs"]
    assert (jobs["build"]["needs"], jobs["publish"]["needs"], jobs["attach"]["needs"]) == ("tests", "build", "publish")
    uploads = {
        step["with"]["name"]: step["with"]["path"].split() for step in jobs["build"]["steps"] if "upload-artifact" in step.get("uses", "")
    }
    assert uploads == {"packages": ["dist/*.whl", "dist/*.tar.gz"], "book": ["dist/*-book.zip"]}
    assert jobs["publish"]["steps"][0]["with"]["name"] == "packages", "the book is nothing for the package index"
    assert jobs["publish"]["environment"]["name"] == "pypi"


def test_what_fails_by_night_is_kept():
    for job in ("fuzz", "weekly"):
        last = WORKFLOWS["nightly"]["jobs"][job]["steps"][-1]
        written = " ".join(step.get("run", "") for step in WORKFLOWS["nightly"]["jobs"][job]["steps"])
        assert last["if"] == "failure()" and last["with"]["path"].split()[0] in written
    crons = {one["cron"] for one in WORKFLOWS["nightly"][True]["schedule"]}
    conditions = " ".join(job["if"] for job in WORKFLOWS["nightly"]["jobs"].values())
    assert len(crons) == 2 and all(f"'{cron}'" in conditions for cron in crons)
