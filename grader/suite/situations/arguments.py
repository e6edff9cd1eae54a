"""The factor arguments: which variant of its contract, with other arguments, is tried."""

from __future__ import annotations

from functools import partial
from typing import Any

from grader.suite.contract import Contract
from grader.suite.situations.factors import Factor, Row, Rule


def factors_of_variants(contract: Contract) -> tuple[list[Factor], list[Rule]]:
    """Return a factor for the contract's variants, with its rules; empty lists for no variants."""
    if not contract.variants:
        return [], []
    factor = Factor("arguments", tuple(contract.variants))
    return [factor], [(("arguments", "B"), partial(_takes_a_batch, contract))]


def _takes_a_batch(contract: Any, row: Row) -> bool:
    return row["B"] == "none" or contract.variants[row["arguments"]].sizes[0].B > 0


def variant_of(contract: Contract, row: Row) -> Contract:
    """Return the variant of the contract that has the constructor arguments of the row."""
    return contract.variants[row["arguments"]] if "arguments" in row else contract
