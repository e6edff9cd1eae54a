"""All situations of a contract, tried: what came of each, and which claims are told of it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from threading import Event
from typing import Any, Protocol

from grader.sandbox.batch import RequestBatch
from grader.sandbox.channel import Exchange
from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.situations import filling, levels
from grader.suite.situations.covering import rows_of
from grader.suite.situations.factors import Model, Row
from grader.suite.situations.filling import Situation
from grader.suite.situations.judging import Judgement, judge
from grader.suite.situations.outcomes import Outcome
from grader.suite.situations.trying import Tried

TOGETHER = 16  # situations in a request; while the worker is busy, others are drawn and judged
INSIDE = 4  # of so many situations, one is tried with what is inside
KEPT = 12  # lists of situations, of some 30 MB each: the exercises that a batch goes through


class Kind(Protocol):
    """What the situations of a kind of contract are."""

    def model(self, contract: Contract) -> Model:
        """Their factors."""

    def fill(self, harness: Harness, row: Row, turn: int) -> Situation:
        """One of them; as ``filling.fill`` has it."""

    def tried(self, harness: Harness, situation: Situation) -> Tried:
        """One that is planned."""


class _Any:
    """Those of any contract."""

    model = staticmethod(levels.model_of)
    fill = staticmethod(filling.fill)
    tried = staticmethod(Tried)


def kind_of(contract: Contract) -> Kind:
    """What the situations of a contract are."""
    found: Kind = contract.kind or _Any()
    return found


@cache
def model_of(contract: Contract) -> Model:
    """What the situations of a contract are made of."""
    return kind_of(contract).model(contract)


def judge_situations(harness: Harness) -> Judgement:
    """Try every situation of a contract, and of what is inside it, some."""
    found = judge(_Trial(harness).run(), harness.claims)
    for part in harness.contract.inside:
        inside = _Trial(harness.of(part), INSIDE).run()
        found = found.beside(judge(inside, harness.claims, f"`{part.entry}` alone: "))
    return found


def foresee(contract: Contract, seed: int, enough: Event) -> None:
    """Draw the situations of a grading to come, and compute what is right in each.

    Args:
        contract: Of its suite.
        seed: Of the whole grading.
        enough: Set, it leaves the rest to the grading.
    """
    _made.cache_clear()  # of gradings that are over; in a batch, which foresees none, others follow
    nobody: Any = _Nobody()
    for one, each in ((contract, 1), *((part, INSIDE) for part in contract.inside)):
        kind, harness = kind_of(one), Harness(one, nobody, Draw(seed), {}, seed=seed)
        for situation in itertools.islice(situations_of(harness), 0, None, each):
            if enough.is_set():
                return
            kind.tried(harness, situation).prepare()


class _Nobody:
    """In a session's place, and its channel's, where nothing is sent."""

    device = "cpu"

    def batch(self) -> RequestBatch:
        """What is planned, and dropped."""
        channel: Any = self
        return RequestBatch(channel)

    def new_handle(self) -> int:
        """For an object that is never made."""
        return 0

    def release_after(self, owner: object, handle: int) -> None:
        """There is nothing to release."""


class _Trial:
    """All situations, a few in a request: while the worker is busy, others are planned, judged."""

    def __init__(self, harness: Harness, each: int = 1) -> None:
        self._harness = harness
        self._kind = kind_of(harness.contract)
        self._situations = itertools.islice(situations_of(harness), 0, None, each)
        self._planned: list[Tried] = []
        self._came: list[Tried] = []
        self._exchange: Exchange | None = None  # in which they came
        self._outcomes: list[Outcome] = []

    def run(self) -> list[Outcome]:
        """What came of each."""
        contract = self._harness.contract
        for one in (contract, *contract.variants.values()):
            _ = self._harness.of(one).fit  # asked now: while others are tried, nothing else can be
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
        self._planned = [self._kind.tried(self._harness, one) for one in following]

    def _judge(self) -> None:
        came = [one.outcome() for one in self._came]
        if self._exchange is not None:
            self._exchange.fine = [one.aspect is None for one in came]
        self._outcomes += came


def situations_of(harness: Harness) -> Iterator[Situation]:
    """All situations of a contract, the same ones for the same seed: made once for a batch."""
    contract = harness.contract
    seed = derive_seed(harness.seed, "situations")
    made = _made(contract.oracle, contract.sizes, seed)
    as_long: Counter[str] = Counter()
    model = model_of(contract)
    for place, row in enumerate((*rows_of(model, Draw(seed)), *model.extremes)):
        length = row.get("T", "")
        if place == len(made):
            draw = Draw(derive_seed(seed, str(place)))
            made.append(kind_of(contract).fill(harness.drawing(draw), row, as_long[length]))
        as_long[length] += 1
        yield made[place]


@lru_cache(maxsize=KEPT)
def _made(*drawn_for: object) -> list[Situation]:
    """Those that are made already, in their order; more are added."""
    return []
