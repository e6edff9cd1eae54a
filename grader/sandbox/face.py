"""Presents a submission's module or function so that torch can call and differentiate it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from grader.sandbox.batch import RequestBatch
from grader.sandbox.errors import SubmissionRefused
from grader.sandbox.pending import PendingCalls, PendingModule
from grader.wire import values

MAX_OUTPUT_NUMBERS = 1 << 16  # in all outputs of a call; gradcheck takes many times their memory


class DifferentiableProxy:
    """A submission's module or function, for ``torch.autograd.gradcheck`` and the like to call.

    Each call, and each backward, is a request of its own. Double backward is not supported.

    Args:
        batch: The batch that sends the requests to the submission's worker.
        target: A module, or a function's name.
        weights: Names of the parameters whose values are the last tensors of each call.
        mode: Whether the module is in training mode; None for a function.
    """

    def __init__(
        self,
        batch: RequestBatch,
        target: PendingModule | str,
        weights: Sequence[str] = (),
        mode: bool | None = None,
    ) -> None:
        self._batch = batch
        self._target = target
        self._weights = weights
        self._mode = mode

    def __call__(self, *tensors: Tensor) -> Any:
        """Call the module or function; its outputs may require gradients."""
        trees: list[Any] = []
        outputs = _Differentiable.apply(self, trees, *tensors)
        return values.decode(trees[0], list(outputs))

    def run(self, tensors: Sequence[Tensor]) -> PendingCalls:
        """Have the worker call the module or function, and return this call with its answer."""
        inputs = tensors[: len(tensors) - len(self._weights)]
        weights = dict(zip(self._weights, tensors[len(inputs) :], strict=True))
        calls = self._batch.call(
            self._target,
            [(tuple(inputs), {})],
            weights={name: weight.detach() for name, weight in weights.items()},
            mode=self._mode,
            grad_parameters=list(weights),
        )
        self._batch.send()
        return calls

    def differentiate(
        self, calls: PendingCalls, grads: dict[tuple[int | str, ...], Tensor], tensors: list[Tensor]
    ) -> list[Tensor | None]:
        """Return the gradients of a call with respect to each tensor that it was given."""
        weights = tensors[len(tensors) - len(self._weights) :]
        pending = self._batch.backward(calls, grads, weights)
        self._batch.send()
        found = iter(pending.gradients)
        inputs = [next(found) if x.requires_grad else None for x in calls.inputs]
        return [*inputs, *found]


class _Differentiable(torch.autograd.Function):
    """An autograd function whose forward and backward run in the worker."""

    @staticmethod
    def forward(
        ctx: Any, face: DifferentiableProxy, trees: list[Any], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        """Call the module or function; its encoded results are appended to ``trees``."""
        ctx.face, ctx.calls = face, face.run(tensors)
        results = ctx.calls.results
        count = sum(out.numel() for out in results.outputs)
        if count > MAX_OUTPUT_NUMBERS:
            raise SubmissionRefused(f"it gives {count} numbers, too many to be differentiated")
        trees += results.trees
        ctx.set_materialize_grads(False)
        pairs = list(zip(results.outputs, results.grads, strict=True))
        ctx.mark_non_differentiable(*(out for out, grad in pairs if not grad))
        ctx.paths = dict(tensor_paths(results.trees[0]))
        ctx.tensors = [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in tensors]
        return tuple(results.outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the gradients of the tensors, None where the submission gives none."""
        grads = {
            (0, *ctx.paths[index]): grad
            for index, grad in enumerate(grad_outputs)
            if grad is not None
        }
        return (None, None, *ctx.face.differentiate(ctx.calls, grads, ctx.tensors))


def tensor_paths(
    tree: Any, path: tuple[int | str, ...] = ()
) -> list[tuple[int, tuple[int | str, ...]]]:
    """Return the index of each tensor in an encoded value, and its path of indices and keys."""
    if not isinstance(tree, dict):
        return []
    ((kind, content),) = tree.items()
    if kind == "tensor":
        return [(content, path)]
    parts = content.items() if kind == "dict" else enumerate(content if kind != "opaque" else ())
    return [found for key, part in parts for found in tensor_paths(part, (*path, key))]
