"""Whether an answer does its work at all: much of what is asked of it holds of any that does not.

That sequences are apart, say, or that nothing is remembered, holds of zeros too.
"""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from grader.suite.calls import Call
from grader.suite.harness import Harness

PLACES = (7, 9, 11)  # of which one is drawn; as many as no answer has heads here
STILL = 1e-5  # of the largest output: rounding alone
ALIKE = 1e-3  # of a change's length: what fixed weights leave beside its one direction


def idle(harness: Harness) -> str:
    """Why the submission does nothing of what is asked; empty where it does some of it.

    What stands first, or last, is drawn anew: where that changes the right output at other places,
    it has to change the submission's, and not in one direction alone, as a mean is changed, unless
    the weights that the contract knows to matter do.
    """
    contract = harness.contract
    places = PLACES[harness.seed % len(PLACES)]
    long = {letter: places for letter in "TS" if letter in harness.sizes}
    sizes = contract.derived(contract.fit(harness.sizes.replace(**long)))
    weights, inputs = harness.weights(sizes), harness.inputs(sizes)
    before = harness.module(sizes, weights).call(inputs)
    others: list[tuple[Call, int]] = []
    for (name, value), place in itertools.product(inputs.items(), (0, -1)):
        axis = _axis(contract.inputs[name].shape, value)
        if axis is not None:
            changed = value.clone()
            changed.select(axis, place).copy_(harness.input(name, sizes).select(axis, place))
            call = harness.module(sizes, weights).call({**inputs, name: changed})
            others.append((call, place))
    if not others:  # there are no places
        anew = harness.module(sizes, weights).call(harness.inputs(sizes))
        harness.ask()
        return _unmoved(before, [anew])
    plain = contract.plain_weights(weights)
    without = None if plain is weights else harness.module(sizes, plain).call(inputs)
    harness.ask()
    right = [_difference(before, before.expected, one.expected, place) for one, place in others]
    mine = [_difference(before, before.out, one.out, place) for one, place in others]
    if not any(bool(one.any()) for one in right):  # each place is by itself
        return _unmoved(before, [call for call, _ in others])
    if not any(bool(one.any()) for one in mine):
        return "no output depends on what stands at another place"
    is_fixed = all(map(_has_one_direction, mine))
    if without is not None:
        is_same = not bool(_difference(before, before.out, without.out).any())
        is_fixed = is_same and (is_fixed or contract.inner is not None)
    else:
        is_fixed &= not all(map(_has_one_direction, right))
    return "what is mixed is mixed by fixed shares" if is_fixed else ""


def _unmoved(before: Call, others: list[Call]) -> str:
    """The same of what other inputs change as a whole."""
    right = [_difference(before, before.expected, one.expected) for one in others]
    mine = [_difference(before, before.out, one.out) for one in others]
    moves, stays = any(map(torch.any, right)), not any(map(torch.any, mine))
    return "no output depends on its input" if moves and stays else ""


def _axis(shape: str, value: Tensor) -> int | None:
    """Along which places lie, if any do."""
    letters = shape.split()
    found = next((letters.index(one) for one in "ST" if one in letters), None)
    return found if value.dim() == len(letters) else None


def _difference(call: Call, before: Tensor, after: Tensor, place: int | None = None) -> Tensor:
    """How an output changed at all places but one, the first or the last; 0 where by rounding."""
    one, other = (x.detach().cpu().double().nan_to_num(0, 0, 0) for x in (before, after))
    change = other - one
    letters = (call.contract.outputs[call.contract.compared[0]] or "").split()
    if place is not None and "T" in letters and change.dim() == len(letters):
        axis = letters.index("T")
        change = change.narrow(axis, 1 + place, change.size(axis) - 1)
    return change.masked_fill(change.abs() <= STILL * one.abs().max(), 0)


def _has_one_direction(change: Tensor) -> bool:
    """Whether all rows point the same way, in each sequence: what they are mixed by stayed."""
    if change.dim() < 2:
        return False
    lengths = torch.linalg.svdvals(change.reshape(-1, *change.shape[-2:]))
    return lengths.size(-1) < 2 or bool((lengths[:, 1] <= ALIKE * lengths[:, 0]).all())
