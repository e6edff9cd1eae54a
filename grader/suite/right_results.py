"""The results of a call that would be right, by the contract's oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

from grader.suite.contract import Contract, Input
from grader.suite.known import compute_once
from grader.suite.module_state import ModuleState
from grader.suite.oracle import Weights, exact, right_weights
from grader.suite.sizes import Sizes
from grader.suite.tolerance import Noise

_T = TypeVar("_T")


@dataclass(frozen=True)
class Handle:
    """An output of a planned call that a later call takes as input; it never leaves the worker.

    Attributes:
        call: The call, of which the right output is known.
        name: Name of the output.
        reference: What stands for the output in a request.
    """

    call: RightResults
    name: str
    reference: Any


Inputs = Mapping[str, "Tensor | Handle | None"]  # by name; None for one that is left out


class RightResults:
    """The right outputs and gradients of a call of a module or a function.

    Attributes:
        contract: Contract of the module.
        inputs: Inputs of the call, by name.
        sizes: Sizes of the module, overridden by those of the inputs.
        weights: Weights of the module at this call.
    """

    def __init__(self, module: ModuleState, inputs: Inputs) -> None:
        self.contract = module.contract
        self.inputs = {name: value for name, value in inputs.items() if value is not None}
        self.weights, self._whole_weights = module.weights, module.whole_weights
        self._learning = module.learning
        self.sizes = sizes_of_call(self.contract, module.sizes, self.inputs)
        self._grad_outputs: dict[str, Tensor] = {}

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The inputs that are sent to the worker: all but outputs of earlier calls."""
        return {name: value for name, value in self.inputs.items() if isinstance(value, Tensor)}

    @property
    def expected(self) -> Tensor:
        """The right first compared output, in float64, on the CPU."""
        return self.right_outputs[self.contract.compared[0]]

    @property
    def right_outputs(self) -> dict[str, Tensor]:
        """The right float outputs by name."""
        return {n: x for n, x in self.all_right_outputs.items() if n not in self.contract.integers}

    @cached_property
    def all_right_outputs(self) -> dict[str, Tensor]:
        """All right outputs by name; cached, as later calls may take some of them as inputs."""
        return self.compute_once("outputs", self.compute_right_outputs)

    @cached_property
    def right_gradients(self) -> dict[str, Tensor]:
        """The right gradients, in float64, on the CPU."""
        return self.compute_once("gradients", self.compute_right_gradients)

    def foresee(self) -> None:
        """Compute the right outputs, and the right gradients if any were planned, ahead of use."""
        _ = self.all_right_outputs
        if self._grad_outputs:
            _ = self.right_gradients

    @property
    def right_weights(self) -> Weights:
        """The weights in float64, on the CPU, with zeros for a bias that is missing."""
        return right_weights(self._whole_weights)

    @property
    def right_inputs(self) -> dict[str, Tensor]:
        """The inputs in float64, on the CPU; for an output of an earlier call, its right value."""
        return {
            name: value.call.all_right_outputs[value.name]
            if isinstance(value, Handle)
            else exact(value)
            for name, value in self.inputs.items()
        }

    def compute_once(self, what: str, compute: Callable[[], _T]) -> _T:
        """Return the result of ``compute``, cached by ``what`` and all values of this call."""
        inputs = self.right_inputs
        grads = map(exact, self._grad_outputs.values())
        given = (*inputs.values(), *grads, *self.weights.values())
        names = (*inputs, *self._grad_outputs, *self.weights)
        return compute_once((what, self.contract.oracle, self.sizes, names), given, compute)

    def compute_right_outputs(
        self, dtype: torch.dtype = torch.float64, noise: Noise | None = None
    ) -> dict[str, Tensor]:
        """Compute the right outputs, without a cache, with errors of rounding.

        The errors come from a coarser dtype, or from noise: a random error in each operation.
        """
        sources = self._sources(dtype, noise)
        with noise or nullcontext():
            return self._right(*sources)

    def compute_right_gradients(
        self, dtype: torch.dtype = torch.float64, noise: Noise | None = None
    ) -> dict[str, Tensor]:
        """Compute the right gradients with errors of rounding; see ``compute_right_outputs``."""
        inputs, weights = self._sources(dtype, noise)
        with noise or nullcontext():
            return self._right_gradients(inputs, weights, dtype)

    def _right_gradients(
        self, inputs: dict[str, Tensor], weights: Weights, dtype: torch.dtype
    ) -> dict[str, Tensor]:
        names = [name for name in self.contract.differentiable if name in self.tensors]
        sources = {name: inputs[name].requires_grad_() for name in names}
        sources |= {name: weights[name].requires_grad_() for name in self._learning}
        rights = self._right(inputs, weights)
        given = {name: grad.to("cpu", dtype) for name, grad in self._grad_outputs.items()}
        terms = [(rights[name] * grad).sum() for name, grad in given.items()]
        found = torch.autograd.grad(torch.stack(terms).sum(), list(sources.values()))
        return dict(zip(sources, found, strict=True))

    def _sources(
        self, dtype: torch.dtype, noise: Noise | None
    ) -> tuple[dict[str, Tensor], Weights]:
        inputs, weights = self.right_inputs, right_weights(self._whole_weights, dtype)
        floats = [name for name in self.contract.differentiable if name in inputs]
        inputs |= {name: inputs[name].to(dtype) for name in floats}
        if noise:  # by two steps: `MAX_TIMES_NOISE` was measured with about as much
            inputs |= {name: noise.perturbed(inputs[name], 2.0) for name in floats}
            weights = {name: noise.perturbed(weight, 2.0) for name, weight in weights.items()}
        return inputs, weights

    def _right(self, inputs: dict[str, Tensor], weights: Weights) -> dict[str, Tensor]:
        return self.contract.right(weights, self.sizes, inputs)


def sizes_of_call(contract: Contract, sizes: Sizes, inputs: Inputs) -> Sizes:
    """Return a module's sizes, updated by those of a call's inputs and what follows from them."""
    found: dict[str, int] = {}
    for name, spec in contract.inputs.items():
        value = inputs.get(name)
        if spec.length:
            found[spec.length] = _length(spec, sizes, value)
        if spec.optional or not isinstance(value, Tensor):
            continue
        words = spec.shape.split()
        if words[:1] == ["B"] and value.dim() == len(words) - 1:
            found.setdefault("B", 0)
            words = words[1:]
        for word, size in zip(words, value.shape, strict=False):
            found.setdefault(word, size)
    found = {word: size for word, size in found.items() if word.isalpha()}
    return contract.derived(sizes.replace(**found))


def _length(spec: Input, sizes: Sizes, value: Tensor | Handle | None) -> int:
    """Return an input's size along the axis named ``spec.length``; 0 if the input is left out."""
    if value is None:
        return 0
    axis = sizes.axis(spec.shape, spec.length)
    if isinstance(value, Tensor):
        return value.size(axis)
    letters = value.call.contract.outputs[value.name] or ""
    return value.call.sizes.shape(letters)[axis]
