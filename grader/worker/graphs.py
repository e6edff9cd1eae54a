"""The autograd graphs that a worker keeps between a forward and its backward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

# Imported before a submission is loaded, which may replace these names in torch.
from torch import Tensor, enable_grad
from torch.autograd import backward
from torch.autograd import grad as gradients_of

from grader.wire.messages import BackwardVariant
from grader.wire.originals import no_saving_hooks, saving_hooks
from grader.worker.devices import SimulatedDevice
from grader.worker.traces import SideEffects

Pairs = Sequence[tuple[Tensor, Tensor]]  # outputs, each with its gradient


class Graph:
    """The autograd graph of calls, kept until the trusted side releases it.

    Args:
        sources: Inputs and parameters, as they are before the calls.
        other: What plays the other device on which they are; None if they are on the worker's own.
        watched: Tensors that no backward may change.

    Attributes:
        watched: As given.
        side_effects: The state before the calls, where that is watched too.
    """

    def __init__(
        self,
        sources: Sequence[Tensor],
        other: SimulatedDevice | None = None,
        watched: Sequence[Tensor] = (),
    ) -> None:
        self.watched = watched
        self.side_effects: SideEffects | None = None
        self._learns = [source.requires_grad for source in sources]
        self._wanted = [source for source in sources if source.requires_grad]
        self._other = other
        self._before = [None if x.grad is None else x.grad.clone() for x in self._wanted]

    def backward(self, pairs: Pairs, way: BackwardVariant = "plain") -> list[Tensor | None]:
        """Return the gradient of each source; None for a source that has none.

        Args:
            pairs: Outputs of the calls, each with its gradient.
            way: How the gradients are computed, as in ``messages.BackwardVariant``.
        """
        with enable_grad():  # a file may have switched gradients off as it was imported
            if self._other is None:
                found = self._backward(pairs, way)
            else:
                with self._other as other:
                    there = [(out, other.make_stand_in(grad)) for out, grad in pairs]
                    found = tuple(
                        x if x is None else other.twin_of(x) for x in self._backward(there, way)
                    )
        grads = iter(found)
        return [next(grads) if learns else None for learns in self._learns]

    def _backward(self, pairs: Pairs, way: BackwardVariant) -> tuple[Tensor | None, ...]:
        """Return the gradients of the sources that require one."""
        match way:
            case "accumulated":
                backward(_total(pairs), retain_graph=True)
                befores = zip(self._wanted, self._before, strict=True)
                return tuple(_added(source.grad, before) for source, before in befores)
            case "again":
                self._gradients(_total(pairs))
            case "transposed":
                turned = [[_transposed(one) for one in pair] for pair in pairs]
                pairs = [(out, grad.contiguous()) for out, grad in turned]
            case "residual":  # a sum passes its gradient to both terms, as the same tensor
                (out, grad), *others = pairs
                pairs = [(out + self._wanted[0], grad), *others]
        return self._gradients(_total(pairs))

    def _gradients(self, total: Tensor) -> tuple[Tensor | None, ...]:
        # Not `grad_outputs=`: its first use imports hundreds of modules in every fresh worker.
        try:
            return gradients_of(total, self._wanted, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            if "use_reentrant" not in str(error):
                raise
            return self._accumulated(total)

    def _accumulated(self, total: Tensor) -> tuple[Tensor | None, ...]:
        """Return what is added to ``grad``, as ``torch.utils.checkpoint`` asks for by default."""
        befores = [source.grad for source in self._wanted]
        for source in self._wanted:
            source.grad = None
        try:
            backward(total, retain_graph=True)
            return tuple(source.grad for source in self._wanted)
        finally:
            for source, before in zip(self._wanted, befores, strict=True):
                source.grad = before


def _total(pairs: Pairs) -> Tensor:
    return torch.stack([_weighted_sum(out, grad) for out, grad in pairs]).sum()


def _weighted_sum(out: Tensor, grad: Tensor) -> Tensor:
    """Return the sum that has this gradient; one number for all is sent back as ``sum`` does it."""
    if grad.dim() and not any(grad.stride()) and grad.numel():
        return out.sum() * grad.flatten()[0]
    return (out * grad).sum()


def _transposed(value: Tensor) -> Tensor:
    """Return a tensor with its last two axes exchanged, if it has two."""
    return value.mT if value.dim() > 1 else value


def _added(grad: Tensor | None, before: Tensor | None) -> Tensor | None:
    return grad if grad is None or before is None else grad - before


def saved_parameter_hooks(parameters: dict[str, Tensor]) -> saving_hooks:
    """Return hooks by which a graph keeps copies of the parameters, which a later call may set.

    Any other saved tensor that is changed between forward and backward is an error, as always.
    """
    storages = {p.untyped_storage().data_ptr() for p in parameters.values()}

    def pack(saved: Tensor) -> tuple[Tensor, int]:
        if saved.layout is torch.strided and saved.untyped_storage().data_ptr() in storages:
            saved = saved.clone()
        # Not detached, an output would hold the graph that holds it: neither would ever be freed.
        saved = saved.detach()
        return saved, saved._version

    def unpack(packed: tuple[Tensor, int]) -> Tensor:
        saved, version = packed
        if saved._version != version:
            raise RuntimeError(
                f"a tensor of shape {tuple(saved.shape)} that the gradient needs has been "
                "modified by an in-place operation"
            )
        return saved

    return saving_hooks(pack, unpack)


def let_gradients_begin() -> None:
    """Have ``torch.func.grad`` and its kin, which refuse to begin within hooks, set them aside."""
    disabled = torch.autograd.graph.disable_saved_tensors_hooks

    @contextmanager
    def aside(error_message: str) -> Iterator[None]:
        with no_saving_hooks(), disabled(error_message):
            yield

    torch.autograd.graph.disable_saved_tensors_hooks = aside
