"""Names that a package imports only when they are first used (PEP 562)."""

import sys
from importlib import import_module


def lazy_names(package, homes):
    """``(__getattr__, __dir__)`` for a package whose public names live in its modules.

    Args:
        package: The package's ``__name__``.
        homes: For every public name, the module inside the package that defines it.
    """

    def __getattr__(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__():
        return sorted(set(vars(sys.modules[package])) | set(homes))

    return __getattr__, __dir__
