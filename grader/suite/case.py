"""The first comparison that failed, and what a worker was asked to come to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.diagnosis.replay import Asked, Replay
from grader.sandbox.channel import Exchange
from grader.sandbox.face import paths
from grader.sandbox.replies import Answered
from grader.suite.compare import Comparison
from grader.wire import messages, values


class Case(NamedTuple):
    """A comparison that failed.

    Attributes:
        check: Its name.
        comparison: What was compared.
        steps: What was asked for it, and for nothing else; the last one gave the value.
        path: Where the value is in what that gave: the place of its call, then indices and keys;
            for a gradient, that of its source.
        part: Which part of it was compared, along each axis; empty for the whole.
        inputs: The names of a call's inputs, in their order.
    """

    check: str
    comparison: Comparison
    steps: list[Asked]
    path: tuple[int | str, ...]
    part: tuple[slice, ...]
    inputs: tuple[str, ...]


def first_case(
    compared: Sequence[tuple[str, Comparison]],
    asked: Sequence[Sequence[Exchange]],
    solution: str,
    inputs: Sequence[str] = (),
) -> Case | None:
    """The first comparison that can be made again, from one file alone; None where there is none.

    That is one of a value which a call or a gradient gave, with one that our solution gives too:
    not one that another answer of the submission decides.

    Args:
        compared: The comparisons that failed, by the names of their checks.
        asked: What each check asked, and what came.
        solution: The source of ours.
        inputs: The names of a call's inputs, in their order.
    """
    for check, comparison in compared:
        for same in (_shares, _equals):
            case = _find(check, comparison, asked, same, tuple(inputs))
            if case is not None and _holds_for(case, solution):
                return case
    return None


def _find(
    check: str,
    comparison: Comparison,
    asked: Sequence[Sequence[Exchange]],
    same: Callable[[Tensor, Tensor], bool],
    inputs: tuple[str, ...],
) -> Case | None:
    got = comparison.got.detach()
    for exchanges in asked:
        steps = [one for exchange in exchanges for one in _steps(exchange)]
        for place, step in enumerate(steps):
            for number, path in _results(step):
                whole = step.answer.tensors[number]  # type: ignore[union-attr]  # it has results
                if not same(whole, got):
                    continue
                part = _part(whole, got)
                if part is not None:
                    return Case(check, comparison, _needed(steps[: place + 1]), path, part, inputs)
    return None


def _steps(exchange: Exchange) -> Iterator[Asked]:
    return map(Asked, exchange.steps, exchange.bodies, exchange.answers)


def _results(asked: Asked) -> list[tuple[int, tuple[int | str, ...]]]:
    """The tensors that a step gave, by number, and where each is."""
    if not isinstance(asked.answer, Answered):
        return []
    match asked.answer.answer:
        case messages.Called(results=trees):
            found = paths({"tuple": trees})
        case messages.Gradients(result=tree):
            found = paths(tree)
        case _:
            return []
    return [(number, path) for number, path in found if number < len(asked.answer.tensors)]


def _shares(whole: Tensor, got: Tensor) -> bool:
    return bool(whole.numel()) and whole.data_ptr() <= got.data_ptr() < (
        whole.data_ptr() + whole.numel() * whole.element_size()
    )


def _equals(whole: Tensor, got: Tensor) -> bool:
    alike = whole.shape == got.shape and whole.dtype == got.dtype and whole.device == got.device
    return alike and whole.device.type != "meta" and torch.equal(whole, got)


def _part(whole: Tensor, got: Tensor) -> tuple[slice, ...] | None:
    """Which part of a value another is, axis by axis; None where it is none."""
    if whole.shape == got.shape:
        return ()
    if whole.stride() != got.stride():
        return None
    start = int(got.storage_offset()) - int(whole.storage_offset())
    slices = []
    for size, stride in zip(got.shape, whole.stride(), strict=True):
        first, start = divmod(int(start), stride)
        slices.append(slice(first, first + size))
    return tuple(slices)


def _needed(steps: list[Asked]) -> list[Asked]:
    """The last step, and all before it that made or changed what it uses."""
    found, handles = [steps[-1]], _handles(steps[-1].step.operation)
    for asked in reversed(steps[:-1]):
        about = _handles(asked.step.operation)
        if about & handles and isinstance(asked.answer, Answered):
            found.append(asked)
            handles |= about
    return found[::-1]


def _handles(operation: messages.Operation) -> set[int]:
    """Of the modules and kept results that a step is about."""
    match operation:
        case messages.Create(handle=handle) | messages.Move(handle=handle):
            return {handle}
        case messages.Renew(handle=handle) | messages.Backward(handle=handle):
            return {handle}
        case messages.Call(target=target, keep=keep, calls=calls):
            found = {one for one in (target, keep) if isinstance(one, int)}
            trees = [tree for one in calls for tree in (one.args, one.kwargs)]
            return found | {handle for tree in trees for handle in _handed_on(tree)}
    return set()


def _handed_on(tree: Any) -> Iterator[int]:
    """Handles of earlier calls of which an argument is a part."""
    if not isinstance(tree, dict):
        return
    for kind, content in tree.items():
        if kind == "output":
            yield content[0]
        elif kind in ("tuple", "list"):
            for part in content:
                yield from _handed_on(part)
        elif kind == "dict":
            for part in content.values():
                yield from _handed_on(part)


def _holds_for(case: Case, solution: str) -> bool:
    """Whether our solution passes the comparison."""
    replay = Replay.of(solution)
    if replay is None:
        return False
    answer = [replay.own(asked).answer for asked in case.steps][-1]
    if not isinstance(answer, Answered):
        return False
    result = getattr(answer.answer, "results", None)
    tree = {"tuple": result} if result is not None else getattr(answer.answer, "result", None)
    try:
        found = values.decode(tree, answer.tensors)
        for part in case.path:
            found = found[part]
        gap = found[case.part].double().cpu() - case.comparison.expected
        return bool(gap.abs().max() <= case.comparison.allowed)
    except (LookupError, TypeError, AttributeError, RuntimeError):
        return False
