"""Which tests are taken for a change: the rule, on a small table of tests, and what git calls changed."""

import subprocess

import near_tests
import pytest

TESTS = {
    "tests/data/test_pairs.py": "from xformer_lib.data.pairs import deduplicate",
    "tests/data/test_pairs_of_words.py": "",
    "tests/data/test_pairsome.py": "",
    "tests/data/test_corpora.py": "from xformer_lib.data import pairs, typed",
    "tests/test_cli.py": "    from xformer_lib.data.typed import untyped\nfrom xformer_lib.training.loop import train",
    "tests/training/test_folder.py": "from xformer_lib.training import loop",
    "tests/training/test_loop_holds.py": "import xformer_lib.nn.attention",
    "tests/explorables/test_masks.py": "",
    "tests/explorables/test_every.py": "from xformer_lib.data.typed_by_hand import nothing",
    "tests/tools/test_slides.py": "import slides",
    "tests/book/test_live.py": "",
    "chapters/w2_runs.ipynb": '"show_source(\\"training._folder\\", \\"check_free\\")"',
} | {f"tests/{folder}/test_{n}.py": "from xformer_lib.nn.masks import causal_mask" for folder in ("nn", "fuzz") for n in range(3)}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("tests/test_cli.py", ["tests/test_cli.py"]),
        ("xformer_lib/data/pairs.py", ["tests/data/test_pairs.py", "tests/data/test_pairs_of_words.py", "tests/data/test_corpora.py"]),
        ("xformer_lib/data/typed.py", ["tests/data/test_corpora.py", "tests/test_cli.py"]),
        ("xformer_lib/training/_folder.py", ["tests/training/test_folder.py", "chapters/w2_runs.ipynb"]),
        ("xformer_lib/cli/train.py", ["tests/test_cli.py"]),
        ("xformer_lib/nn/masks.py", ["tests/nn/test_0.py", "tests/nn/test_1.py", "tests/nn/test_2.py"]),
        ("tools/slides.py", ["tests/tools/test_slides.py"]),
        ("xformer_course/explorables/assets/masks.js", ["tests/explorables/test_masks.py"]),
        ("xformer_course/explorables/assets/kit.css", ["tests/explorables/test_every.py"]),
        ("book/static/live.js", ["tests/book/test_live.py"]),
        ("book/static/print.css", []),
        ("README.md", []),
        ("tests/test_removed.py", []),
    ],
)
def test_what_one_path_asks_for(path, found):
    assert near_tests.tests_near(path, TESTS) == found


def test_runs_and_reasons():
    """Each file once; a page's checks are a run of their own, since `-k` chooses among all tests of a run."""
    changed = ["CHANGELOG.md", "chapters/04_self_attention.ipynb", "chapters/gone.ipynb", "tests/test_cli.py", "xformer_lib/cli/train.py"]
    runs, lines = near_tests.near(changed, TESTS, lambda path: "gone" not in path)
    assert runs == {
        "near": ["chapters/04_self_attention.ipynb", "tests/test_cli.py"],
        "pages": ["tests/notebooks", "-k", "04_self_attention"],
    }
    assert [line.partition(": ")[2] for line in lines] == [
        "its outputs, and tests/notebooks for it",
        "itself",
        "tests/test_cli.py",
        "CHANGELOG.md chapters/gone.ipynb",
    ]
    assert near_tests.near([], TESTS, bool) == ({}, ["Nothing was changed."])


def test_changed_is_what_left_main_committed_or_not(tmp_path):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True, capture_output=True)

    def write(*names):
        for name in names:
            (tmp_path / name).write_text(f"{name} of {len(list(tmp_path.iterdir()))}")

    git("init", "--initial-branch", "main")
    write("old", "edited", ".gitignore")
    (tmp_path / ".gitignore").write_text("ignored")
    git("add", "."), git("commit", "-m", "first"), git("checkout", "-b", "work")
    write("committed")
    git("add", "."), git("commit", "-m", "second")
    write("edited", "new ü", "ignored")
    assert near_tests.changed_files(tmp_path) == ["committed", "edited", "new ü"]
