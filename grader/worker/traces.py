"""What a call leaves behind: its caller may rely on all that it did not ask to be changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

# Before a submission is loaded, which may put others in their place.
from torch import Tensor, equal, get_default_dtype, initial_seed, is_grad_enabled, nn

_VERSION: Any = torch._C.TensorBase._version  # the descriptor
MOST = 100  # characters of a name
FAR = 2**42  # from a step's seed to one that no step has: the next one has the next
GRAD = "gradients were switched on or off"


class Before:
    """How things are before a call.

    Args:
        function: That is called: a module, a method of one, or a function.
        parameters: Of the module.
        inputs: That it is given.
        grad: Whether gradients are wanted.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: Mapping[str, Tensor],
        inputs: Sequence[Tensor],
        grad: bool,
    ) -> None:
        owner = getattr(function, "__self__", function)
        self._module = owner if isinstance(owner, nn.Module) else None
        self._parameters = {name: (p, p.detach().clone()) for name, p in parameters.items()}
        self._grads = {name: p.grad for name, p in parameters.items()}
        self._learning = {name: p.requires_grad for name, p in parameters.items()}
        self._names = self._state()
        self._modes = self._in_training()
        self._inputs = inputs
        self._copies = [x.detach().clone() for x in inputs]
        self._versions = [_version(x) for x in inputs]
        self._learn = [x.requires_grad for x in inputs]
        generator = torch.default_generator  # with a seed that nobody has set before
        generator.manual_seed((generator.initial_seed() + FAR) % 2**63)
        self._switches = {**_switches(), GRAD: grad}
        self._after = self._switches

    def look(self) -> None:
        """See how all is set after a call, before its own settings end."""
        self._after = _switches()

    def changed(self) -> list[int]:
        """Places of the inputs that were changed in place."""
        each = enumerate(zip(self._inputs, self._copies, self._versions, strict=True))
        return [
            place
            for place, (x, copy, version) in each
            if _version(x) != version or not _same(copy, x)
        ]

    def left(self) -> list[str]:
        """What else was left changed, in words."""
        found = []
        if added := [name for name in self._state() if name not in self._names]:
            found.append(f"`{added[0][:MOST]}` was added to the module by the call")
        if self._in_training() != self._modes:
            found.append("the module was switched between training and evaluation by the call")
        for name, (p, copy) in self._parameters.items():
            if not _same(copy, p):
                found.append(f"the parameter `{name[:MOST]}` was given other values by the call")
            if p.grad is not self._grads[name]:
                found.append(f"what `{name[:MOST]}.grad` had gathered was lost in the call")
            if p.requires_grad != self._learning[name]:
                found.append(f"`{name[:MOST]}.requires_grad` was changed by the call")
        if [x.requires_grad for x in self._inputs] != self._learn:
            found.append("`requires_grad` of an input was changed by the call")
        for name, before in self._switches.items():
            if self._after[name] != before:
                found.append(f"{name} by the call, for the whole program")
        return found

    def _state(self) -> set[str]:
        """Names of all that is saved with the module."""
        return set() if self._module is None else set(nn.Module.state_dict(self._module))

    def _in_training(self) -> list[bool]:
        """Whether the module, and each inside it, is in training."""
        module = self._module
        return [] if module is None else [one.training for one in nn.Module.modules(module)]


def _switches() -> dict[str, object]:
    """What holds for a whole program."""
    return {
        GRAD: is_grad_enabled(),
        "torch's random numbers were seeded": initial_seed(),
        "the default dtype was changed": get_default_dtype(),
    }


def _version(x: Tensor) -> int:
    return 0 if x.is_inference() else _VERSION.__get__(x)


def _same(old: Tensor, new: Tensor) -> bool:
    if old.shape != new.shape:
        return False
    return equal(old, new) or equal(old.nan_to_num(nan=-1.5), new.nan_to_num(nan=-1.5))
