"""``python -m tests.support.sentences [EXERCISE...]``: what holds each sentence of a stub."""

from __future__ import annotations

import sys

from grader.authoring.sentences import NOTHING_PREFIX, entries, sentences
from grader.kit import load_kit
from tests.support.paths import ROOT

KIT = load_kit(ROOT)


def table(exercise: str) -> str:
    """Sentences and checks side by side."""
    one = KIT.find(exercise)
    lines, order = [f"# {exercise}"], sentences(one.stub)
    for entry in sorted(
        entries(KIT, one), key=lambda entry: [*order, entry.says].index(entry.says)
    ):
        lines += ["", entry.says]
        lines += [f"    {held.part:40}  {held.check:52}  {held.wrong}" for held in entry.held]
        lines += [f"    {NOTHING_PREFIX} {entry.nothing}"] if entry.nothing else []
    return "\n".join(lines)


if __name__ == "__main__":
    for exercise in KIT.exercises:
        if exercise.name in (sys.argv[1:] or [exercise.name]):
            sys.stdout.write(f"{table(exercise.name)}\n\n")
