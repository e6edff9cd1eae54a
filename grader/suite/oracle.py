"""Right values of what many exercises have, in float64 and straightforward."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

Weights = dict[str, Tensor]


def exact(tensor: Tensor) -> Tensor:
    """The same on the CPU, and in float64 where it is a float, as all that is right is computed."""
    plain = tensor.detach().cpu()
    return plain.double() if plain.is_floating_point() else plain


def right_weights(weights: Mapping[str, Tensor], dtype: torch.dtype = torch.float64) -> Weights:
    """The same weights as ``exact``, or in another dtype."""
    return {name: exact(weight).to(dtype) for name, weight in weights.items()}


def under(name: str, weights: Weights) -> Weights:
    """The weights of a submodule, by its own names."""
    return {n.removeprefix(f"{name}."): w for n, w in weights.items() if n.startswith(f"{name}.")}


def linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    """What ``nn.Linear`` of this name gives, (…, in) -> (…, out)."""
    out = x @ weights[f"{name}.weight"].mT
    return out + weights[f"{name}.bias"] if f"{name}.bias" in weights else out


def layer_norm(weights: Weights, name: str, x: Tensor) -> Tensor:
    """What ``nn.LayerNorm`` of this name gives over the last dimension, (…, C) -> (…, C)."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    normed = centred / torch.sqrt(variance + 1e-5)
    return normed * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def rms_norm(weights: Weights, x: Tensor, eps: float = 1e-6) -> Tensor:
    """What ``nn.RMSNorm`` gives: a root mean square of 1, each feature times its weight."""
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps) * weights["weight"]
