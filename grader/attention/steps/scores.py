"""Scores of queries and keys: their product and their scale."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt, sqrt

from torch.nn import functional as F

from grader.attention.steps.state import State, choice


@choice("score")
def score(s: State) -> None:
    """Multiply each query by each key, (B, H, T, T)."""
    s.scores = s.q @ s.k.mT


@choice("score", "summed over heads")
def score_summed(s: State) -> None:
    """Sum the scores over all heads, and use the sum in each of them."""
    s.scores = (s.q @ s.k.mT).sum(1, keepdim=True).expand(-1, s.H, -1, -1)


@choice("score", "first head for all")
def score_of_first_head(s: State) -> None:
    """Use the first head's scores in every head."""
    s.scores = (s.q @ s.k.mT)[:, :1].expand(-1, s.H, -1, -1)


@choice("score", "cosine")
def score_cosine(s: State) -> None:
    """Normalise queries and keys to length 1 first."""
    s.scores = F.normalize(s.q, dim=-1) @ F.normalize(s.k, dim=-1).mT


@choice("score", "keys viewed")
def score_of_viewed_keys(s: State) -> None:
    """View the keys (B, T, D) as (B, D, T), where two axes should be transposed."""
    s.scores = s.q @ s.k.reshape(*s.k.shape[:-2], s.k.size(-1), s.k.size(-2))


@choice("score", "all keys' sum")
def score_across_heads(s: State) -> None:
    """Multiply each head's queries by the sum of all heads' keys."""
    s.scores = s.q @ s.k.sum(1, keepdim=True).mT


@choice("score", "first head's keys")
def score_with_first_keys(s: State) -> None:
    """Multiply each head's queries by the first head's keys."""
    s.scores = s.q @ s.k[:, :1].mT


@choice("score", "absolute")
def score_absolute(s: State) -> None:
    """Take the absolute value of each product of query and key."""
    s.scores = (s.q @ s.k.mT).abs()


@choice("score", "negative")
def score_negative(s: State) -> None:
    """Negate each product of query and key."""
    s.scores = -(s.q @ s.k.mT)


@choice("scale")
def scale(s: State) -> None:
    """Set the factor of the scores: 1/√D where the exercise asks for scaling, else 1."""
    s.factor = 1 / sqrt(s.D) if s.layout.scaled else 1.0


def _scaled_by(name: str, factor: Callable[[State], float]) -> None:
    @choice("scale", name)
    def wrong(s: State) -> None:
        s.factor = factor(s)


_scaled_by("never", lambda s: 1.0)
_scaled_by("by the root of the head size", lambda s: 1 / sqrt(s.D))
_scaled_by("multiplied by the root", lambda s: sqrt(s.D))
_scaled_by("by the head size", lambda s: 1 / s.D)
_scaled_by("multiplied by the head size", lambda s: float(s.D))
_scaled_by("by the square of the head size", lambda s: 1 / s.D**2)
_scaled_by("by the root of the width", lambda s: 1 / sqrt(s.C))
_scaled_by("by the width", lambda s: 1 / s.C)
_scaled_by("by the root of the input width", lambda s: 1 / sqrt(s.given.size(-1)))
_scaled_by("multiplied by the root of the width", lambda s: sqrt(s.C))
_scaled_by("by the root of the length", lambda s: 1 / sqrt(s.given.size(-2)))
_scaled_by("by the length", lambda s: 1 / s.given.size(-2))
_scaled_by("by the root of the batch", lambda s: 1 / sqrt(s.given.size(0)))
_scaled_by("by the batch", lambda s: 1 / s.given.size(0))
_scaled_by("by the root of the heads", lambda s: 1 / sqrt(s.H))
_scaled_by("by the heads", lambda s: 1 / s.H)
_scaled_by("by the fourth root", lambda s: s.D**-0.25)
_scaled_by("by the root of three widths", lambda s: 1 / sqrt(3 * s.C))
_scaled_by("by the whole part of the root", lambda s: 1 / isqrt(s.D))
_scaled_by("by the whole part of the root of the width", lambda s: 1 / isqrt(s.C))
_scaled_by("by half the head size", lambda s: 1 / (s.D // 2))
_scaled_by("by half the head size, odd or even", lambda s: 2 / s.D)
_scaled_by("by twice the head size", lambda s: 1 / (2 * s.D))
_scaled_by("fixed at the root of 64", lambda s: 1 / 8)
_scaled_by("fixed at the root of 2", lambda s: 1 / sqrt(2))


@choice("scale place")
def scale_before_softmax(s: State) -> None:
    """Scale the scores."""
    s.unscaled = s.scores
    s.scores = s.detached("scores", s.scores * s.factor)


@choice("scale place", "after the softmax")
def scale_after_softmax(s: State) -> None:
    """Scale the weights after the softmax instead of the scores."""
    s.unscaled = s.scores = s.detached("scores", s.scores)
    s.late_scale = s.factor
