"""Encode values that go to and from a worker: a tree of plain JSON that has tensors by number.

Scalars stand for themselves; a non-finite float, a list, tuple, dict or tensor is a JSON object
whose one key names its kind. A generator is sent to the worker only, as its initial seed; in the
calls of one step, the same seed means the same generator. Any other value is replaced by the name
of its type, which is decoded as an ``Opaque``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.wire.frames import BadFrame
from grader.wire.packing import CPU
from grader.wire.plain import one_line

MAX_KEY_CHARS = 500  # of a dict, such as the names in a state
Find = Callable[[int, list[int | str]], Any]


@dataclass(frozen=True)
class OutputRef:
    """A reference, sent in place of a value, to a part of call results that the worker keeps.

    Attributes:
        handle: The handle of the calls.
        path: The index of the call, then indices and keys into its result.
        owner: An object that must live until this is sent.
    """

    handle: int
    path: tuple[int | str, ...]
    owner: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Opaque:
    """A value that could not be sent; only the name of its type was."""

    type: str


def type_name(value: object) -> str:
    """Return the name of a decoded value's type, as it was before it was sent."""
    return value.type if isinstance(value, Opaque) else type(value).__name__


def encode(value: Any, tensors: list[Tensor]) -> Any:
    """Return a value as JSON; append its tensors to ``tensors``.

    Types are read by ``type``, and items as Python's own classes hold them: what an object says of
    itself may run code, or be something else each time.
    """
    kind = type(value)
    if value is None or kind in (bool, str) or (kind is int and abs(value) < 2**63):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if issubclass(kind, Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if kind is torch.Generator:
        return {"generator": value.initial_seed()}
    if kind is OutputRef:
        return {"output": [value.handle, *value.path]}
    if issubclass(kind, tuple):
        return {"tuple": [encode(item, tensors) for item in tuple.__iter__(value)]}
    if issubclass(kind, list):
        return {"list": [encode(item, tensors) for item in list.__iter__(value)]}
    if issubclass(kind, dict) and all(type(key) is str for key in dict.keys(value)):
        return {"dict": {key: encode(item, tensors) for key, item in dict.items(value)}}
    return {"opaque": kind.__qualname__[:100]}


def decode(
    tree: Any,
    tensors: list[Tensor],
    find: Find | None = None,
    generators: dict[int, torch.Generator] | None = None,
    home: torch.device = CPU,
) -> Any:
    """Return the value that ``encode`` encoded.

    Args:
        tree: The encoded value.
        tensors: The tensors that the tree refers to.
        find: Returns the value of an ``OutputRef``, by handle and path; None if there can be none.
        generators: Generators made before, by seed, which are used again; new ones are added. None
            if a generator is to be an ``Opaque``.
        home: The device of generators.

    Raises:
        BadFrame: The tree was not made by ``encode``.
    """
    if not isinstance(tree, dict):
        if isinstance(tree, list):
            raise BadFrame("a value is a bare list")
        return tree
    try:
        ((kind, content),) = tree.items()
        if kind == "output" and find is not None:
            return find(content[0], content[1:])
        return _decode(kind, content, tensors, find, generators, home)
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise BadFrame("a value has an unknown form") from None


def _decode(
    kind: str,
    content: Any,
    tensors: list[Tensor],
    find: Find | None,
    generators: dict[int, torch.Generator] | None,
    home: torch.device,
) -> Any:
    match kind:
        case "float":
            return float(content)
        case "tensor":
            return tensors[_index(content)]
        case "list":
            return [decode(item, tensors, find, generators, home) for item in content]
        case "tuple":
            return tuple(decode(item, tensors, find, generators, home) for item in content)
        case "dict":
            return {
                one_line(str(key), MAX_KEY_CHARS): decode(item, tensors, find, generators, home)
                for key, item in content.items()
            }
        case "generator" if generators is not None:
            seed = _index(content)
            if seed not in generators:
                generators[seed] = torch.Generator(home).manual_seed(seed)
            return generators[seed]
        case "generator":
            return Opaque(torch.Generator.__name__)
        case "opaque":
            return Opaque(one_line(str(content), 100))
    raise ValueError(kind)


def _index(content: Any) -> int:
    if type(content) is not int or content < 0:
        raise ValueError(content)
    return content
