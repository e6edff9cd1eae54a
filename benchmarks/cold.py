"""Time ``grade EXERCISE`` from a cold start, side by side with plain pytest of the same suite.

Usage: python benchmarks/cold.py [EXERCISE] [RUNS]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from grader.kit import installed_kit

ROOT = Path(__file__).parent.parent


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Return the wall-clock time of a whole process, which must succeed."""
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return taken


def main(name: str = "exercise3", runs: str = "7") -> None:
    """Time both commands in turn, after one warm-up each; print the medians and their ratio."""
    exercise = installed_kit().find(name)
    ours = [str(Path(sys.executable).parent / "grade"), name, str(exercise.solution)]
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "in_process", "-W", "ignore"]
    plain += ["-c", str(ROOT / "grader/suite/suite.ini"), str(exercise.suite)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "benchmarks"),
        "SUBMISSION": str(exercise.solution),
    }
    pairs = []
    for number in range(int(runs) + 1):
        pair = (seconds([*ours, "--device", "cpu"], environment), seconds(plain, environment))
        pairs += [pair] if number else []
    for label, column in (("grade", 0), ("plain pytest", 1)):
        print(f"{label:<13} {statistics.median(pair[column] for pair in pairs):.2f} s")
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"ratio         {ratio:.2f} (median of {len(pairs)} pairs; to reach: at most 1.1)")


if __name__ == "__main__":
    main(*sys.argv[1:])
