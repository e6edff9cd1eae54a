"""From scores to weights: softmax and dropout."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.attention.steps.state import State, choice, sets


def _drop_at(name: str, *places: str, always: bool = False, rate: float | None = None) -> None:
    @choice("drop", name)
    def wrong(s: State) -> None:
        s.drop_at = frozenset(places)
        s.drop_always = always
        s.drop_rate = rate


_drop_at("never")
_drop_at("before the softmax", "scores")
_drop_at("on the values", "values")
_drop_at("on the queries", "queries")
_drop_at("on the keys", "keys")
_drop_at("on queries, keys and values", "projected")
_drop_at("on the input", "input")
_drop_at("on the input and the weights", "input", "weights")
_drop_at("on the mixture", "mixed")
_drop_at("on the output", "output")
_drop_at("on the weights and the output", "weights", "output")
_drop_at("in evaluation too", "weights", always=True)
_drop_at("in evaluation too, at one half", "weights", always=True, rate=0.5)
_drop_at("at one half", "weights", rate=0.5)
_drop_at("at one tenth", "weights", rate=0.1)
_drop_at("before the softmax, in evaluation too", "scores", always=True)
_drop_at("before the softmax, in evaluation too, at one half", "scores", always=True, rate=0.5)


# Evaluation is taken for training, and the other way round.
sets("drop", "in evaluation alone", training=lambda s: not s.training)
# The rate is taken for the share that is kept, and what is kept may stay as it was.
sets("drop", "keeps what it should drop", drop_rate=lambda s: 1 - s.rate)
sets(
    "drop",
    "keeps what it should drop, and does not rescale",
    drop_rate=lambda s: 1 - s.rate,
    rescale=lambda s: False,
)
sets(  # what should be dropped is multiplied by 1/(1 - rate), as if it were the rest
    "drop",
    "keeps what it should drop, and rescales as if it did not",
    drop_rate=lambda s: 1 - s.rate,
    rescale=lambda s: False,
    late_scale=lambda s: s.late_scale * (1 / (1 - s.rate) if s.training else 1),
)
# Whatever the module's mode.
sets("drop", "where gradients are recorded", drop_by_gradients=lambda s: True)
# The kept weights sum to 1 again.
sets("drop", "shared out again", renormalise=lambda s: s.training)
_ALL = 1 << 30  # of an axis: each entry has noise of its own
sets("drop", "whole rows", shared_noise=lambda s: (_ALL, _ALL, _ALL, 1))
sets("drop", "whole columns", shared_noise=lambda s: (_ALL, _ALL, 1, _ALL))
sets("drop", "the same in all sequences", shared_noise=lambda s: (1, _ALL, _ALL, _ALL))
sets("drop", "without rescaling", rescale=lambda s: False)


def _weigh(s: State, normalise: Callable[[Tensor], Tensor]) -> None:
    """Turn scores into weights, with ``normalise`` in the place of the softmax."""
    weights = normalise(s.drop("scores", s.scores)) * s.late_scale
    if s.mask_late and s.hidden is not None:
        weights = weights.masked_fill(s.hidden, s.late_fill)
    if s.hidden_score is None and s.hidden is not None:
        weights = weights.masked_fill(s.hidden.all(-1, keepdim=True), 0.0)
    s.attention = s.drop("weights", weights)
    if s.renormalise:
        s.attention = s.attention / s.attention.sum(-1, keepdim=True)


@choice("softmax")
def softmax(s: State) -> None:
    """Apply the softmax over the keys, so that each query's weights sum to 1."""
    _weigh(s, lambda scores: scores.softmax(-1))


def _below_largest(scores: Tensor, along: int = -1) -> Tensor:
    """Return the exponentials of scores from which the largest along an axis is subtracted."""
    return (scores - scores.amax(along, keepdim=True)).exp()


def _exponentials(scores: Tensor, over: int, turned: bool = False, along: int = -1) -> Tensor:
    """Return exponentials below the largest along an axis, divided by their sums over another.

    ``turned`` lays the sums of the queries along the keys, as a sum without ``keepdim`` does.
    """
    found = _below_largest(scores, along)
    sums = found.sum(over, keepdim=True)
    return found / (sums.mT if turned else sums)


def _weighed_by(name: str, normalise: Callable[[Tensor], Tensor]) -> None:
    @choice("softmax", name)
    def wrong(s: State) -> None:
        _weigh(s, normalise)


_weighed_by("over the queries", lambda scores: scores.softmax(-2))
_weighed_by("shared out among the queries", lambda scores: _exponentials(scores, -2))
_weighed_by("by the sums of other queries", lambda scores: _exponentials(scores, -1, turned=True))
_weighed_by("over the heads", lambda scores: scores.softmax(1))
_weighed_by("over the batch", lambda scores: scores.softmax(0))
_weighed_by("over all pairs", lambda scores: scores.flatten(-2).softmax(-1).view_as(scores))
_weighed_by("never", lambda scores: scores)
_weighed_by("twice", lambda scores: scores.softmax(-1).softmax(-1))
_weighed_by("logarithm", lambda scores: scores.log_softmax(-1))
_weighed_by("a norm instead", lambda scores: F.normalize(scores, dim=-1))
_weighed_by("brought to length 1 after it", lambda scores: F.normalize(scores.softmax(-1), dim=-1))
_weighed_by("sigmoid", torch.sigmoid)
_weighed_by("exponentials not shared out", torch.exp)
_weighed_by("exponentials below the largest not shared out", _below_largest)
_weighed_by("each key's largest subtracted", lambda scores: _exponentials(scores, -1, along=-2))
_weighed_by("shared out without exponentials", lambda scores: scores / scores.sum(-1, keepdim=True))
_weighed_by(
    "hardest key alone", lambda scores: (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)
)
