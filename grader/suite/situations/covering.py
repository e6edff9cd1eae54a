"""Covering arrays: made ahead, kept by what they cover, and relabelled at each grading."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import msgspec

from grader.suite.draw import Draw
from grader.suite.situations.factors import Factor, Model, Row

KEPT = Path(__file__).parent / "arrays"
Array = tuple[tuple[int, ...], ...]  # rows, each with the place of a level for each factor


def rows_of(model: Model, draw: Draw) -> list[Row]:
    """Situations in which every two levels that can meet do so, in an order of their own."""
    array, factors = array_of(model), model.factors
    relabelled = [_relabelled(factor, draw) for factor in factors]
    order = draw.permutation(len(array))
    return [
        {factor.name: levels[n] for factor, levels, n in zip(factors, relabelled, row, strict=True)}
        for row in (array[int(i)] for i in order)
    ]


def _relabelled(factor: Factor, draw: Draw) -> list[str]:
    if not factor.like:
        return list(factor.levels)
    return [factor.levels[int(i)] for i in draw.permutation(len(factor.levels))]


@cache
def array_of(model: Model) -> Array:
    """The array of a model; one that is not kept is made anew, which takes seconds."""
    file = kept_at(model)
    if not file.is_file():
        return make(model)
    return msgspec.json.decode(file.read_bytes(), type=Array)


def kept_at(model: Model) -> Path:
    """Where an array is kept: by its factors, their levels and what is delicate."""
    words = [[factor.name, *factor.levels] for factor in model.factors]
    words += [list(of) for of, _ in model.rules] + [list(three) for three in model.delicate]
    return KEPT / f"{hashlib.sha256(repr(words).encode()).hexdigest()[:16]}.json"


def make(model: Model) -> Array:
    """Make an array of strength 2, and of strength 3 where levels are delicate together."""
    from covertable import make as cover  # most gradings need none
    from covertable.shortcuts import Constraint

    rows = cover(
        {factor.name: list(factor.levels) for factor in model.factors},
        strength=2,
        sub_models=[{"fields": list(three), "strength": 3} for three in model.delicate],
        constraints=[Constraint().fn(list(of), holds) for of, holds in model.rules],
    )
    return tuple(tuple(f.levels.index(row[f.name]) for f in model.factors) for row in rows)
