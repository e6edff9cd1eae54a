"""The situations of a contract, tried: which claims are told of what came of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from threading import Event
from typing import Any

from grader.sandbox.null import NullSession
from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.situations.agenda import TOGETHER
from grader.suite.situations.judging import Judgement, judge
from grader.suite.situations.outcomes import Aspect, Outcome
from grader.suite.situations.places import Places, forget, kind_of
from grader.suite.situations.running import SituationRunner

INSIDE = 4  # of so many situations, one is tried with what is inside
FEW = 4  # situations that are wrong alike, in which it is looked whether another is wrong there too


def judge_situations(harness: Harness) -> Judgement:
    """Try every situation of a contract, and of what is inside it, some.

    It is a phase of its own: the check that happens to need it first does not pay for it.
    """
    with harness.session.beside(derive_seed(harness.seed, "situations/worker")):
        runner = SituationRunner(harness)
        outcomes = runner.run()
        return _with_inside(judge(outcomes, harness.claims, too_slow=runner.too_slow), harness)


def judge_where_wrong(harness: Harness, other: Judgement) -> Judgement:
    """Try what may be wrong where another is: which claims would be told of it.

    What goes wrong as the other does in the few smallest situations, of each way to be wrong,
    counts as wrong in all in which the other is.

    Args:
        harness: Of what is tried.
        other: What came of the other, in a grading of the same seed.
    """
    wrong = sorted(other.wrong, key=lambda one: one.situation.size)
    ways = [[one for one in wrong if one.aspect is aspect] for aspect in Aspect]
    few = [one for alike in ways for one in alike[:FEW]]
    with harness.session.beside(derive_seed(harness.seed, "situations/worker")):
        mine = _again(harness, few)
        if any(mine[id(one)].aspect is not one.aspect for one in few):
            mine |= _again(harness, [one for one in wrong if id(one) not in mine])
        outcomes = [mine.get(id(one), one) for one in other.outcomes]
        found = judge(outcomes, harness.claims)
        return found if other.told.keys() <= found.told.keys() else _with_inside(found, harness)


def _with_inside(found: Judgement, harness: Harness) -> Judgement:
    """What came of a contract's situations, and of some of what is inside it."""
    for part in harness.contract.inside:
        inside = SituationRunner(harness.of(part), INSIDE).run()
        found = found.beside(judge(inside, harness.claims, f"`{part.entry}` alone: "))
    return found


def _again(harness: Harness, outcomes: Sequence[Outcome]) -> dict[int, Outcome]:
    """What comes in the same situations, by the identity of what came before."""
    kind = kind_of(harness.contract)
    found: dict[int, Outcome] = {}
    for start in range(0, len(outcomes), TOGETHER):
        some: Any = outcomes[start : start + TOGETHER]
        tried = {id(one): kind.tried(harness, one.situation) for one in some}
        harness.ask()
        found |= {name: one.outcome() for name, one in tried.items()}
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
