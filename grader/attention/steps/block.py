"""The steps of a block around its attention: sums, norms, feed-forward."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.attention.steps.state import State, choice, sets

EPS = 1e-5


sets("norms used", "traded", norms=lambda s: ("norm2", "norm1"))
sets("norms used", "the second for both", norms=lambda s: ("norm2", "norm2"))
sets("norms used", "the first for both", norms=lambda s: ("norm1", "norm1"))


def _norms_computed(name: str, way: Callable[[Tensor], Tensor]) -> None:
    @choice("norms computed", name)
    def wrong(s: State) -> None:
        s.normed = way


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


_norms_computed("unbiased", lambda x: _centred(x) / (x.var(-1, keepdim=True) + EPS).sqrt())
_norms_computed("root mean square", lambda x: x / (x.square().mean(-1, keepdim=True) + EPS).sqrt())
_norms_computed("centred alone", _centred)
_norms_computed(
    "by the variance", lambda x: _centred(x) / (x.var(-1, correction=0, keepdim=True) + EPS)
)


@choice("learn norms", "norms detached", "norms computed")
def norms_detached(s: State) -> None:
    """Detach the norms' mean and deviation, so that no gradient passes through them."""
    s.normed = _detached_standardised


def _detached_standardised(x: Tensor) -> Tensor:
    mean = x.mean(-1, keepdim=True).detach()
    variance = x.var(-1, correction=0, keepdim=True).detach()
    return (x - mean) / (variance + EPS).sqrt()


def _norm_placed(step: str, half: int, name: str, place: str) -> None:
    @choice(step, name)
    def wrong(s: State) -> None:
        first, second = s.places
        s.places = (first, place) if half else (place, second)


_norm_placed("norms first", 0, "missing", "nowhere")
_norm_placed("norms first", 0, "on the sublayer alone", "sublayer")
_norm_placed("norms first", 0, "over the positions", "positions")
_norm_placed("norms first", 0, "before the sublayer alone", "before")
_norm_placed("norms first", 0, "before the sublayer too", "twice")
_norm_placed("norms first", 0, "on the residual alone", "residual")
_norm_placed("norms second", 1, "missing", "nowhere")
_norm_placed("norms second", 1, "on the sublayer alone", "sublayer")
_norm_placed("norms second", 1, "before the sublayer alone", "before")
_norm_placed("norms second", 1, "before the sublayer too", "twice")
_norm_placed("norms second", 1, "on the residual alone", "residual")


def _enter(s: State, half: int, x: Tensor) -> Tensor:
    """Return the input of a block's first or second sublayer, 0 or 1, made from ``x``.

    In a pre-norm block ``x`` is normed, unless the norm is misplaced.
    """
    placed_otherwise = s.places[half] in ("nowhere", "sublayer", "residual")
    normed = s.places[half] in ("before", "twice") or (s.pre_norm and not placed_otherwise)
    return s.norm(half, x) if normed else x


def _leave(s: State, half: int, around: Tensor, found: Tensor) -> Tensor:
    """Return the output of a block's first or second half, 0 or 1.

    It is the residual ``around`` plus the sublayer's result ``found``, with a norm where one acts.
    """
    if s.places[half] == "sublayer":
        return around + s.norm(half, found)
    if s.places[half] == "residual":
        return s.norm(half, around) + found
    left = s.pre_norm or s.places[half] in ("nowhere", "before")
    return around + found if left else s.norm(half, around + found)


@choice("arrange")
def arrange(s: State) -> None:
    """Arrange a post-norm block, whose attention sees the input itself."""
    s.x = _enter(s, 0, s.drop("input", s.given))


@choice("arrange", "norms first")
def arrange_norms_first(s: State) -> None:
    """Arrange a pre-norm block: norm what goes into a sublayer, not the sum after it."""
    s.pre_norm = True
    s.x = _enter(s, 0, s.given)


@choice("arrange", "feed-forward first", "feed", "add2")
def arrange_feed_forward_first(s: State) -> None:
    """Swap the feed-forward and the attention."""
    s.swapped = True
    s.given = _leave(s, 0, s.given, _feed(s, _enter(s, 0, s.given), F.relu))
    s.x = _enter(s, 1, s.given)


def _add1(name: str, way: Callable[[State], tuple[Tensor, Tensor]]) -> None:
    @choice("add1", name)
    def add(s: State) -> None:
        around, found = way(s)
        s.mixed = around + found  # the sum before its norm
        s.out = _leave(s, 1 if s.swapped else 0, around, found)


_add1("right", lambda s: (s.detached("residual", s.given), s.out))
_add1("attention alone", lambda s: (torch.zeros_like(s.out), s.out))
_add1("attention thrown away", lambda s: (s.given, torch.zeros_like(s.given)))


def _feed(s: State, x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    weights = s.weights
    hidden = x @ weights["ff.0.weight"].mT + weights["ff.0.bias"]
    return activation(hidden) @ weights["ff.2.weight"].mT + weights["ff.2.bias"]


@choice("feed")
def feed(s: State) -> None:
    """Apply two linear layers with a ReLU between."""
    if not s.swapped:
        s.scores = _feed(s, _enter(s, 1, s.out), F.relu)


def _fed(s: State, activation: Callable[[Tensor], Tensor]) -> Tensor:
    return _feed(s, _enter(s, 1, s.out), activation)


def _unchanged(hidden: Tensor) -> Tensor:
    return hidden


sets("feed", "no activation", scores=lambda s: _fed(s, _unchanged))
sets("feed", "GELU", scores=lambda s: _fed(s, F.gelu))
sets("feed", "tanh", scores=lambda s: _fed(s, torch.tanh))
sets("feed", "sigmoid", scores=lambda s: _fed(s, torch.sigmoid))
sets("feed", "leaky ReLU", scores=lambda s: _fed(s, F.leaky_relu))
sets("feed", "SiLU", scores=lambda s: _fed(s, F.silu))
sets("feed", "GELU by tanh", scores=lambda s: _fed(s, partial(F.gelu, approximate="tanh")))
# A ReLU after both layers: the only one, or a second, which loses half of what is fed forward.
sets("feed", "activation after the second layer", scores=lambda s: _fed(s, _unchanged).relu())
sets("feed", "activation after both layers", scores=lambda s: _fed(s, F.relu).relu())
# The block's input is fed, or the first sum before it is normed, not the first half's output.
sets("feed", "from the input", scores=lambda s: _feed(s, s.given, F.relu))
sets("feed", "from the sum before the norm", scores=lambda s: _feed(s, s.mixed, F.relu))


# The block's input is fed, behind a norm perhaps, and both sublayers are added to it in one sum.
sets(
    "feed",
    "side by side",
    out=lambda s: s.mixed,
    scores=lambda s: _feed(s, _enter(s, 1, s.given), F.relu),
)
sets(
    "feed",
    "side by side, behind the first norm",
    out=lambda s: s.mixed,
    scores=lambda s: _feed(s, s.norm(0, s.given), F.relu),
)


def _add2(name: str, way: Callable[[State], tuple[Tensor, Tensor]]) -> None:
    @choice("add2", name)
    def add(s: State) -> None:
        s.out = s.out if s.swapped else _leave(s, 1, *way(s))


_add2("right", lambda s: (s.out, s.scores))
_add2("feed-forward alone", lambda s: (torch.zeros_like(s.out), s.scores))
_add2("from the input", lambda s: (s.given, s.scores))
_add2("from the sum before the norm", lambda s: (s.mixed, s.scores))
_add2("feed-forward thrown away", lambda s: (s.out, torch.zeros_like(s.out)))
