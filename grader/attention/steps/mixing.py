"""Mixing the values by the weights, and the projection after it."""

from __future__ import annotations

from torch import Tensor

from grader.attention.steps.state import State, choice, sets, standardised

# Each query's weighted sum of the values.
sets("mix", "right", mixed=lambda s: s.attention @ s.drop("values", s.v))
# By the weights that others give a position, not by those that it gives others.
sets("mix", "weights transposed", mixed=lambda s: s.attention.mT @ s.v)
sets("mix", "values alone", mixed=lambda s: s.v)  # the position's own
sets("mix", "mean of the values", mixed=lambda s: s.v.mean(-2, keepdim=True).expand_as(s.v))
sets("mix", "sum of the values", mixed=lambda s: s.v.sum(-2, keepdim=True).expand_as(s.v))
sets("mix", "first head's values", mixed=lambda s: s.attention @ s.v[:, :1])
sets("mix", "first sequence's weights", mixed=lambda s: s.attention[:1] @ s.v)
sets("mix", "softmax after it", "softmax", mixed=lambda s: (s.scores @ s.v).softmax(-1))


@choice("mix", "among the features", "score", "scale place", "softmax")
def mix_among_features(s: State) -> None:
    """Let features attend to features, by scores qᵀ·k, (C, C), and mix them, not positions."""
    weights = (s.q.mT @ s.k * s.factor).softmax(-1)
    s.mixed = (weights @ s.v.mT).mT


def _projected(s: State) -> Tensor:
    """Return what the projection after the mixing gives, or what was mixed where there is none."""
    s.mixed = s.drop("mixed", s.mixed)
    out = s.linear(s.layout.output, s.mixed) if s.layout.output else s.mixed
    return s.detached("output", s.drop("output", out))


def _projected_by_turned_weights(s: State) -> Tensor:
    name = f"attention.{s.layout.output}" if s.layout.block else s.layout.output
    out = s.mixed @ s.weights[f"{name}.weight"]
    return out + s.weights[f"{name}.bias"] if f"{name}.bias" in s.weights else out


sets("output", "right", out=_projected)
sets("output", "never projected", out=lambda s: s.drop("output", s.mixed))
sets(
    "output",
    "projected twice",
    out=lambda s: s.linear(s.layout.output, s.linear(s.layout.output, s.mixed)),
)
sets("output", "without bias", out=lambda s: s.linear(s.layout.output, s.mixed, bias=False))
sets("output", "input added", out=lambda s: _projected(s) + s.given)  # a residual that nobody wants
sets("output", "weights transposed", out=_projected_by_turned_weights)  # x @ W, not x @ Wᵀ
# The attention's result is thrown away.
sets("output", "input projected", out=lambda s: s.linear(s.layout.output, s.given))
sets(
    "output",
    "input projected and added",
    out=lambda s: s.mixed + s.linear(s.layout.output, s.given),
)
sets("output", "normed", out=lambda s: standardised(_projected(s)))
# Once more by the root of the head size, before the projection.
sets("output", "scaled once more", mixed=lambda s: s.mixed / s.D**0.5, out=_projected)
