"""A planned module's mode and weights, and whether its parameters fit those of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor

from grader.sandbox.batch import RequestBatch
from grader.sandbox.pending import PendingModule
from grader.suite.compare import fail
from grader.suite.contract import Contract
from grader.suite.fitting import NO_DEVIATIONS, Deviations
from grader.suite.oracle import Weights, exact, right_weights
from grader.suite.sizes import Sizes

MIN_KINK_DISTANCE = 3e-5  # to where a gradient jumps: nearer is near; float32 is off by 3e-6


class ModuleState:
    """A planned module of the submission, or its function: its mode and weights.

    Attributes:
        contract: Contract whose entry the module or function is.
        batch: Batch of requests that the module is planned in.
        sizes: Sizes that the module is made for.
        weights: Values of the module's parameters, set before the next call; if empty, the
            parameters stay as the constructor made them.
        made: The planned construction of the module; None for a function.
        deviations: The module's deviations from the contract that are compensated for.
    """

    def __init__(
        self,
        contract: Contract,
        batch: RequestBatch,
        sizes: Sizes,
        weights: Weights,
        made: PendingModule | None,
        deviations: Deviations = NO_DEVIATIONS,
    ) -> None:
        self.contract = contract
        self.batch = batch
        self.sizes = sizes
        self.weights = self._unset = {name: weights[name] for name in deviations.present(weights)}
        self.made = made
        self.deviations = deviations
        self._mode: bool | None = None if made is None else False  # to set at the next call

    def train(self, mode: bool = True) -> Self:
        """Switch to training or evaluation mode, for the calls to come."""
        self._mode = None if self.made is None else mode
        return self

    def as_made(self) -> Self:
        """Leave the module in the mode that its constructor set, for the calls to come."""
        self._mode = None
        return self

    def to(self, dtype: torch.dtype | None = None, device: str | None = None) -> Self:
        """Plan to move the module to another dtype or device; do nothing for a function."""
        if self.made is not None:
            self.batch.move(self.made, dtype, device)
        return self

    def renew(self) -> Self:
        """Plan to replace the module by a newly constructed one that loads its state."""
        if self.made is not None:
            self.batch.renew(self.made)
        return self

    def set(self, weights: Weights) -> Self:
        """Replace some weights, for the calls to come."""
        there = {name: weights[name] for name in self.deviations.present(weights)}
        self.weights = {**self.weights, **there}
        self._unset = {**self._unset, **there}
        return self

    @property
    def learning(self) -> Weights:
        """The weights whose gradients are requested."""
        frozen = self.contract.frozen
        return {name: value for name, value in self.weights.items() if name not in frozen}

    @property
    def whole_weights(self) -> Weights:
        """All weights of the contract, with zeros for a bias that the module lacks."""
        if not self.deviations.missing or self.contract.parameters is None:
            return self.weights
        shapes = self.contract.parameters(self.sizes)
        like = next(iter(self.weights.values()), torch.zeros(()))
        lacks = self.deviations.lacks
        missing = {name: like.new_zeros(shapes[name]) for name in shapes if lacks(name)}
        return {**self.weights, **missing}

    @property
    def own_names(self) -> frozenset[str]:
        """The module's own names of its parameters, with those of surplus biases."""
        shapes = self.contract.parameters(self.sizes) if self.contract.parameters else {}
        known = map(self.deviations.own_name, self.weights)
        return frozenset((*known, *self.deviations.surplus_sizes(shapes)))

    @property
    def first_weights(self) -> Weights:
        """The contract's parameters as the constructor made them, if their values were requested.

        Raises:
            CheckFailed: A parameter has another shape, or is no float.
        """
        found = {}
        made = {} if self.made is None else self.made.parameters
        shapes = self.contract.parameters(self.sizes) if self.contract.parameters else {}
        for name, shape in shapes.items():
            own = self.deviations.own_name(name)
            value = made[own].value if own in made else None
            if value is None:
                continue
            if tuple(value.shape) != shape or not value.is_floating_point():
                got = f"{tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
                fail(f"expected the parameter `{name}` of shape {shape}, a float; got {got}")
            found[name] = value
        return found

    def is_near_a_kink(self, inputs: Mapping[str, Tensor]) -> bool:
        """Return whether inputs lie so near a jump of a gradient that rounding may cross it."""
        if self.contract.kinks is None:
            return False
        plain = {name: exact(value) for name, value in inputs.items()}
        kinks = self.contract.kinks(right_weights(self.whole_weights), self.sizes, **plain)
        return bool(kinks.abs().min() < MIN_KINK_DISTANCE)

    def expect_fit(self) -> None:
        """Fail the check unless the module has a parameter for each of the weights.

        Raises:
            CheckFailed: A parameter is missing, has another shape, or is shared by two names.
            SubmissionError: The constructor raised an exception.
            SubmissionRefused: The class does not exist, or is no ``nn.Module``.
        """
        if self.made is None:
            return
        there = self.made.parameters
        owners: dict[str, str] = {}
        for contracts, value in self.weights.items():
            name = self.deviations.own_name(contracts)
            if name not in there:
                listing = ", ".join(f"`{own}`" for own in there) or "none"
                fail(f"expected a parameter `{name}`; the module has {listing}")
            shape = there[name].shape
            if shape != value.shape:
                wanted = tuple(value.shape)
                fail(f"expected the parameter `{name}` of shape {wanted}, got {shape}")
            owner = owners.setdefault(there[name].same_as, name)
            if owner != name:
                fail(f"`{name}` is the same parameter as `{owner}`; expected two")
