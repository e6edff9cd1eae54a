"""Try the situations of a contract, and judge which claims fail by the outcomes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from threading import Event
from typing import Any

from grader.sandbox.null import NullSession
from grader.suite.contract import Contract
from grader.suite.draw import Draw, derive_seed
from grader.suite.harness import Harness
from grader.suite.situations.agenda import SITUATIONS_PER_REQUEST
from grader.suite.situations.judging import DEFAULT_CLAIM, Judgement, judge
from grader.suite.situations.outcomes import Aspect, SituationOutcome
from grader.suite.situations.places import Places, forget_situations, kind_of
from grader.suite.situations.running import SituationRunner

INNER_EVERY_NTH = 4  # of this many situations of a part inside the contract, one is tried
# Situations of each wrong aspect, in which another submission is tried first.
TRIED_FIRST_PER_ASPECT = 4


def judge_situations(harness: Harness, is_one_enough: bool = False) -> Judgement:
    """Try every situation of a contract, and some situations of each part inside it.

    This is a phase of its own: its time does not count for the check that needs it first.

    Args:
        harness: The harness of the submission to try.
        is_one_enough: Whether to try no more once one is wrong that costs a check of the suite.
    """
    is_one_enough = is_one_enough and DEFAULT_CLAIM in harness.claims
    with harness.session.separate_phase(derive_seed(harness.seed, "situations/worker")):
        runner = SituationRunner(harness, is_one_enough=is_one_enough)
        found = _judge(runner.run(), harness, too_slow=runner.too_slow)
        return found if is_one_enough and found.failures else _with_parts(found, harness)


def judge_where_wrong(harness: Harness, other: Judgement) -> Judgement:
    """Try a submission only in situations where another one was wrong, and judge it.

    If, in the few smallest situations of each aspect, it is wrong in the same aspect as the other
    submission, then it counts as wrong in all situations in which the other one is.

    Args:
        harness: The harness of the submission to try.
        other: The judgement on the other submission, from a grading of the same seed.
    """
    wrong = sorted(other.wrong, key=lambda one: one.situation.size)
    ways = [[one for one in wrong if one.aspect is aspect] for aspect in Aspect]
    few = [one for alike in ways for one in alike[:TRIED_FIRST_PER_ASPECT]]
    with harness.session.separate_phase(derive_seed(harness.seed, "situations/worker")):
        mine = _try_again(harness, few)
        if any(mine[id(one)].aspect is not one.aspect for one in few):
            mine |= _try_again(harness, [one for one in wrong if id(one) not in mine])
        outcomes = [mine.get(id(one), one) for one in other.outcomes]
        found = _judge(outcomes, harness)
        return (
            found if other.failures.keys() <= found.failures.keys() else _with_parts(found, harness)
        )


def _with_parts(found: Judgement, harness: Harness) -> Judgement:
    """Try some situations of each part inside the contract, and add the judgements on them."""
    for part in harness.contract.part_contracts:
        inner_outcomes = SituationRunner(harness.of(part), INNER_EVERY_NTH).run()
        found = found.with_part(_judge(inner_outcomes, harness, f"`{part.entry}` alone: "))
    return found


def _judge(
    outcomes: Sequence[SituationOutcome], harness: Harness, of: str = "", too_slow: str = ""
) -> Judgement:
    further = kind_of(harness.contract).further_claims
    return judge(outcomes, harness.claims, of, too_slow, further)


def _try_again(
    harness: Harness, outcomes: Sequence[SituationOutcome]
) -> dict[int, SituationOutcome]:
    """Try a submission in the situations of these outcomes; map the ``id`` of each to a new one."""
    kind = kind_of(harness.contract)
    found: dict[int, SituationOutcome] = {}
    for start in range(0, len(outcomes), SITUATIONS_PER_REQUEST):
        some: Any = outcomes[start : start + SITUATIONS_PER_REQUEST]
        tried = {id(one): kind.new_run(harness, one.situation) for one in some}
        harness.ask()
        found |= {name: one.outcome() for name, one in tried.items()}
    return found


def precompute_situations(contracts: Iterable[Contract], seed: int, stop: Event) -> None:
    """Draw the situations of a grading to come, and compute the right answers in each.

    Args:
        contracts: Contracts of the suite that have situations.
        seed: The seed of the whole grading.
        stop: Once this event is set, the rest is left to the grading.
    """
    # Earlier gradings are over; only the next submission of a batch would need their situations.
    forget_situations()
    nobody: Any = NullSession()
    whole = [(one, 1) for one in contracts]
    parts = [(part, INNER_EVERY_NTH) for one, _ in whole for part in one.part_contracts]
    for one, every_nth in (*whole, *parts):
        kind, harness = kind_of(one), Harness(one, nobody, Draw(seed), {}, seed=seed)
        places = Places(harness, every_nth)
        for place in itertools.chain.from_iterable(places.requests(SITUATIONS_PER_REQUEST)):
            if stop.is_set():
                return
            kind.new_run(harness, places.situation(place)).prepare()
