"""Trees of modules beside a model's own: what a wrapper holds, and a second tree over the same parameters.

Written by hand: decoding, inspection, the engine and checkpoints call these, so that nothing is switched in a model
that several threads share, and nothing of a wrapper's gets into a file.
"""

import copy
from collections.abc import Mapping
from types import MappingProxyType, MethodType
from typing import Any, TypeVar

from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

__all__ = ["full_copy", "second_tree", "unwrapped", "without_wrappers"]

WRAPPERS = (DataParallel, DistributedDataParallel, AveragedModel)


Tree = TypeVar("Tree")


def full_copy(model: Tree) -> Tree:
    """Return a copy with weights of its own, also of a model that computes some from others, as torch.nn.utils.prune has it."""
    tree: Any = model
    values = (value for part in tree.modules() for value in vars(part).values())
    computed = {id(value): value.detach().clone() for value in values if isinstance(value, Tensor) and not value.is_leaf}
    return copy.deepcopy(model, computed)


def unwrapped(model: Any, wrappers: tuple[type, ...] = WRAPPERS) -> Any:
    """Return the model inside the wrappers of torch.compile, of parallel training and of averaged weights."""
    while isinstance(model, nn.Module):
        inside = vars(model)["_modules"]
        if "_orig_mod" in inside:  # torch.compile's
            model = inside["_orig_mod"]
        elif isinstance(model, wrappers):
            model = inside["module"]
        else:
            break
    return model


def without_wrappers(model: Any) -> Any:
    """Return the model itself, or a second tree without the wrappers around it or around a part of it."""
    parts = [part for part in model.modules() if isinstance(part, nn.Module)]
    return second_tree(model) if any(unwrapped(part) is not part for part in parts) else model


def second_tree(
    model: Any, *, classes: Mapping[type, type] = MappingProxyType({}), wrappers: tuple[type, ...] = WRAPPERS, shares_hooks: bool = False
) -> Any:
    """Return another tree of modules over the same parameters and buffers, without torch.compile's wrapper and ``wrappers``.

    What is set in it, or hung on it, does not show in ``model``: each has its own ``training`` and its own hooks,
    of which the second begins with those of the first, or all of them with ``shares_hooks``. A part in two places stays
    one. A part whose class is named in ``classes`` becomes one of the class that stands there.
    """
    made: dict[nn.Module, nn.Module] = {}

    def again(part: nn.Module) -> nn.Module:
        part = unwrapped(part, wrappers)
        if part not in made:
            new: Any = object.__new__(classes.get(type(part), type(part)))
            made[part] = new
            hooks = {name: value for name, value in vars(part).items() if "hooks" in name and isinstance(value, dict)}
            own = {} if shares_hooks else {name: value.copy() for name, value in hooks.items()}
            inside = {name: child if child is None else again(child) for name, child in vars(part)["_modules"].items()}
            new.__dict__ = {**vars(part), **own, "_modules": inside, "_compiled_call_impl": None}
        return made[part]

    tree = again(model)
    for new in made.values():  # a method or a part that stands in the module itself, outside of its parts
        for name, value in vars(new).items():
            if isinstance(value, MethodType) and isinstance(value.__self__, nn.Module) and value.__self__ in made:
                vars(new)[name] = MethodType(value.__func__, made[value.__self__])
            elif isinstance(value, nn.Module) and value in made:
                vars(new)[name] = made[value]
    made.clear()  # `again` refers to itself: without this, the model would live until the next collection
    return tree
