"""The model of a contract's situations: its factors, and which of their levels may meet."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from grader.suite.contract import Contract
from grader.suite.situations.factors import ABSENT, Factor, FactorModel, Row, Rule, Wish
from grader.suite.situations.levels import (
    ALL_BUT_FIRST,
    DTYPE,
    FLAT,
    GIVEN_LEVELS,
    GRADIENT_WAY,
    GRADIENTS,
    HISTORY,
    LEFT_OUT,
    LONG_LEVELS,
    MODE,
    NO_GRADIENTS,
    OF_PARAMETERS,
    ORDINARY,
    OTHER_WIDTH,
    PARTS,
    RESIDUAL,
    WEIGHTS,
    WIDTH,
    first_part,
    first_x_like_input,
    form_factor_name,
    general_factors,
    given_factor_name,
    x_like_inputs,
)


def model_of(contract: Contract) -> FactorModel:
    """Return factors, rules and wishes for situations of a contract of no particular kind."""
    found = general_factors(contract)
    more, rules = factors_of_variants(contract)
    rules += _rules_of_tokens(contract)
    if "C" in contract.sizes[0] and "E" in contract.sizes[0]:
        found.append(OTHER_WIDTH)
    for name, given in contract.inputs.items():
        may_lack, first = name in contract.optional, first_part(contract, name)
        if given.kinds:
            found.append(Factor(name, (*((ABSENT,) if may_lack else ()), *given.kinds)))
        if given.forms:
            found.append(Factor(form_factor_name(name), tuple(given.forms)))
        if may_lack and name == first:
            found.append(Factor(given_factor_name(name), GIVEN_LEVELS))
        if given.kinds and may_lack:
            rules.append(
                (
                    (name, given_factor_name(first)),
                    partial(_has_a_kind_unless_left_out, name, first),
                )
            )
    return FactorModel(
        (*found, *more), (*RULES, *rules), FACTOR_TRIPLES, wishes(first_x_like_input(contract))
    )


def _rules_of_tokens(contract: Contract) -> list[Rule]:
    """Return rules by which inputs of tokens are flat together: one alone hides what others show.

    Otherwise few situations of two such inputs, and fewer of three, would show how they are mixed.
    """
    tokens = [
        name
        for name in x_like_inputs(contract)
        if {"T", "S"} & {*contract.inputs[name].shape.split()}
        and not contract.inputs[name].confined
    ]
    return [(two, partial(_are_flat_together, *two)) for two in itertools.combinations(tokens, 2)]


def _are_flat_together(one: str, other: str, row: Row) -> bool:
    return (row[one] in FLAT) == (row[other] in FLAT)


def _has_a_kind_unless_left_out(name: str, first: str, row: Row) -> bool:
    return (row[name] == ABSENT) == (row[given_factor_name(first)] == LEFT_OUT)


def factors_of_variants(contract: Contract) -> tuple[list[Factor], list[Rule]]:
    """Return a factor for the contract's variants, with its rules; empty lists for no variants."""
    if not contract.variants:
        return [], []
    factor = Factor("arguments", tuple(contract.variants))
    return [factor], [(("arguments", "B"), partial(_takes_a_batch, contract))]


def _takes_a_batch(contract: Any, row: Row) -> bool:
    return row["B"] == "none" or contract.variants[row["arguments"]].sizes[0].B > 0


# Triples of factors of which every three levels meet, not only every two.
FACTOR_TRIPLES = ((MODE.name, GRADIENTS.name, DTYPE.name),)


def _is_long(row: Row) -> bool:
    """Return whether a row has so many positions that the computation grows large."""
    return row.get("T") in LONG_LEVELS or row.get("S") in LONG_LEVELS


def _is_short_bfloat16(row: Row) -> bool:
    return row["dtype"] == "bfloat16" and not _is_long(row)


def wishes(x: str) -> tuple[Wish, ...]:
    """Return the levels preferred where any would do: cheap for long sequences, else usual ones.

    Args:
        x: Name of the first input that gradients are asked of; a factor has the same name.
    """
    return (
        (GRADIENTS.name, NO_GRADIENTS[0], _is_long),
        (HISTORY.name, "first call", _is_long),
        ("B", "1", _is_long),
        (WIDTH.name, "small", _is_long),
        ("B", "2", lambda row: not _is_long(row)),
        # In bfloat16, gradients tell something only where all else is ordinary.
        (x, ORDINARY, _is_short_bfloat16),
        (WEIGHTS.name, "as drawn", _is_short_bfloat16),
        (
            GRADIENTS.name,
            "wanted",
            lambda row: _is_short_bfloat16(row) and row[GRADIENT_WAY.name] != ABSENT,
        ),
        (DTYPE.name, "float32", lambda row: row.get(x) != ORDINARY),
        (x, ORDINARY, lambda row: True),
        (WIDTH.name, "small", lambda row: row["width"] in ("1", "large")),
        (PARTS.name, "several", lambda row: row["H"] == "one"),
    )


# Rules about levels that cannot meet; each tells for its factors whether a row's levels can.
RULES: tuple[Rule, ...] = (
    # There is a way to ask for gradients exactly where gradients are wanted.
    (
        (GRADIENTS.name, GRADIENT_WAY.name),
        lambda row: (row["gradients"] in NO_GRADIENTS) == (row[GRADIENT_WAY.name] == ABSENT),
    ),
    # A residual also passes its gradient to the first input.
    (
        (GRADIENTS.name, GRADIENT_WAY.name),
        lambda row: (
            row[GRADIENT_WAY.name] != RESIDUAL
            or row["gradients"] not in (OF_PARAMETERS, ALL_BUT_FIRST)
        ),
    ),
    # A situation both long and wide takes too long, and shows no more than either alone.
    (("T", "width"), lambda row: row["T"] not in LONG_LEVELS or row["width"] != "large"),
    (("S", "width"), lambda row: row["S"] not in LONG_LEVELS or row["width"] != "large"),
    (("T", "S"), lambda row: row["T"] not in LONG_LEVELS or row["S"] not in LONG_LEVELS),
)
