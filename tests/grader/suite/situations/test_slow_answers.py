"""A slow answer is judged as a fast one is; what there is no time for is skipped, with a reason."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.grading import Options, grade
from grader.kit import Exercise, installed_kit
from grader.records import Report, Verdict
from grader.sandbox.pace import (
    BACKWARD_COST,
    MIN_TIMED_SCORES,
    MIN_TIMED_WEIGHTS,
    SLOW_S_PER_SCORE,
    SLOW_S_PER_WEIGHT,
    Pace,
    Work,
)
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from grader.suite.situations.agenda import MAX_SHORT_SITUATION_S, SITUATIONS_PER_REQUEST, Agenda
from grader.suite.sizes import Sizes
from tests.support.reports import lost

LOOPS = """import torch

def self_attention(x):
    rows = []
    for b in range(x.shape[0]):
        out = []
        for i in range(x.shape[1]):
            weights = torch.softmax(torch.stack([x[b, i] @ x[b, j] for j in range(x.shape[1])]), 0)
            out.append(sum(weights[j] * x[b, j] for j in range(x.shape[1])))
        rows.append(torch.stack(out))
    return torch.stack(rows)
"""
# Each product of a layer, one after the other.
BY_LAYERS = """import torch
from torch import nn

class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(hidden_dim, hidden_dim) for _ in range(3))

    def forward(self, x):
        q, k, v = (self.through(x, layer) for layer in (self.q, self.k, self.v))
        return torch.softmax(q @ k.mT / x.size(-1) ** 0.5, -1) @ v

    def through(self, x, layer):
        {}
"""
IN_LOOPS = """rows = []
        for w, b in zip(layer.weight, layer.bias):
            for i in range(x.size(-1)):
                b = b + x[..., i] * w[i]
            rows.append(b)
        return torch.stack(rows, -1)"""
HANGS_WHERE_WIDE = """while x.size(-1) > 300: pass
        return layer(x)"""
# Mistakes, each an edit of our solution of exercise2.
MISTAKES = {
    "no scale": ("/ sqrt(C)", "/ 1"),
    "scaled twice": ("/ sqrt(C)", "/ C"),
    "softmax over the queries": ("dim=-1)  # over", "dim=1)  # over"),
    "weights times x": ("return weights @ v", "return weights @ x"),
    "keys and values the other way round": ("q, k, v =", "q, v, k ="),
    "detached": ("return weights @ v", "return weights.detach() @ v"),
    "wrong in float64": ("return weights @ v", "return (weights.float() @ v.float()).to(x.dtype)"),
    "wrong above 30": ("return weights @ v", "return (weights @ v) * (1 + (x.size(1) > 30))"),
    "a single token": ("return weights @ v", "return (weights @ v) * (2 - (x.size(1) > 1))"),
    "the batch's mean": ("return weights @ v", "return weights @ v.mean(0, keepdim=True)"),
}
SAMPLE = {"softmax over the queries"}  # the others are exhaustive


@pytest.fixture
def exercise() -> Exercise:
    return installed_kit().find("exercise2")


def graded(name: str, source: str, sandbox: Sandbox, timeout: float = 10.0) -> Report:
    options = Options(seed=1, device="cpu", timeout=timeout)
    return grade(Submission(Path("mine.py"), source), installed_kit().find(name), options, sandbox)


def slowed(source: str, seconds: float = 3e-5) -> str:
    """The same with a loop that takes so long for each query and key of a sequence."""
    found = re.search(r" +def forward\(.*?\"\"\".*?\"\"\"\n", source, re.DOTALL)
    assert found is not None
    line = (
        "        import time; until = time.process_time() + "
        f"{seconds} * x.size(1) ** 2\n"
        "        while time.process_time() < until: pass\n"
    )
    return source[: found.end()] + line + source[found.end() :]


@pytest.mark.slow("what is slow takes long")
def test_two_loops_over_the_tokens_are_solved(sandbox: Sandbox) -> None:
    report = graded("warmup1", LOOPS, sandbox)
    assert report.solved, [(check.name, check.message) for check in report.checks]


@pytest.mark.slow("what is slow takes long")
@pytest.mark.parametrize("body", [IN_LOOPS, HANGS_WHERE_WIDE], ids=["in loops", "hangs"])
def test_products_in_loops_are_solved_and_a_hang_where_tokens_are_wide_is_not(
    body: str, sandbox: Sandbox
) -> None:
    timeout = 10 if body == IN_LOOPS else 3  # as everybody has; a hang needs no more
    report = graded("exercise1", BY_LAYERS.format(body), sandbox, timeout)
    found = [(check.name, check.message) for check in report.checks if check.is_lost]
    assert bool(found) == (body == HANGS_WHERE_WIDE), found


@pytest.mark.slow("what is slow takes long")
def test_what_there_is_no_time_for_is_skipped_with_a_reason(
    exercise: Exercise, sandbox: Sandbox
) -> None:
    source = slowed(exercise.solution.read_text(encoding="utf-8"), 1.5e-4)
    report = graded("exercise2", source, sandbox, timeout=2)
    assert report.solved, [(check.name, check.message) for check in report.checks]
    (skipped,) = (check for check in report.checks if check.verdict is Verdict.SKIP)
    assert re.fullmatch(r"\d+ positions would take \d+ s: tried up to \d+", skipped.message)
    assert skipped.name == "test_long_sequence"


@pytest.mark.slow("what is slow takes long")
@pytest.mark.parametrize(
    "mistake",
    [pytest.param(one, marks=() if one in SAMPLE else pytest.mark.exhaustive) for one in MISTAKES],
)
def test_a_wrong_answer_made_slow_loses_what_it_loses_when_it_is_fast(
    mistake: str, exercise: Exercise, sandbox: Sandbox
) -> None:
    source = exercise.solution.read_text(encoding="utf-8")
    edit = MISTAKES[mistake]
    assert source.count(edit[0]) == 1
    wrong = source.replace(*edit)
    fast = graded("exercise2", wrong, sandbox)
    slow = graded("exercise2", slowed(wrong), sandbox, timeout=3)
    assert lost(fast)
    assert {*lost(fast)} <= {*lost(slow)}
    assert slow.earned <= fast.earned


def test_pace_is_that_of_what_was_measured() -> None:
    pace = Pace()
    pace.measure(Work(100, 0, 4), 9, 0.4)
    assert pace.each == 0.1
    assert not pace.is_slow
    pace.measure(Work(MIN_TIMED_SCORES + 1, 0, 1), 64, 0.1)  # as short ones
    assert not pace.is_slow
    pace.measure(Work(0, 10_000, 1), 64, 0.1 + 10_000 * BACKWARD_COST * SLOW_S_PER_SCORE * 2)
    assert pace.is_slow
    slow = Pace()
    slow.measure(Work(0, 500, 2), 16, 1.0)  # of two, one may have had to import something
    assert not slow.is_slow
    slow.measure(Work(0, 500, 1), 16, 1.0)
    assert slow.seconds_for(Work(0, 5000)) == pytest.approx(10)
    fresh = Pace()
    fresh.measure(Work(0, 10_000, 1), 64, 1.0)  # of calls alone nothing is known yet
    assert fresh.seconds_for(Work(10_000)) == pytest.approx(1 / BACKWARD_COST)
    assert pace.seconds_for(Work(0, 1_000_000)) == pytest.approx(
        1e6 * BACKWARD_COST * SLOW_S_PER_SCORE * 2
    )


def test_pace_for_each_weight_is_that_of_wide_situations_alone() -> None:
    """Products in Python loops take long where tokens are wide, however few there are."""
    pace, weights = Pace(), 3 * MIN_TIMED_WEIGHTS
    for work in (Work(9, 0, 2, weights), Work(weights, 0, 1, weights), Work(9, 0, 1, 50)):
        pace.measure(work, 3, 2.0)  # of two; of as many scores; of hardly any weight
        assert not pace.needs_long(1_000_000, 10.0)
    pace.measure(Work(9, 0, 1, weights), 3, weights * SLOW_S_PER_WEIGHT * 0.9)
    assert not pace.needs_long(100_000_000, 10.0)  # an endless loop is none that takes long
    pace.measure(Work(9, 0, 1, weights), 3, 1.0)
    assert pace.needs_long(30 * weights, 10.0)
    assert not pace.needs_long(2 * weights, 10.0)
    assert not Pace().needs_long(30 * weights, 10.0)


class Places:
    """Situations of nothing but their lengths."""

    def __init__(self, *lengths: int) -> None:
        self.lengths = lengths

    def requests(self, size: int) -> list[list[int]]:
        places = list(range(len(self.lengths)))
        return [places[start : start + size] for start in range(0, len(places), size)]

    def situation(self, place: int) -> Any:
        return self.of(self.lengths[place])

    def shortened(self, place: int, level: str) -> Any:
        return self.of({"small": 9, "2": 2}[level])

    @staticmethod
    def of(length: int) -> Any:
        sizes = Sizes(B=1, T=length)
        work = Work(sizes.scores, 0, 1)
        return SimpleNamespace(sizes=sizes, work=work, wants_gradients=False)


def agenda(pace: Pace, *lengths: int, left: float = 10.0) -> Agenda:
    places: Any = Places(*lengths)
    return Agenda(places, pace, lambda: left)


def lengths_of(chosen: list[Any]) -> list[int]:
    return [situation.sizes.length for _, situation in chosen]


def test_as_long_as_nothing_is_slow_the_order_is_as_it_was_drawn() -> None:
    lengths = [1, 200, 3, 100] * 5
    one = agenda(Pace(), *lengths)
    assert lengths_of(one.next()) + lengths_of(one.next()) == lengths
    assert len(lengths) > SITUATIONS_PER_REQUEST
    assert not one.next()


def test_what_ended_the_worker_together_is_tried_alone_and_the_longer_ones_last() -> None:
    one = agenda(Pace(), 5, 200, 3, 100, 7)
    asked = one.next()
    one.put_back(asked, one_per_request=True)
    assert lengths_of(one.next()) == [3]
    one.put_last(5)
    assert [lengths_of(one.next()) for _ in range(4)] == [[5], [7], [100], [200]]


def test_wide_ones_come_last_and_are_dropped_with_one_that_takes_too_long() -> None:
    one = agenda(Pace(), 2, 3, 4, 5)
    asked = one.next()
    for (_, situation), weights in zip(asked, (10**6, 0, 10**5, 10**7), strict=True):
        situation.work = situation.work._replace(weights=weights)
    one.put_back(asked, one_per_request=True)
    assert [lengths_of(one.next()) for _ in range(2)] == [[3], [4]]
    one.drop_as_wide(10**7)
    assert [lengths_of(one.next()) for _ in range(2)] == [[2], []]


def test_slow_ones_are_drawn_shorter_but_for_the_longest_that_there_is_time_for() -> None:
    pace = Pace()
    pace.measure(Work(10_000, 0, 1), 64, 0.4)  # 40 µs a score: 1.6 s at T = 200
    one = agenda(pace, 200, 200, 5, 200, 60, 200)
    tried = []
    while chosen := one.next():
        tried += lengths_of(chosen)
    assert tried[0] == 5
    assert sorted(tried) == [5, 9, 9, 60, 200, 200]
    assert not one.too_slow([Sizes(T=length) for length in tried])
    assert one.too_slow([Sizes(T=60)]) == "200 positions would take 2 s: tried up to 60"


def test_slow_ones_of_more_scores_than_memory_can_hold_are_drawn_shorter() -> None:
    pace = Pace()
    pace.measure(
        Work(10_000, 0, 1), 64, SLOW_S_PER_SCORE * 10_000 * 2
    )  # slow, and there is time for all
    one = agenda(pace, 400, 200, 5, left=1e3)
    tried = []
    while chosen := one.next():
        tried += lengths_of(chosen)
    assert sorted(tried) == [5, 9, 200]
    wanted = "400 positions may take more memory than there is: tried up to 200"
    assert one.too_slow([Sizes(T=length) for length in tried]) == wanted


def test_a_short_one_of_many_sequences_may_be_tried_at_two_positions() -> None:
    pace = Pace()
    pace.measure(Work(10_000, 0, 1), 64, 10_000 * (MAX_SHORT_SITUATION_S + 1) / 81)
    assert lengths_of(agenda(pace, 9, left=1e3).next()) == [2]
