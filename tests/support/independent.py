"""Right answers that were written from the stub alone, by one person each."""

from __future__ import annotations

from grader.kit import load_kit
from tests.support.answers import of_kind
from tests.support.paths import ROOT

KIT = load_kit(ROOT)
WRITTEN = [exercise.name for exercise in KIT.exercises if exercise.track != "bugs"]
# These were made from one another, or share what the others do not.
KIN = {
    frozenset({"right_loop_over_heads", "right_unusual_file"}),
    frozenset({"right_guard_with_else", "right_list_comprehension"}),
    frozenset({"right_plain", "right_unusual_file"}),
    frozenset({"right_custom_function", "right_pairs"}),
}


def stub_of(name: str) -> str:
    return KIT.find(name).stub.read_text(encoding="utf-8")


def solution_of(name: str) -> str:
    return KIT.find(name).solution.read_text(encoding="utf-8")


def answers(name: str) -> dict[str, str]:
    """Those of an exercise, each with what it is in a comment."""
    plain = (one for one in of_kind(KIT.find(name), "right") if "/" not in one.name)
    return {one.name: f"# {one.what}\n{one.submission.source}" for one in plain}
