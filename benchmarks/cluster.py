"""Compare `grade batch --ray` with the built-in processes, on this machine and the same files.

Usage: python benchmarks/cluster.py [SUBMISSIONS] [PAIRS]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.batch import command, handed
from grader.hiring.store import BatchStore

WAY_OPTIONS = {"built in": [], "ray": ["--ray"]}


def seconds(submissions: Path, results: Path, more: list[str], count: int) -> tuple[float, float]:
    """Return the seconds from a cold start to the first result, and to the end of the command."""
    words = [*command(submissions, results), "--jobs", str(os.cpu_count()), *more]
    started = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        while process.poll() is None and not count_graded(results):
            time.sleep(0.02)
        first = time.perf_counter() - started
        said, _ = process.communicate()
    whole = time.perf_counter() - started
    if process.returncode or count_graded(results) != count:
        sys.exit(f"{words} failed:\n{said.decode()}")
    return first, whole


def count_graded(results: Path) -> int:
    """Return how many results a batch has so far."""
    if not (results / "results.sqlite").exists():
        return 0
    with BatchStore(results / "results.sqlite") as store:
        return len(store.done())


def main(count: str = "400", pairs: str = "5") -> None:
    """Time both ways in turn, and print the medians and the ratio of ray to built in."""
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAY_OPTIONS}
    with handed(int(count)) as (submissions, results):
        for number in range(int(pairs)):
            for way, more in WAY_OPTIONS.items():
                out = results / f"{way} {number}"
                found[way].append(seconds(submissions, out, more, int(count)))
                first, whole = found[way][-1]
                load = os.getloadavg()[0]
                print(f"{way:<8}  first result {first:.1f} s, whole {whole:.1f} s, load {load:.1f}")
    for way, times in found.items():
        first, whole = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{way:<8}  median: first result {first:.1f} s, whole {whole:.1f} s")
    ratio = statistics.median(
        ray[1] / own[1] for own, ray in zip(found["built in"], found["ray"], strict=True)
    )
    print(f"ratio     {ratio:.2f} over {count} submissions, median of {pairs} pairs; to reach: 1.3")


if __name__ == "__main__":
    main(*sys.argv[1:])
