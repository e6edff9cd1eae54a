"""Finds exercises that give each other away when one person gets both.

A fix-it exercise comes with code that is written out, and so does a stub that provides a part. For
a person who has to write the same class, or one that asks for no more, such code is nearly a
solution; so it is for the repair of the same class. The repair of another class is no problem: its
contract says in words what the code shows.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence
from itertools import combinations

from grader.kit.kits import Exercise, Kit
from grader.kit.stubs import shipped_stub


def spoilers(kit: Kit, exercises: Sequence[Exercise]) -> Iterator[str]:
    """Yield a sentence for each pair of exercises of which one gives the other away."""
    for pair in combinations(exercises, 2):
        for giver, taker in (pair, pair[::-1]):
            if reason := _reason(giver, taker, kit):
                yield f"`{giver.name}` gives `{taker.name}` away: its file comes with {reason}"
                break


def has_twins(exercises: Sequence[Exercise]) -> bool:
    """Return whether two exercises ask for the same, so that nearly the same code solves both."""
    written = [e for e in exercises if not written_out(e).issuperset(e.entry_points)]
    asked = [one.asks for one in written if one.asks is not None]
    return len(set(asked)) < len(asked)


def _reason(giver: Exercise, taker: Exercise, kit: Kit) -> str:
    """Return what in the file of ``giver`` gives ``taker`` away; empty where nothing does."""
    there = written_out(giver)
    for name in taker.entry_points:
        if name in there:
            return f"a `{name}` that is written out"
    if not there or written_out(taker):
        return ""
    like = [giver, *(e for e in kit.exercises if there.issuperset(e.entry_points))]
    known = [one.asks for one in like if one.asks is not None]
    if known and taker.asks is not None and taker.asks <= frozenset[str]().union(*known):
        return f"an attention that does all that `{taker.name}` asks for"
    return ""


@functools.cache
def written_out(exercise: Exercise) -> frozenset[str]:
    """Return the names of a stub's classes and functions that are written out already."""
    return written_out_in(shipped_stub(exercise))


def written_out_in(stub: str | bytes) -> frozenset[str]:
    """Return the names of the classes and functions that the text of a stub has written out."""
    made = [
        node for node in ast.parse(stub).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    return frozenset(node.name for node in made if not _is_left_to_write(node))


def _is_left_to_write(node: ast.AST) -> bool:
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    return NotImplementedError.__name__ in names
