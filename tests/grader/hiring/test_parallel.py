"""Work that several processes share comes back in order, and takes few items at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from grader.hiring.parallel import MAX_QUEUED_PER_PROCESS, parallel_map


def square_and_process(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def divide(number: int) -> float:
    return 1 / number


def test_results_come_in_order_from_several_processes() -> None:
    done = list(parallel_map(square_and_process, range(50), 2))
    assert [(item, result[0]) for item, result in done] == [(n, n * n) for n in range(50)]
    others = {process for _, (_, process) in done}
    assert 1 <= len(others) <= 2
    assert os.getpid() not in others


def test_few_items_are_taken_before_their_turn() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    for number, _ in parallel_map(square_and_process, items(), 2):
        assert taken <= number + 2 * MAX_QUEUED_PER_PROCESS + 1
    assert taken == 100


def test_exception_comes_with_its_item() -> None:
    work = parallel_map(divide, [2, 1, 0, 3], 1)
    assert [next(work), next(work)] == [(2, 0.5), (1, 1.0)]
    with pytest.raises(ZeroDivisionError):
        next(work)


def test_nothing_to_do_is_done() -> None:
    assert list(parallel_map(divide, [], 2)) == []
