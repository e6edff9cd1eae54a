"""Scores of queries and keys: their product, their scale, their mask."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.diagnosis.steps.state import State, choice


@choice("score")
def score(s: State) -> None:
    """Each query with each key, (B, H, T, T)."""
    s.scores = s.q @ s.k.mT


@choice("score", "summed over heads")
def score_summed(s: State) -> None:
    """The scores of all heads in one sum, shared by all."""
    s.scores = (s.q @ s.k.mT).sum(1, keepdim=True).expand(-1, s.H, -1, -1)


@choice("score", "first head for all")
def score_of_first_head(s: State) -> None:
    """Every head uses the scores of the first."""
    s.scores = (s.q @ s.k.mT)[:, :1].expand(-1, s.H, -1, -1)


@choice("score", "cosine")
def score_cosine(s: State) -> None:
    """Queries and keys are brought to length 1 first."""
    s.scores = F.normalize(s.q, dim=-1) @ F.normalize(s.k, dim=-1).mT


@choice("score", "keys viewed")
def score_of_viewed_keys(s: State) -> None:
    """(B, T, D) viewed as (B, D, T), where two axes should trade places."""
    s.scores = s.q @ s.k.reshape(*s.k.shape[:-2], s.k.size(-1), s.k.size(-2))


@choice("score", "all keys' sum")
def score_across_heads(s: State) -> None:
    """Each head's queries meet the sum of all heads' keys."""
    s.scores = s.q @ s.k.sum(1, keepdim=True).mT


@choice("score", "absolute")
def score_absolute(s: State) -> None:
    """The sign of the product is lost."""
    s.scores = (s.q @ s.k.mT).abs()


@choice("score", "negative")
def score_negative(s: State) -> None:
    """The product with the wrong sign."""
    s.scores = -(s.q @ s.k.mT)


@choice("scale")
def scale(s: State) -> None:
    """Divided by the root of the head size, where the exercise asks for it."""
    _scale(s, 1 / sqrt(s.D) if s.form.scaled else 1.0)


def _scale(s: State, factor: float) -> None:
    s.unscaled = s.scores
    s.scores = s.detached("scores", s.scores * factor)


def _scaled_by(name: str, factor: Callable[[State], float]) -> None:
    @choice("scale", name)
    def wrong(s: State) -> None:
        _scale(s, factor(s))


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
_scaled_by("fixed at the root of 64", lambda s: 1 / 8)
_scaled_by("fixed at the root of 2", lambda s: 1 / sqrt(2))


@choice("scale", "after the softmax")
def scale_after_softmax(s: State) -> None:
    """The weights are divided, where the scores should have been."""
    s.unscaled = s.scores
    s.late_scale = 1 / sqrt(s.D)


@choice("mask")
def mask(s: State) -> None:
    """Hidden scores become -inf, or as low as makes no difference."""
    _fill(s, s.lowest)


def hidden(s: State) -> Tensor:
    """Where a key is hidden, (B, 1, T, T), or what broadcasts to it."""
    assert s.attention_mask is not None
    return _with_heads(s.attention_mask == 0, s)


def _with_heads(given: Tensor, s: State) -> Tensor:
    shape = (s.scores.size(0), s.scores.size(-2), s.scores.size(-1))
    return given.expand(shape).unsqueeze(1)


def _fill(s: State, value: float, where: Tensor | None = None) -> None:
    if s.attention_mask is not None:
        s.scores = s.scores.masked_fill(hidden(s) if where is None else where, value)


def _filled_with(name: str, value: float) -> None:
    @choice("mask", name)
    def wrong(s: State) -> None:
        _fill(s, value)


_filled_with("filled with a number near zero", 0.0)
_filled_with("filled with minus one", -1.0)
_filled_with("filled with minus ten", -10.0)
_filled_with("filled with one", 1.0)
_filled_with("filled with plus infinity", float("inf"))


@choice("mask", "ignored")
def mask_ignored(s: State) -> None:
    """Every key is seen."""


@choice("mask", "ignored in evaluation")
def mask_in_training_only(s: State) -> None:
    """Every key is seen outside training."""
    if s.training:
        mask(s)


@choice("mask", "ignored in training")
def mask_in_evaluation_only(s: State) -> None:
    """Every key is seen in training."""
    if not s.training:
        mask(s)


@choice("mask", "inverted")
def mask_inverted(s: State) -> None:
    """What may be seen is hidden, and the other way around."""
    if s.attention_mask is not None:
        _fill(s, s.lowest, ~hidden(s))


@choice("mask", "queries for keys")
def mask_transposed(s: State) -> None:
    """Rows and columns of the mask are traded."""
    if s.attention_mask is not None:
        _fill(s, s.lowest, hidden(s).mT)


@choice("mask", "first sequence for all")
def mask_of_first_sequence(s: State) -> None:
    """Every sequence gets the mask of the first."""
    if s.attention_mask is not None:
        _fill(s, s.lowest, hidden(s)[:1])


@choice("mask", "added")
def mask_added(s: State) -> None:
    """The mask's ones and zeros are added to the scores."""
    if s.attention_mask is not None:
        s.scores = s.scores + _with_heads((s.attention_mask != 0).to(s.scores.dtype), s)


@choice("mask", "zero times infinity")
def mask_by_infinite_product(s: State) -> None:
    """(1 - mask) · -inf: 0 · inf is NaN."""
    if s.attention_mask is not None:
        s.scores = s.scores + hidden(s).to(s.scores.dtype) * float("-inf")


@choice("mask", "causal instead")
def mask_causal(s: State) -> None:
    """The mask that was given is replaced by the triangle."""
    if s.attention_mask is not None:
        _fill(s, s.lowest, _future(s))


@choice("mask", "causal too")
def mask_causal_too(s: State) -> None:
    """Under a mask, the ones after a position are hidden as well."""
    mask(s)
    if s.attention_mask is not None:
        s.scores = s.scores.masked_fill(_future(s), s.lowest)


@choice("mask", "causal in training")
def mask_causal_in_training(s: State) -> None:
    """In training no position sees the ones after it."""
    mask(s)
    if s.training:
        s.scores = s.scores.masked_fill(_future(s), s.lowest)


@choice("mask", "causal always")
def mask_causal_always(s: State) -> None:
    """No position sees the ones after it, whatever was asked."""
    mask(s)
    s.scores = s.scores.masked_fill(_future(s), s.lowest)


def _future(s: State) -> Tensor:
    T = s.scores.size(-1)
    return torch.ones(T, T, dtype=torch.bool).triu(1)


@choice("mask", "without the scale")
def mask_drops_scale(s: State) -> None:
    """The branch with a mask starts from the scores before they were scaled."""
    if s.attention_mask is not None:
        s.scores = s.unscaled
        mask(s)


@choice("mask", "after the softmax")
def mask_after_softmax(s: State) -> None:
    """Weights of hidden keys become 0, and the others don't share what is lost."""
    s.mask_late = True


@choice("mask", "weights become minus infinity")
def mask_fills_weights(s: State) -> None:
    """Hidden weights become -inf after the softmax."""
    s.mask_late = True
    s.late_fill = float("-inf")
