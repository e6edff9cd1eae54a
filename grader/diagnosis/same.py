"""Compare two tensors, or two answers, up to rounding."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import torch
from torch import Tensor

from grader.sandbox.replies import StepAnswer
from grader.wire import responses, values

# Relative, as in the search through the pipeline; in float64, below what float32 would lose.
TOLERANCE_BY_DTYPE = {torch.float64: 1e-9, torch.bfloat16: 0.1, torch.float16: 1e-2}
DEFAULT_TOLERANCE = 1e-4  # relative, for all other dtypes
GRADIENT_TOLERANCE_FACTOR = 10  # gradients are longer sums
MAX_MEMORY_RATIO = 1.5  # of the counts of numbers made on the way; above it, memory use differs


def same(one: Tensor, other: Tensor, tolerance: float, least: float = 0.0) -> bool:
    """Return whether two tensors agree, NaN with NaN and infinity with infinity.

    Args:
        one: Tensor of any shape and float dtype.
        other: Tensor of the same dtype.
        tolerance: Relative to the largest value of ``other``, or to 1 where all are smaller.
        least: Absolute difference that is allowed in addition.
    """
    if one.shape != other.shape:
        return False
    if not other.numel():
        return True
    gap = float((one - other).abs().max())
    if isfinite(gap):
        return gap <= least + tolerance * max(1.0, float(other.abs().max()))
    finite = torch.isfinite(other)
    if not torch.equal(torch.isfinite(one), finite):
        return False
    if not torch.equal(one[~finite].nan_to_num(nan=0.0), other[~finite].nan_to_num(nan=0.0)):
        return False
    return not bool(finite.any()) or same(one[finite], other[finite], tolerance, least)


def same_where_finite(theirs: Tensor, expected: Tensor, tolerance: float) -> bool:
    """Return whether two tensors agree, leaving out places where the first is not finite."""
    finite = theirs.isfinite()
    return theirs.shape == expected.shape and same(theirs[finite], expected[finite], tolerance)


def gap_between(one: Tensor, other: Tensor) -> float:
    """Return the largest difference of two tensors of one shape; infinity for other than numbers.

    NaN equals NaN here, and so does infinity; tensors on ``meta`` have no numbers that differ.
    """
    if one.is_meta or torch.equal(one, other):
        return 0.0
    if not one.is_floating_point():
        return inf
    mine, yours = one.double(), other.double()
    largest = float((mine - yours).abs().max())
    if isfinite(largest):
        return largest
    is_same = (mine == yours) | (mine.isnan() & yours.isnan())
    gap = torch.where(is_same, 0.0, (mine - yours).abs()).nan_to_num(nan=inf, posinf=inf)
    return float(gap.max())


def tolerated_gap(tensor: Tensor) -> float:
    """Return the largest difference from a tensor that counts as none, whatever was computed."""
    if tensor.is_meta or not tensor.is_floating_point() or not tensor.numel():
        return 0.0
    largest = float(tensor.detach().double().nan_to_num(posinf=0, neginf=0).abs().max())
    return TOLERANCE_BY_DTYPE.get(tensor.dtype, DEFAULT_TOLERANCE) * max(1.0, largest)


def difference(submitted: StepAnswer, answer: responses.Answer, sent: list[Tensor]) -> str:
    """Return the kind of difference between two answers, such as ``output``; empty for none.

    Args:
        submitted: The submission's answer, with its tensors.
        answer: The answer of a source of ours to the same step.
        sent: The tensors of our answer.
    """
    match submitted.answer, answer:
        case responses.Created(parameters=theirs), responses.Created(parameters=ours):
            alike = _forms(theirs) == _forms(ours) and _all_same(sent, submitted.tensors)
            return "" if alike else "parameters"
        case responses.Called() as theirs, responses.Called() as ours:
            if theirs.results != ours.results or not _all_same(sent, submitted.tensors):
                return "output"
            if theirs.changed != ours.changed:
                return "inputs"
            if theirs.on_other_device != ours.on_other_device:
                return "devices"
            counts = sorted((theirs.made, ours.made))
            if counts[1] > MAX_MEMORY_RATIO * counts[0] or bool(theirs.saved) != bool(ours.saved):
                return "memory"
            if bool(theirs.copied) != bool(ours.copied) or (
                theirs.storage_nbytes != ours.storage_nbytes
            ):
                return "memory"
            return "" if theirs.grads == ours.grads else "gradients"
        case responses.Gradients(result=theirs), responses.Gradients(result=ours):
            pair = _gradients(theirs, submitted.tensors), _gradients(ours, sent)
            return "" if _same_gradients(*pair) else "gradients"
    return "" if type(submitted.answer) is type(answer) else "output"


def _forms(parameters: list[responses.ParameterSpec]) -> Any:
    """Return what is compared of parameters but their values, with shared names, by name."""
    groups: dict[str, list[str]] = {}
    for one in parameters:
        groups.setdefault(one.same_as, []).append(one.name)
    return {
        one.name: (one.shape, one.requires_grad, one.value is None, sorted(groups[one.same_as]))
        for one in parameters
    }


def _gradients(tree: Any, tensors: list[Tensor]) -> list[Tensor | None]:
    return values.decode(tree, tensors) or []


def _same_gradients(theirs: list[Tensor | None], ours: list[Tensor | None]) -> bool:
    """Return whether gradients agree, where a missing one equals zeros."""
    count = max(len(theirs), len(ours))  # no list at all stands for no gradients
    pairs = zip(ours or [None] * count, theirs or [None] * count, strict=True)
    least = max((rounding_of(one) for one in theirs if one is not None), default=0.0)
    return all(_same_gradient(one, other, least) for one, other in pairs)


def rounding_of(gradient: Tensor) -> float:
    """Return the rounding error of the largest value: as terms cancel, any may be off by it."""
    if not gradient.is_floating_point() or gradient.is_meta or not gradient.numel():
        return 0.0
    largest = float(gradient.nan_to_num(posinf=0, neginf=0).abs().max())
    return torch.finfo(gradient.dtype).eps * largest


def _same_gradient(one: Tensor | None, other: Tensor | None, least: float) -> bool:
    if one is None or other is None:
        known = one if other is None else other
        return known is None or not bool(known.any())
    return _alike(one, other, GRADIENT_TOLERANCE_FACTOR, least)


def _all_same(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return len(ours) == len(theirs) and all(map(_alike, ours, theirs))


def _alike(one: Tensor, other: Tensor, times: int = 1, least: float = 0.0) -> bool:
    """Return whether two tensors are the same up to rounding."""
    one = one.detach()
    if (one.dtype, one.device, one.shape) != (other.dtype, other.device, other.shape):
        return False
    if one.device.type == "meta" or torch.equal(one, other):
        return True
    if not one.is_floating_point():
        return False
    tolerance = times * TOLERANCE_BY_DTYPE.get(one.dtype, DEFAULT_TOLERANCE)
    return same(one.double(), other.double(), tolerance, least)
