"""A module of a submission that is planned, and called by plan."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.sandbox.requests import calling, creation, going_back, moving
from grader.suite.call import PlannedCall
from grader.suite.compare import fail
from grader.suite.oracle import Weights
from grader.suite.plan import Step
from grader.suite.subject import Sizes

if TYPE_CHECKING:
    from grader.suite.trial import Trial

Input = Tensor | tuple[Tensor, Tensor | None]  # x alone, or x and a mask or None


class PlannedModule:
    """A module of the submission, in evaluation, or its function.

    Attributes:
        trial: Whose subject it is.
        sizes: Those it is made for.
        weights: Set before the next call; without any it stays as its constructor makes it.
    """

    def __init__(
        self, trial: Trial, sizes: Sizes, weights: Weights, arguments: dict[str, Any]
    ) -> None:
        self.trial = trial
        self.sizes = sizes
        self.weights = weights
        self.made: Step | None = None
        self._target: int | str = trial.subject.name
        self._unset = weights  # in the worker
        self._mode: bool | None = None  # to be told
        if trial.subject.parameters is not None:
            self._make(trial, arguments)

    def _make(self, trial: Trial, arguments: dict[str, Any]) -> None:
        submission = trial.submission
        number = self._target = submission.number()
        self._mode = False
        made = creation(number, trial.subject.name, (), arguments, told=False)
        self.made = trial.plan.add(made, self)
        if trial.device != "cpu":
            trial.plan.add(moving(number, None, trial.device), self)
        weakref.finalize(self, submission.forget, number, submission.worker)

    def train(self, mode: bool = True) -> PlannedModule:
        """Switch between training and evaluation, for the calls to come."""
        self._mode = None if self.made is None else mode
        return self

    def to(self, dtype: torch.dtype) -> PlannedModule:
        """Move its weights to another dtype."""
        if isinstance(self._target, int):
            self.trial.plan.add(moving(self._target, dtype, None), self)
        return self

    def set(self, weights: Weights) -> PlannedModule:
        """Set some weights anew, for the calls to come."""
        self.weights = {**self.weights, **weights}
        self._unset = {**self._unset, **weights}
        return self

    def call(self, x: Tensor, mask: Tensor | None = None, **how: Any) -> PlannedCall:
        """Plan a call with x, and a mask if it takes one; ``how`` as in ``calls``."""
        return self.calls([(x, mask)], **how)[0]

    def calls(
        self,
        inputs: Sequence[Input],
        method: str = "",
        named: bool = False,
        weigh: Tensor | None = None,
        seed: int | None = None,
        watch: bool = False,
    ) -> list[PlannedCall]:
        """Plan a call with each of several inputs.

        Args:
            inputs: Each is x, or x and a mask or None.
            method: Of the module; empty for the module itself.
            named: Whether the mask is given by its name.
            weigh: What the output of the one call is multiplied by, where gradients of the sum
                of that are wanted.
            seed: Of torch's random numbers, set before the first call.
            watch: Whether the one call is to tell which inputs it changes.
        """
        pairs = [given if isinstance(given, tuple) else (given, None) for given in inputs]
        graph = None if weigh is None else self.trial.submission.number()
        if weigh is not None:
            pairs = [(x.detach().requires_grad_(), mask) for x, mask in pairs]
        arguments = [_arguments(x, mask, named) for x, mask in pairs]
        learned = list(self.weights)
        header, tensors = calling(
            self._target, method, arguments, self._unset, self._mode, graph, learned, watch
        )
        if seed is not None:
            header["seed"] = seed
        step = self.trial.plan.add((header, tensors), self)
        self._unset, self._mode = {}, None
        made = [PlannedCall(self, step, i, x, mask) for i, (x, mask) in enumerate(pairs)]
        if graph is not None and weigh is not None:
            submission = self.trial.submission
            back = self.trial.plan.add(going_back(graph, [weigh]), self)
            weakref.finalize(back, submission.forget, graph, submission.worker)
            made[0].weigh_by(weigh, back)
        return made

    def expect_fit(self) -> None:
        """Fail the check unless the module has a parameter for each of the weights.

        Raises:
            CheckFailed: One is missing, has another shape, or is another one at the same time.
            SubmissionError: The constructor raised an exception.
            SubmissionRefused: There is no such class, or it is no ``nn.Module``.
        """
        if self.made is None:
            return
        there = self.made.parameters
        owners: dict[str, str] = {}
        for name, value in self.weights.items():
            if name not in there:
                listing = ", ".join(f"`{own}`" for own in there) or "no parameter at all"
                fail(f"expected a parameter `{name}`; there is {listing}")
            shape, first = there[name]
            if shape != value.shape:
                wanted = tuple(value.shape)
                fail(f"expected the parameter `{name}` of shape {wanted}, got {shape}")
            owner = owners.setdefault(first, name)
            if owner != name:
                fail(f"`{name}` is the same parameter as `{owner}`; expected two")


def _arguments(x: Tensor, mask: Tensor | None, named: bool) -> tuple[Any, Any]:
    if mask is None:
        return (x,), {}
    return ((x,), {"attention_mask": mask}) if named else ((x, mask), {})
