"""What each fix-it exercise earns as it is given, which counts for nobody: ``begins_at``.

Grades the files at some seeds and writes the least into the manifest; where it is not the same at
all of them, it says so.

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
    """The points of the file as it is given."""
    options = Options(seed=seed, device="cpu", explain=Explain.NOTHING)
    report = grade(read_submission(exercise.stub), exercise, options, own_sandbox())
    return sum(check.earned for check in report.checks)


def with_begin(manifest: str, name: str, points: int) -> str:
    """The manifest in which an exercise begins at so many points."""
    begins = f"begins_at = {points}\n" if points else ""

    def begun(found: re.Match[str]) -> str:
        return re.sub(r"begins_at = \d+\n", "", found[0]) + begins

    return re.sub(rf'\nname = "{name}"\n(?:.+\n)*?(?=hints = )', begun, manifest)


def main() -> None:
    """Grade them, and write what changed."""
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
