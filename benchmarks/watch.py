"""Time `grade watch` in a real terminal, from a save to the verdict on the screen.

Usage: python benchmarks/watch.py [EXERCISE] [SAVES]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pexpect

from grader.kit import installed_kit
from grader.practice.folder import make_folder

COMMAND = ["-c", "from grader.cli import main; main()"]
SAVE_INTERVAL_S = 0.5  # nobody saves faster, and meanwhile the next worker starts


def main(name: str = "exercise3", saves: str = "25") -> None:
    """Print the median time for a right answer, and for one whose mistake has to be found."""
    exercise = installed_kit().find(name)
    right = exercise.solution.read_text(encoding="utf-8")
    wrong = right.replace("softmax(dim=-1)", "softmax(dim=-2)")
    with tempfile.TemporaryDirectory() as folder:
        make_folder(Path(folder), installed_kit())
        file = Path(folder) / "exercises" / exercise.track / f"{name}.py"
        for text, what in ((right, "a right answer"), (wrong, "a wrong one, with its diagnosis")):
            first, taken = _watch(Path(folder), name, file, text, int(saves))
            print(f"save to verdict, {what}: {statistics.median(taken) * 1000:.0f} ms")
            if first:
                print(f"save to what is wrong first: {statistics.median(first) * 1000:.0f} ms")
    print("(to reach: 150 ms for the right answer; 0.15 of import torch for what is wrong first)")


def _watch(
    folder: Path, name: str, file: Path, text: str, saves: int
) -> tuple[list[float], list[float]]:
    """Save so many times; return the seconds to what is wrong first, and those to the verdicts."""
    file.write_text(text, encoding="utf-8")
    child = pexpect.spawn(
        sys.executable,
        [*COMMAND, "watch", name],
        cwd=folder,
        dimensions=(50, 120),
        env={**os.environ, "NO_COLOR": "1"},
    )
    first: list[float] = []
    taken = []
    seed, _ = _seed_after(child, "")
    for number in range(saves):
        time.sleep(SAVE_INTERVAL_S)
        file.write_text(f"{text}\n# save {number}\n", encoding="utf-8")
        started = time.perf_counter()
        seed, told = _seed_after(child, seed)
        taken.append(time.perf_counter() - started)
        first += [told - started] if told else []
    child.send("q")
    child.expect(pexpect.EOF, timeout=10)
    return first, taken


def _seed_after(child: pexpect.spawn, seed: str) -> tuple[str, float]:
    """Wait for the verdict of a grading with another seed than this one.

    Return its seed, and when the screen said what is wrong first, 0 if it did not.
    """
    found, told = seed, 0.0
    while found == seed:
        if child.expect([r"wrong so far", r"seed (\d+)"], timeout=60):
            found = child.match.group(1).decode()
        else:
            told = told or time.perf_counter()
    return found, told


if __name__ == "__main__":
    main(*sys.argv[1:])
