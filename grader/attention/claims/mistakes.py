"""Claims that a mistake of the catalogue is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.attention.contract import AttentionContract
from grader.attention.observe import DROPPED, DROPPED_MASKED, OUTPUT, TRAINED, explain
from grader.diagnosis.catalogue import Explanation
from grader.suite.claims.structure import has_its_parameters
from grader.suite.compare import expect
from grader.suite.harness import Harness
from grader.suite.marks import needs, points

Check = Callable[[Harness], None]


def mistake_is_gone(*names: str, why: str, worth: int = 4) -> Check:
    """A check that none of these mistakes is among those that reproduce the submission.

    Args:
        names: Of mistakes in the catalogue.
        why: What stands behind the claim, for the report; it does not name the mistake.
        worth: Points.
    """

    def check(harness: Harness) -> None:
        found = harness.shared(explain)
        # What raised an exception was not seen; dropout may be by random numbers of one's own.
        known = OUTPUT in found.explained and not set(found.left) - {DROPPED, DROPPED_MASKED}
        there = any(mistake.name in names for one in found.sets for mistake in one)
        expect(
            known and not there,
            "the output is not yet what it should be",
        )

    check.__doc__ = why
    return points(worth)(needs(AttentionContract, "layout")(check))


def planted_mistakes_are_gone(names: Sequence[str], whys: Sequence[str]) -> list[Check]:
    """A check for each of several mistakes that may be there together, in any number.

    A submission that these mistakes alone don't reproduce fails them all.
    """

    def explain_these(harness: Harness) -> Explanation:
        has_its_parameters(harness)
        return explain(harness, among=names, tried=100_000)

    def one(name: str, why: str) -> Check:
        def check(harness: Harness) -> None:
            found = harness.shared(explain_these)
            expect(
                {OUTPUT, TRAINED} <= set(found.explained) and not found.left,
                "the output is neither right nor what the planted mistakes make of it: "
                "something else has changed",
            )
            there = any(mistake.name == name for mistake in found.sets[0])
            expect(not there, "this one is still there")

        check.__doc__ = why
        return points(2)(needs(AttentionContract, "layout")(check))

    return [one(name, why) for name, why in zip(names, whys, strict=True)]
