"""The first comparison that failed, and the requests to the worker that led to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.diagnosis.replay import AskedStep, Replay, asked_steps
from grader.sandbox.channel import Exchange
from grader.sandbox.face import tensor_paths
from grader.sandbox.replies import StepAnswer
from grader.suite.compare import Comparison
from grader.wire import messages, responses, values


class Case(NamedTuple):
    """A failed comparison and the steps that reproduce its value.

    Attributes:
        check: Name of the check.
        comparison: The values that were compared.
        steps: Steps that the worker was asked for to get the value, and no others; the last one
            returned it.
        path: Where the value is in the last step's result: the index of its call, then indices and
            keys; for a gradient, the index of its source.
        part: Slices of the value that were compared, along each axis; empty for the whole.
        inputs: Names of a call's inputs, in order.
    """

    check: str
    comparison: Comparison
    steps: list[AskedStep]
    path: tuple[int | str, ...]
    part: tuple[slice, ...]
    inputs: tuple[str, ...]


def first_case(
    failed_comparisons: Sequence[tuple[str, Comparison]],
    asked: Sequence[Sequence[Exchange]],
    solution: str,
    inputs: Sequence[str] = (),
) -> Case | None:
    """Return the first failed comparison that a script can reproduce; None if there is none.

    Its value is the result of a call or a gradient. Our solution must pass the comparison: so the
    expected value is right, and not another answer of the submission with which it was compared.

    Args:
        failed_comparisons: The comparisons that failed, each after the name of its check.
        asked: Requests of each check, with the answers.
        solution: Source of our solution.
        inputs: Names of a call's inputs, in order.
    """
    for check, comparison in failed_comparisons:
        for same in (_shares_memory, _equals):
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
        steps = [one for exchange in exchanges for one in asked_steps(exchange)]
        for place, step in enumerate(steps):
            for number, path in _results(step):
                whole = step.answer.tensors[number]  # type: ignore[union-attr]  # it has results
                if not same(whole, got):
                    continue
                part = _part(whole, got)
                if part is not None:
                    return Case(check, comparison, _needed(steps[: place + 1]), path, part, inputs)
    return None


def _results(asked: AskedStep) -> list[tuple[int, tuple[int | str, ...]]]:
    """Return the index of each tensor that a step returned, and its path in the result."""
    if not isinstance(asked.answer, StepAnswer):
        return []
    match asked.answer.answer:
        case responses.Called(results=trees):
            found = tensor_paths({"tuple": trees})
        case responses.Gradients(result=tree):
            found = tensor_paths(tree)
        case _:
            return []
    return [(number, path) for number, path in found if number < len(asked.answer.tensors)]


def _shares_memory(whole: Tensor, got: Tensor) -> bool:
    return bool(whole.numel()) and whole.data_ptr() <= got.data_ptr() < (
        whole.data_ptr() + whole.numel() * whole.element_size()
    )


def _equals(whole: Tensor, got: Tensor) -> bool:
    alike = whole.shape == got.shape and whole.dtype == got.dtype and whole.device == got.device
    return alike and whole.device.type != "meta" and torch.equal(whole, got)


def _part(whole: Tensor, got: Tensor) -> tuple[slice, ...] | None:
    """Return the slices of ``whole`` that ``got`` is a view of; None if it is no such view."""
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


def _needed(steps: list[AskedStep]) -> list[AskedStep]:
    """Return the last step, and all steps before it that made or changed what it uses."""
    found, handles = [steps[-1]], _handles(steps[-1].step.operation)
    for asked in reversed(steps[:-1]):
        about = _handles(asked.step.operation)
        if about & handles and isinstance(asked.answer, StepAnswer):
            found.append(asked)
            handles |= about
    return found[::-1]


def _handles(operation: messages.Operation) -> set[int]:
    """Return the handles of the modules and kept results that an operation involves."""
    match operation:
        case messages.Create(handle=handle) | messages.Move(handle=handle):
            return {handle}
        case messages.Renew(handle=handle) | messages.Backward(handle=handle):
            return {handle}
        case messages.Call(target=target, results_handle=results, calls=calls):
            found = {one for one in (target, results) if isinstance(one, int)}
            trees = [tree for one in calls for tree in (one.args, one.kwargs)]
            return found | {handle for tree in trees for handle in _handed_on(tree)}
    return set()


def _handed_on(tree: Any) -> Iterator[int]:
    """Yield the handles of the earlier calls whose results are part of an argument."""
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
    """Return whether our solution passes the comparison."""
    replay = Replay.of(solution)
    if replay is None:
        return False
    answer = [replay.answer_step(asked).answer for asked in case.steps][-1]
    if not isinstance(answer, StepAnswer):
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
