"""Which package each part of the library stands on, and the pip command that brings what is missing.

Written by hand. The extras are those of ``pyproject.toml``; a test holds both together.
"""

from importlib import util

__all__ = ["COMMANDS", "CPU_INDEX", "EXTRAS", "check", "command", "is_missing", "missing", "with_advice"]

CPU_INDEX = "https://download.pytorch.org/whl/cpu"

_TRAIN = ("torch", "tokenizers", "safetensors", "sacrebleu", "tqdm", "pooch", "filelock")
EXTRAS = {
    "torch": ("torch",),
    "train": _TRAIN,
    "course": (*_TRAIN, "matplotlib", "scikit-learn"),
    "grade": ("ipykernel", "jupyter-client", "psutil"),
    "onnx": (*_TRAIN, "onnx", "onnxscript", "onnxruntime"),
    "ctranslate2": (*_TRAIN, "ctranslate2"),
}
# what a command of `xformer` cannot do without
COMMANDS = {
    "train": ("torch", "tokenizers", "safetensors", "tqdm", "filelock"),
    "translate": ("torch", "tokenizers", "safetensors", "tqdm"),
    "evaluate": ("torch", "tokenizers", "safetensors", "sacrebleu", "tqdm"),
    "export": ("torch", "tokenizers", "safetensors"),
    "grade": EXTRAS["grade"],
}
# modules that are not called as their packages are
_MODULES = {"scikit-learn": "sklearn", "jupyter-client": "jupyter_client"}


def is_missing(package: str) -> bool:
    """Return whether a package is not installed here; it is looked for, not imported."""
    return util.find_spec(_MODULES.get(package, package)) is None


def missing(packages: tuple[str, ...]) -> list[str]:
    return [package for package in packages if is_missing(package)]


def check(packages: tuple[str, ...]) -> None:
    """Raise ImportError with the pip command for all of these packages that are lacking, not only the first."""
    lacking = missing(packages)
    if lacking:
        raise ImportError(f"{', '.join(lacking)}: not installed here; {command(lacking)}")


def command(packages: list[str]) -> str:
    """Return the pip command for some packages; torch comes first and alone, from the index of its builds for CPUs.

    >>> command(["tqdm", "torch", "sacrebleu"])
    'pip install torch --index-url https://download.pytorch.org/whl/cpu && pip install tqdm sacrebleu'
    """
    rest = [package for package in packages if package != "torch"]
    lines = [f"pip install torch --index-url {CPU_INDEX}"] if "torch" in packages else []
    lines += ["pip install " + " ".join(rest)] if rest else []
    return " && ".join(lines)


def with_advice(error: ModuleNotFoundError, part: str) -> ModuleNotFoundError:
    """Return the error of an import with the pip command in it, where what it missed is one of our extras."""
    packages = {_MODULES.get(package, package): package for extra in EXTRAS.values() for package in extra}
    package = packages.get((error.name or "").partition(".")[0])
    if package is None:
        return error
    return ModuleNotFoundError(f"{part}: expected {package}, which is not installed here; {command([package])}", name=error.name)
