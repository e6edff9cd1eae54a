"""One check's try at a subject: modules with drawn weights, inputs, right values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from grader.sandbox.remote import RemoteSubmission
from grader.suite.compare import expect, expect_tensor, fail
from grader.suite.draw import Draw
from grader.suite.oracle import Weights
from grader.suite.subject import Sizes, Subject
from grader.suite.weights import Module, right_weights, set_weights

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

    def create(self, sizes: Sizes | None = None, **changes: Any) -> Module:
        """As the submission's constructor leaves it, moved to the device, in evaluation.

        ``changes`` are arguments of its constructor; None leaves one out.
        """
        return self._made({}, sizes or self.sizes, changes)

    def module(self, sizes: Sizes | None = None, **changes: Any) -> Module:
        """The same with drawn weights."""
        sizes = sizes or self.sizes
        return self._made(self.weights(sizes), sizes, changes)

    def _made(self, weights: Weights, sizes: Sizes, changes: dict[str, Any]) -> Module:
        if self.subject.parameters is None:
            return self.submission.function(self.subject.name)
        given = {**self.subject.arguments(sizes), **changes}
        arguments = {name: value for name, value in given.items() if value is not None}
        module = self.submission.create_with(weights, self.subject.name, **arguments)
        if self.device != "cpu":
            module.to(self.device)
        if weights.keys() != module.set_at_once:
            set_weights(module, weights)
        return module.eval()

    def undropped(self, sizes: Sizes) -> Module:
        """A module in training in which nothing is dropped."""
        module = self.module(sizes, **({"dropout_rate": 0.0} if self.subject.dropout else {}))
        return module.train() if isinstance(module, nn.Module) else module

    def module_like(self, module: Module) -> Module:
        """A fresh module with the weights of another."""
        if not isinstance(module, nn.Module):
            return module
        weights = {name: p.detach().cpu() for name, p in module.named_parameters()}
        return self._made(weights, self.sizes, {})

    def level(self, module: Module) -> None:
        """Change a module's weights so that every query attends to all keys alike."""
        if isinstance(module, nn.Module):
            set_weights(module, self.subject.level_queries(right_weights(module)))

    def weights(self, sizes: Sizes) -> Weights:
        """Drawn weights for every parameter of the contract."""
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

    def smooth_input(self, module: Module, sizes: Sizes) -> Tensor:
        """An x at which no right gradient jumps: else rounding decides which side it is of."""
        drawn = (self.input(sizes) for _ in range(DRAWS))
        return next(x for x in drawn if not self._near_a_kink(module, x, sizes))

    def _near_a_kink(self, module: Module, x: Tensor, sizes: Sizes) -> bool:
        if self.subject.kinks is None:
            return False
        kinks = self.subject.kinks(right_weights(module), x.double().cpu(), sizes)
        return bool(kinks.abs().min() < NEAR)

    def run(
        self, module: Module, x: Tensor, mask: Tensor | None = None, sizes: Sizes | None = None
    ) -> Tensor:
        """The output, which must be a Tensor of the right shape.

        It carries gradients where ``x`` asks for them, and only there: a graph takes its time.
        """
        sizes = sizes or self.sizes
        with torch.set_grad_enabled(x.requires_grad):
            result = module(x) if mask is None else module(x, mask)
        return self._output(result, x, sizes)

    def runs(
        self,
        module: Module,
        inputs: Sequence[Tensor | tuple[Tensor, Tensor | None]],
        sizes: Sizes | None = None,
    ) -> list[Tensor]:
        """The outputs for several inputs, x alone or x and a mask, one after the other.

        They are without gradients, and come in one request, which takes a fraction of the time
        of many.
        """
        pairs = [given if isinstance(given, tuple) else (given, None) for given in inputs]
        with torch.no_grad():
            results = module.each([(x,) if mask is None else (x, mask) for x, mask in pairs])
        sizes = sizes or self.sizes
        return [self._output(out, x, sizes) for out, (x, _) in zip(results, pairs, strict=True)]

    def _output(self, result: Any, x: Tensor, sizes: Sizes) -> Tensor:
        letters = "(B, T, E)" if sizes.E else "(B, T, C)"
        shape = (*x.shape[:-1], sizes.out)
        return expect_tensor(result, shape, "output", letters if x.dim() == 3 else letters[4:])

    def expected(
        self, module: Module, x: Tensor, mask: Tensor | None = None, sizes: Sizes | None = None
    ) -> Tensor:
        """The right output in float64, on the CPU, from the module's own weights."""
        weights = right_weights(module)
        mask = None if mask is None else mask.cpu()
        return self.subject.oracle(weights, x.detach().double().cpu(), mask, sizes or self.sizes)

    def map_of(self, module: Module, x: Tensor, out: Tensor, sizes: Sizes) -> Tensor:
        """The attention weights behind an output: what the vectors were mixed with.

        The vectors that are mixed are known and, with no more of them than they have features,
        independent, so only one mixture gives this output.

        Returns:
            (B, T, H, T), float64, on the CPU.
        """
        return self.maps_of(module, x, [out], sizes)[0]

    def maps_of(self, module: Module, x: Tensor, outs: list[Tensor], sizes: Sizes) -> list[Tensor]:
        """The same for several outputs of one input."""
        if self.subject.mix is None:
            fail(f"`{self.subject.name}` shows no attention weights")
        mixed, added = self.subject.mix(right_weights(module), x.detach().double().cpu(), sizes)
        back = torch.linalg.pinv(mixed)
        flat = [(out.detach().double().cpu() - added) @ back for out in outs]
        return [one.reshape(*one.shape[:-1], sizes.H, sizes.T) for one in flat]

    def gradients(
        self, module: Module, x: Tensor, mask: Tensor | None, weigh: Tensor, sizes: Sizes
    ) -> dict[str, Tensor | None]:
        """Gradients of ``(output · weigh).sum()`` by ``x`` and the parameters, by name."""
        x = x.detach().requires_grad_()
        sources = {"x": x}
        if isinstance(module, nn.Module):
            named = dict(module.named_parameters(remove_duplicate=False))
            shapes = self.subject.parameters(sizes) if self.subject.parameters else {}
            sources |= {n: named[n] for n in shapes if n in named and named[n].requires_grad}
        out = self.run(module, x, mask, sizes)
        expect(
            out.requires_grad,
            "the output carries no gradient: expected one that leads back to x and the parameters",
        )
        found = torch.autograd.grad((out * weigh).sum(), list(sources.values()), allow_unused=True)
        return dict(zip(sources, found, strict=True))

    def right_gradients(
        self, module: Module, x: Tensor, mask: Tensor | None, weigh: Tensor, sizes: Sizes
    ) -> dict[str, Tensor]:
        """The same through the oracle, float64, on the CPU."""
        weights = {name: w.requires_grad_() for name, w in right_weights(module).items()}
        right = x.detach().double().cpu().requires_grad_()
        mask = None if mask is None else mask.cpu()
        out = self.subject.oracle(weights, right, mask, sizes)
        sources = {"x": right, **weights}
        loss = (out * weigh.double().cpu()).sum()
        found = torch.autograd.grad(loss, list(sources.values()), allow_unused=True)
        pairs = zip(sources, found, strict=True)  # a parameter of no contract has no right gradient
        return {name: grad for name, grad in pairs if grad is not None}
