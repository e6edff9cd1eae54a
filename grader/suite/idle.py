"""Finds submissions that do none of their work, for which many claims hold all the same.

That batch items are independent, say, or that nothing is remembered, holds for zeros too.
"""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from grader.suite.calls import PlannedCall
from grader.suite.harness import Harness

SEQUENCE_LENGTHS = (7, 9, 10)  # none equals a number of heads
MAX_ROUNDING_CHANGE = 1e-5  # share of the largest output: up to it a change may be rounding alone
MAX_SINGULAR_RATIO = 1e-3  # of the two largest values of a change: up to it there is one direction


def why_idle(harness: Harness) -> str:
    """Return why the submission does none of its work; empty if it does some at most lengths."""
    one, other, third = SEQUENCE_LENGTHS
    why, also = _why_idle_at(harness, one), _why_idle_at(harness, other)
    return why if bool(why) == bool(also) else _why_idle_at(harness, third)


def _why_idle_at(harness: Harness, length: int) -> str:
    """Return why the submission does none of its work on sequences of one length.

    The first position of an input is drawn anew, then the last. Where that changes the right
    output at other positions, it must change the submission's output there too, and not along one
    direction alone, as where tokens are mixed by fixed shares. Such a change will do if
    ``contract.plain_weights`` gives weights that change the output as well or, where it gives none,
    if the right output also changes along one direction alone.
    """
    contract = harness.contract
    long = {letter: length for letter in "TS" if letter in harness.sizes}
    sizes = contract.derived(contract.fit(harness.sizes.replace(**long)))
    weights, inputs = harness.weights(sizes), harness.inputs(sizes)
    before = harness.module(sizes, weights).call(inputs)
    others: list[tuple[PlannedCall, int]] = []
    for (name, value), place in itertools.product(inputs.items(), (0, -1)):
        axis = _axis(contract.inputs[name].shape, value)
        if axis is not None:
            changed = value.clone()
            changed.select(axis, place).copy_(harness.input(name, sizes).select(axis, place))
            call = harness.module(sizes, weights).call({**inputs, name: changed})
            others.append((call, place))
    if not others:  # no input has positions
        anew = harness.module(sizes, weights).call(harness.inputs(sizes))
        harness.ask()
        return _unmoved(before, [anew])
    plain = contract.plain_weights(weights)
    without = None if plain is weights else harness.module(sizes, plain).call(inputs)
    harness.ask()
    right = [_difference(before, before.expected, one.expected, place) for one, place in others]
    mine = [_difference(before, before.out, one.out, place) for one, place in others]
    if not any(bool(one.any()) for one in right):  # no position depends on another
        return _unmoved(before, [call for call, _ in others])
    if not any(bool(one.any()) for one in mine):
        every = [before, *(call for call, _ in others)]
        if not all(bool(call.out.isfinite().all()) for call in every):
            return "where an output should depend on other places, it is nan or infinite"
        return "no output depends on what stands at another place"
    is_fixed = all(map(_has_one_direction, mine))
    if without is not None:
        is_same = not bool(_difference(before, before.out, without.out).any())
        is_fixed = is_same and (is_fixed or contract.inner is not None)
    else:
        is_fixed &= not all(map(_has_one_direction, right))
    return "what is mixed is mixed by fixed shares" if is_fixed else ""


def _unmoved(before: PlannedCall, others: list[PlannedCall]) -> str:
    """Return a reason if the other calls change the right output but not the submission's."""
    right = [_difference(before, before.expected, one.expected) for one in others]
    mine = [_difference(before, before.out, one.out) for one in others]
    moves, stays = any(map(torch.any, right)), not any(map(torch.any, mine))
    return "no output depends on its input" if moves and stays else ""


def _axis(shape: str, value: Tensor) -> int | None:
    """Return the axis of an input along which its positions lie; None if it has none."""
    letters = shape.split()
    found = next((letters.index(one) for one in "ST" if one in letters), None)
    return found if value.dim() == len(letters) else None


def _difference(
    call: PlannedCall, before: Tensor, after: Tensor, place: int | None = None
) -> Tensor:
    """Return how the output of a call changes in another, with 0 where rounding explains it.

    The position ``place``, 0 or -1, is left out of the result.
    """
    one, other = (x.detach().cpu().double().nan_to_num(0, 0, 0) for x in (before, after))
    change = other - one
    letters = call.contract.out_shape.split()
    if place is not None and "T" in letters and change.dim() == len(letters):
        axis = letters.index("T")
        change = change.narrow(axis, 1 + place, change.size(axis) - 1)
    return change.masked_fill(change.abs() <= MAX_ROUNDING_CHANGE * one.abs().max(), 0)


def _has_one_direction(change: Tensor) -> bool:
    """Return whether each sequence's rows all changed along one direction, as if mixed alike."""
    if change.dim() < 2:
        return False
    lengths = torch.linalg.svdvals(change.reshape(-1, *change.shape[-2:]))
    return lengths.size(-1) < 2 or bool((lengths[:, 1] <= MAX_SINGULAR_RATIO * lengths[:, 0]).all())
