"""One situation in numbers: what a submission is tried with, and what follows from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from grader.sandbox.pace import Work
from grader.suite.contract import Contract
from grader.suite.oracle import Weights
from grader.suite.situations import gradients
from grader.suite.situations.dtype import DTYPES
from grader.suite.situations.factors import Row
from grader.suite.situations.inputs import is_passed_by_name
from grader.suite.situations.mode import is_training
from grader.suite.situations.tokens import x_like_inputs
from grader.suite.sizes import Sizes


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
        return is_training(self.row)

    @property
    def wants_gradients(self) -> bool:
        """Whether gradients are asked for; not if a query that sees no key may give NaN."""
        wanted = self.row[gradients.GRADIENTS.name] not in gradients.NO_GRADIENTS
        return wanted and not self.method and self.visible is None

    @cached_property
    def work(self) -> Work:
        """The amount of computation, by which the time it takes is estimated."""
        weights = sum(weight.numel() for weight in self.weights.values())
        return Work.of(self.sizes.scores, self.wants_gradients, 1, weights)

    @property
    def scale(self) -> float:
        """The factor that all gradients are multiplied by."""
        return gradients.scale_of(self.row)

    @property
    def learns_alone(self) -> bool:
        """Whether, with one layer frozen, gradients are asked of other parameters but not of x."""
        others = len(self.weights) - len(self.contract.frozen)
        is_beside = gradients.is_beside_a_residual(self.row)
        return self.coin and not is_beside and len(self.frozen) < others

    @property
    def learning_inputs(self) -> list[str]:
        """Names of the inputs that gradients are asked of, in a situation that wants some."""
        return gradients.learning_inputs(self.row, list(self.learning), self.learns_alone)

    @property
    def method(self) -> str:
        """The name of the method that is called; empty for the module itself."""
        return ""

    @property
    def by_name(self) -> tuple[str, ...]:
        """The names of the inputs that are passed by keyword."""
        contract, row = self.contract, self.row
        return tuple(name for name in self.inputs if is_passed_by_name(contract, row, name))

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
