"""What the candidates of a batch were sent: a take-home, or exercises that are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GradeError
from grader.hiring.takehome import GradingRules, read_takehome
from grader.kit import Kit


@dataclass(frozen=True)
class SentWork:
    """What the candidates of a batch were sent, and how what comes back is graded.

    Attributes:
        weights: The weight of each exercise, in order.
        rules: How files are graded.
        identity: What was sent, as TOML, by which a batch knows it again; empty without a
            take-home.
        seed: The take-home's seed; None where each batch draws its own.
    """

    weights: Mapping[str, float]
    rules: GradingRules
    identity: str = ""
    seed: int | None = None


def what_was_sent(record: Path | None, names: Sequence[str], kit: Kit) -> SentWork:
    """Return what a take-home's record says, or the named exercises with equal weights.

    Args:
        record: The take-home's record that ``grade pack`` wrote; None if exercises are named.
        names: The exercises to grade if there is no take-home.
        kit: The kit that has the exercises.

    Raises:
        GradeError: There is neither a record nor a name, or both; the record cannot be used.
    """
    if (record is None) == (not names):
        raise GradeError("say what was sent: --takehome FILE, or --exercise NAME for each")
    if record is None:
        return SentWork({kit.find(name).name: 1.0 for name in names}, GradingRules())
    takehome = read_takehome(record, kit)
    weights = {one.exercise: one.weight for one in takehome.sent}
    return SentWork(weights, takehome, takehome.identity(), takehome.seed)
