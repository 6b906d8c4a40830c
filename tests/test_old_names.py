"""A name of the last release gives what it is called now, and says what to write."""

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from xformer_lib._old_names import OLD_MODULES, OLD_NAMES


def parts(name):
    module, _, last = f"xformer_lib.{name}".rpartition(".")
    return module, last


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_warns_and_works(old):
    (package, name), (module, now) = parts(old), parts(OLD_NAMES[old])
    with pytest.warns(DeprecationWarning, match=rf"^{package}\.{name}: .*; write from {module} import {now}$") as said:
        value = getattr(import_module(package), name)
    assert value is getattr(import_module(module), now)
    assert [one.filename for one in said] == [__file__], "it names the line that uses the old name"
    assert name not in dir(import_module(package)), "pydoc and getmembers ask for what dir lists"


@pytest.mark.parametrize("package", sorted({old.partition(".")[0] for old in OLD_NAMES}))
def test_what_is_public_has_one_name_and_no_warning(package):
    room = import_module(f"xformer_lib.{package}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in room.__all__:
            getattr(room, name)
    assert not set(room.__all__) & {parts(old)[1] for old in OLD_NAMES if old.count(".") == 1 and old.startswith(f"{package}.")}


@pytest.mark.parametrize(("package", "name"), [old.rsplit(".", 1) for old in OLD_MODULES.values()])
def test_a_function_is_not_hidden_by_the_module_that_had_its_name(package, name):
    says = f"print({package}.{name}.__name__)\n"
    code = f"import {package}.{name}\n{says}from {package}.{name} import {name}\nprint({name}.__module__)\n{says}"
    code += f"import pickle\nprint(pickle.loads(b'c{package}.{name}\\n{name}\\n.').__name__)\nimport {package}.multi_head\n{says}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    module = parts(OLD_NAMES[f"{package}.{name}.{name}".removeprefix("xformer_lib.")])[0]
    assert run.stdout.split() == [name, module, name, name, name], run.stderr
