"""A call in a worker, with gradients, as one request."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from grader.sandbox.answers import read_gradients, read_results
from grader.sandbox.requests import Request, calling, going_back
from grader.sandbox.wire import values
from grader.sandbox.workers import WorkerEnded

if TYPE_CHECKING:
    from grader.sandbox.remote import RemoteSubmission


class _Request:
    """A request to call on its way: what is sent, and what came back beside tensors."""

    def __init__(self, submission: RemoteSubmission, request: Request) -> None:
        self.submission = submission
        self.header, self.tensors = request
        self.trees: list[Any] = []

    def run(self) -> tuple[list[Tensor], list[bool]]:
        """The outputs, and whether each carries a gradient."""
        request = self.header, self.tensors
        answer = self.submission.request(*request)
        results = self.submission.believe(lambda: read_results(answer, request))
        self.trees = results.trees
        return results.outputs, results.grads


class _Remote(torch.autograd.Function):
    """Forward and backward in the worker."""

    @staticmethod
    def forward(ctx: Any, request: _Request, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Run the calls; ``tensors`` are what a gradient may be wanted of."""
        outputs, grads = request.run()
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(
            *(out for out, grad in zip(outputs, grads, strict=True) if not grad)
        )
        ctx.submission, ctx.grads = request.submission, grads
        ctx.graph = request.header["graph"]
        ctx.shapes = [out.detach() for out, grad in zip(outputs, grads, strict=True) if grad]
        ctx.forms = [(x.shape, x.device) for x in tensors]
        ctx.worker = ctx.submission.worker
        if any(grads):
            weakref.finalize(ctx, ctx.submission.forget, ctx.graph, ctx.worker)
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
        answer = submission.request(*going_back(ctx.graph, filled))
        grads: list[Tensor | None] = submission.believe(lambda: read_gradients(answer, ctx.forms))
        return (None, *grads)


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
        once: dict[int, str] = {}  # a tied parameter only under its first name
        for name, parameter in learned.items():
            if parameter.requires_grad:
                once.setdefault(id(parameter), name)
        names = list(once.values())
        changed = {name: learned[name].detach() for name in stale}
        header, tensors = calling(self.target, self.method, calls, changed, mode, learned=names)
        inputs = [x for x in tensors if x.requires_grad]
        # Without tensors to differentiate by, what runs may still build graphs of its own.
        if torch.is_grad_enabled() and (inputs or names or not (tensors or learned)):
            header["graph"] = self.submission.number()
        request = _Request(self.submission, (header, tensors))
        if header["graph"] is not None and (inputs or names):
            outputs = list(_Remote.apply(request, *inputs, *(learned[name] for name in names)))
        else:
            outputs, _ = request.run()
        return [values.decode(tree, outputs) for tree in request.trees]
