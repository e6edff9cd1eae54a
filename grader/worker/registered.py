"""Reads what is registered with a module, from where ``nn.Module`` or TorchScript keeps it.

Neither its methods nor those of the dict that holds its attributes are asked: a submission may
override them to say what it likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Imported before a submission is loaded, which may replace these names in torch.
from torch import Tensor
from torch._C import BufferDict, ParameterDict
from torch.jit._script import OrderedDictWrapper, OrderedModuleDict, RecursiveScriptModule
from torch.nn import Module

_attributes_of: Any = vars(Module)["__dict__"].__get__  # a subclass may define a `__dict__`
_inside: Any = vars(OrderedDictWrapper)["__dict__"].__get__
_items_of: dict[Any, Any] = {kind: vars(kind)["items"] for kind in (ParameterDict, BufferDict)}


def parameters(module: Module) -> dict[str, Tensor]:
    """Return all parameters by name; a parameter with two names is listed under both."""
    return _tensors(module, "_parameters")


def tensors(module: Module) -> dict[str, Tensor]:
    """Return all parameters and buffers by name."""
    return {**parameters(module), **_tensors(module, "_buffers")}


def state_dict_names(module: Module) -> list[str]:
    """Return the names of a module's parameters and persistent buffers, as its state dict has."""
    passing = {
        prefix + name
        for prefix, held in each_module(module)
        for name in _non_persistent_names(held)
    }
    return [name for name in tensors(module) if name not in passing]


def each_module(
    module: Module, prefix: str = "", above: tuple[int, ...] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the prefix and the attributes of a module and of each module inside it."""
    held = _attributes_of(module)
    scripted = dict.get(held, "_actual_script_module")
    if type(scripted) is RecursiveScriptModule and not dict.__contains__(held, "_parameters"):
        held = _attributes_of(scripted)  # where a module of TorchScript has all that it holds
    yield prefix, held
    for name, inner in _items(dict.get(held, "_modules")):
        if issubclass(type(inner), Module) and id(inner) not in above:
            yield from each_module(inner, f"{prefix}{name}.", (*above, id(module)))


def _tensors(module: Module, kept: str) -> dict[str, Tensor]:
    return {
        prefix + name: value
        for prefix, held in each_module(module)
        for name, value in _items(dict.get(held, kept))
        if issubclass(type(value), Tensor)
    }


def _non_persistent_names(held: dict[str, Any]) -> set[str]:
    """Return the names of a module's own buffers that its state dict leaves out."""
    names = dict.get(held, "_non_persistent_buffers_set")
    return {str.__str__(name) for name in names} if type(names) is set else set()


def _items(held: Any) -> list[tuple[str, Any]]:
    """Return the items of a dict, whose keys are text and nothing else, however they are shown.

    It may be a dict of TorchScript, which keeps parameters and buffers outside of Python.
    """
    if type(held) in (OrderedDictWrapper, OrderedModuleDict):
        inside = _inside(held)
        held = dict.get(inside, "_python_modules", dict.get(inside, "_c"))
    if kept := _items_of.get(type(held)):
        return list(kept(held))
    each = dict.items(held) if issubclass(type(held), dict) else ()
    return [(str.__str__(name), value) for name, value in each]
