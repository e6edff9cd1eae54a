"""Claims that a mistake of the catalogue is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.attention.contract import AttentionContract
from grader.attention.observe import (
    IN_TRAINING,
    IN_TRAINING_UNDER_MASK,
    OBSERVED_GRADIENTS,
    OUTPUT,
    effects_of,
    find_mistakes,
)
from grader.diagnosis.catalogue import Mistake
from grader.suite.claims.structure import has_its_parameters
from grader.suite.compare import expect, expect_all_close, fail
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.situations.implied import judgement

Check = Callable[[Harness], None]


def mistake_is_gone(*names: str, why: str, worth: int = 4) -> Check:
    """Return a check that none of these mistakes is among those that reproduce the submission.

    Args:
        names: Names of mistakes in the catalogue.
        why: Reason behind the claim, for the report; it does not name the mistake.
        worth: Points for the check.

    Example:
        test_maps_do_not_depend_on_the_length = attention.mistake_is_gone(
            "scaled-by-the-length", why="A longer sequence makes no query surer of a key."
        )
    """

    def check(harness: Harness) -> None:
        found = harness.shared(find_mistakes)
        # Calls that raised an exception are missing; dropout may draw its own random numbers.
        known = OUTPUT in found.explained and not set(found.unexplained) - {
            IN_TRAINING,
            IN_TRAINING_UNDER_MASK,
        }
        there = any(mistake.name in names for one in found.sets for mistake in one)
        if known and not there:
            return
        _show_what_is_wrong(harness)
        fail("the output is not right yet")

    check.__doc__ = why
    return points(worth)(needs(AttentionContract, "layout")(check))


def _show_what_is_wrong(harness: Harness) -> None:
    """Fail with wrong numbers if plain calls show some, as numbers do not give the repair away."""
    calls = harness.module().calls(harness.every_input())
    harness.ask()
    for call in calls:
        expect_all_close(call.outs, call.right_outputs)


def planted_mistakes_are_gone(names: Sequence[str], whys: Sequence[str]) -> list[Check]:
    """Return a check for each mistake planted in an exercise's file: that it is repaired.

    Any number of the mistakes may still be there. A submission that these mistakes alone do not
    reproduce fails all of the checks.

    Args:
        names: Names of the planted mistakes in the catalogue.
        whys: Reason behind each check, for the report.

    Example:
        test_first, test_second = attention.planted_mistakes_are_gone(
            ["scaled-by-the-length", "softmax-over-the-queries"],
            ["One of two, in the order in which it computes.", "The other of the two."],
        )
    """

    def explain_these(harness: Harness) -> tuple[bool, dict[str, float]]:
        has_its_parameters(harness)
        found = find_mistakes(harness, among=names, max_tried=100_000)
        made = found.sets[0] if found.sets else ()
        is_known = {OUTPUT, OBSERVED_GRADIENTS} <= set(found.explained) and not found.unexplained
        if is_known and not made:  # once all are gone, all has to be right
            judged = judgement(harness)
            is_known = judged is None or not judged.failures
        effects = effects_of([one for one in made if isinstance(one, Mistake)], harness)
        return is_known, effects

    def one(name: str, why: str) -> Check:
        def check(harness: Harness) -> None:
            is_known, effects = harness.shared(explain_these)
            expect(
                is_known,
                "the output is neither right nor what the planted mistakes give: "
                "something else has changed",
            )
            effect = effects.get(name)
            expect(
                effect is None,
                f"not yet: this alone puts the output off by up to {effect or 0:.3g}",
            )

        check.__doc__ = why
        return points(2)(needs(AttentionContract, "layout")(check))

    return [one(name, why) for name, why in zip(names, whys, strict=True)]
