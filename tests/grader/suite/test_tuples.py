"""Arguments and outputs that are tuples of floats and integers, and grow from call to call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from grader.sandbox.session import Session
from grader.suite import Contract, Draw, Harness, Input, Sizes, Weights, claims, expect_close
from grader.suite.compare import CheckFailed, expect_integers
from grader.suite.situations.inputs import GIVEN_LEVELS
from grader.suite.situations.outcomes import Aspect
from grader.suite.situations.places import situations_of
from grader.suite.situations.trial import judge_situations

Begin = Callable[[str], Session]


def remember(
    weights: Weights,
    sizes: Sizes,
    x: Tensor,
    rows: Tensor | None = None,
    marks: Tensor | None = None,
) -> dict[str, Tensor]:
    new = torch.arange(x.size(1)).expand(x.shape[:2])
    if rows is not None and marks is not None:
        every, known = torch.cat([rows, x], dim=1), torch.cat([marks, new], dim=1)
    else:
        every, known = x, new
    return {"output": x + every.mean(1, keepdim=True), "rows": every, "marks": known}


def marked(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    return draw.order(shape[1]).expand(shape).clone()


CONTRACT = Contract(
    entry="remember",
    sizes=(Sizes(B=2, T=3, S=5, C=8, H=2),),
    inputs={
        "x": Input("B T C"),
        "rows": Input("B S C", optional=True, length="S"),
        "marks": Input(
            "B S", marked, optional=True, differentiable=False, kinds={"any": marked}, length="S"
        ),
    },
    outputs={"output": "B T C", "rows": "B S+T C", "marks": "B S+T"},
    tuples={"past": ("rows", "marks")},
    integers=("marks",),
    oracle=remember,
)
SOURCE = """import torch

def remember(x, past=None):
    marks = torch.arange(x.size(1), device=x.device).expand(x.shape[:2])
    rows = x
    if past is not None:
        rows, marks = torch.cat([past[0], x], dim=1), torch.cat([past[1], marks], dim=1)
    return x + rows.mean(1, keepdim=True), (rows, marks)
"""


def harness_of(session: Session, contract: Contract = CONTRACT) -> Harness:
    return Harness(contract, session, Draw(1), {}, seed=3)


def test_letters_make_sums_and_quotients() -> None:
    sizes = Sizes(B=2, S=5, T=3, C=8, H=2)
    assert sizes.shape("B S+T C/H 4") == (2, 8, 4, 4)
    assert sizes.named("B S+T C/H") == "(B, S+T, C/H)"
    assert (sizes.axis("B S+T C", "T"), sizes.axis("B S+T C", "C")) == (1, 2)


def test_tuple_is_given_or_left_out_as_a_whole(begin: Begin) -> None:
    seen = set()
    for one in situations_of(harness_of(begin(SOURCE))):
        given = one.row["rows given"] != GIVEN_LEVELS[0]
        assert given == (one.inputs["rows"] is not None) == (one.inputs["marks"] is not None)
        assert "marks given" not in one.row
        assert ("rows" in one.kinds) == given
        seen.add(given)
    assert seen == {True, False}


@pytest.mark.parametrize(
    "claim",
    [
        *(claims.keeps_shape_and_dtype, claims.matches_the_formula_with_everything_given),
        *(claims.input_gradient_is_right, claims.changes_no_input, claims.remembers_nothing),
        *(claims.computes_in_float64, claims.is_pinned_to_no_device, claims.follows_a_permutation),
    ],
    ids=lambda claim: str(claim.__name__),
)
def test_right_answer_keeps_every_claim(claim: Callable[[Harness], None], begin: Begin) -> None:
    one = CONTRACT
    if claim is claims.follows_a_permutation:  # marks do not move with their tokens
        one = replace(CONTRACT, integers=(), outputs={**CONTRACT.outputs, "marks": None})
    claim(harness_of(begin(SOURCE), replace(one, tried=False)))


def test_right_answer_is_right_in_every_situation(begin: Begin) -> None:
    assert not judge_situations(harness_of(begin(SOURCE))).failures


@pytest.mark.parametrize(
    ("old", "new", "aspect"),
    [
        ("(rows, marks)", "(rows, marks.float())", Aspect.VALUE),
        ("(rows, marks)", "(rows, marks + (marks > 3))", Aspect.VALUE),
        ("(rows, marks)", "rows", Aspect.FORM),
        ("(rows, marks)", "(rows, marks[:, :3])", Aspect.VALUE),
        ("(rows, marks)", "(rows.detach(), marks)", Aspect.GRADIENT),
        ("[past[0], x]", "[past[0].detach(), x]", Aspect.GRADIENT),
        ("    rows = x\n", "    rows = x\n    if past: past[0][:] = 0\n", Aspect.VALUE),
        ("    rows = x\n", "    rows = x\n    if past: past[1].add_(0).mul_(1)\n", None),
    ],
)
def test_wrong_part_of_a_tuple_is_seen(
    old: str, new: str, aspect: Aspect | None, begin: Begin
) -> None:
    outcomes = judge_situations(harness_of(begin(SOURCE.replace(old, new)))).outcomes
    assert {one.aspect for one in outcomes} & {aspect} == {aspect}


def test_parts_of_a_tuple_go_on_to_the_next_call(begin: Begin) -> None:
    harness = harness_of(begin(SOURCE))
    module, calls = harness.module(), []
    for _ in range(12):
        past = calls[-1].handles("past") if calls else {}
        calls.append(module.call({"x": harness.input("x"), **past}))
    harness.ask()
    for place, call in enumerate(calls):
        assert call.sizes["S"] == place * 3
        expect_close(call.outs["rows"], call.right_outputs["rows"])
        expect_integers(call.counts["marks"], call.all_right_outputs["marks"], "marks")
    rows = calls[-1].outs["rows"]
    assert rows.shape == (2, 36, 8)


def test_integers_are_right_to_the_last_digit() -> None:
    right = torch.tensor([[1, 2, 3]])
    expect_integers(right.int(), right, "marks")
    with pytest.raises(CheckFailed, match=r"expected 3 at \(0, 2\), got 4 \(1 of 3 are wrong\)"):
        expect_integers(torch.tensor([[1, 2, 4]]), right, "marks")
    with pytest.raises(CheckFailed, match="expected integers, got float32"):
        expect_integers(right.float(), right, "marks")
