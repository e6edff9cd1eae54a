"""The factors of attention beyond those of any contract: masks and dropout."""

from __future__ import annotations

from typing import Any

from grader.attention.situations import dropout, masks
from grader.suite.situations.arguments import factors_of_variants
from grader.suite.situations.dtype import DTYPE
from grader.suite.situations.factors import Factor, FactorModel
from grader.suite.situations.mode import MODE
from grader.suite.situations.modelling import FACTOR_TRIPLES, RULES, general_factors, wishes
from grader.suite.situations.tokens import first_x_like_input


def model_of(contract: Any) -> FactorModel:
    """Return the model of a contract's situations: which factors vary, and which levels may meet.

    The factors that every contract has come first.
    """
    found = general_factors(contract, dropout.MODE_WITH_DROPOUT if contract.dropout else MODE)
    if contract.methods:
        found.append(Factor("method", ("forward", *contract.methods)))
    more, rules = factors_of_variants(contract)
    found += more
    if contract.masks:
        found += [masks.MASK_SHAPE, *masks.MASK_FACTORS]
    triples = ((MODE.name, masks.MASK_PATTERN.name, DTYPE.name), *FACTOR_TRIPLES)
    wanted = (*wishes(first_x_like_input(contract)), masks.MASK_WISH)
    all_rules = (*masks.RULES, *dropout.RULES, *RULES, *rules)
    return FactorModel(tuple(found), all_rules, triples, wanted)
