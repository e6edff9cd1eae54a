"""Mixing the values by the weights, and the projection after it."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from grader.attention.steps.state import State, choice


@choice("mix")
def mix(s: State) -> None:
    """Compute each query's weighted sum of the values."""
    s.mixed = s.attention @ s.drop("values", s.v)


@choice("mix", "weights transposed")
def mix_transposed(s: State) -> None:
    """Mix for each position by the weights that others give it, not by those it gives others."""
    s.mixed = s.attention.mT @ s.v


@choice("mix", "values alone")
def mix_nothing(s: State) -> None:
    """Take the position's own values, without looking at any other."""
    s.mixed = s.v


@choice("mix", "mean of the values")
def mix_evenly(s: State) -> None:
    """Take the mean of the values of all positions."""
    s.mixed = s.v.mean(-2, keepdim=True).expand_as(s.v)


@choice("mix", "sum of the values")
def mix_sum(s: State) -> None:
    """Sum the values of all positions, each with weight 1."""
    s.mixed = s.v.sum(-2, keepdim=True).expand_as(s.v)


@choice("mix", "first head's values")
def mix_first_values(s: State) -> None:
    """Mix the first head's values in every head."""
    s.mixed = s.attention @ s.v[:, :1]


@choice("mix", "first sequence's weights")
def mix_by_first_sequence(s: State) -> None:
    """Mix every sequence by the first sequence's weights."""
    s.mixed = s.attention[:1] @ s.v


@choice("mix", "softmax after it", "softmax")
def mix_then_softmax(s: State) -> None:
    """Mix the values by the scores, and apply the softmax to the mixture."""
    s.mixed = (s.scores @ s.v).softmax(-1)


@choice("mix", "among the features", "score", "scale place", "softmax")
def mix_among_features(s: State) -> None:
    """Let features attend to features, by scores qᵀ·k, (C, C), and mix them, not positions."""
    weights = (s.q.mT @ s.k * s.factor).softmax(-1)
    s.mixed = (weights @ s.v.mT).mT


@choice("output")
def output(s: State) -> None:
    """Apply the projection after the mixing, where there is one."""
    s.out = _projected(s)


def _projected(s: State) -> Tensor:
    s.mixed = s.drop("mixed", s.mixed)
    out = s.linear(s.layout.output, s.mixed) if s.layout.output else s.mixed
    return s.detached("output", s.drop("output", out))


@choice("output", "never projected")
def output_unprojected(s: State) -> None:
    """Never apply the projection, though the module has one."""
    s.out = s.drop("output", s.mixed)


@choice("output", "projected twice")
def output_twice(s: State) -> None:
    """Apply the projection to its own result."""
    s.out = s.linear(s.layout.output, s.linear(s.layout.output, s.mixed))


@choice("output", "without bias")
def output_without_bias(s: State) -> None:
    """Apply the projection without its bias."""
    s.out = s.linear(s.layout.output, s.mixed, bias=False)


@choice("output", "input added")
def output_with_residual(s: State) -> None:
    """Add the input, a residual that the exercise does not ask for."""
    output(s)
    s.out = s.out + s.given


@choice("output", "weights transposed")
def output_with_transposed_weights(s: State) -> None:
    """Compute x @ W where x @ Wᵀ is meant."""
    name = f"attention.{s.layout.output}" if s.layout.block else s.layout.output
    out = s.mixed @ s.weights[f"{name}.weight"]
    s.out = out + s.weights[f"{name}.bias"] if f"{name}.bias" in s.weights else out


@choice("output", "input projected")
def output_of_input(s: State) -> None:
    """Project the input, and throw away the attention's result."""
    s.out = s.linear(s.layout.output, s.given)


@choice("output", "input projected and added")
def output_adds_projected_input(s: State) -> None:
    """Project the input, and add it to what was mixed."""
    s.out = s.mixed + s.linear(s.layout.output, s.given)


@choice("output", "normed")
def output_normed(s: State) -> None:
    """Apply a norm that the exercise does not ask for."""
    output(s)
    s.out = F.layer_norm(s.out, s.out.shape[-1:])


@choice("output", "scaled once more")
def output_scaled_again(s: State) -> None:
    """Divide the mixed values by the root of the head size, before the projection."""
    s.mixed = s.mixed / s.D**0.5
    output(s)
