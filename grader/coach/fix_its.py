"""Recognises the file of a fix-it exercise by what it computes, however it is cut into statements.

``grader.kit.repairs`` goes by statements, which one more variable in each would hide.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter

from grader.hiring.dataflow import Contract, TooMuch, contract_of, operations_in, parse_most
from grader.kit import Exercise, Kit
from grader.kit.repairs import LEAST_SHARE
from grader.kit.stubs import shipped_stub

OperationCounts = Counter[str]
MAX_CHARS = 1 << 16  # of a text that is read; our longest file has 10,000


def fix_it_exercises_computed_in(source: str, kit: Kit) -> list[Exercise]:
    """Return the fix-it exercises whose mistake and most of whose operations ``source`` has.

    A text that is too long to be read, or has too many operations, may have any of them.
    """
    fix_its = [one for one in kit.exercises if not one.diagnosis]
    if len(source) > MAX_CHARS:
        return fix_its
    tree = parse_most(source)
    return [one for one in fix_its if _is_held(one, tree)]


def _is_held(exercise: Exercise, tree: ast.Module) -> bool:
    contract, given, mistaken = _of_file(exercise)
    try:
        there = _count(tree, contract)
    except TooMuch:
        return True
    share = (given & there).total() / max(given.total(), 1)
    return mistaken <= there and share >= LEAST_SHARE


@functools.cache
def _of_file(exercise: Exercise) -> tuple[Contract, OperationCounts, OperationCounts]:
    """Return a fix-it file's contract, its operations, and those that its solution has not."""
    stub = shipped_stub(exercise).decode("utf-8")
    contract = contract_of(stub)
    given = _count(parse_most(stub), contract)
    solution = parse_most(exercise.solution.read_text("utf-8"))
    return contract, given, given - _count(solution, contract)


def _count(tree: ast.Module, contract: Contract) -> OperationCounts:
    return Counter(one.what for one in operations_in(tree, contract))
