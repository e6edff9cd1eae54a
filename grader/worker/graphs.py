"""The autograd graphs that a worker keeps between a forward and its backward."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


@dataclass
class Graph:
    """What gradients of calls may be asked for: kept until the trusted side lets it go."""

    inputs: list[Tensor]

    def backward(self, pairs: list[tuple[Tensor, Tensor]]) -> list[Tensor | None]:
        """Gradients of the inputs, given outputs with theirs; None where there is none."""
        # Not `grad_outputs=`: its first use imports hundreds of modules in every fresh worker.
        total = torch.stack([(out * grad).sum() for out, grad in pairs]).sum()
        wanted = [x for x in self.inputs if x.requires_grad]
        found = torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True)
        grads = iter(found)
        return [next(grads) if x.requires_grad else None for x in self.inputs]


def kept_for_backward(parameters: dict[str, Tensor]) -> saved_tensors_hooks:
    """Let a graph keep its own copy of the parameters, which a later call may set anew.

    Any other tensor that is changed between forward and backward is an error, as always.
    """
    storages = {p.untyped_storage().data_ptr() for p in parameters.values()}

    def pack(saved: Tensor) -> tuple[Tensor, int]:
        if saved.untyped_storage().data_ptr() in storages:
            saved = saved.detach().clone()
        return saved, saved._version

    def unpack(packed: tuple[Tensor, int]) -> Tensor:
        saved, version = packed
        if saved._version != version:
            raise RuntimeError(
                f"a tensor of shape {tuple(saved.shape)} that the gradient needs has been "
                "modified by an in-place operation"
            )
        return saved

    return saved_tensors_hooks(pack, unpack)
