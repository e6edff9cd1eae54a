"""Marks of a check: how many points it is worth, and what its contract must offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from grader.suite.contract import Contract

points = pytest.mark.points
"""Says how many points a check is worth, which is 1 without this mark.

Example:
    @points(3)
    def test_zeros_give_what_is_right(harness: Harness) -> None:
        'Nothing is divided by the input.'
        call = harness.module().call({"x": harness.inputs()["x"] * 0})
        harness.ask()
        expect_close(call.out, call.expected)
"""

_C = TypeVar("_C", bound=Callable[..., object])


def includes(claim: Callable[..., object]) -> Callable[[_C], _C]:
    """Declare that a check begins with a claim: what situations show wrong of that fails the check.

    Example:
        @includes(claims.handles_a_long_sequence)
        def test_long_sequence(harness: Harness) -> None:
            'No table has a fixed length, and no mask.'
            claims.handles_a_long_sequence(harness)
            ...
    """

    def mark(check: _C) -> _C:
        check.__includes__ = claim.__name__  # type: ignore[attr-defined]  # set here
        return check

    return mark


def claim_of(check: object) -> str:
    """Return the name of the claim that a check includes, or of its own function."""
    return str(getattr(check, "__includes__", getattr(check, "__name__", "")))


def needs(
    kind: type[Contract] = Contract,
    *fields: str,
    inputs: tuple[str, ...] = (),
    letters: str = "",
) -> Callable[[_C], _C]:
    """Declare what a claim needs of a contract; a suite whose contract lacks it is broken.

    Args:
        kind: Class that the contract must be an instance of.
        fields: Fields of the contract that must be set.
        inputs: Inputs that the contract must have.
        letters: Letters of the sizes that the contract must have.
    """

    def mark(claim: _C) -> _C:
        claim.__needs__ = (kind, fields, inputs, letters)  # type: ignore[attr-defined]  # set here
        return claim

    return mark


def unmet_needs(check: object, contract: Contract) -> str:
    """Return what a check needs and its contract lacks, as the end of a sentence; may be empty."""
    kind, fields, inputs, letters = getattr(check, "__needs__", (Contract, (), (), ""))
    if not isinstance(contract, kind):
        return f"needs a `{kind.__name__}`, not a `{type(contract).__name__}`"
    lacking = [f"`{name}`" for name in fields if getattr(contract, name) in (None, False)]
    lacking += [f"an input `{name}`" for name in inputs if name not in contract.inputs]
    sizes = contract.sizes[0] if contract.sizes else {}
    lacking += [f"a size `{letter}`" for letter in letters if letter not in sizes]
    return f"needs {', '.join(lacking)}" if lacking else ""
