"""The shell commands of README.md, run one after the other in a folder of their own, as a reader would.

Where a command would take minutes, `SHORTENED` says what is added to it; where it is held by other tests, `ELSEWHERE` says by which.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.ci import EVERYTHING, in_ci, posix

ROOT = Path(__file__).parents[1]
SHORTENED = {  # 800 steps as they stand
    "xformer train --preset fragment": "--set max_steps=12 warmup_steps=2 validate_every=6 max_tokens=307 d_model=32 num_heads=2 d_ff=64",
    "xformer train --pairs my.tsv --start-from": "--set max_steps=2 warmup_steps=1 rehearsal=0.1",
    "xformer train --pairs": "--set max_steps=6 warmup_steps=2 validate_every=3",
    "xformer evaluate": "--split val",
}
ELSEWHERE = {
    "make book": "the pages that `make test` builds and reads",
    "make test": "whoever runs this",
    "make repository": "notebooks/test_bootstrap.py",
    "pip install": "test_extras.py",
    "torchrun": "training/test_distributed.py",
}
WORKS = {"xformer grade": 1}  # one exercise of the notebook is open
MODELS = {  # which model a command says it used
    "xformer translate --model fr-en": "fr-en",
    "xformer translate --model runs/small": "runs/small",
    "xformer translate --model runs/mine": "runs/mine",
    "xformer translate": "en-fr",
    "xformer train --pairs my.tsv --start-from": "runs/tuned",
    "xformer train --pairs": "runs/mine",
    "xformer train": "runs/small",
    "xformer evaluate": "runs/small",
    "xformer export": "runs/small",
}


def commands():
    """The lines of every block of shell commands, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


def started_with(command, table, default):
    return next((value for start, value in table.items() if command.startswith(start)), default)


@pytest.fixture
def folder(tmp_path):
    """What the commands name, and a path on which `xformer` and `torchrun` are those of this environment."""
    (tmp_path / "bin").mkdir()
    for name, module in (("xformer", "xformer_lib"), ("torchrun", "torch.distributed.run")):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "in.txt").write_text("I am here.\n\nWhere is the station?\n")
    (tmp_path / "my.tsv").write_text("".join(f"I see {n} cats.\tJe vois {n} chats.\n" for n in range(60)))
    cells = [
        nbformat.v4.new_markdown_cell("### Exercise 3.7 · Only what is near"),
        nbformat.v4.new_code_cell("def recent_mask(length, window):\n    return None"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebook.ipynb")
    return tmp_path


def test_pairs_of_ones_own_in_python(folder, monkeypatch, capsys):
    """The block as it stands, but for the number of steps."""
    (block,) = (
        text
        for text in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
        if "read_pairs" in text
    )
    assert block.count("\n") <= 8 and "\nrun = train(settings," in block
    monkeypatch.chdir(folder)
    shorter = "run = train(__import__('dataclasses').replace(settings, max_steps=2, warmup_steps=1, rehearsal=0.1),"
    exec(block.replace("run = train(settings,", shorter), {})  # noqa: S102
    assert re.search(r"\d+ of 20 everyday sentences are translated as before", capsys.readouterr().out)


def test_every_command_is_run_here_or_held_elsewhere():
    found = commands()
    assert len(found) > 12 and len([one for one in found if not started_with(one, ELSEWHERE, "")]) >= 9
    for start in (*SHORTENED, *ELSEWHERE, *WORKS, *MODELS):
        assert any(one.startswith(start) for one in found), f"no command starts with {start}"


@posix
def test_the_commands_in_their_order(folder):
    """Each ends well, and says which model it used; the sentence of the shipped model comes from it, with a run beside it, too.

    Elsewhere than in the continuous integration, the first line of each subcommand.
    """
    environment = {name: value for name, value in os.environ.items() if name != "XFORMER_TRACEBACK"}
    environment |= {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    ours = [one for one in commands() if not started_with(one, ELSEWHERE, "")]
    first = {one.split()[1]: one for one in reversed(ours)}.values()
    said = {}
    for command in in_ci(ours, [one for one in ours if one in first]):
        line = f"{command} {started_with(command, SHORTENED, '')}"
        ended = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)
        assert ended.returncode == started_with(command, WORKS, 0), (line, ended.stdout, ended.stderr)
        assert "Traceback" not in ended.stderr, (line, ended.stderr)
        said[command] = ended
    shipped = 'xformer translate "Where is the station?"'
    assert list(said)[1] == shipped and said[shipped].stdout == "Où est la gare ?\n"
    models = {command: re.findall(r"(?m)^xformer \w+: model (\S+?)[,;]?(?: .*)?$", ended.stderr) for command, ended in said.items()}
    assert models == {command: [*filter(None, [started_with(command, MODELS, "")])] for command in said}
    if EVERYTHING:
        assert (folder / "out.txt").read_text().splitlines()[1:] == ["", "Où est la gare ?"]
    again = subprocess.run(["sh", "-c", shipped], cwd=folder, env=environment, capture_output=True, text=True)
    assert again.stdout == said[shipped].stdout
