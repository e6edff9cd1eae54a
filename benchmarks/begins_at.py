"""Find the points that each fix-it exercise earns as given, which count for nobody: ``begins_at``.

Grades the files at several seeds and writes the lowest points into the manifest. Prints an exercise
whose points changed or differ between seeds.

Usage: python -m benchmarks.begins_at [--seeds 1 2 3] [EXERCISE ...]
"""

from __future__ import annotations

import argparse
import re

from benchmarks.gradings import own_sandbox
from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.records import Explain
from grader.submission import read_submission
from tests.support.paths import ROOT

MANIFEST = ROOT / "exercises" / "kit.toml"
SEEDS = (1, 2, 3)


def earned(exercise: Exercise, seed: int) -> int:
    """Return the points that an exercise's file earns as it is given."""
    options = Options(seed=seed, device="cpu", explain=Explain.NOTHING)
    report = grade(read_submission(exercise.stub), exercise, options, own_sandbox())
    return sum(check.earned for check in report.checks)


def with_begin(manifest: str, name: str, points: int) -> str:
    """Return the manifest's text with ``begins_at`` of an exercise set to these points."""
    begins = f"begins_at = {points}\n" if points else ""

    def begun(found: re.Match[str]) -> str:
        return re.sub(r"begins_at = \d+\n", "", found[0]) + begins

    return re.sub(rf'\nname = "{name}"\n(?:.+\n)*?(?=hints = )', begun, manifest)


def main() -> None:
    """Grade the fix-it exercises, print what changed and write the manifest."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("exercises", nargs="*")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    asked = parser.parse_args()
    manifest = MANIFEST.read_text(encoding="utf-8")
    for exercise in load_kit(ROOT).exercises:
        if exercise.track != "bugs" or exercise.name not in (asked.exercises or [exercise.name]):
            continue
        every = [earned(exercise, seed) for seed in asked.seeds]
        if min(every) != exercise.begins_at or len({*every}) > 1:
            print(f"{exercise.name}: {exercise.begins_at}, now {every}", flush=True)
        manifest = with_begin(manifest, exercise.name, min(every))
    MANIFEST.write_text(manifest, encoding="utf-8")


if __name__ == "__main__":
    main()
