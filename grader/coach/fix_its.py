"""Recognises the file of a fix-it exercise by what it computes, however it is cut into statements.

``grader.kit.repairs`` goes by statements, which one more variable in each would hide.
"""

from __future__ import annotations

import functools
from collections import Counter

from grader.hiring.dataflow import Contract, TooMuch, contract_of, read_operations
from grader.kit import Exercise, Kit
from grader.kit.repairs import LEAST_SHARE
from grader.kit.stubs import shipped_stub

OperationCounts = Counter[str]


def fix_it_exercises_computed_in(source: str, kit: Kit) -> list[Exercise]:
    """Return the fix-it exercises whose mistake and most of whose operations ``source`` has.

    A text with too many operations to be read may have any of them.
    """
    return [one for one in kit.exercises if not one.diagnosis and _is_held(one, source)]


def _is_held(exercise: Exercise, source: str) -> bool:
    contract, given, mistaken = _of_file(exercise)
    try:
        there = _count(source, contract)
    except TooMuch:
        return True
    share = (given & there).total() / max(given.total(), 1)
    return mistaken <= there and share >= LEAST_SHARE


@functools.cache
def _of_file(exercise: Exercise) -> tuple[Contract, OperationCounts, OperationCounts]:
    """Return a fix-it file's contract, its operations, and those that its solution has not."""
    stub = shipped_stub(exercise).decode("utf-8")
    contract = contract_of(stub)
    given = _count(stub, contract)
    return contract, given, given - _count(exercise.solution.read_text("utf-8"), contract)


def _count(source: str, contract: Contract) -> OperationCounts:
    return Counter(one.what for one in read_operations(source, contract))
