"""Draws the numbers of a situation: sizes, weights and inputs, anew for each grading."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.suite.contract import Contract
from grader.suite.harness import Harness
from grader.suite.oracle import Weights
from grader.suite.right_results import sizes_of_call
from grader.suite.situations.factors import ABSENT, Row
from grader.suite.situations.levels import (
    ALL_EQUAL,
    EVALUATION,
    GRADIENT_WAY,
    HISTORIES_WITH_OTHER_WEIGHTS,
    LEFT_OUT,
    NO_GRADIENTS,
    OF_THE_SUM,
    ORDINARY,
    first_part,
    form_factor_name,
    given_factor_name,
    layout_factor_name,
    x_like_inputs,
)
from grader.suite.situations.situation import DTYPES, Situation
from grader.suite.situations.sizes import draw_sizes
from grader.suite.sizes import Sizes

LARGE_WEIGHTS_FACTOR = 30  # by which large weights exceed the usual ones; x is divided by it


def fill(harness: Harness, row: Row, turn: int) -> Situation:
    """Draw the numbers of a situation with these levels.

    Args:
        harness: Gives the contract and the random numbers.
        row: The level of each factor.
        turn: How many earlier situations are about as long; see ``draw_sizes``.
    """
    contract = variant_of(harness.contract, row)
    variant_harness = harness.of(contract)
    sizes = draw_sizes(variant_harness, row, turn)
    weights = in_dtype(row, draw_weights(variant_harness, row, sizes))
    inputs = {name: _input(variant_harness, row, name, sizes) for name in contract.inputs}
    other_inputs = {
        name: _other_input(variant_harness, row, name, value, sizes)
        for name, value in inputs.items()
    }
    return Situation(
        row=row,
        contract=contract,
        sizes=sizes,
        changes=contract.deterministic,
        weights=weights,
        inputs=inputs,
        other_inputs=other_inputs,
        grad_outputs=draw_grad_outputs(
            variant_harness, row, sizes_of_call(contract, sizes, inputs)
        ),
        other_weights=draw_other_weights(variant_harness, row, sizes),
        frozen=draw_frozen(
            variant_harness, row, [name for name in weights if name not in contract.frozen]
        ),
        coin=bool(harness.draw.integer(0, 1)),
        earlier_inputs={
            name: _earlier_input(variant_harness, row, name, other, sizes)
            for name, other in other_inputs.items()
        },
        right_answers={},
    )


def _earlier_input(
    harness: Harness, row: Row, name: str, other: Tensor | None, sizes: Sizes
) -> Tensor | None:
    """Return an input of an earlier call: ``other``, or where that is a mask, say, another one.

    This catches a submission that keeps the mask of its first call.
    """
    is_drawn = other is not None or row.get(name) == ABSENT
    if name in x_like_inputs(harness.contract) or not is_drawn:
        return other
    return _draw_by_kind_and_form(harness, {**row, name: ABSENT}, name, sizes)


def variant_of(contract: Contract, row: Row) -> Contract:
    """Return the variant of the contract that has the constructor arguments of the row."""
    return contract.variants[row["arguments"]] if "arguments" in row else contract


def in_dtype(row: Row, weights: Weights) -> Weights:
    """Convert weights to the dtype of the row."""
    return {name: weight.to(DTYPES[row["dtype"]]) for name, weight in weights.items()}


def draw_weights(harness: Harness, row: Row, sizes: Sizes) -> Weights:
    """Draw weights as large as the row says; for large ones, ``draw_x_like`` makes x smaller."""
    drawn, gains = harness.weights(sizes), harness.contract.around_one
    match row.get("weights"):
        case "with biases of zero":
            return {n: w * (w.dim() > 1 or n in gains) for n, w in drawn.items()}
        case "small":
            small = {n: w * (0.1 if w.dim() > 1 or n in gains else 1) for n, w in drawn.items()}
            for name in gains & small.keys():
                small[name][0] = 0  # many modules start with a gain of 0
            return small
        case "large":
            return {n: w * (LARGE_WEIGHTS_FACTOR if w.dim() > 1 else 1) for n, w in drawn.items()}
    return drawn


def draw_other_weights(harness: Harness, row: Row, sizes: Sizes) -> Weights:
    """Draw weights for an earlier call, before the module gets those of the call under test.

    Empty unless the row, which has a level of each factor, wants such a call by its ``history``.
    """
    return (
        in_dtype(row, harness.weights(sizes))
        if row.get("history") in HISTORIES_WITH_OTHER_WEIGHTS
        else {}
    )


def draw_grad_outputs(harness: Harness, row: Row, sizes: Sizes) -> dict[str, Tensor]:
    """Draw the gradient of each compared output, from which a backward starts, by name."""
    letters, dtype = harness.contract.compared_shapes, DTYPES[row["dtype"]]
    if row.get(GRADIENT_WAY.name) == OF_THE_SUM:
        one = torch.ones((), dtype=dtype)
        return {n: one.expand(sizes.shape(letter)) for n, letter in letters.items()}
    return {n: harness.draw.normal(*sizes.shape(one)).to(dtype) for n, one in letters.items()}


def draw_frozen(harness: Harness, row: Row, names: list[str]) -> list[str]:
    """Return which of these parameters to freeze: all, those of a random layer, or none."""
    match row["gradients"]:
        case "of x alone":
            return names
        case "with a layer frozen":
            name = names[harness.draw.integer(0, len(names) - 1)]
            layer, dot, _ = name.rpartition(".")
            return [one for one in names if one == name or (dot and one.startswith(layer + dot))]
    return []


def _input(harness: Harness, row: Row, name: str, sizes: Sizes) -> Tensor | None:
    given = harness.contract.inputs[name]
    if (
        given.handed_on
        or row.get(given_factor_name(first_part(harness.contract, name))) == LEFT_OUT
    ):
        return None
    if name in x_like_inputs(harness.contract):
        return draw_x_like(harness, row, name, sizes)
    return _draw_by_kind_and_form(harness, row, name, sizes)


def _draw_by_kind_and_form(harness: Harness, row: Row, name: str, sizes: Sizes) -> Tensor:
    """Draw an input of the row's kind and form; as ``Input.draw`` does if the row has no kind."""
    given = harness.contract.inputs[name]
    draw = given.kinds.get(row.get(name, ABSENT), given.draw)
    drawn = draw(harness.draw, sizes.shape(given.shape), sizes)
    if given.differentiable and drawn.is_floating_point():
        drawn = drawn.to(DTYPES[row["dtype"]])
    if given.forms:
        drawn = given.forms[row[form_factor_name(name)]](harness.draw, drawn)
    return drawn


def _other_input(
    harness: Harness, row: Row, name: str, value: Tensor | None, sizes: Sizes
) -> Tensor | None:
    """Return an input for another call of the same shapes, made from the value of the first call.

    An input that gradients are asked of gets other numbers, and one with kinds is drawn anew; all
    others stay the same.
    """
    if value is None:
        return None
    if name in x_like_inputs(harness.contract):
        if harness.contract.inputs[name].confined:
            return draw_x_like(harness, row, name, sizes).contiguous()
        return with_other_numbers(value)
    return (
        _draw_by_kind_and_form(harness, row, name, sizes)
        if harness.contract.inputs[name].kinds
        else value
    )


def draw_x_like(harness: Harness, row: Row, name: str, sizes: Sizes) -> Tensor:
    """Draw an input such as x, of the kind, dtype and layout in memory that the row names."""
    is_free = not harness.contract.inputs[name].confined
    is_smaller = row.get("weights") == "large" and is_free
    drawn = _draw_of_kind(harness, row, name, sizes) / (LARGE_WEIGHTS_FACTOR if is_smaller else 1)
    x = drawn.to(DTYPES[row["dtype"]])
    coin = bool(harness.draw.integer(0, 1))
    layout = row[layout_factor_name(name)]
    if layout == "expanded" and x.dim() > 1 and is_free and _may_be_equal(row, name, coin):
        return x[..., :1, :].expand(x.shape)
    return _laid_out(x, layout, coin)


def _may_be_equal(row: Row, name: str, coin: bool) -> bool:
    """Return whether an expanded input may have all tokens equal.

    It may if the row wants equal tokens. Otherwise it may only if ``coin`` is True, no gradients
    are wanted, as they would cancel out, and no large numbers let rounding decide.
    """
    is_plain = row[name] == ORDINARY and row.get("weights") != "large"
    watched = row["gradients"] in NO_GRADIENTS and row.get("mode", EVALUATION) == EVALUATION
    return row[name] == ALL_EQUAL or (coin and is_plain and watched)


def with_other_numbers(value: Tensor) -> Tensor:
    """Return an input of the same shape with other numbers."""
    return (value * 0.5 + 0.25).contiguous()


def _draw_of_kind(harness: Harness, row: Row, name: str, sizes: Sizes) -> Tensor:
    drawn = harness.input(name, sizes)
    x: Tensor = torch.atleast_2d(drawn)  # an input with one axis is a single token
    place = harness.draw.integer(0, x.size(-2) - 1)
    match row[name]:
        case "with a constant token":
            x[..., place, :] = float(x.std(correction=0))
        case "with a token of zeros":
            x[..., place, :] = 0
        case "of tokens near one another, far from 0":
            x = (x[..., :1, :] * 6 + 0.3 * x) if x.size(-1) > 1 else x
        case "of equal tokens":
            x = x[..., :1, :].expand(x.shape).contiguous()
        case "of zeros":
            x = torch.zeros_like(x)
        case "very large":
            x = x * (600 if row["dtype"] == "bfloat16" else 1800)
        case "with a token far above the rest":
            x[..., place, :] *= 30
        case "very small":
            x = x * 1e-3
    return x.reshape(drawn.shape)


def _laid_out(x: Tensor, layout: str, coin: bool) -> Tensor:
    match layout:
        case "transposed" if x.dim() > 1:  # in memory, it lies as (T, B, C) or as (B, C, T)
            axes = (-2, -1) if coin else (0, 1)
            return x.transpose(*axes).contiguous().transpose(*axes)
        case "strided":  # every second feature of a tensor that is twice as wide, or its first half
            wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype, device=x.device)
            part = wide[..., : x.shape[-1]] if coin else wide[..., ::2]
            return part.copy_(x)
        case "a part":
            axis = max(x.dim() - 2, 0)
            before = torch.ones_like(x.narrow(axis, 0, 1))
            return torch.cat([before, x], dim=axis).narrow(axis, 1, x.size(axis))
        case "expanded" if x.dim() >= 3:  # with fewer axes, all tokens would be the same
            return x[:1].expand(x.shape)
    return x
