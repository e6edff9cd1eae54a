"""One check's try at a subject: modules with drawn weights, inputs, right values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from torch import Tensor

from grader.sandbox.modules import RemoteModule
from grader.sandbox.remote import RemoteSubmission
from grader.suite.draw import Draw
from grader.suite.oracle import Weights, right_weights
from grader.suite.plan import Plan
from grader.suite.planned import Input, PlannedModule
from grader.suite.subject import Sizes, Subject

_T = TypeVar("_T")

# Queries and keys drawn with this gain give scores of about ±1.4 after scaling: weights that
# are neither uniform nor one-hot, so that a wrong scale shows.
GAIN = 1.2
NEAR = 3e-5  # to a kink; float32 is off by 3e-6 there
DRAWS = 1000  # of an x, of which about every sixth lies near a kink


class Trial:
    """One check's try at a subject: makes modules with drawn weights, inputs, right values.

    Args:
        subject: What is tried.
        submission: Of whom.
        draw: The check's random numbers.
        device: Where tensors are to lie, such as ``cpu`` or ``cuda``.
        seen: What earlier checks of the same grading have observed.
    """

    def __init__(
        self,
        subject: Subject,
        submission: RemoteSubmission,
        draw: Draw,
        device: str,
        seen: dict[Any, Any],
    ) -> None:
        self.subject = subject
        self.submission = submission
        self.draw = draw
        self.device = device
        self.plan = Plan(submission)
        self._seen = seen

    @property
    def usual(self) -> Sizes:
        """Sizes as they are in use, where a number that fits small sizes only shows."""
        first = self.sizes
        return Sizes(min(first.B, 2), 17, 64, 32 if first.E else 0, 4 if first.H > 1 else 1)

    def of(self, subject: Subject) -> Trial:
        """The same try at another subject."""
        return Trial(subject, self.submission, self.draw, self.device, self._seen)

    def shared(self, observe: Callable[[Trial], _T]) -> _T:
        """What ``observe`` saw of this subject: made once for all the checks that judge by it.

        It must give data, no module: a worker may end between two checks. An exception is not
        kept, so the next check tries anew.
        """
        key = (self.subject.name, observe)
        if key not in self._seen:
            self._seen[key] = observe(self)
        seen: _T = self._seen[key]
        return seen

    @property
    def sizes(self) -> Sizes:
        """The first sizes of the subject."""
        return self.subject.sizes[0]

    def create(self, sizes: Sizes | None = None, **changes: Any) -> RemoteModule:
        """A module as the submission's constructor leaves it, moved to the device.

        ``changes`` are arguments of its constructor; None leaves one out.
        """
        arguments = self._arguments(sizes or self.sizes, changes)
        module = self.submission.create(self.subject.name, **arguments).eval()
        return module if self.device == "cpu" else module.to(self.device)

    def module(
        self, sizes: Sizes | None = None, weights: Weights | None = None, **changes: Any
    ) -> PlannedModule:
        """Plan a module, or the function.

        Args:
            sizes: The subject's first where None.
            weights: Drawn where None.
            changes: Arguments of its constructor; None leaves one out.
        """
        sizes = sizes or self.sizes
        weights = self.weights(sizes) if weights is None else weights
        return PlannedModule(self, sizes, weights, self._arguments(sizes, changes))

    def outs(self, inputs: Sequence[Input]) -> list[Tensor]:
        """The outputs of one module for several inputs, each x, or x and a mask."""
        return [call.out for call in self.module().calls(inputs)]

    def undropped(self, sizes: Sizes | None = None) -> PlannedModule:
        """Plan a module in training in which nothing is dropped."""
        changes: dict[str, Any] = {"dropout_rate": 0.0} if self.subject.dropout else {}
        return self.module(sizes, **changes).train()

    def levelled(self, sizes: Sizes | None = None, **changes: Any) -> PlannedModule:
        """Plan a module whose queries all attend to all keys alike."""
        weights = self.subject.level_queries(self.weights(sizes or self.sizes))
        return self.module(sizes, weights, **changes)

    def _arguments(self, sizes: Sizes, changes: dict[str, Any]) -> dict[str, Any]:
        given = {**self.subject.arguments(sizes), **changes}
        return {name: value for name, value in given.items() if value is not None}

    def weights(self, sizes: Sizes) -> Weights:
        """Drawn weights for every parameter of the contract, float32, on the device."""
        shapes = self.subject.parameters(sizes) if self.subject.parameters else {}
        return {name: self._weight(name, shape) for name, shape in shapes.items()}

    def _weight(self, name: str, shape: tuple[int, ...]) -> Tensor:
        if len(shape) == 1:
            drawn = self.draw.normal(*shape, std=0.3)
            return 1 + drawn if name.startswith("norm") and name.endswith("weight") else drawn
        fan_in = shape[1] if name.endswith(".weight") else shape[0]
        return self.draw.normal(*shape, std=GAIN / fan_in**0.5)

    def input(self, sizes: Sizes | None = None) -> Tensor:
        """x, (B, T, C) or (T, C), float32, on the device."""
        sizes = sizes or self.sizes
        # Without weights the scores are x·xᵀ itself: keep them unsaturated.
        std = 1.0 if self.subject.parameters else 1.5 / sizes.C**0.5
        return self.draw.normal(*sizes.shape(sizes.C), std=std)

    def smooth_input(self, module: PlannedModule) -> Tensor:
        """An x at which no right gradient jumps: else rounding decides which side it is of."""
        drawn = (self.input(module.sizes) for _ in range(DRAWS))
        return next(x for x in drawn if not self._near_a_kink(module, x))

    def _near_a_kink(self, module: PlannedModule, x: Tensor) -> bool:
        if self.subject.kinks is None:
            return False
        kinks = self.subject.kinks(right_weights(module.weights), x.double().cpu(), module.sizes)
        return bool(kinks.abs().min() < NEAR)
