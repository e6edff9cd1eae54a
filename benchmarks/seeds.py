"""Fresh seeds on every solution, and with `all` every right version: full scores each time.

Usage: python benchmarks/seeds.py [RUNS] [all]
"""

from __future__ import annotations

import sys
from pathlib import Path

from grader.grading import Options, grade
from grader.kit import installed_kit
from grader.sandbox.process import Sandbox
from grader.submission import read_submission

ANSWERS = Path(__file__).parent.parent / "tests" / "answers"


def main(runs: str = "50", which: str = "solutions") -> None:
    """Print how many full scores came, and every check that was lost."""
    lost = 0
    with Sandbox() as sandbox:
        for exercise in installed_kit().exercises:
            right = sorted((ANSWERS / exercise.name).glob("right_*.py")) if which == "all" else []
            for path in [exercise.solution, *right]:
                submission = read_submission(path)
                full = 0
                for _ in range(int(runs)):
                    report = grade(submission, exercise, Options(device="cpu"), sandbox)
                    full += report.solved
                    for check in report.checks:
                        if check.earned < check.possible:
                            print(f"  {check.name} {check.message} (seed {report.seed})")
                print(f"{exercise.name:<10} {path.name:<40} {full} of {runs} full scores")
                lost += int(runs) - full
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
