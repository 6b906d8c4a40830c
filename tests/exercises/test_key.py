"""`xformer key`: for every exercise its statement, an answer that runs, and all its misconceptions."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from xformer_course.exercises import key, registry
from xformer_lib import cli

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = registry.chapter_numbers()
TEXTS = {number: key.chapter_key(*key.chosen(str(number))) for number in NUMBERS}


def exercises_of(number):
    """The text of each exercise's part, by id."""
    parts = re.split(r"^## Exercise (\d+\.\d+) · ", TEXTS[number], flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def code_of(text):
    return re.findall(r"^```python\n(.*?)\n```$", text, re.M | re.S)


@pytest.mark.parametrize("number", NUMBERS)
def test_each_exercise_has_statement_times_answer_and_every_misconception(number):
    chapter, parts = registry.chapter(number), exercises_of(number)
    assert TEXTS[number].startswith(f"# Answer key · Chapter {number}: {chapter.title}\n")
    assert f"{sum(one.minutes for one in chapter.exercises)} minutes" in TEXTS[number]
    assert list(parts) == [exercise.id for exercise in chapter.exercises]
    for exercise in chapter.exercises:
        text = parts[exercise.id]
        assert text.startswith(exercise.title) and exercise.statement.strip() in text
        assert f"*{exercise.kind} · {exercise.minutes} minute" in text and f"difficulty {exercise.difficulty} of 3" in text
        answer, wrong = text.split("### Answer")[1].split("### What goes wrong")
        assert code_of(answer) and all(f"**{step.name}**: {step.claim}" in answer for step in exercise.steps)
        known = [*exercise.misconceptions, *(one for step in exercise.steps for one in step.misconceptions)]
        for one in known:
            assert f"**{one.name}**" in wrong and one.diagnosis in wrong
        shown = len(code_of(wrong)) + wrong.count("The code of ")
        assert shown >= len(known), "a misconception is named and not shown"


@pytest.mark.parametrize("number", NUMBERS)
def test_everything_shown_is_python_and_no_place_in_memory(number):
    for code in code_of(TEXTS[number]):
        if "array(" not in code or "def " in code:
            ast.parse(code)
    assert "object at 0x" not in TEXTS[number] and "<function" not in TEXTS[number] and str(ROOT) not in TEXTS[number]


def test_the_answer_is_the_solution_without_its_checks():
    """The solutions page runs it."""
    text = exercises_of(3)["3.6"].split("### Answer")[1].split("### What goes wrong")[0]
    assert "A score of 0 is an ordinary score" in text and "scores = np.where(mask, scores, -np.inf)" in text
    assert not any("check(" in text for text in TEXTS.values())


def test_a_function_made_twice_is_shown_by_what_differs():
    text = exercises_of(3)["3.6"]
    assert "fill = 0.0\nflip = False\n\n\ndef attention(q, k, v, mask):" in text
    assert "The code of *forbidden score of 0*, with `fill = inf`." in text
    assert len(re.findall(r"^def attention\(", text, re.M)) == 1


def test_of_two_lambdas_in_a_line_the_right_one_is_found():
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    text = Path(__file__).read_text(encoding="utf-8")
    for function, words in zip(PAIR, ("lambda x: x + 1", "lambda x: lambda y: y")):
        assert key.segment(text, key.node_of(function, tree)) == words


PAIR = (lambda x: x + 1, lambda x: lambda y: y)


# ---------------------------------------------------------------- the command


@pytest.fixture
def installed(monkeypatch):
    """The command as pyproject.toml registers it, whatever is installed here."""
    registered = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["xformer.commands"]

    def found(group, name):
        return [EntryPoint(name, registered[name], group)] if group == "xformer.commands" and name in registered else []

    monkeypatch.setattr("xformer_lib.cli.course.entry_points", found)


def test_the_command_writes_chapters_and_exercises(installed, tmp_path, capsys):
    assert cli.main(["key", "2", "4.3"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^# Answer key · Chapter (\d+)", out, re.M) == ["2", "4"]
    assert re.findall(r"^## Exercise (\S+)", out, re.M) == ["2.1", "2.2", "2.3", "2.4", "2.5", "4.3"]
    assert cli.main(["key", "2", "4.3", "--output", str(tmp_path / "key.md")]) == 0
    assert (tmp_path / "key.md").read_text(encoding="utf-8") == out and capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["16"], "chapter: expected a chapter with exercises (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) or an exercise"),
        (["4.17"], "got '4.17': there is no exercise 4.17; chapter 4 has 4.1, 4.2"),
        (["four"], "got 'four': 'four' is not an id"),
        (["4", "--output", "no/key.md"], "--output: no folder no; make it first"),
        (["4", "--output", "."], "--output: expected a file, got the folder ."),
    ],
)
def test_mistakes_end_in_one_line(installed, arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["key", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_no_repository_is_needed(tmp_path):
    """The two packages alone, copied elsewhere as an installation would, and started in another folder."""
    for package in ("xformer_lib", "xformer_course"):
        shutil.copytree(ROOT / package, tmp_path / "site" / package, ignore=shutil.ignore_patterns("__pycache__", "pretrained"))
    code = "from xformer_course.exercises import key; print(key.__file__); print(key.chapter_key(*key.chosen('7')), end='')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": "", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    file, _, text = done.stdout.partition("\n")
    assert done.returncode == 0, done.stderr
    assert file.startswith(str(tmp_path)) and text == TEXTS[7]
