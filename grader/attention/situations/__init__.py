"""The situations of attention: its factors, each situation in figures, and what comes of it."""

from __future__ import annotations

from typing import Any

from grader.attention.situations.factors import model_of
from grader.attention.situations.filling import Situation, fill
from grader.attention.situations.trying import Tried
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.known import once
from grader.suite.situations.covering import rows_of
from grader.suite.situations.judging import Judgement, judge


def judge_situations(harness: Harness) -> Judgement:
    """Try every situation of a contract of attention, in one request."""
    tried = [Tried(harness, one) for one in situations_of(harness)]

    def prepare() -> None:
        for one in tried:
            one.prepare()

    harness.ask(prepare)
    outcomes = [one.outcome() for one in tried]
    harness.session.exchanges[-1].fine = [one.aspect is None for one in outcomes]
    return judge(outcomes, harness.claims)


def situations_of(harness: Harness) -> list[Situation]:
    """All situations of a contract, the same ones for the same seed: made once for a batch."""
    contract: Any = harness.contract
    draw = Draw(derive_seed(harness.seed, "situations"), harness.device)
    one = harness.drawing(draw)

    def make() -> list[Situation]:
        return [fill(one, row) for row in rows_of(contract.situations, draw)]

    key = ("situations", contract.oracle, contract.sizes, draw.seed, harness.device)
    return once(key, (), make)


__all__ = ["judge_situations", "model_of", "situations_of"]
