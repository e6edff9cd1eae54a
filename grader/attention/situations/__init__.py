"""The situations of attention: its factors, each situation in figures, and what comes of it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from grader.attention.situations.factors import model_of
from grader.attention.situations.filling import Situation, fill
from grader.attention.situations.trying import Tried
from grader.sandbox.channel import Exchange
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.situations.covering import rows_of
from grader.suite.situations.judging import Judgement, judge
from grader.suite.situations.outcomes import Outcome

TOGETHER = 16  # situations in a request; while the worker is busy, others are drawn and judged
INSIDE = 4  # of so many situations, one is tried with the attention inside a block
KEPT = 24  # lists of situations, of some 6 MB each: as many as a batch goes through in turn


def judge_situations(harness: Harness) -> Judgement:
    """Try every situation of a contract of attention, and of what is inside it, some."""
    contract: Any = harness.contract
    found = judge(_Trial(harness).run(), harness.claims)
    if contract.inner is None:
        return found
    inside = _Trial(harness.of(contract.inner), INSIDE).run()
    return found.beside(judge(inside, harness.claims, f"`{contract.inner.entry}` alone: "))


class _Trial:
    """All situations, a few in a request: while the worker is busy, others are planned, judged."""

    def __init__(self, harness: Harness, each: int = 1) -> None:
        self._harness = harness
        self._situations = itertools.islice(situations_of(harness), 0, None, each)
        self._planned: list[Tried] = []
        self._came: list[Tried] = []
        self._exchange: Exchange | None = None  # in which they came
        self._outcomes: list[Outcome] = []

    def run(self) -> list[Outcome]:
        """What came of each."""
        self._plan()
        while asked := self._planned:
            self._harness.ask(partial(self._go_on, asked))
            self._came, self._exchange = asked, self._harness.session.exchanges[-1]
        self._judge()
        return self._outcomes

    def _go_on(self, asked: list[Tried]) -> None:
        self._plan()
        for one in asked:
            one.prepare()
        self._judge()

    def _plan(self) -> None:
        following = itertools.islice(self._situations, TOGETHER)
        self._planned = [Tried(self._harness, one) for one in following]

    def _judge(self) -> None:
        came = [one.outcome() for one in self._came]
        if self._exchange is not None:
            self._exchange.fine = [one.aspect is None for one in came]
        self._outcomes += came


def situations_of(harness: Harness) -> Iterator[Situation]:
    """All situations of a contract, the same ones for the same seed: made once for a batch."""
    contract: Any = harness.contract
    seed = derive_seed(harness.seed, "situations")
    made = _made(contract.oracle, contract.sizes, seed, harness.device)
    as_long: Counter[str] = Counter()
    for place, row in enumerate(rows_of(contract.situations, Draw(seed))):
        if place == len(made):
            draw = Draw(derive_seed(seed, str(place)), harness.device)
            made.append(fill(harness.drawing(draw), row, as_long[row["T"]]))
        as_long[row["T"]] += 1
        yield made[place]


@lru_cache(maxsize=KEPT)
def _made(*drawn_for: object) -> list[Situation]:
    """Those that are made already, in their order; more are added."""
    return []


__all__ = ["judge_situations", "model_of", "situations_of"]
