"""Covering arrays, where an answer fails, and what fails by itself."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from benchmarks.arrays import models
from grader.attention.situations import ATTENTION_SITUATIONS
from grader.sandbox.errors import SubmissionError
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerEnded
from grader.suite import Sizes
from grader.suite.compare import CheckFailed
from grader.suite.draw import Draw
from grader.suite.situations.covering import (
    ARRAYS_PER_MODEL,
    array_file_of,
    arrays_of,
    halves,
    make_array,
    rows_of,
)
from grader.suite.situations.describing import describe
from grader.suite.situations.factors import Factor, FactorModel, Row
from grader.suite.situations.judging import judge
from grader.suite.situations.outcomes import Aspect, SituationOutcome


def can_meet(model: FactorModel, levels: Row) -> bool:
    """Whether some row of the array could have these levels: no rule about them forbids it."""
    return all(holds(levels) for of, holds in model.rules if set(of) <= set(levels))


@pytest.mark.parametrize(("name", "model"), list(models()), ids=lambda v: v if v else "")
def test_every_two_levels_meet_in_two_halves_and_three_of_a_triple(
    name: str, model: FactorModel
) -> None:
    assert array_file_of(model).is_file(), f"`python benchmarks/arrays.py` makes the ones of {name}"
    arrays = [[named(model, row) for row in array] for array in arrays_of(model)]
    assert len(arrays) == ARRAYS_PER_MODEL
    for one, other in zip(arrays[::2], arrays[1::2], strict=True):
        expect_that_all_meet(model, one + other)
        assert abs(len(one) - len(other)) <= 1
    for factor in model.factors:
        for array in arrays:
            times = Counter(row[factor.name] for row in array)
            assert min(times[level] for level in factor.levels) > 1, factor.name

    for row in model.extremes:  # of one key, or of one feature, nothing shows how they are weighted
        assert row.get("S") != "1" != row.get("E")


def named(model: FactorModel, row: tuple[int, ...]) -> dict[str, str]:
    return {f.name: f.levels[n] for f, n in zip(model.factors, row, strict=True)}


def expect_that_all_meet(model: FactorModel, rows: list[dict[str, str]]) -> None:
    for row in rows:
        assert can_meet(model, row)
    by_name = {factor.name: factor for factor in model.factors}
    groups = [*itertools.combinations(by_name, 2), *model.triples]
    for group in groups:
        met = {tuple(row[factor] for factor in group) for row in rows}
        for levels in itertools.product(*(by_name[factor].levels for factor in group)):
            together = dict(zip(group, levels, strict=True))
            if can_meet(model, together) and levels not in met:
                pytest.fail(f"{together} meet nowhere")


def test_rows_are_those_of_one_array_in_another_order() -> None:
    model = next(model for _, model in models())
    rows = rows_of(model, Draw(5))
    stored = [[named(model, row) for row in array] for array in arrays_of(model)]
    assert sorted(map(str, rows)) in [sorted(map(str, array)) for array in stored]
    assert rows not in stored
    assert len({str(rows_of(model, Draw(seed))) for seed in range(20)}) > 1


SMALL = (Factor("a", ("1", "2", "3")), Factor("b", ("x", "y")), Factor("c", ("p", "q")))


def test_array_that_is_not_kept_is_made_anew() -> None:
    model = FactorModel(SMALL)
    assert not array_file_of(model).is_file()
    assert arrays_of(model) == halves(model, make_array(model))
    assert {row[:2] for row in make_array(model)} == set(itertools.product(range(3), range(2)))


def test_what_any_level_would_do_for_is_as_wished() -> None:
    wished = FactorModel(SMALL, wishes=(("c", "q", lambda row: True),))
    plain, asked = (
        sum(row[2] for seed in range(5) for row in make_array(model, seed))
        for model in (FactorModel(SMALL), wished)
    )
    assert asked > plain
    expect_that_all_meet(wished, [named(wished, row) for row in make_array(wished, 1)])


@dataclass(frozen=True)
class Tried:
    """A situation of nothing but its levels."""

    row: Row
    sizes: Sizes
    size: int = 1
    further_claims: tuple[str, ...] = ()


def tried(T: int, dtype: str = "float32", mask: str = "none") -> Tried:
    row = {"T": "any", "dtype": dtype, "mask": mask}
    return Tried(row, Sizes(B=2, T=T, C=3), size=T)


ALL = [tried(T, dtype) for T in (1, 2, 17, 129, 257) for dtype in ("float32", "float64")]


@pytest.mark.parametrize(
    ("fails", "says"),
    [
        pytest.param(lambda s: s.sizes.T > 128, ["T of 129 or more"], id="at least"),
        pytest.param(lambda s: s.sizes.T == 1, ["T = 1"], id="exactly"),
        pytest.param(lambda s: s.row["dtype"] == "float64", ["dtype float64"], id="a level"),
        pytest.param(
            lambda s: s.row["dtype"] == "float64" and s.sizes.T > 2,
            ["dtype float64", "T of 17 or more"],
            id="two factors, a dtype first",
        ),
        pytest.param(lambda s: True, [], id="everywhere"),
        pytest.param(lambda s: s.sizes.T in (2, 129), None, id="nothing common"),
    ],
)
def test_shortest_description_holds_for_what_fails_and_nothing_else(
    fails: Callable[[Tried], bool], says: list[str] | None
) -> None:
    failed, passed = [s for s in ALL if fails(s)], [s for s in ALL if not fails(s)]
    found = describe(failed, passed)
    assert says == (None if found is None else [condition.says for condition in found])


def test_claim_about_the_factor_is_told_with_the_smallest_situation() -> None:
    wrong = [one for one in ALL if one.sizes.T > 128]
    outcomes = [
        SituationOutcome(one, Aspect.VALUE, AssertionError(f"T = {one.sizes.T}")) for one in wrong
    ] + [SituationOutcome(one) for one in ALL if one not in wrong]
    told = judge(outcomes, frozenset({"handles_a_long_sequence", "matches_the_formula"})).failures
    assert {name: str(reason) for name, reason in told.items()} == {
        "handles_a_long_sequence": "T = 129"
    }
    assert list(judge(outcomes, frozenset()).failures) == ["matches_the_formula"]
    assert not judge([SituationOutcome(one) for one in ALL], frozenset()).failures


def test_what_ends_its_process_or_takes_too_long_is_one_failure() -> None:
    """A recursion without end filled the memory, or took its time: which came first was chance."""
    failed = [tried(1, "bfloat16", mask) for mask in ("none", "none", "(T, T)")]
    wrong = [
        SituationOutcome(one, aspect, WorkerEnded("ended"))
        for one, aspect in zip(failed, (Aspect.ENDED, Aspect.ENDED, Aspect.STOPPED), strict=True)
    ]
    right = map(SituationOutcome, [*ALL, tried(2, "bfloat16")])
    told = judge([*wrong, *right], frozenset({"computes_in_bfloat16"})).failures
    assert list(told) == ["computes_in_bfloat16"]


def test_what_few_situations_have_in_common_two_by_two_may_be_chance() -> None:
    """A norm in float32 failed in two situations of float64, and a single token was told of it."""
    claims = frozenset({"handles_a_long_sequence", "computes_in_float64"})

    def told(count: int) -> dict[str, Exception]:
        failed = [tried(257, "float64")] * count
        wrong = [SituationOutcome(one, Aspect.VALUE, CheckFailed("wrong")) for one in failed]
        return judge([*wrong, *map(SituationOutcome, ALL[:-1])], claims).failures

    assert [*told(1)] == [*told(3)] == ["computes_in_float64"]
    assert "in every one with" not in str(told(2)["computes_in_float64"])
    assert "with dtype float64 and T = 257" in str(told(3)["computes_in_float64"])


@pytest.mark.parametrize(("others", "claim"), [(30, "mask_broadcasts"), (5, "matches_the_formula")])
def test_level_that_all_failures_share_is_told_where_chance_hardly_has_it(
    others: int, claim: str
) -> None:
    failed = [tried(T, mask="(T, T)") for T in (1, 2, 17, 257)]
    passed = [*[tried(5)] * others, *[tried(T, mask="(T, T)") for T in (3, 4)]]
    wrong = [SituationOutcome(one, Aspect.VALUE, AssertionError()) for one in failed]
    outcomes, claims = [*wrong, *map(SituationOutcome, passed)], frozenset({"mask_broadcasts"})
    told = judge(outcomes, claims, further=ATTENTION_SITUATIONS.further_claims).failures
    assert list(told) == [claim]


def expanded(layout: str, B: int) -> list[Tried]:
    row = {"T": "any", "B": "any", "layout of x": layout}
    return [Tried(row, Sizes(B=B, T=T, C=3), size=T) for T in (2, 5, 17, 129, 257)]


def test_what_a_size_says_nothing_of_is_told_of_a_layout_or_of_no_claim() -> None:
    """A softmax over the queries, wrong wherever T is 2 or more, was told of long sequences."""
    claims = frozenset(
        {"handles_a_long_sequence", "handles_a_single_token", "handles_non_contiguous_input"}
    )

    def told(wrong: list[Tried], right: list[Tried]) -> list[str]:
        failed = [SituationOutcome(one, Aspect.VALUE, AssertionError()) for one in wrong]
        return list(judge([*failed, *map(SituationOutcome, right)], claims).failures)

    assert told([one for one in ALL if one.sizes.T > 1], ALL[:2]) == ["matches_the_formula"]
    assert told(expanded("contiguous", 3), expanded("contiguous", 1)) == ["matches_the_formula"]
    few, others = expanded("expanded", 2), expanded("contiguous", 2) * 5
    assert told(few, [*others, few[0]]) == ["handles_non_contiguous_input"]


@pytest.mark.parametrize(
    ("T", "claim"), [(1, "handles_a_single_token"), (5, "matches_the_formula")]
)
def test_what_goes_wrong_at_few_tokens_alone_is_not_told_of_long_ones(T: int, claim: str) -> None:
    outcomes = [
        SituationOutcome(tried(T), Aspect.VALUE, AssertionError()),
        *map(SituationOutcome, ALL[2:]),
    ]
    claims = {"handles_a_long_sequence", "handles_a_single_token", "matches_the_formula"}
    assert list(judge(outcomes, frozenset(claims)).failures) == [claim]


@pytest.mark.parametrize("claim", ["handles_a_long_sequence", "matches_the_formula"])
def test_what_hides_in_one_long_sequence_is_still_about_length(claim: str) -> None:
    """A table of 128 positions was told of the formula, and of a single token, at some seeds."""
    wrong = [SituationOutcome(tried(T), Aspect.VALUE, AssertionError()) for T in (129, 200, 300)]
    right = map(SituationOutcome, [tried(257), *[tried(5)] * 40])
    assert list(judge([*wrong, *right], frozenset({claim, "handles_a_single_token"})).failures) == [
        claim
    ]


def test_what_is_planned_apart_fails_by_itself(begin: Callable[[str], Session]) -> None:
    session = begin("def f(x):\n    assert len(x) != 2, 'two'\n    return 2 * x\n")
    batch = session.batch()
    pending = []
    for length in (1, 2, 3):
        with batch.apart():
            first = batch.call("f", [((torch.ones(length),), {})])
            pending.append((first, batch.call("f", [((torch.ones(length),), {})])))
    last = batch.call("f", [((torch.ones(4),), {})])
    batch.send()
    for length, calls in zip((1, 2, 3), pending, strict=True):
        for call in calls:
            if length == 2:
                with pytest.raises(SubmissionError, match="two"):
                    call.result()
            else:
                assert torch.equal(call.result(), 2 * torch.ones(length))
    assert torch.equal(last.result(), 2 * torch.ones(4))
