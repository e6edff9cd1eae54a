"""Plan the calls of a sequence in parts, each of which takes what the call before it handed on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from grader.suite.calls import PlannedCall
from grader.suite.modules import Module

Tensors = dict[str, Tensor]


def in_parts(
    module: Module,
    inputs: Tensors,
    lengths: Sequence[int],
    grad_output: Tensor | None = None,
    before: PlannedCall | None = None,
    **how: Any,
) -> list[PlannedCall]:
    """Plan a call for each part of a sequence; each takes what the call before it handed on.

    Args:
        module: Module to call.
        inputs: Inputs of the whole sequence.
        lengths: Lengths of the parts, in order.
        grad_output: Gradient of the whole output, if gradients are wanted.
        before: Call that precedes the first part; None if there is none.
        how: As in ``Module.calls``.
    """
    parts = [before] if before else []
    axis = 0 if grad_output is None else module.sizes.axis(module.contract.out_shape, "T")
    for start, end in itertools.pairwise((0, *itertools.accumulate(lengths))):
        given = {name: _cut(module, name, x, start, end) for name, x in inputs.items()}
        carried = parts[-1].contract.carried if parts else []
        handed = {name: parts[-1].handle(name) for name in carried}
        grad = None if grad_output is None else cut_along(grad_output, axis, start, end)
        parts.append(module.call({**given, **handed}, grad_output=grad, **how))
    return parts[1:] if before else parts


def in_turns(
    module: Module,
    every: Sequence[Tensors],
    others: Sequence[Sequence[int]],
    before: PlannedCall | None = None,
    later: int = 0,
) -> list[list[PlannedCall]]:
    """Plan calls for several sequences, in turns of one part of each; return those of each.

    Args:
        module: Module to call.
        every: Inputs of each whole sequence.
        others: Lengths of each sequence's parts.
        before: Call whose cache all sequences continue; None for none.
        later: Number of turns after which each sequence begins, counted from the one before it.
    """
    each: list[list[PlannedCall]] = [[] for _ in others]
    for turn in range(max(map(len, others)) + later * len(others)):
        for place, (lengths, inputs, calls) in enumerate(zip(others, every, each, strict=True)):
            done = turn - later * place
            if 0 <= done < len(lengths):
                start = sum(lengths[:done])
                rest = {n: _cut(module, n, x, start, None) for n, x in inputs.items()}
                last = calls[-1] if calls else before
                calls += in_parts(module, rest, lengths[done : done + 1], before=last)
    return each


def _cut(module: Module, name: str, x: Tensor, start: int, end: int | None) -> Tensor:
    """Return the part of an input along T; the whole input if it has no such axis."""
    axes = module.sizes.axes(module.contract.inputs[name].shape)
    if "T" not in axes:
        return x
    return cut_along(x, axes.index("T"), start, end)


def cut_along(x: Tensor, axis: int, start: int, end: int | None) -> Tensor:
    """Return the part of a tensor from ``start`` to ``end`` (None for all the rest) of an axis."""
    return x.narrow(axis, start, (x.size(axis) if end is None else end) - start).contiguous()


def join_along_tokens(module: Module, name: str, first: Tensor, then: Tensor) -> Tensor:
    """Return two values of an input joined along T; the first one if it has no such axis."""
    axes = module.sizes.axes(module.contract.inputs[name].shape)
    return torch.cat([first, then], dim=axes.index("T")) if "T" in axes else first
