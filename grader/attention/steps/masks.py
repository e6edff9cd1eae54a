"""The mask: nonzero = may attend, zero = hidden."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.attention.steps.state import State, choice, sets


@choice("mask")
def mask(s: State) -> None:
    """Hide a key where the mask is zero."""
    if s.attention_mask is not None:
        s.hidden = _with_heads(s.attention_mask == 0, s)


def _with_heads(given: Tensor, s: State) -> Tensor:
    """Expand what broadcasts to (B, T, T), and add an axis for the heads: (B, 1, T, T)."""
    shape = (s.scores.size(0), s.scores.size(-2), s.scores.size(-1))
    return given.expand(shape).unsqueeze(1)


@choice("mask", "ignored", "mask scale", "mask fill")
def mask_ignored(s: State) -> None:
    """Ignore the mask, so that every key is visible."""


@choice("mask", "ignored in evaluation", "mask scale", "mask fill")
def mask_in_training_only(s: State) -> None:
    """Apply the mask in training only."""
    if s.training:
        mask(s)


@choice("mask", "ignored in training", "mask scale", "mask fill")
def mask_in_evaluation_only(s: State) -> None:
    """Apply the mask in evaluation only."""
    if not s.training:
        mask(s)


def _misread(name: str, way: Callable[[Tensor], Tensor]) -> None:
    @choice("mask", name)
    def wrong(s: State) -> None:
        mask(s)
        s.hidden = None if s.hidden is None else way(s.hidden)


_misread("inverted", lambda hidden: ~hidden)
_misread("queries for keys", lambda hidden: hidden.mT)
_misread("first sequence for all", lambda hidden: hidden[:1])
_misread("causal instead", lambda hidden: _future(hidden))
_misread("causal too", lambda hidden: hidden | _future(hidden))


@choice("mask", "causal in training")
def mask_causal_in_training(s: State) -> None:
    """Apply the mask, and in training hide all later positions too."""
    mask(s)
    if s.training:
        _hide_too(s, _future(s.scores))


@choice("mask", "causal always")
def mask_causal_always(s: State) -> None:
    """Apply the mask, and always hide all later positions too."""
    mask(s)
    _hide_too(s, _future(s.scores))


@choice("mask", "itself hidden")
def mask_hides_itself(s: State) -> None:
    """Apply the mask, and always hide each position from itself too."""
    mask(s)
    _hide_too(s, _future(s.scores).logical_not().triu())


def _hide_too(s: State, more: Tensor) -> None:
    s.hidden = more if s.hidden is None else s.hidden | more


def _future(scores: Tensor) -> Tensor:
    """Return which positions come after each position, (T, T), with T as in the scores."""
    T = scores.size(-1)
    return torch.ones(T, T, dtype=torch.bool, device=scores.device).triu(1)


@choice("mask scale", "without the scale")
def mask_drops_scale(s: State) -> None:
    """Where there is a mask, go on from the scores before they were scaled."""
    if s.attention_mask is not None:
        s.scores = s.unscaled


@choice("mask fill")
def fill(s: State) -> None:
    """Set hidden scores to -inf, or so low that it makes no difference."""
    _fill(s, float("-inf") if s.hidden_score is None else s.hidden_score)


def _fill(s: State, value: float) -> None:
    if s.hidden is not None:
        s.scores = s.scores.masked_fill(s.hidden, value)


def _filled_with(name: str, value: float) -> None:
    @choice("mask fill", name)
    def wrong(s: State) -> None:
        _fill(s, value)


_filled_with("filled with a number near zero", 0.0)
_filled_with("filled with minus one", -1.0)
_filled_with("filled with minus ten", -10.0)
_filled_with("filled with one", 1.0)
_filled_with("filled with plus infinity", float("inf"))
_filled_with("filled with a large positive number", 1e9)


@choice("mask fill", "added")
def mask_added(s: State) -> None:
    """Add the mask's ones and zeros to the scores."""
    if s.hidden is not None:
        s.scores = s.scores + (~s.hidden).to(s.scores.dtype)


@choice("mask fill", "zero times infinity")
def mask_by_infinite_product(s: State) -> None:
    """Add (1 - mask) · -inf to the scores, where 0 · inf is NaN."""
    if s.hidden is not None:
        s.scores = s.scores + s.hidden.to(s.scores.dtype) * float("-inf")


# Hidden weights are filled after the softmax: with 0, so that a query's sum to less than 1, or so.
sets("mask fill", "after the softmax", mask_late=lambda s: True)
sets(
    "mask fill",
    "weights become minus infinity",
    mask_late=lambda s: True,
    late_fill=lambda s: float("-inf"),
)
