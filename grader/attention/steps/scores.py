"""Scores of queries and keys: their product and their scale."""

from __future__ import annotations

from math import isqrt, sqrt

from torch.nn import functional as F

from grader.attention.steps.state import State, choice, sets

# The products of each query and each key, (B, H, T, T).
sets("score", "right", scores=lambda s: s.q @ s.k.mT)
sets(
    "score",
    "summed over heads",
    scores=lambda s: (s.q @ s.k.mT).sum(1, keepdim=True).expand(-1, s.H, -1, -1),
)
sets("score", "first head for all", scores=lambda s: (s.q @ s.k.mT)[:, :1].expand(-1, s.H, -1, -1))
sets(  # of vectors brought to length 1
    "score", "cosine", scores=lambda s: F.normalize(s.q, dim=-1) @ F.normalize(s.k, dim=-1).mT
)
sets(  # (B, T, D) viewed as (B, D, T), where two axes should be transposed
    "score",
    "keys viewed",
    scores=lambda s: s.q @ s.k.reshape(*s.k.shape[:-2], s.k.size(-1), s.k.size(-2)),
)
sets("score", "all keys' sum", scores=lambda s: s.q @ s.k.sum(1, keepdim=True).mT)  # of all heads
sets("score", "first head's keys", scores=lambda s: s.q @ s.k[:, :1].mT)
sets("score", "absolute", scores=lambda s: (s.q @ s.k.mT).abs())
sets("score", "negative", scores=lambda s: -(s.q @ s.k.mT))


# The factor of the scores: 1/√D where the exercise asks for scaling, else 1.
sets("scale", "right", factor=lambda s: 1 / sqrt(s.D) if s.layout.scaled else 1.0)
sets("scale", "never", factor=lambda s: 1.0)
sets("scale", "by the root of the head size", factor=lambda s: 1 / sqrt(s.D))
sets("scale", "multiplied by the root", factor=lambda s: sqrt(s.D))
sets("scale", "by the head size", factor=lambda s: 1 / s.D)
sets("scale", "multiplied by the head size", factor=lambda s: float(s.D))
sets("scale", "by the square of the head size", factor=lambda s: 1 / s.D**2)
sets("scale", "by the root of the width", factor=lambda s: 1 / sqrt(s.C))
sets("scale", "by the width", factor=lambda s: 1 / s.C)
sets("scale", "by the root of the input width", factor=lambda s: 1 / sqrt(s.given.size(-1)))
sets("scale", "multiplied by the root of the width", factor=lambda s: sqrt(s.C))
sets("scale", "by the root of the length", factor=lambda s: 1 / sqrt(s.given.size(-2)))
sets("scale", "by the length", factor=lambda s: 1 / s.given.size(-2))
sets("scale", "by the root of the batch", factor=lambda s: 1 / sqrt(s.given.size(0)))
sets("scale", "by the batch", factor=lambda s: 1 / s.given.size(0))
sets("scale", "by the root of the heads", factor=lambda s: 1 / sqrt(s.H))
sets("scale", "by the heads", factor=lambda s: 1 / s.H)
sets("scale", "by the fourth root", factor=lambda s: s.D**-0.25)
sets("scale", "by the root of three widths", factor=lambda s: 1 / sqrt(3 * s.C))
sets("scale", "by the whole part of the root", factor=lambda s: 1 / isqrt(s.D))
sets("scale", "by the whole part of the root of the width", factor=lambda s: 1 / isqrt(s.C))
sets("scale", "by half the head size", factor=lambda s: 1 / (s.D // 2))
sets("scale", "by half the head size, odd or even", factor=lambda s: 2 / s.D)
sets("scale", "by twice the head size", factor=lambda s: 1 / (2 * s.D))
sets("scale", "fixed at the root of 64", factor=lambda s: 1 / 8)
sets("scale", "fixed at the root of 2", factor=lambda s: 1 / sqrt(2))


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
