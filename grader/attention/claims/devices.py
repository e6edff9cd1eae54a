"""Claims about devices, for all kinds of x and mask, and all arguments of the constructor."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from grader.attention.contract import AttentionContract
from grader.suite.claims.devices import ELSEWHERE, expect_on_any_device
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.sizes import Sizes

LONG_T = 257


@points(1)
@needs(AttentionContract, inputs=("x",))
def is_pinned_to_no_device(harness: Harness) -> None:
    """A tensor made without `device=` stays on the CPU when the module moves.

    Tried with torch's ``meta`` device in the place of a GPU, so that none is needed.

    Example:
        test_no_tensor_is_pinned_to_a_device = attention.is_pinned_to_no_device
    """
    contract: Any = harness.contract
    cases, methods = tuple(contract.variants.values()) or (contract,), ("", *contract.methods)
    for one in cases:
        case = harness.of(one)
        longest = case.within_reach(
            case.sizes.replace(T=LONG_T), ELSEWHERE * len(cases) * len(methods)
        )
        for method in methods:
            expect_on_any_device(case, _every_kind(case, contract, longest), method)
    for part in contract.part_contracts:
        inside = harness.of(part)
        expect_on_any_device(inside, inside.every_input())


def _every_kind(harness: Harness, contract: Any, longest: Sizes) -> list[dict[str, Tensor]]:
    """Return inputs of many kinds, as a submission may create a tensor for some of them only."""
    sizes, draw = harness.sizes, harness.draw
    long = harness.inputs(longest)
    scattered = {name: value.mT.contiguous().mT for name, value in harness.inputs().items()}
    token = harness.inputs(sizes.replace(B=min(sizes.B, 1), T=1))
    found = [*harness.every_input(), long, token, scattered]
    if contract.unbatched and sizes.B:
        found += [harness.inputs(sizes.replace(B=0, T=T)) for T in (sizes.T, longest.T)]
    if contract.masks:
        B, T = sizes.B, sizes.T
        masks = (draw.mask(T).float(), draw.mask(T, T).long(), draw.mask(B, 1, T))
        found += [{"x": harness.input("x"), "attention_mask": mask} for mask in masks]
    return found
