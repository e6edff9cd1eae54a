"""The factors of inputs such as x: what kind of numbers, and how they lie in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.situations.dtype import DTYPE, DTYPES
from grader.suite.situations.factors import Factor, Row, Rule
from grader.suite.situations.gradients import NO_GRADIENTS
from grader.suite.situations.mode import is_training
from grader.suite.situations.weights import LARGE, LARGE_WEIGHTS_FACTOR, WEIGHTS
from grader.suite.sizes import Sizes

ORDINARY = "ordinary"
SMALL, OVERFLOWING = "very small", "very large"
ALL_EQUAL, ZERO = "of equal tokens", "of zeros"
NEAR_ONE_ANOTHER = "of tokens near one another, far from 0"
EXPANDED = "expanded"  # a layout
LAYOUT_CLAIMS = ("handles_non_contiguous_input",)  # fail where a layout describes what fails
# Levels of an input of several tokens that hide how these are weighted.
FLAT = (ALL_EQUAL, ZERO, SMALL, NEAR_ONE_ANOTHER)


def factors_of(contract: Contract) -> list[Factor]:
    """Return two factors for each input such as x: its kind, and its layout in memory."""
    found = []
    for name in x_like_inputs(contract):
        kinds = (ORDINARY,) if contract.inputs[name].confined else KINDS
        found += [Factor(name, kinds), Factor(layout_factor_name(name), LAYOUTS)]
    return found


def x_like_inputs(contract: Contract) -> list[str]:
    """Return the names of inputs such as x: drawn, with gradients, and with no ``kinds`` set."""
    return [
        name
        for name, given in contract.inputs.items()
        if given.differentiable and not (given.handed_on or given.kinds)
    ]


def first_x_like_input(contract: Contract) -> str:
    """Return the first of ``x_like_inputs``: an input with gradients, such as x; empty if none."""
    return next(iter(x_like_inputs(contract)), "")


def layout_factor_name(name: str) -> str:
    """Return the name of the factor for an input's layout in memory, such as ``transposed``."""
    return f"layout of {name}"


def is_layout(factor: str) -> bool:
    """Return whether a factor is an input's layout in memory, by its name."""
    return factor.startswith(layout_factor_name(""))


def rules_of(contract: Contract) -> list[Rule]:
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


def draw_x_like(harness: Harness, row: Row, name: str, sizes: Sizes) -> Tensor:
    """Draw an input such as x, of the kind, dtype and layout in memory that the row names."""
    is_free = not harness.contract.inputs[name].confined
    is_smaller = row.get(WEIGHTS.name) == LARGE and is_free
    drawn = _draw_of_kind(harness, row, name, sizes) / (LARGE_WEIGHTS_FACTOR if is_smaller else 1)
    x = drawn.to(DTYPES[row["dtype"]])
    coin = bool(harness.draw.integer(0, 1))
    layout = row[layout_factor_name(name)]
    if layout == EXPANDED and x.dim() > 1 and is_free and _may_be_equal(row, name, coin):
        return x[..., :1, :].expand(x.shape)
    return _LAID_OUT[layout](x, coin)


def _may_be_equal(row: Row, name: str, coin: bool) -> bool:
    """Return whether an expanded input may have all tokens equal.

    It may if the row wants equal tokens. Otherwise it may only if ``coin`` is True, no gradients
    are wanted, as they would cancel out, and no large numbers let rounding decide.
    """
    is_plain = row[name] == ORDINARY and row.get(WEIGHTS.name) != LARGE
    watched = row["gradients"] in NO_GRADIENTS and not is_training(row)
    return row[name] == ALL_EQUAL or (coin and is_plain and watched)


def with_other_numbers(value: Tensor) -> Tensor:
    """Return an input of the same shape with other numbers."""
    return (value * 0.5 + 0.25).contiguous()


def _draw_of_kind(harness: Harness, row: Row, name: str, sizes: Sizes) -> Tensor:
    drawn = harness.input(name, sizes)
    x: Tensor = torch.atleast_2d(drawn)  # an input with one axis is a single token
    place = harness.draw.integer(0, x.size(-2) - 1)
    return _OF_KIND[row[name]](x, place, row[DTYPE.name]).reshape(drawn.shape)


def _with_token(x: Tensor, place: int, token: Tensor | float) -> Tensor:
    x[..., place, :] = token
    return x


_OF_KIND: dict[str, Callable[[Tensor, int, str], Tensor]] = {
    ORDINARY: lambda x, place, dtype: x,
    "with a constant token": lambda x, place, dtype: _with_token(
        x, place, float(x.std(correction=0))
    ),
    "with a token of zeros": lambda x, place, dtype: _with_token(x, place, 0.0),
    ALL_EQUAL: lambda x, place, dtype: x[..., :1, :].expand(x.shape).contiguous(),
    ZERO: lambda x, place, dtype: torch.zeros_like(x),
    OVERFLOWING: lambda x, place, dtype: x * (600 if dtype == "bfloat16" else 1800),
    "with a token far above the rest": lambda x, place, dtype: _with_token(
        x, place, x[..., place, :] * 30
    ),
    SMALL: lambda x, place, dtype: x * 1e-3,
    NEAR_ONE_ANOTHER: lambda x, place, dtype: x[..., :1, :] * 6 + 0.3 * x if x.size(-1) > 1 else x,
}
KINDS = tuple(_OF_KIND)


def _transposed(x: Tensor, coin: bool) -> Tensor:
    """Return the same, so that in memory it lies as (T, B, C) or as (B, C, T)."""
    axes = (-2, -1) if coin else (0, 1)
    return x.transpose(*axes).contiguous().transpose(*axes) if x.dim() > 1 else x


def _strided(x: Tensor, coin: bool) -> Tensor:
    """Return it as every second feature of a tensor that is twice as wide, or its first half."""
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype, device=x.device)
    part = wide[..., : x.shape[-1]] if coin else wide[..., ::2]
    return part.copy_(x)


def _part(x: Tensor, coin: bool) -> Tensor:
    axis = max(x.dim() - 2, 0)
    before = torch.ones_like(x.narrow(axis, 0, 1))
    return torch.cat([before, x], dim=axis).narrow(axis, 1, x.size(axis))


def _expanded(x: Tensor, coin: bool) -> Tensor:
    """Return the first sequence for all; with fewer axes, all tokens would be the same."""
    return x[:1].expand(x.shape) if x.dim() >= 3 else x


_LAID_OUT: dict[str, Callable[[Tensor, bool], Tensor]] = {
    "contiguous": lambda x, coin: x,
    "transposed": _transposed,
    "strided": _strided,
    EXPANDED: _expanded,
    "a part": _part,
}
LAYOUTS = tuple(_LAID_OUT)
