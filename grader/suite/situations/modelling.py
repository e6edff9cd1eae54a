"""The model of a contract's situations: its factors, and which of their levels may meet."""

from __future__ import annotations

from grader.suite.contract import Contract
from grader.suite.situations import (
    arguments,
    gradients,
    history,
    inputs,
    lengths,
    tokens,
    weights,
    widths,
)
from grader.suite.situations.dtype import DTYPE
from grader.suite.situations.factors import ABSENT, Factor, FactorModel, Row, Rule, Wish
from grader.suite.situations.gradients import GRADIENT_WAY, GRADIENTS, UNDER_NO_GRAD
from grader.suite.situations.history import FIRST_CALL, HISTORY
from grader.suite.situations.lengths import is_long
from grader.suite.situations.mode import MODE
from grader.suite.situations.tokens import ORDINARY, first_x_like_input
from grader.suite.situations.weights import AS_DRAWN, WEIGHTS
from grader.suite.situations.widths import OTHER_WIDTH, PARTS, WIDTH

# Rules about levels that cannot meet; each tells for its factors whether a row's levels can.
RULES: tuple[Rule, ...] = (*gradients.RULES, *widths.RULES, *lengths.RULES)
# Triples of factors of which every three levels meet, not only every two.
FACTOR_TRIPLES = ((MODE.name, GRADIENTS.name, DTYPE.name),)


def model_of(contract: Contract) -> FactorModel:
    """Return factors, rules and wishes for situations of a contract of no particular kind."""
    of_variants, variant_rules = arguments.factors_of_variants(contract)
    of_inputs, input_rules = inputs.factors_and_rules_of(contract)
    other = [OTHER_WIDTH] if {"C", "E"} <= {*contract.sizes[0]} else []
    rules = (*RULES, *variant_rules, *tokens.rules_of(contract), *input_rules)
    found = (*general_factors(contract), *other, *of_inputs, *of_variants)
    return FactorModel(found, rules, FACTOR_TRIPLES, wishes(first_x_like_input(contract)))


def general_factors(contract: Contract, mode: Factor = MODE) -> list[Factor]:
    """Return the factors that apply to any contract; ``mode`` is the factor of a module's mode."""
    own = [Factor(letter, levels) for letter, levels in lengths.own_letters(contract).items()]
    found = [
        *lengths.factors_of(contract),
        *([WIDTH] if widths.has_width(contract) else []),
        *own,
        *tokens.factors_of(contract),
        DTYPE,
        gradients.way_factor_of(contract),
        *widths.factors_of_parts(contract),
        gradients.factor_of(contract),
    ]
    if contract.parameters is not None:
        found += [weights.factor_of(contract), mode]
    return [*found, history.factor_of(contract)]


def _is_short_bfloat16(row: Row) -> bool:
    return row["dtype"] == "bfloat16" and not is_long(row)


def wishes(x: str) -> tuple[Wish, ...]:
    """Return the levels preferred where any would do: cheap for long sequences, else usual ones.

    Args:
        x: Name of the first input that gradients are asked of; a factor has the same name.
    """
    return (
        (GRADIENTS.name, UNDER_NO_GRAD, is_long),
        (HISTORY.name, FIRST_CALL, is_long),
        ("B", "1", is_long),
        (WIDTH.name, "small", is_long),
        ("B", "2", lambda row: not is_long(row)),
        # In bfloat16, gradients tell something only where all else is ordinary.
        (x, ORDINARY, _is_short_bfloat16),
        (WEIGHTS.name, AS_DRAWN, _is_short_bfloat16),
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
