"""Requests to a worker: their headers and tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.sandbox.wire import values

Request = tuple[dict[str, Any], Sequence[Tensor]]


def creation(
    target: int,
    name: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    told: bool,
) -> Request:
    """Construct a module.

    Args:
        target: The number that later requests call it by.
        name: Its class.
        args: Of the constructor.
        kwargs: Of the constructor.
        told: Whether the values of its parameters are wanted.
    """
    tensors: list[Tensor] = []
    trees = {"args": values.encode(args, tensors), "kwargs": values.encode(dict(kwargs), tensors)}
    return {"do": "create", "target": target, "name": name, **trees, "told": told}, tensors


def moving(target: int, dtype: torch.dtype | None, device: str | None) -> Request:
    """Move a module to a dtype and a device; None leaves it where it is."""
    name = None if dtype is None else str(dtype).removeprefix("torch.")
    return {"do": "move", "target": target, "dtype": name, "device": device}, []


def going_back(graph: int, grad_outputs: Sequence[Tensor]) -> Request:
    """Ask for the gradients behind the calls of this number, given those of their outputs."""
    return {"do": "backward", "graph": graph}, grad_outputs


def calling(
    target: int | str,
    method: str,
    calls: Sequence[tuple[Any, Any]],
    parameters: Mapping[str, Tensor],
    mode: bool | None,
    graph: int | None = None,
    learned: Sequence[str] = (),
    watch: bool = False,
) -> Request:
    """Call a module or a function once for each pair of arguments and keywords.

    Args:
        target: The module's number, or the function's name.
        method: Of the module; empty for the module itself.
        calls: What it is called with.
        parameters: New values, set before the first call.
        mode: Whether it is in training; None where the worker knows.
        graph: The number that a backward request calls these calls by; None for no gradients.
        learned: Names of the parameters that gradients may be asked of, beside the inputs that
            require one.
        watch: Whether to tell which inputs the calls change.
    """
    tensors: list[Tensor] = []
    trees = [
        {"args": values.encode(args, tensors), "kwargs": values.encode(kwargs, tensors)}
        for args, kwargs in calls
    ]
    header = {
        "do": "call",
        "target": target,
        "method": method,
        "calls": trees,
        "parameters": {name: len(tensors) + i for i, name in enumerate(parameters)},
        "learned": list(learned),
        "mode": mode,
        "graph": graph,
        "watch": watch,
    }
    return header, [*tensors, *parameters.values()]
