"""``xformer doctor``: what this machine has, what it lacks, and the command that brings what is missing."""

import os
import platform
import shutil
import subprocess
from argparse import Namespace
from importlib import metadata
from pathlib import Path

import xformer_lib
from xformer_lib import _needs
from xformer_lib.cli.provenance import cpu_name

__all__ = ["run"]

ALONE = {  # extras that the course can do without
    "grade": "xformer grade",
    "onnx": "xformer export --format onnx",
    "ctranslate2": "xformer export --format ctranslate2",
}
BIG = "(about 1 GB and two minutes; 6.0 GB and 9 minutes without --index-url)"


def run(options: Namespace) -> int:
    """Print one line for each finding; the exit status is 1 when something that a reader of the course needs is missing."""
    say("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    say("processor", cpu_name())
    say("xformer-lib", f"{xformer_lib.__version__} in {Path(xformer_lib.__file__).parent}")
    needed = ("numpy", *_needs.EXTRAS["course"])
    for package in needed:
        say(package, "missing" if _needs.is_missing(package) else version(package))
    for extra, use in ALONE.items():
        for package in (package for package in _needs.EXTRAS[extra] if package not in needed):
            lacking = f"missing, for {use} alone; {_needs.command([package])}"
            say(package, lacking if _needs.is_missing(package) else version(package))
    if not _needs.is_missing("torch"):
        say("device", device())
    say("git", git())
    say("cache", cache())
    say_corpora()
    missing = _needs.missing(needed)
    if "torch" in missing:
        say("torch", f"comes with {_needs.command(['torch'])} {BIG}")
    say("verdict", f"missing: {', '.join(missing)}; {_needs.command(missing)}" if missing else "everything the course needs is here")
    return 1 if missing else 0


def say(name: str, finding: str) -> None:
    print(f"{name:<14} {finding}")


def version(package: str) -> str:
    """A package that can be imported may have been put there without its metadata."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "here, of unknown version"


def device() -> str:
    """What torch computes on here; the part on bfloat16 needs the training code, and with it the packages it needs."""
    import torch

    best = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    found = f"{best}, {torch.get_num_threads()} threads"
    if _needs.missing(_needs.COMMANDS["train"]):
        return found
    from xformer_lib.training.precision import has_bfloat16

    return f"{found}, bfloat16 {'in hardware' if has_bfloat16(best) else 'not in hardware'}"


def git() -> str:
    try:
        said = subprocess.run(["git", "--version"], capture_output=True).stdout.decode("utf-8", "replace")
        return said.strip() or "does not answer"
    except OSError:
        return "not on the path; runs then record no commit"


def cache() -> str:
    """Where downloads go, and whether they can; nothing is made there."""
    from xformer_lib.data._download import CorpusUnavailable, cache_folder

    try:
        folder = cache_folder()
    except CorpusUnavailable as error:
        return str(error)
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    if not there.is_dir() or not os.access(there, os.W_OK):
        return f"{folder} cannot be written; set XDG_CACHE_HOME to a folder that can"
    return f"{folder}, {shutil.disk_usage(there).free / 1e9:.1f} GB free"


def say_corpora() -> None:
    """Where the real corpora would be read from; the fragment needs no file."""
    from xformer_lib.data._download import FILES, is_cached

    named = os.environ.get("XFORMER_DATA")
    for corpus in ("multi30k", "tatoeba"):
        names = [name for name in FILES if name.startswith(corpus + "/")]
        size = sum(FILES[name]["size"] for name in names) / 1e6
        if named and all(os.path.exists(Path(named, name)) for name in names):
            say(corpus, f"in XFORMER_DATA ({named})")
        elif all(map(is_cached, names)):
            say(corpus, "in the cache")
        else:
            place = f"not in XFORMER_DATA ({named})" if named else "not here"
            say(corpus, f"{place}; {size:.1f} MB are downloaded once, when first used")
