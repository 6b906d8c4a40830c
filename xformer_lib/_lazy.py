"""Names that a package imports only when they are first used (PEP 562)."""

import sys
import warnings
from importlib import import_module
from types import ModuleType

from xformer_lib._needs import with_advice
from xformer_lib._old_names import OLD_MODULES, OLD_NAMES


def lazy_names(package, homes):
    """Return ``(__getattr__, __dir__)`` for a package whose public names live in its modules.

    A name of `OLD_NAMES` gives what it is called now, with a DeprecationWarning that says what to import.

    Args:
        package: The package's ``__name__``.
        homes: For every public name, the module inside the package that defines it.
    """

    if package in OLD_MODULES:  # an import finds it; as an attribute of the package, the name is a function now
        old = sys.modules[OLD_MODULES[package]] = ModuleType(OLD_MODULES[package])
        vars(old)["__getattr__"] = lazy_names(old.__name__, {})[0]

    def __getattr__(name):
        if name not in homes:
            new = OLD_NAMES.get(f"{package}.{name}".removeprefix("xformer_lib."))
            if new is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            module, _, now = f"xformer_lib.{new}".rpartition(".")
            value = getattr(import_part(module), now)
            advice = f"{package}.{name}: this name goes in 0.11; write from {module} import {now}"
            warnings.warn(advice, DeprecationWarning, stacklevel=2)
            return value
        value = getattr(import_part(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__():
        return sorted(set(vars(sys.modules[package])) | set(homes))

    return __getattr__, __dir__


def import_part(name):
    """Return a module of the library; a package that it needs and that is not here is named with its pip command.

    The error is an AttributeError, for whoever asks what a package has (`hasattr`, `inspect`, `pydoc`), and that of an
    import for ``from … import …``, which would not hand on what an AttributeError says.
    """
    try:
        return import_module(name)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            error = with_advice(error, name)
        if is_of_an_import(sys._getframe(2)):
            raise error
        raise AttributeError(str(error)) from error


def is_of_an_import(frame):
    """Return whether the code that asks for a name is Python's own, of ``from … import …``."""
    return frame.f_code.co_name == "_handle_fromlist" and frame.f_globals.get("__name__") == "importlib._bootstrap"
