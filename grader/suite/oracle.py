"""Plain reference computations, in float64, that the oracles of many exercises share."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

Weights = dict[str, Tensor]
"""The weights of a module by name, as an oracle gets them in float64; empty for a function.

Example:
    >>> def right(weights: Weights, sizes: Sizes, x: Tensor) -> Tensor:
    ...     return x * weights["gain"]
    >>> right({"gain": torch.tensor(3.0)}, Sizes(), torch.ones(2))
    tensor([3., 3.])
"""


def exact(tensor: Tensor) -> Tensor:
    """Return a tensor on the CPU, a float one in float64: the form that oracles compute in."""
    plain = tensor.detach().cpu()
    return plain.double() if plain.is_floating_point() else plain


def right_weights(weights: Mapping[str, Tensor], dtype: torch.dtype = torch.float64) -> Weights:
    """Return the weights detached and on the CPU, in float64 or another dtype."""
    return {name: exact(weight).to(dtype) for name, weight in weights.items()}


def under(name: str, weights: Weights) -> Weights:
    """Return the weights of the submodule ``name``, by the names that they have inside it."""
    return {n.removeprefix(f"{name}."): w for n, w in weights.items() if n.startswith(f"{name}.")}


def linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    """Apply the ``nn.Linear`` of this name, (…, in) -> (…, out).

    Example:
        >>> weights = {"proj.weight": torch.eye(2), "proj.bias": torch.ones(2)}
        >>> linear(weights, "proj", torch.tensor([[3.0, 5.0]]))
        tensor([[4., 6.]])
    """
    out = x @ weights[f"{name}.weight"].mT
    return out + weights[f"{name}.bias"] if f"{name}.bias" in weights else out


def layer_norm(weights: Weights, name: str, x: Tensor) -> Tensor:
    """Apply the ``nn.LayerNorm`` of this name over the last dimension, (…, C) -> (…, C)."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    normed = centred / torch.sqrt(variance + 1e-5)
    return normed * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def rms_norm(weights: Weights, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Apply ``nn.RMSNorm``: scale to a root mean square of 1, then each feature by its weight."""
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps) * weights["weight"]
