"""The factors of inputs other than x: their kinds and forms, and how they are passed."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.situations.dtype import DTYPES
from grader.suite.situations.factors import ABSENT, Factor, Row, Rule
from grader.suite.situations.tokens import draw_x_like, x_like_inputs
from grader.suite.sizes import Sizes

LEFT_OUT = "left out"
GIVEN_LEVELS = (LEFT_OUT, "by position", "by name")


def factors_and_rules_of(contract: Contract) -> tuple[list[Factor], list[Rule]]:
    """Return the factors of inputs with kinds or forms, and of those that may be left out."""
    found: list[Factor] = []
    rules: list[Rule] = []
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
    return found, rules


def _has_a_kind_unless_left_out(name: str, first: str, row: Row) -> bool:
    return (row[name] == ABSENT) == (row[given_factor_name(first)] == LEFT_OUT)


def given_factor_name(name: str) -> str:
    """Return the name of the factor for how an optional input is passed."""
    return f"{name} given"


def first_part(contract: Contract, name: str) -> str:
    """Return the first part of an input's argument; its level says how all parts are passed."""
    return contract.parts_of(contract.whole_of(name))[0]


def form_factor_name(name: str) -> str:
    """Return the name of the factor for the form, such as a dtype, that an input is written in."""
    return f"{name} as"


def is_left_out(contract: Contract, row: Row, name: str) -> bool:
    """Return whether an optional input is left out."""
    return row.get(given_factor_name(first_part(contract, name))) == LEFT_OUT


def is_passed_by_name(contract: Contract, row: Row, name: str) -> bool:
    """Return whether an input is passed by keyword."""
    return row.get(given_factor_name(first_part(contract, name))) == "by name"


def draw_input(harness: Harness, row: Row, name: str, sizes: Sizes) -> Tensor | None:
    """Draw an input; None for one that is left out, or that the submission itself hands on."""
    contract = harness.contract
    if contract.inputs[name].handed_on or is_left_out(contract, row, name):
        return None
    if name in x_like_inputs(contract):
        return draw_x_like(harness, row, name, sizes)
    return draw_by_kind_and_form(harness, row, name, sizes)


def draw_by_kind_and_form(harness: Harness, row: Row, name: str, sizes: Sizes) -> Tensor:
    """Draw an input of the row's kind and form; as ``Input.draw`` does if the row has no kind."""
    given = harness.contract.inputs[name]
    draw = given.kinds.get(row.get(name, ABSENT), given.draw)
    drawn = draw(harness.draw, sizes.shape(given.shape), sizes)
    if given.differentiable and drawn.is_floating_point():
        drawn = drawn.to(DTYPES[row["dtype"]])
    if given.forms:
        drawn = given.forms[row[form_factor_name(name)]](harness.draw, drawn)
    return drawn
