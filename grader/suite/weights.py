"""The weights of a submission's module: read for the oracle, set for a check."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from grader.sandbox.modules import RemoteFunction, RemoteModule
from grader.suite.compare import fail
from grader.suite.oracle import Weights

Module = RemoteModule | RemoteFunction


def right_weights(module: Module) -> Weights:
    """The module's parameters as the oracle wants them: float64, on the CPU."""
    if not isinstance(module, nn.Module):
        return {}
    return {
        n: p.detach().double().cpu() for n, p in module.named_parameters(remove_duplicate=False)
    }


def set_weights(module: Module, weights: Weights) -> None:
    """Set parameters by name, to their own dtype and device.

    Raises:
        CheckFailed: The module has no such parameter, or one of another shape.
    """
    assert isinstance(module, nn.Module)
    own = dict(module.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name, value in weights.items():
            if name not in own:
                fail(f"expected a parameter `{name}`; there is {_listing(own)}")
            if own[name].shape != value.shape:
                fail(
                    f"expected the parameter `{name}` of shape {tuple(value.shape)}, "
                    f"got {tuple(own[name].shape)}"
                )
            own[name].copy_(value)


def _listing(own: dict[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in own) or "no parameter at all"
