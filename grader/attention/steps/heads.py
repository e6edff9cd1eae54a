"""Splitting the features into heads, and merging the heads side by side."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from grader.attention.steps.state import State, choice, sets


def _split(s: State, way: Callable[[Tensor], Tensor]) -> None:
    s.q, s.k, s.v = way(s.q), way(s.k), way(s.v)


@choice("split")
def split(s: State) -> None:
    """Split (B, T, H·D) into (B, H, T, D), head i from the i-th block of D features."""
    _split(s, lambda x: x.unflatten(-1, (s.H, -1)).transpose(1, 2))


@choice("split", "without transposing")
def split_without_transposing(s: State) -> None:
    """View (B, T, C) as (B, H, T, D), so that a head holds whole tokens of another."""
    _split(s, lambda x: _straight(s, x))


@choice("split", "features in turns")
def split_in_turns(s: State) -> None:
    """Make head i of every H-th feature, from the i-th on."""
    _split(s, lambda x: x.unflatten(-1, (-1, s.H)).permute(0, 3, 1, 2))


@choice("split", "count and size swapped")
def split_with_swapped_sizes(s: State) -> None:
    """Split into D heads of H features."""
    s.H = s.q.size(-1) // s.H
    split(s)


@choice("split", "never")
def never_split(s: State) -> None:
    """Use one head of the whole width."""
    s.H = 1
    split(s)


def _straight(s: State, x: Tensor) -> Tensor:
    return x.reshape(x.size(0), s.H, x.size(1), -1)


def _straight_only(name: str, letters: str) -> None:
    @choice("split", f"{name} without transposing")
    def wrong(s: State) -> None:
        given = {letter: getattr(s, letter) for letter in letters}
        split(s)
        for letter, value in given.items():
            setattr(s, letter, _straight(s, value))


_straight_only("values", "v")
_straight_only("keys", "k")
_straight_only("queries", "q")
_straight_only("queries and keys", "qk")
_straight_only("keys and values", "kv")


@choice("split", "tokens before heads")
def split_without_moving(s: State) -> None:
    """Leave (B, T, H, D) as it is, so that the heads of one token attend to each other."""
    s.untransposed = True
    _split(s, lambda x: x.unflatten(-1, (s.H, -1)))


def _side_by_side(mixed: Tensor) -> Tensor:
    """Merge (B, H, T, D) into (B, T, H·D), head beside head."""
    return mixed.transpose(1, 2).flatten(2)


sets(
    "merge",
    "right",
    mixed=lambda s: s.mixed.flatten(2) if s.untransposed else _side_by_side(s.mixed),
)


def _regrouped(mixed: Tensor) -> Tensor:
    B, H, T, D = mixed.shape
    return mixed.reshape(B, T, H * D)


# (B, H, T, D) viewed as (B, T, H·D), so that a token gets pieces of others.
sets("merge", "without transposing", mixed=lambda s: _regrouped(s.mixed))
# The features of the heads interleaved, instead of head beside head.
sets("merge", "features in turns", mixed=lambda s: s.mixed.permute(0, 2, 3, 1).flatten(2))
sets(  # T and D swapped in (B, H, T, D), and the result viewed as (B, T, H·D)
    "merge",
    "tokens and features swapped",
    mixed=lambda s: _regrouped(s.mixed.transpose(2, 3).contiguous().view(s.mixed.shape)),
)


@choice("merge", "batch for heads")
def merge_with_batch(s: State) -> None:
    """Read (B·H, T, D) as (H, B, T, D), so that heads of one sequence go to others."""
    B, H, T, D = s.mixed.shape
    s.mixed = s.mixed.reshape(H, B, T, D).permute(1, 2, 0, 3).flatten(2)


@choice("merge", "heads before the batch")
def merge_heads_before_batch(s: State) -> None:
    """View (H·B, T, D) as (B, T, H·D)."""
    B, H, T, D = s.mixed.shape
    s.mixed = s.mixed.transpose(0, 1).reshape(B, T, H * D)


sets("merge", "heads in reverse", mixed=lambda s: _side_by_side(s.mixed.flip(1)))
sets(  # the mean of all heads, and the first one, in every head's place
    "merge",
    "heads averaged",
    mixed=lambda s: _side_by_side(s.mixed.mean(1, keepdim=True).expand_as(s.mixed)),
)
sets("merge", "first head only", mixed=lambda s: _side_by_side(s.mixed[:, :1].expand_as(s.mixed)))
