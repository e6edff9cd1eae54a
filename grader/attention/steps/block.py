"""Around the attention: sums, norms, feed-forward."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F

from grader.attention.steps.state import State, choice


@choice("arrange")
def arrange(s: State) -> None:
    """Post-norm: the attention sees the input itself."""
    s.x = s.drop("input", s.given)


@choice("arrange", "feed-forward first")
def arrange_feed_forward_first(s: State) -> None:
    """The feed-forward stands where the attention should, and the other way around."""
    s.swapped = True
    s.x = s.norm("norm1", s.given + _feed(s, s.given, F.relu))
    s.given = s.x


@choice("arrange", "norms first")
def arrange_norms_first(s: State) -> None:
    """Pre-norm: what goes into a sublayer is normed, and not what comes out of its sum."""
    s.pre_norm = True
    s.x = s.norm("norm1", s.given)


@choice("add1")
def add1(s: State) -> None:
    """The input and what attention found."""
    s.out = s.detached("residual", s.given) + s.out


@choice("add1", "attention alone")
def add1_attention_alone(s: State) -> None:
    """No way around the attention."""


@choice("add1", "attention thrown away")
def add1_input_alone(s: State) -> None:
    """What attention found goes nowhere."""
    s.out = s.given


@choice("norm1")
def norm1(s: State) -> None:
    """The first norm on the first sum."""
    s.mixed = s.out  # the sum before its norm
    s.out = s.out if s.pre_norm or s.swapped else s.norm("norm1", s.out)


@choice("norm1", "missing")
def norm1_missing(s: State) -> None:
    """The first sum goes on as it is."""
    s.mixed = s.out


@choice("norm1", "on the sublayer alone")
def norm1_on_sublayer(s: State) -> None:
    """X + norm(f(x)), where norm(x + f(x)) is asked for."""
    s.mixed = s.out
    s.out = s.given + s.norm("norm1", s.out - s.given)


@choice("norm1", "over the positions")
def norm1_over_positions(s: State) -> None:
    """Each feature is normed over all tokens of the batch."""
    s.mixed = s.out
    flat = s.out.flatten(0, 1)
    normed = (flat - flat.mean(0)) / (flat.var(0, unbiased=False) + 1e-5).sqrt()
    s.out = normed.view_as(s.out) * s.weights["norm1.weight"] + s.weights["norm1.bias"]


@choice("norm1", "the second instead")
def norm1_is_norm2(s: State) -> None:
    """The two norms have traded places."""
    s.mixed = s.out
    s.out = s.norm("norm2", s.out)
    s.norm2 = "norm1"


@choice("norm1", "the second for both")
def norm1_shared(s: State) -> None:
    """The second norm does the work of both."""
    s.mixed = s.out
    s.out = s.norm("norm2", s.out)


def _feed(s: State, x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    weights = s.weights
    hidden = x @ weights["ff.0.weight"].mT + weights["ff.0.bias"]
    return activation(hidden) @ weights["ff.2.weight"].mT + weights["ff.2.bias"]


def _fed(s: State) -> Tensor:
    return s.norm("norm2", s.out) if s.pre_norm else s.out


@choice("feed")
def feed(s: State) -> None:
    """Two linear layers with a ReLU between."""
    s.scores = _feed(s, _fed(s), F.relu)


def _fed_with(name: str, activation: Callable[[Tensor], Tensor]) -> None:
    @choice("feed", name)
    def wrong(s: State) -> None:
        s.scores = _feed(s, _fed(s), activation)


_fed_with("no activation", lambda hidden: hidden)
_fed_with("GELU", F.gelu)
_fed_with("tanh", lambda hidden: hidden.tanh())
_fed_with("sigmoid", lambda hidden: hidden.sigmoid())
_fed_with("leaky ReLU", F.leaky_relu)
_fed_with("SiLU", F.silu)


@choice("feed", "activation after the second layer")
def feed_activated_late(s: State) -> None:
    """The ReLU stands after both layers."""
    s.scores = _feed(s, _fed(s), lambda hidden: hidden).relu()


@choice("feed", "activation after both layers")
def feed_activated_twice(s: State) -> None:
    """A second ReLU loses half of what the feed-forward says."""
    s.scores = _feed(s, _fed(s), F.relu).relu()


@choice("feed", "from the input")
def feed_from_input(s: State) -> None:
    """The feed-forward sees the block's input, not what the first half made of it."""
    s.scores = _feed(s, s.given, F.relu)


@choice("feed", "from the sum before the norm")
def feed_from_sum(s: State) -> None:
    """The feed-forward sees the first sum before its norm."""
    s.scores = _feed(s, s.mixed, F.relu)


@choice("add2")
def add2(s: State) -> None:
    """The first half's result and the feed-forward's."""
    s.out = s.out if s.swapped else s.out + s.scores


@choice("add2", "feed-forward alone")
def add2_alone(s: State) -> None:
    """No way around the feed-forward."""
    s.out = s.scores


@choice("add2", "from the input")
def add2_from_input(s: State) -> None:
    """The way around starts at the block's input."""
    s.out = s.given + s.scores


@choice("add2", "from the sum before the norm")
def add2_from_sum(s: State) -> None:
    """The way around starts before the first norm."""
    s.out = s.mixed + s.scores


@choice("add2", "feed-forward thrown away")
def add2_first_half_alone(s: State) -> None:
    """What the feed-forward found goes nowhere."""


@choice("norm2")
def norm2(s: State) -> None:
    """The second norm on the second sum."""
    s.out = s.out if s.pre_norm else s.norm(s.norm2, s.out)


@choice("norm2", "missing")
def norm2_missing(s: State) -> None:
    """The second sum is the output."""


@choice("norm2", "on the sublayer alone")
def norm2_on_sublayer(s: State) -> None:
    """X + norm(ff(x)), where norm(x + ff(x)) is asked for."""
    s.out = (s.out - s.scores) + s.norm(s.norm2, s.scores)


@choice("norm2", "the first again")
def norm2_shared(s: State) -> None:
    """The first norm does the work of both."""
    s.out = s.norm("norm1", s.out)
