"""One situation in numbers: sizes, weights and inputs, drawn anew for each grading."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from grader.sandbox.pace import Work
from grader.suite.contract import Contract, Sizes
from grader.suite.harness import Harness
from grader.suite.oracle import Weights
from grader.suite.right_results import sizes_of_call
from grader.suite.situations.factors import ABSENT, Row
from grader.suite.situations.levels import (
    ALL_BUT_FIRST,
    ALL_EQUAL,
    EVALUATION,
    FIRST_ALONE,
    GRADIENT_WAY,
    HISTORIES_WITH_OTHER_WEIGHTS,
    LEFT_OUT,
    NO_GRADIENTS,
    OF_PARAMETERS,
    ORDINARY,
    RESIDUAL,
    first_part,
    form_factor_name,
    given_factor_name,
    layout_factor_name,
    x_like_inputs,
)
from grader.suite.situations.sizes import draw_sizes

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
LARGE_WEIGHTS_FACTOR = 30  # by which large weights exceed the usual ones; x is divided by it
GRADIENT_SCALES = {"times 65536": 65536.0, "times 1e-6": 1e-6}


@dataclass(frozen=True, kw_only=True)
class Situation:
    """One combination of conditions in which a submission is tried, with all its numbers.

    Attributes:
        row: The level of each factor.
        changes: Constructor arguments in addition to those of the sizes; None leaves one out.
        weights: The module's weights, in the situation's dtype.
        inputs: The inputs of the call, with their layout in memory; None for one that is left out.
        other_inputs: The inputs of another call that may follow or come before.
        earlier_inputs: The inputs of an earlier call: another mask, say, and not only another x.
        grad_outputs: The gradient of each output, by name, from which a backward starts.
        other_weights: Weights of the module in an earlier call; empty if there is no such call.
        frozen: Names of parameters that have ``requires_grad=False`` in the call.
        coin: A random bit for choices of two, such as arguments by position or by name.
        visible: Which rows of the outputs are compared; None for all.
        right_answers: Those computed so far, by name; every submission tried here shares them.
    """

    row: Row
    contract: Contract
    sizes: Sizes
    changes: Mapping[str, Any]
    weights: Weights
    inputs: dict[str, Tensor | None]
    other_inputs: dict[str, Tensor | None]
    earlier_inputs: dict[str, Tensor | None]
    grad_outputs: dict[str, Tensor]
    other_weights: Weights
    frozen: list[str]
    coin: bool
    visible: Tensor | None = None
    right_answers: dict[Any, Any]

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the module and of all inputs that gradients are asked of."""
        return DTYPES[self.row["dtype"]]

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """The inputs that are not left out, by name."""
        return {name: value for name, value in self.inputs.items() if value is not None}

    @cached_property
    def learning(self) -> dict[str, Tensor]:
        """The inputs that gradients are asked of, by name."""
        wanted = self.contract.differentiable
        return {name: value for name, value in self.tensors.items() if name in wanted}

    @property
    def kinds(self) -> dict[str, str]:
        """The kind (such as ``very large``) of each given input of numbers around 0, by name."""
        wanted = [name for name in x_like_inputs(self.contract) if name in self.tensors]
        return {name: self.row[name] for name in wanted if name in self.row}

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self.row.get("mode", EVALUATION) != EVALUATION

    @property
    def wants_gradients(self) -> bool:
        """Whether gradients are asked for; not if a query that sees no key may give NaN."""
        wanted = self.row["gradients"] not in NO_GRADIENTS
        return wanted and not self.method and self.visible is None

    @property
    def work(self) -> Work:
        """The amount of computation, by which the time it takes is estimated."""
        return Work.of(self.sizes.scores, self.wants_gradients, 1)

    @property
    def scale(self) -> float:
        """The factor that all gradients are multiplied by."""
        return GRADIENT_SCALES.get(self.row[GRADIENT_WAY.name], 1.0)

    @property
    def learns_alone(self) -> bool:
        """Whether, with one layer frozen, gradients are asked of other parameters but not of x."""
        beside_residual = self.row[GRADIENT_WAY.name] == RESIDUAL
        others = len(self.weights) - len(self.contract.frozen)
        return self.coin and not beside_residual and len(self.frozen) < others

    @property
    def learning_inputs(self) -> list[str]:
        """Names of the inputs that gradients are asked of, in a situation that wants some."""
        level, names = self.row["gradients"], list(self.learning)
        if level == OF_PARAMETERS or (level == "with a layer frozen" and self.learns_alone):
            return []
        if level == FIRST_ALONE:
            return names[:1]
        return (names[1:] or names) if level == ALL_BUT_FIRST else names

    @property
    def method(self) -> str:
        """The name of the method that is called; empty for the module itself."""
        return ""

    @property
    def by_name(self) -> tuple[str, ...]:
        """The names of the inputs that are passed by keyword."""
        given = {name: given_factor_name(first_part(self.contract, name)) for name in self.inputs}
        return tuple(name for name, factor in given.items() if self.row.get(factor) == "by name")

    @property
    def further_claims(self) -> tuple[str, ...]:
        """Names of claims that the situation is about, beyond those that its factors imply."""
        return ()

    @property
    def size(self) -> int:
        """The count of numbers in the inputs: the fewer, the easier a failure is to look at."""
        return sum(value.numel() for value in (self.learning or self.tensors).values())

    def without(self, names: Collection[str]) -> Self:
        """Return the situation with these weights set to 0 and no right answers known yet."""
        weights, others = (
            {name: weight * (name not in names) for name, weight in some.items()}
            for some in (self.weights, self.other_weights)
        )
        return replace(self, weights=weights, other_weights=others, right_answers={})


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
    contract, dtype = harness.contract, DTYPES[row["dtype"]]
    letters = {name: contract.outputs[name] or "" for name in contract.compared}
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
            some = (600, 600) if row["dtype"] == "bfloat16" else (60, 1000)
            x = x * some[harness.draw.integer(0, 1)]
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
