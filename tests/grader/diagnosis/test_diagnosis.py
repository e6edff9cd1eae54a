"""A diagnosis says what is known and nothing else, whatever a submission gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.diagnosis.attach import NONE_FOUND_CUT_SHORT
from grader.diagnosis.catalogue import find_mistake
from grader.diagnosis.words import describe_mistakes
from grader.errors import GradeError
from grader.grading import Options, grade
from grader.kit import load_kit
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from tests.support.drawing import sampled
from tests.support.paths import ROOT
from tests.support.reports import lost

pytestmark = pytest.mark.usefixtures("patient")
EXERCISE = load_kit(ROOT).find("exercise1")
MODULE = """
import torch
from torch import nn

class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        {body}
"""
RIGHT = "return (q @ k.mT / x.size(-1) ** 0.5).softmax(-1) @ v"


def graded(body: str, sandbox: Sandbox, **options: Any) -> Report:
    submission = Submission(Path("exercise1.py"), MODULE.format(body=body))
    return grade(
        submission,
        EXERCISE,
        Options(**{"seed": 1, "device": "cpu", "timeout": 2.0} | options),
        sandbox,
    )


@sampled("odd outputs", 3)
@pytest.mark.slow("nothing explains it, so all is searched")
@pytest.mark.parametrize(
    "body",
    [
        "return 3",
        "return 'text'",
        "return x > 0",
        "return x.long()",
        "return x[:0]",
        "return x * float('nan')",
        "return x / 0",
        "return x * 1e38",
        "return torch.randn_like(x)",
        "return x.to_sparse()",
        "return x.to('meta')",
        "return x.double() + self.q.weight.sum().double()",
        "return x.half()",
        "return x.new_zeros(1).expand(10**9)",
        "return torch.complex(x, x)",
        "return x.squeeze().T",
        "y = q * 1\n        y.register_hook(lambda g: 1 / 0)\n        return y",
        "y = q * 1\n        y.register_hook(lambda g: g.new_zeros(1))\n        return y",
        "return nn.Parameter(x) * 1.7",
        "x.mul_(1.7)\n        return x",
        "raise SystemExit",
        "import os\n        os._exit(0)",
        "return (q @ k.mT).softmax(-1) @ v if x.size(1) == 5 else x",
    ],
)
def test_odd_output_is_graded_and_no_mistake_is_made_up(body: str, sandbox: Sandbox) -> None:
    report = graded(body, sandbox, maps=True)
    assert not report.solved
    assert report.diagnosis == ()
    assert Report.from_json(report.to_json()).exercise == report.exercise


def test_endless_loop_outside_the_checks_ends(sandbox: Sandbox) -> None:
    """Sizes that no check uses, only the diagnosis: it gives up and the checks stay."""
    body = "while x.shape in ((3, 7, 13), (2, 5, 3)): pass\n        return x"
    report = graded(body, sandbox)
    assert report.diagnosis == ()
    assert {check.verdict for check in report.checks} >= {Verdict.FAIL}


def test_mistake_is_named_with_its_advice_and_what_follows(sandbox: Sandbox) -> None:
    report = graded("return (q @ k.mT).softmax(-1) @ v", sandbox)
    assert report.diagnosis == (("never-scaled",),)
    assert report.cause is not None
    assert report.cause.says == (
        "Your output is exactly what comes out when the scores are not scaled at all."
    )
    assert report.cause.advice.startswith("Dot products grow")
    assert report.cause.follows[0] == "test_output_matches_the_formula"
    assert [one.title for one in report.maps] == ["without a mask"]


@pytest.mark.parametrize("body", ["(q @ k.mT).softmax(-1) @ v", "v"])
def test_all_that_a_mistake_alone_loses_follows_from_it(body: str, sandbox: Sandbox) -> None:
    report = graded(f"return {body}", sandbox)
    assert len(lost(report)) > 3
    assert report.cause is not None
    assert list(report.cause.follows) == lost(report)


def test_what_another_mistake_loses_does_not_follow(sandbox: Sandbox) -> None:
    """One that the search does not see: it is tried where the first one is wrong as well."""
    body = "x.data.mul_(2)\n        "
    report = graded(f"{body}return (q @ k.mT).softmax(-1) @ v", sandbox)
    changed, whole = "test_input_is_not_changed", "test_output_matches_the_formula"
    assert {changed, whole} <= {*lost(report)}
    assert report.diagnosis == (("never-scaled",),)
    assert report.cause is not None
    assert changed not in report.cause.follows
    assert whole in report.cause.follows


def test_search_that_was_cut_short_says_so(sandbox: Sandbox) -> None:
    body = "return (q @ k.mT).softmax(-2) @ v"
    cut = graded(body, sandbox, max_mistake_sets=1, timeout=20.0)
    assert cut.cause is None
    assert [check.explanation for check in cut.checks if check.explanation] == [
        NONE_FOUND_CUT_SHORT
    ]
    whole = graded(body, sandbox, timeout=20.0)
    assert whole.cause is not None
    assert not any(check.explanation for check in whole.checks)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "hidden = (1 - torch.ones(x.size(1))) * float('-inf')\n"
            "        return (q @ k.mT + hidden).softmax(-1) @ v",
            "NaN begins at `hidden = (1 - torch.ones(x.size(1))) * float('-inf')` in `forward`, "
            "line 14: 0 · inf is NaN",
        ),
        (
            "w = (q @ k.mT / x.size(-1) ** 0.5).sqrt()\n        return w.softmax(-1) @ v",
            "NaN begins at `w = (q @ k.mT / x.size(-1) ** 0.5).sqrt()` in `forward`, line 14: the "
            "square root of a negative number",
        ),
    ],
)
def test_nan_proves_no_mistake_and_is_told_where_it_begins(
    body: str, says: str, sandbox: Sandbox
) -> None:
    report = graded(body, sandbox)
    assert report.diagnosis == ()
    assert report.cause is not None
    assert report.cause.says.startswith(says)
    assert graded(body, sandbox, explain=Explain.PLACE).cause is None


def test_no_diagnosis_says_nothing(sandbox: Sandbox) -> None:
    report = graded("return (q @ k.mT).softmax(-1) @ v", sandbox, explain=Explain.NOTHING)
    assert report.diagnosis == report.maps == ()
    assert report.cause is None
    assert not any(check.explanation for check in report.checks)
    crash = graded("return q @ torch.vmm(k)", sandbox, explain=Explain.NOTHING)
    assert not any(check.explanation for check in crash.checks)


def test_maps_are_shown_when_asked_for(sandbox: Sandbox) -> None:
    report = graded(RIGHT, sandbox, maps=True)
    assert report.solved
    (shown,) = report.maps
    assert not shown.wrong
    assert all(abs(sum(row) - 1) < 0.01 for row in shown.yours)


def test_map_with_nan_is_wrong() -> None:
    from grader.records import AttentionMap

    rows = ((0.5, 0.5), (0.0, 1.0))
    assert not AttentionMap("", rows, rows).wrong
    assert AttentionMap("", ((float("nan"), 0.5), (0.0, 1.0)), rows).wrong


def test_two_mistakes_alternatives_and_what_is_left_are_said() -> None:
    scale, mask = find_mistake("never-scaled"), find_mistake("mask-ignored")
    both = describe_mistakes([(scale, mask)], [])
    assert "with two mistakes: (1) the scores are not scaled at all (2) the mask" in both
    either = describe_mistakes([(scale,), (mask,)], ["gradients"])
    assert "nothing that was tried tells these apart" in either
    assert either.endswith("This does not explain all that is wrong: gradients.")
    assert describe_mistakes([(mask,)], []).startswith("Your output is right without a mask")


def test_unknown_mistake_offers_a_near_one() -> None:
    with pytest.raises(GradeError, match="did you mean `never-scaled`"):
        find_mistake("never-scald")
