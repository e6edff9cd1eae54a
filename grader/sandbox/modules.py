"""Modules and functions of a submission, called from here as if they ran here."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from grader.sandbox.calls import Target
from grader.sandbox.requests import moving
from grader.sandbox.wire import values
from grader.sandbox.workers import WorkerEnded

if TYPE_CHECKING:
    from grader.sandbox.remote import RemoteSubmission

MAX_NAME, MAX_DEPTH = 500, 32  # of a parameter, in characters and dots


class RemoteFunction(Target):
    """A plain function of a submission, called as if it were here."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it; tensors among the arguments may carry gradients."""
        return self.call([(args, kwargs)], {}, [])[0]

    def each(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call it with each tuple of arguments, in one request."""
        return self.call([(args, {}) for args in calls], {}, [])


class RemoteModule(nn.Module):
    """A module of a submission: parameters here, ``forward`` and ``backward`` in the worker.

    The parameters here are the truth: a call sends those that changed since the last one.
    ``state_dict``, ``load_state_dict``, ``to``, ``train``, ``eval`` and ``torch.func`` work as on
    any module; tied parameters stay tied. Double backward is not supported.
    """

    def __init__(
        self,
        submission: RemoteSubmission,
        number: int,
        name: str,
        answer: dict[str, Any],
        sent: list[Tensor],
    ) -> None:
        super().__init__()
        self._name = name
        self._submission = submission
        self._number = number
        self._worker = submission.worker
        weakref.finalize(self, submission.forget, self._number, self._worker)
        self._known: dict[str, Tensor] = {}
        submission.believe(lambda: self._mirror(answer["parameters"], sent))
        self.training = submission.believe(lambda: bool(answer["training"]))
        self._told = True  # whether the worker knows the mode

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the submission's module."""
        return self._call("", [(args, kwargs)])[0]

    def each(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call it with each tuple of arguments, one after the other, in one request."""
        return self._call("", [(args, {}) for args in calls])

    def method(self, name: str) -> Callable[..., Any]:
        """Another method of the submission's module, by name."""
        return lambda *args, **kwargs: self._call(name, [(args, kwargs)])[0]

    def train(self, mode: bool = True) -> Self:
        """Switch between training and evaluation; the worker is told with the next call."""
        self._told = False
        return super().train(mode)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Self:
        """Move here and in the worker; ``to``, ``double``, ``cuda`` and so on come through here."""
        super()._apply(fn, recurse)
        probe = fn(next(self.parameters(), torch.empty(0)).detach())
        self._check_worker()
        self._submission.request(*moving(self._number, probe.dtype, str(probe.device)))
        self._known = {}
        return self

    def _call(self, method: str, calls: Sequence[tuple[Any, Any]]) -> list[Any]:
        self._check_worker()
        learned = dict(self.named_parameters(remove_duplicate=False))
        stale = [n for n, p in learned.items() if not _equal(p, self._known.get(n))]
        mode = None if self._told else self.training
        target = Target(self._submission, self._number, method)
        results = target.call(calls, learned, stale, mode)
        self._told = True
        self._known.update({name: learned[name].detach().clone() for name in stale})
        return results

    def _check_worker(self) -> None:
        if self._submission.worker is not self._worker or not self._worker.alive:
            raise WorkerEnded("had already ended")

    def _mirror(self, descriptions: list[dict[str, Any]], sent: list[Tensor]) -> None:
        """Make the parameters as described."""
        made: dict[str, nn.Parameter] = {}
        for entry in descriptions:
            name, first = str(entry["name"]), str(entry["same_as"])
            if len(name) > MAX_NAME or name.count(".") > MAX_DEPTH:
                raise ValueError("a parameter has a name of no sensible length")
            if first not in made:
                value = values.decode(entry["value"], sent)
                made[first] = nn.Parameter(
                    value.clone(), requires_grad=bool(entry["requires_grad"])
                )
                self._known[first] = value
            self._known[name] = self._known[first]
            *path, leaf = name.split(".")
            owner: nn.Module = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, nn.Module())
                owner = owner.get_submodule(part)
            owner.register_parameter(leaf, made[first])


def _equal(now: Tensor, known: Tensor | None) -> bool:
    return (
        known is not None
        and now.shape == known.shape
        and now.dtype == known.dtype
        and now.device == known.device
        and (now.device.type == "meta" or torch.equal(now, known))
    )
