"""The mask: nonzero = may attend, zero = hidden."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.attention.steps.state import State, choice


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
