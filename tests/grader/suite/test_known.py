"""A right value is computed once for the same inputs, and anew for any other."""

from __future__ import annotations

import pytest
import torch

from grader.suite import known
from grader.suite.known import compute_once


def test_the_same_content_is_computed_once_and_no_other_is_taken_for_it() -> None:
    x = torch.arange(6.0)
    others = [x.reshape(2, 3), x.double(), x + 1, None, x.int(), x.reshape(1, 6)]
    computed: list[int] = []

    def compute() -> int:
        computed.append(len(computed))
        return computed[-1]

    first = [compute_once("test", [tensor], compute) for tensor in [x, *others]]
    again = [compute_once("test", [tensor], compute) for tensor in [x.clone(), *others]]
    assert first == again == list(range(7))
    assert compute_once("test, otherwise", [x], compute) == 7
    assert compute_once("test", [x, None], compute) == 8
    assert compute_once("test", [None, x], compute) == 9
    halves = [x[:2], x[2:]], [x[:4], x[4:]]  # the same bytes, shared out otherwise
    assert [compute_once("test", half, compute) for half in halves] == [10, 11]


def test_an_exception_is_not_kept() -> None:
    with pytest.raises(ZeroDivisionError):
        compute_once("fails", [], lambda: 1 / 0)
    assert compute_once("fails", [], lambda: 3.0) == 3.0


def test_little_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "MAX_CACHED_VALUES", 5)
    for number in range(20):
        compute_once(("little", number), [], lambda: None)
    assert len(known._cache) <= 5
