"""A call in a worker, with gradients, as one request."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from grader.sandbox.wire import values
from grader.sandbox.workers import WorkerEnded

if TYPE_CHECKING:
    from grader.sandbox.remote import RemoteSubmission


class _Request:
    """A request to call on its way: what is sent, and what came back beside tensors."""

    def __init__(
        self, submission: RemoteSubmission, header: dict[str, Any], tensors: list[Tensor]
    ) -> None:
        self.submission = submission
        self.header = header
        self.tensors = tensors
        self.trees: list[Any] = []

    def run(self) -> tuple[list[Tensor], list[bool], int | None]:
        """The outputs, whether each carries a gradient, and the number of their graph."""
        answer, sent = self.submission.request(self.header, self.tensors)
        return self.submission.believe(lambda: self._take(answer, sent))

    def _take(
        self, answer: dict[str, Any], sent: list[Tensor]
    ) -> tuple[list[Tensor], list[bool], int | None]:
        self.submission.changed = [int(position) for position in answer["changed"]]
        self.trees = list(answer["results"])
        if len(self.trees) != len(self.header["calls"]):
            raise ValueError("results and calls do not agree")
        grads = [bool(grad) for grad in answer["grad"]]
        outputs = sent[: len(grads)]
        for tree in self.trees:
            values.decode(tree, outputs)  # its form, before anybody relies on it
        if len(outputs) < len(grads) or any(
            grad and not out.is_floating_point() for out, grad in zip(outputs, grads, strict=True)
        ):
            raise ValueError("outputs and gradients do not agree")
        return outputs, grads, int(answer["graph"]) if any(grads) else None


class _Remote(torch.autograd.Function):
    """Forward and backward in the worker."""

    @staticmethod
    def forward(ctx: Any, request: _Request, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Run the calls; ``tensors`` are what a gradient may be wanted of."""
        outputs, grads, graph = request.run()
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(
            *(out for out, grad in zip(outputs, grads, strict=True) if not grad)
        )
        ctx.submission, ctx.grads, ctx.graph = request.submission, grads, graph
        ctx.shapes = [out.detach() for out, grad in zip(outputs, grads, strict=True) if grad]
        ctx.forms = [(x.shape, x.dtype, x.device) for x in tensors]
        ctx.worker = ctx.submission.worker
        if graph is not None:
            weakref.finalize(ctx, ctx.submission.forget, graph, ctx.worker)
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        """Gradients of the inputs and parameters, None where the submission gives none."""
        submission = ctx.submission
        if submission.worker is not ctx.worker:
            raise WorkerEnded("had already ended")
        wanted = [g for g, grad in zip(grad_outputs, ctx.grads, strict=True) if grad]
        filled = [
            torch.zeros_like(out) if g is None else g
            for g, out in zip(wanted, ctx.shapes, strict=True)
        ]
        answer, sent = submission.request({"do": "backward", "graph": ctx.graph}, filled)
        grads: list[Tensor | None] = submission.believe(
            lambda: _gradients(answer["result"], sent, ctx.forms)
        )
        return (None, *grads)


def _gradients(tree: Any, sent: list[Tensor], forms: list[Any]) -> list[Tensor | None]:
    """Gradients as they came, each of the form of its input."""
    grads = values.decode(tree, sent)
    if not isinstance(grads, list) or len(grads) != len(forms):
        raise ValueError("gradients are not those of the inputs")
    for grad, form in zip(grads, forms, strict=True):
        if grad is not None and (grad.shape, grad.dtype, grad.device) != form:
            raise ValueError("a gradient has not the form of its input")
    return grads


class Target:
    """What can be called in a worker."""

    def __init__(self, submission: RemoteSubmission, target: int | str, method: str = "") -> None:
        self.submission = submission
        self.target = target
        self.method = method

    def call(
        self,
        calls: Sequence[tuple[Any, Any]],
        learned: Mapping[str, Tensor],
        stale: list[str],
        mode: bool | None = None,
    ) -> list[Any]:
        """Call once for each pair of arguments and keywords, in one request, with gradients."""
        tensors: list[Tensor] = []
        trees = [
            {"args": values.encode(args, tensors), "kwargs": values.encode(kwargs, tensors)}
            for args, kwargs in calls
        ]
        once: dict[int, str] = {}  # a tied parameter only under its first name
        for name, parameter in learned.items():
            if parameter.requires_grad:
                once.setdefault(id(parameter), name)
        names = list(once.values())
        inputs = [x for x in tensors if x.requires_grad]
        grad = torch.is_grad_enabled() and bool(inputs or names)
        header = {
            "do": "call",
            "target": self.target,
            "method": self.method,
            "calls": trees,
            "parameters": {name: len(tensors) + i for i, name in enumerate(stale)},
            "learned": names,
            "mode": mode,
            # Without tensors to differentiate by, what runs may still build graphs of its own.
            "grad": grad or (torch.is_grad_enabled() and not tensors and not learned),
        }
        changed = [learned[name].detach() for name in stale]
        request = _Request(self.submission, header, [*tensors, *changed])
        if grad:
            outputs = list(_Remote.apply(request, *inputs, *(learned[name] for name in names)))
        else:
            outputs, _, _ = request.run()
        return [values.decode(tree, outputs) for tree in request.trees]
