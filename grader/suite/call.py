"""A call that is planned: what comes of it, and what should."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from grader.sandbox.answers import Results, read_gradients
from grader.sandbox.wire import values
from grader.suite.compare import expect, expect_tensor, fail
from grader.suite.known import once
from grader.suite.oracle import Weights, right_weights
from grader.suite.plan import Step

if TYPE_CHECKING:
    from grader.suite.planned import PlannedModule

_T = TypeVar("_T")
Gradients = dict[str, Tensor | None]


class PlannedCall:
    """A planned call of a module or a function.

    Whatever looks at what came raises what ``Step.answer`` does, and ``CheckFailed`` where the
    weights do not fit the module.

    Attributes:
        module: What is called.
        x: (B, T, C) or (T, C).
        mask: Broadcastable to (B, T, T), or None; nonzero = may attend.
        weights: Of the module, as they are at this call.
    """

    def __init__(
        self, module: PlannedModule, step: Step, place: int, x: Tensor, mask: Tensor | None
    ) -> None:
        self.module = module
        self.x = x
        self.mask = mask
        self.weights = module.weights
        self._step = step
        self._place = place  # among the calls of its step
        self._weigh: Tensor | None = None
        self._back: Step | None = None

    def weigh_by(self, weigh: Tensor, back: Step) -> None:
        """Let gradients be those of ``(output · weigh).sum()``, which ``back`` asks for."""
        self._weigh, self._back = weigh, back

    @property
    def result(self) -> Any:
        """What was given back; an ``Opaque`` stands for what cannot cross."""
        results = self._results
        return values.decode(results.trees[self._place], results.outputs)

    @property
    def out(self) -> Tensor:
        """The output, which must be a Tensor of the right shape; on the device of x."""
        sizes = self.module.sizes
        letters = "(B, T, E)" if sizes.E else "(B, T, C)"
        shape = (*self.x.shape[:-1], sizes.out)
        letters = letters if self.x.dim() == 3 else letters[4:]
        return expect_tensor(self.result, shape, "output", letters).to(self.x.device)

    @property
    def changed(self) -> list[str]:
        """Which of its inputs a call that was watched, by itself, changed in place."""
        return [("x", "attention_mask")[position] for position in self._results.changed]

    @property
    def carries_gradients(self) -> bool:
        """Whether the output leads back to anything."""
        return any(self._results.grads)

    @property
    def gradients(self) -> Gradients:
        """Gradients of ``(output · weigh).sum()`` by x and the weights, by name.

        Raises:
            CheckFailed: The output carries none.
        """
        _ = self.out  # is a Tensor of the right shape
        expect(
            self.carries_gradients,
            "the output carries no gradient: expected one that leads back to x and the parameters",
        )
        assert self._back is not None
        answer = self._back.answer
        sources = {"x": self.x, **self.weights}
        forms = [(t.shape, t.device) for t in sources.values()]
        believe = self.module.trial.submission.believe
        return dict(zip(sources, believe(lambda: read_gradients(answer, forms)), strict=True))

    @property
    def _results(self) -> Results:
        self.module.expect_fit()
        return self._step.results

    @property
    def expected(self) -> Tensor:
        """The right output, in float64, on the CPU."""
        return self._once("output", self._expected)

    @property
    def right_gradients(self) -> dict[str, Tensor]:
        """The right gradients of ``(output · weigh).sum()``, in float64, on the CPU."""
        return self._once("gradients", self._right_gradients)

    def _once(self, what: str, compute: Callable[[], _T]) -> _T:
        subject = self.module.trial.subject
        given = (self.x, self.mask, self._weigh, *self.weights.values())
        key = (what, subject.oracle, subject.mix, self.module.sizes, *self.weights)
        return once(key, given, compute)

    def _expected(self) -> Tensor:
        return self._through_the_oracle(right_weights(self.weights), self.x.detach().double().cpu())

    def _right_gradients(self) -> dict[str, Tensor]:
        assert self._weigh is not None
        sources = {"x": self.x.detach().double().cpu(), **right_weights(self.weights)}
        x, *_ = (source.requires_grad_() for source in sources.values())
        weights = {name: source for name, source in sources.items() if name != "x"}
        loss = (self._through_the_oracle(weights, x) * self._weigh.double().cpu()).sum()
        found = torch.autograd.grad(loss, list(sources.values()))
        return dict(zip(sources, found, strict=True))

    def _through_the_oracle(self, weights: Weights, x: Tensor) -> Tensor:
        mask = None if self.mask is None else self.mask.cpu()
        return self.module.trial.subject.oracle(weights, x, mask, self.module.sizes)

    def maps(self, *outs: Tensor) -> list[Tensor]:
        """The attention weights behind outputs for this x: what the vectors were mixed with.

        The vectors that are mixed are known and, with no more of them than they have features,
        independent, so only one mixture gives such an output.

        Returns:
            For each (B, T, H, T), float64, on the CPU.
        """
        subject, sizes = self.module.trial.subject, self.module.sizes
        if subject.mix is None:
            fail(f"`{subject.name}` shows no attention weights")
        added, back = self._once("mixing", self._mixing)
        flat = [(out.detach().double().cpu() - added) @ back for out in outs]
        return [one.reshape(*one.shape[:-1], sizes.H, sizes.T) for one in flat]

    def _mixing(self) -> tuple[Tensor | float, Tensor]:
        """What is added to each mixture, and what takes a mixture back to its weights."""
        subject = self.module.trial.subject
        assert subject.mix is not None
        x = self.x.detach().double().cpu()
        mixed, added = subject.mix(right_weights(self.weights), x, self.module.sizes)
        return added, torch.linalg.pinv(mixed)
