"""Which tests lie near what was changed since the branch left `main`, committed or not: for `make check`.

a test file                  itself
a module a/b.py              tests/a/test_b*.py, and the tests that import it by its name. Where these are more than five, most
                             are far away: its own alone, or, if it has none, those in tests/a; without any, tests/test_a.py.
                             And the workshop's pages that print it with show_source
a script or style            test_NAME*.py in any folder; of a figure, tests/explorables/test_every.py where there is none
a notebook                   the notebook against its stored outputs, and tests/notebooks for that page
"""

import re
import subprocess
from pathlib import PurePosixPath

FEW = 5


def git(root, *arguments):
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, encoding="utf-8")


def changed_files(root):
    """Paths from the root: what differs from where the branch left `main`, and new files that git does not ignore."""
    bases = [git(root, "merge-base", "HEAD", name).stdout.strip() for name in ("main", "origin/main")]
    base = next(filter(None, bases), "HEAD")
    lists = [git(root, "diff", "--name-only", "-z", base), git(root, "ls-files", "--others", "--exclude-standard", "-z")]
    if any(one.returncode for one in lists):
        raise SystemExit("make check: expected a checkout of git, which says what was changed; run make test")
    return sorted({name for one in lists for name in one.stdout.split("\0") if name})


def test_files(root):
    """Each file of tests, and each page of the workshop, with its text."""
    paths = [*(root / "tests").rglob("test_*.py"), *(root / "chapters").glob("w*.ipynb")]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def tests_of_module(path, tests):
    """Its own tests and those that import it, as the table above says."""
    *folders, name = PurePosixPath(path).with_suffix("").parts
    package, here = re.escape(".".join(folders)), "/".join(["tests", *(folders if folders in (["tools"], ["book"]) else folders[1:])])
    line = rf"(?m)^\s*(from|import) {package}\.{name}\b|^\s*from {package} import .*\b{name}\b"
    line += rf"|^\s*(from|import) {name}\b" if folders == ["tools"] else ""
    own = [test for test in tests if re.fullmatch(rf"{here}/test_{name.lstrip('_')}(_\w+)?\.py", test)]
    others = [test for test in tests if test not in own and re.search(line, tests[test])]
    found = own + (others if len(others) <= FEW else [] if own else [test for test in others if test.startswith(f"{here}/")])
    of_package = f"{here.rpartition('/')[0]}/test_{here.rpartition('/')[2]}.py"
    printed = f'show_source(\\"{".".join([*folders[1:], name])}\\"'
    pages = [page for page in tests if page.endswith(".ipynb") and printed in tests[page]]
    return (found or [test for test in tests if test == of_package]) + pages


def tests_near(path, tests):
    """The files that one changed path asks for."""
    path = PurePosixPath(path)
    if path.as_posix() in tests:
        return [path.as_posix()]
    if path.suffix == ".py":
        return tests_of_module(path.as_posix(), tests)
    if path.suffix not in (".js", ".css"):
        return []
    own = [test for test in tests if PurePosixPath(test).name.startswith(f"test_{path.stem}")]
    return own or (["tests/explorables/test_every.py"] if path.parent.name == "assets" else [])


def near(changed, tests, there):
    """Arguments of up to two runs of pytest, by name, and a line for each path; ``there``: whether a path still exists."""
    files, pages, lines, far = [], [], [], []
    for path in changed:
        page = path.startswith("chapters/") and path.endswith(".ipynb") and there(path)
        found = [path] if page else tests_near(path, tests)
        files += found
        pages += [PurePosixPath(path).stem] if page else []
        if found:
            lines.append(
                f"{path}: " + ("its outputs, and tests/notebooks for it" if page else "itself" if found == [path] else " ".join(found))
            )
        else:
            far.append(path)
    lines += [f"No test near, make test looks at it: {' '.join(far)}"] if far else []
    runs = {"near": list(dict.fromkeys(files))} if files else {}
    return runs | ({"pages": ["tests/notebooks", "-k", " or ".join(dict.fromkeys(pages))]} if pages else {}), lines or [
        "Nothing was changed."
    ]
