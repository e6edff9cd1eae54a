"""What a suite's module defines, as pytest has collected it: its checks and its contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pytest

from grader.suite.contract import Contract
from grader.suite.marks import claim_of, unmet_needs


@dataclass(frozen=True)
class CollectedSuite:
    """The checks of a suite, and the contract that they try a submission by.

    Attributes:
        count: Number of checks.
        claims: Names of the claims that are checks, or are included in them.
        form_checks: Names of the checks of a module's parameters.
        looks_at_situations: Whether any check judges by the situations.
        contract: The suite's contract, if it has one.
        broken: Why the suite cannot be run; empty if it can.
    """

    count: int = 0
    claims: frozenset[str] = frozenset()
    form_checks: frozenset[str] = frozenset()
    looks_at_situations: bool = False
    contract: Contract | None = None
    broken: str = ""

    @classmethod
    def of(cls, items: Sequence[pytest.Function]) -> Self:
        """Return what these checks are; broken if one needs something that its contract lacks."""
        contract, broken = None, ""
        for item in items:
            found = getattr(item.module, "contract", None)
            if isinstance(found, Contract):
                contract = found
                if lacking := unmet_needs(item.function, found):
                    broken = f"`{item.name}` {lacking}, which `{found.entry}` has not"
        return cls(
            len(items),
            frozenset(claim_of(item.function) for item in items),
            frozenset(i.name for i in items if claim_of(i.function) == "has_its_parameters"),
            any(hasattr(item.function, "looks_at_situations") for item in items),
            contract,
            broken,
        )
