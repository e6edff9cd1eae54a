"""Covering arrays of situations: made in advance and stored; each grading draws one of them."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from grader.suite.draw import Draw
from grader.suite.situations.factors import FactorModel, Row

MutableRow = dict[str, str]
ARRAYS_FOLDER = Path(__file__).parent / "arrays"
ARRAYS_PER_MODEL = 12  # stored, two from each whole one; what never meets in one meets in another
# That a wish is applied to a row; below 1, so that other levels occur there too.
WISH_PROBABILITY = 0.7
Array = tuple[tuple[int, ...], ...]  # rows, each with the index of a level for each factor


def rows_of(model: FactorModel, draw: Draw) -> list[Row]:
    """Draw one of the model's arrays, and return its rows in random order.

    A row names a level for each factor. About four fifths of all two levels that can meet do so.
    """
    arrays = arrays_of(model)
    array = arrays[draw.integer(0, len(arrays) - 1)]
    order = draw.permutation(len(array))
    return [_named(model, array[int(i)]) for i in order]


@cache
def arrays_of(model: FactorModel) -> tuple[Array, ...]:
    """Return the stored arrays of a model; if none are stored, make one, which takes seconds."""
    file = array_file_of(model)
    if not file.is_file():
        return halves(model, make_array(model))
    return msgspec.json.decode(file.read_bytes(), type=tuple[Array, ...])


def array_file_of(model: FactorModel) -> Path:
    """Return the file of a model's arrays, named by a hash of its factors, rules and wishes."""
    words = [[factor.name, *factor.levels] for factor in model.factors]
    words += [list(of) for of, _ in model.rules] + [list(three) for three in model.triples]
    words += [[name, level] for name, level, _ in model.wishes]
    return ARRAYS_FOLDER / f"{hashlib.sha256(repr(words).encode()).hexdigest()[:16]}.json"


def make_array(model: FactorModel, seed: int = 0) -> Array:
    """Make an array: every two levels meet in it, and every three of a triple in ``triples``."""
    from covertable import make as cover  # imported here, as most gradings make no array
    from covertable.shortcuts import Constraint

    chance = Random(seed)
    rows = cover(
        {f.name: chance.sample(f.levels, len(f.levels)) for f in model.factors},
        strength=2,
        sub_models=[{"fields": list(three), "strength": 3} for three in model.triples],
        constraints=[Constraint().fn(list(of), holds) for of, holds in model.rules],
    )
    free = _MutableArray(model, [dict(row) for row in rows])
    # Where a row needs no level in particular, `cover` leaves the last that it tried: draw one.
    for name, factor in free.factors.items():
        for row in free.rows:
            free.change(row, name, chance.choice(factor.levels))
    for name, level, is_meant in model.wishes:
        for row in free.rows:
            if row[name] != level and is_meant(row) and chance.random() < WISH_PROBABILITY:
                free.change(row, name, level)
    return tuple(tuple(f.levels.index(row[f.name]) for f in model.factors) for row in free.rows)


def halves(model: FactorModel, array: Array) -> tuple[Array, Array]:
    """Divide the rows of an array into two: about four fifths of what meets in it meet in each.

    The last fifth would take as many rows again, and is what the other half begins with.
    """
    left = {row: _meetings(model, row) for row in array}
    found: tuple[list[tuple[int, ...]], ...] = ([], [])
    there: tuple[set[object], ...] = (set(), set())
    while left:
        half = found.index(min(found, key=len))
        row = max(left, key=lambda one: len(left[one] - there[half]))
        found[half].append(row)
        there[half].update(left.pop(row))
    return tuple(found[0]), tuple(found[1])


def _meetings(model: FactorModel, row: tuple[int, ...]) -> set[object]:
    """Return which levels meet in a row, two of two factors or three of a triple."""
    named = _named(model, row)
    return {_meeting(named, group) for group in _groups(model)}


def _named(model: FactorModel, row: tuple[int, ...]) -> Row:
    return {f.name: f.levels[n] for f, n in zip(model.factors, row, strict=True)}


def _groups(model: FactorModel) -> list[tuple[str, ...]]:
    """Return the names of factors whose levels are to meet: each two, and the triples."""
    return [*itertools.combinations([factor.name for factor in model.factors], 2), *model.triples]


class _MutableArray:
    """Rows of an array whose levels may be changed as long as all levels that met still meet."""

    def __init__(self, model: FactorModel, rows: list[MutableRow]) -> None:
        self.factors = {factor.name: factor for factor in model.factors}
        self.rows = rows
        self._rules = model.rules
        self._groups = _groups(model)
        self._meetings = Counter(_meeting(row, group) for row in rows for group in self._groups)

    def change(self, row: MutableRow, name: str, level: str) -> None:
        """Give a row another level, unless two levels would no longer meet or a rule forbids it."""
        about = [group for group in self._groups if name in group]
        changed = {**row, name: level}
        lost = [_meeting(row, group) for group in about]
        if all(self._meetings[one] > 1 for one in lost) and all(
            holds(changed) for of, holds in self._rules if name in of
        ):
            self._meetings.subtract(lost)
            self._meetings.update(_meeting(changed, group) for group in about)
            row[name] = level


def _meeting(row: Row, group: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, row[name]) for name in group)
