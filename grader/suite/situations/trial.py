"""All situations of a contract, tried: which claims are told of what came of them."""

from __future__ import annotations

import itertools
from threading import Event
from typing import Any

from grader.sandbox.null import NullSession
from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.situations.agenda import TOGETHER
from grader.suite.situations.judging import Judgement, judge
from grader.suite.situations.places import Places, forget, kind_of
from grader.suite.situations.running import SituationRunner

INSIDE = 4  # of so many situations, one is tried with what is inside


def judge_situations(harness: Harness) -> Judgement:
    """Try every situation of a contract, and of what is inside it, some.

    It is a phase of its own: the check that happens to need it first does not pay for it.
    """
    with harness.session.beside(derive_seed(harness.seed, "situations/worker")):
        runner = SituationRunner(harness)
        outcomes = runner.run()
        found = judge(outcomes, harness.claims, too_slow=runner.too_slow)
        for part in harness.contract.inside:
            inside = SituationRunner(harness.of(part), INSIDE).run()
            found = found.beside(judge(inside, harness.claims, f"`{part.entry}` alone: "))
    return found


def foresee(contract: Contract, seed: int, enough: Event) -> None:
    """Draw the situations of a grading to come, and compute what is right in each.

    Args:
        contract: Of its suite.
        seed: Of the whole grading.
        enough: Set, it leaves the rest to the grading.
    """
    forget()  # what was drawn for gradings that are over; in a batch others follow
    nobody: Any = NullSession()
    for one, each in ((contract, 1), *((part, INSIDE) for part in contract.inside)):
        kind, harness = kind_of(one), Harness(one, nobody, Draw(seed), {}, seed=seed)
        places = Places(harness, each)
        for place in itertools.chain.from_iterable(places.requests(TOGETHER)):
            if enough.is_set():
                return
            kind.tried(harness, places.situation(place)).prepare()
