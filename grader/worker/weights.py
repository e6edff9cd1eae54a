"""Weights that come with a call: copied into a module, or lent to it for that call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn, no_grad
from torch.func import functional_call
from torch.jit import ScriptModule

from grader.worker.kept import Refusal


def set_weights(own: dict[str, Tensor], given: dict[str, int], tensors: list[Tensor]) -> None:
    """Copy weights into parameters; ``given`` has the place of each among the tensors, by name."""
    for name in given:
        if name not in own:
            raise Refusal(f"the parameter `{name}` is gone since the module was made")
    _fill(own, {name: tensors[index] for name, index in given.items()})


def lend_weights(
    module: nn.Module, own: dict[str, Tensor], given: dict[str, int], tensors: list[Tensor]
) -> Callable[..., Any]:
    """Return what calls a module with these weights in the place of its own."""
    weights = {name: tensors[index].to(own[name]) for name, index in given.items() if name in own}

    def call_scripted(*args: Any, **kwargs: Any) -> Any:
        before = {name: own[name].detach().clone() for name in weights}
        try:
            _fill(own, weights)
            return module(*args, **kwargs)
        finally:
            _fill(own, before)

    if issubclass(type(module), ScriptModule):  # which `functional_call` refuses
        return call_scripted
    return lambda *args, **kwargs: functional_call(module, weights, args, kwargs)


def _fill(own: dict[str, Tensor], given: dict[str, Tensor]) -> None:
    with no_grad():
        for name, value in given.items():
            own[name].data.copy_(value)  # in place, as some optimisers do, unseen by `_version`
