"""Heads: cut from the features, and put back side by side."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from grader.attention.steps.state import State, choice


def _split(s: State, way: Callable[[Tensor], Tensor]) -> None:
    s.q, s.k, s.v = way(s.q), way(s.k), way(s.v)


@choice("split")
def split(s: State) -> None:
    """(B, T, H·D) -> (B, H, T, D), head i from the i-th block of D features."""
    _split(s, lambda x: x.unflatten(-1, (s.H, -1)).transpose(1, 2))


@choice("split", "without transposing")
def split_without_transposing(s: State) -> None:
    """(B, T, C) viewed as (B, H, T, D): a head holds whole tokens of another."""
    _split(s, lambda x: _straight(s, x))


@choice("split", "features in turns")
def split_in_turns(s: State) -> None:
    """Head i from every H-th feature."""
    _split(s, lambda x: x.unflatten(-1, (-1, s.H)).permute(0, 3, 1, 2))


@choice("split", "count and size swapped")
def split_with_swapped_sizes(s: State) -> None:
    """D heads of H features."""
    s.H = s.q.size(-1) // s.H
    split(s)


@choice("split", "never")
def never_split(s: State) -> None:
    """One head of the whole width."""
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
    """(B, T, H, D) as it is: the heads of one token attend to each other."""
    s.untransposed = True
    _split(s, lambda x: x.unflatten(-1, (s.H, -1)))


@choice("merge")
def merge(s: State) -> None:
    """(B, H, T, D) -> (B, T, H·D), head beside head."""
    s.mixed = (s.mixed if s.untransposed else s.mixed.transpose(1, 2)).flatten(2)


def _regrouped(mixed: Tensor) -> Tensor:
    B, H, T, D = mixed.shape
    return mixed.reshape(B, T, H * D)


@choice("merge", "without transposing")
def merge_without_transposing(s: State) -> None:
    """(B, H, T, D) viewed as (B, T, H·D): a token gets pieces of others."""
    s.mixed = _regrouped(s.mixed)


@choice("merge", "features in turns")
def merge_in_turns(s: State) -> None:
    """The features of the heads in turns, not head beside head."""
    s.mixed = s.mixed.permute(0, 2, 3, 1).flatten(2)


@choice("merge", "tokens and features swapped")
def merge_swapped(s: State) -> None:
    """(B, H, T, D) with T and D traded, viewed as (B, T, H·D)."""
    s.mixed = _regrouped(s.mixed.transpose(2, 3).contiguous().view(s.mixed.shape))


@choice("merge", "batch for heads")
def merge_with_batch(s: State) -> None:
    """(B·H, T, D) read as (H, B, T, D): heads of one sequence go to others."""
    B, H, T, D = s.mixed.shape
    s.mixed = s.mixed.reshape(H, B, T, D).permute(1, 2, 0, 3).flatten(2)


@choice("merge", "heads before the batch")
def merge_heads_before_batch(s: State) -> None:
    """(H·B, T, D) viewed as (B, T, H·D)."""
    B, H, T, D = s.mixed.shape
    s.mixed = s.mixed.transpose(0, 1).reshape(B, T, H * D)


@choice("merge", "heads in reverse")
def merge_in_reverse(s: State) -> None:
    """The last head first."""
    s.mixed = s.mixed.flip(1).transpose(1, 2).flatten(2)


@choice("merge", "heads averaged")
def merge_averaged(s: State) -> None:
    """Every head's place holds the mean of all heads."""
    s.mixed = s.mixed.mean(1, keepdim=True).expand_as(s.mixed).transpose(1, 2).flatten(2)


@choice("merge", "first head only")
def merge_first(s: State) -> None:
    """Every head's place holds the first head."""
    s.mixed = s.mixed[:, :1].expand_as(s.mixed).transpose(1, 2).flatten(2)
