"""Finds what a call leaves changed that its caller did not ask it to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Imported before a submission is loaded, which may replace these names in torch.
from torch import Tensor, default_generator, get_default_dtype, is_grad_enabled
from torch.nn import Module

from grader.wire.originals import (
    TENSOR_BASE,
    grad_of,
    hooks_of,
    late_hooks_of,
    no_overrides,
    requires_grad_of,
    shape_of,
    version_of,
)
from grader.worker import registered

MAX_NAME_CHARS = 100
THE_CALL, THE_BACKWARD = "the call", "the backward"
GRAD_MODE_CHANGED = "gradients were switched on or off"


class SideEffects:
    """The state before a call, to compare with the state after it.

    Args:
        module: The module that is called, or a method of it; None for a function.
        parameters: The parameters of the module.
        inputs: The tensors that the call is given.
        grad: Whether gradients are switched on for the call.
    """

    def __init__(
        self,
        module: Module | None,
        parameters: Mapping[str, Tensor],
        inputs: Sequence[Tensor],
        grad: bool,
    ) -> None:
        self._module = module
        self._inputs = inputs
        with no_overrides():
            self._parameters = {name: (p, _copy(p)) for name, p in parameters.items()}
            grads = {name: grad_of(p) for name, p in parameters.items()}
            self._grads = {n: (g, None if g is None else _copy(g)) for n, g in grads.items()}
            self._learning = {name: requires_grad_of(p) for name, p in parameters.items()}
            self._copies = [_copy(x) for x in inputs]
            self._versions = [_version(x) for x in inputs]
            self._learn = [requires_grad_of(x) for x in inputs]
        self._names = self._state()
        self._modes = self._in_training()
        self._switches = {**_program_settings(), GRAD_MODE_CHANGED: grad}
        self._after = self._switches

    def record_settings(self) -> None:
        """Record the program-wide settings after a call, before the call's own settings end."""
        self._after = _program_settings()

    def changed_inputs(self) -> list[int]:
        """Return the indices of the inputs that were changed in place."""
        each = enumerate(zip(self._inputs, self._copies, self._versions, strict=True))
        with no_overrides():
            return [
                place
                for place, (x, copy, version) in each
                if _version(x) != version or not _same(copy, x)
            ]

    def describe(self) -> list[str]:
        """Return what else the call left changed, in words."""
        with no_overrides():
            return self._describe()

    def describe_backward(self) -> list[str]:
        """Return what a backward left changed, in words; ``grad`` is none of it."""
        with no_overrides():
            return self._describe_form(THE_BACKWARD)

    def _describe_form(self, step: str) -> list[str]:
        """Return how the module has other parts or values, another mode, or an input a hook."""
        found = []
        if added := [name for name in self._state() if name not in self._names]:
            found.append(f"`{added[0][:MAX_NAME_CHARS]}` was added to the module by {step}")
        there = {} if self._module is None else registered.parameters(self._module)
        for name, (p, copy) in self._parameters.items():
            if there.get(name) is not p:  # what learns is another one than what is used
                found.append(f"the parameter `{name[:MAX_NAME_CHARS]}` was replaced by {step}")
            if not _same(copy, p):
                found.append(
                    f"the parameter `{name[:MAX_NAME_CHARS]}` was given other values by {step}"
                )
        if self._in_training() != self._modes:
            found.append(f"the module was switched between training and evaluation by {step}")
        if any(hooks_of(x) or late_hooks_of(x) for x in self._inputs):
            found.append(f"a hook was left on an input by {step}")
        return found

    def _describe(self) -> list[str]:
        found = self._describe_form(THE_CALL)
        for name, (p, _) in self._parameters.items():
            grad, gathered = self._grads[name]
            if grad_of(p) is not grad or (gathered is not None and not _same(gathered, grad)):
                found.append(
                    f"what `{name[:MAX_NAME_CHARS]}.grad` had gathered was lost in the call"
                )
            if requires_grad_of(p) != self._learning[name]:
                found.append(f"`{name[:MAX_NAME_CHARS]}.requires_grad` was changed by the call")
        if [requires_grad_of(x) for x in self._inputs] != self._learn:
            found.append("`requires_grad` of an input was changed by the call")
        for name, before in self._switches.items():
            if self._after[name] != before:
                found.append(f"{name} by the call, for the whole program")
        return found

    def _state(self) -> list[str]:
        """Return the names of all parameters and buffers in the module's state dict."""
        return [] if self._module is None else registered.state_dict_names(self._module)

    def _in_training(self) -> list[bool]:
        """Return whether the module, and each module inside it, is in training mode."""
        module = self._module
        return (
            []
            if module is None
            else [dict.get(one, "training") is True for _, one in registered.each_module(module)]
        )


def _program_settings() -> dict[str, object]:
    """Return the settings that hold for a whole program."""
    return {
        GRAD_MODE_CHANGED: is_grad_enabled(),
        "torch's random numbers were seeded": default_generator.initial_seed(),
        "the default dtype was changed": get_default_dtype(),
    }


def _version(x: Tensor) -> int:
    return 0 if TENSOR_BASE.is_inference(x) else int(version_of(x))


def _copy(x: Tensor) -> Tensor:
    return TENSOR_BASE.clone(TENSOR_BASE.detach(x))  # type: ignore[no-any-return]  # of C


def _same(old: Tensor, new: Tensor) -> bool:
    if shape_of(old) != shape_of(new):
        return False
    old, new = TENSOR_BASE.detach(old), TENSOR_BASE.detach(new)
    if TENSOR_BASE.equal(old, new):
        return True
    return bool(TENSOR_BASE.equal(*(TENSOR_BASE.nan_to_num(x, nan=-1.5) for x in (old, new))))
