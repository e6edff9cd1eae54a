"""Attention maps as cells to draw, each with its darkness, its text and its mark."""

from __future__ import annotations

import math
from dataclasses import dataclass

from grader.outputs.phrases import mark_of
from grader.records import AttentionMap

WeightRows = tuple[tuple[float, ...], ...]
MIN_GAP = 0.01  # weights that differ by less count as the same


@dataclass(frozen=True)
class MapCell:
    """One attention weight.

    Attributes:
        text: The weight as a number.
        darkness: How dark the cell is, from 0 to 1.
        mark: A sign where the weight is NaN or outside 0 to 1, so no share of anything; else empty.
        worst: Whether the two maps differ the most here.
    """

    text: str
    darkness: float
    mark: str
    worst: bool


@dataclass(frozen=True)
class Panel:
    """One of the two maps, queries by keys."""

    name: str
    rows: tuple[tuple[MapCell, ...], ...]

    @property
    def columns(self) -> int:
        """The number of keys."""
        return max((len(row) for row in self.rows), default=0)

    @property
    def marks(self) -> set[str]:
        """The marks of its cells, which a legend has to explain."""
        return {cell.mark for row in self.rows for cell in row} - {""}


@dataclass(frozen=True)
class Heatmap:
    """An attention map of a submission beside the right one, and where they differ the most."""

    title: str
    panels: tuple[Panel, Panel]
    gap: str

    @property
    def marks(self) -> set[str]:
        """The marks of its cells, which a legend has to explain."""
        return self.panels[0].marks | self.panels[1].marks


def heatmap_of(one: AttentionMap) -> Heatmap:
    """Return an attention map ready to be drawn."""
    worst = _worst(one)
    gap = "the two agree"
    if worst is not None:
        query, key = worst
        yours, right = (_number(side[query][key]) for side in (one.yours, one.right))
        gap = f"furthest apart at query {query}, key {key}: yours {yours}, right {right}"
    panels = (_panel("yours", one.yours, worst), _panel("right", one.right, worst))
    return Heatmap(one.title, panels, gap)


def _panel(name: str, weights: WeightRows, worst: tuple[int, int] | None) -> Panel:
    return Panel(
        name,
        tuple(
            tuple(_cell(weight, (query, key) == worst, name) for key, weight in enumerate(row))
            for query, row in enumerate(weights)
        ),
    )


def _cell(weight: float, worst: bool, name: str) -> MapCell:
    mark = mark_of(weight, is_right=name == "right")
    return MapCell(_number(weight), 0.0 if mark else min(max(weight, 0.0), 1.0), mark, worst)


def _number(weight: float) -> str:
    return f"{weight:.4g}"


def _worst(one: AttentionMap) -> tuple[int, int] | None:
    """Return query and key where the maps differ the most; None where only rounding differs."""
    gaps = {
        (query, key): gap if math.isfinite(gap := abs(a - b)) else math.inf
        for query, (row, other) in enumerate(zip(one.yours, one.right, strict=False))
        for key, (a, b) in enumerate(zip(row, other, strict=False))
    }
    place = max(gaps, key=lambda at: gaps[at], default=None)
    return place if place is not None and gaps[place] >= MIN_GAP else None
