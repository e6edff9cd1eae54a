"""Compare the results of tests and of a batch with and without four busy loops beside them.

The quiet run is only as quiet as the machine; verdicts and points are compared, not times.

Usage: python -m benchmarks.busy tests [WORDS...]    pytest -n 2, with these words for pytest
       python -m benchmarks.busy batch [COUNT]       a batch of so many submissions of all kinds
       python -m benchmarks.busy                     both
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.batch import command, handed

BUSY_LOOPS = 4
OUTCOMES = ("failure", "error", "skipped")
ResultsByName = Mapping[str, object]  # of a test, or of a candidate


@contextmanager
def busy_loops() -> Iterator[None]:
    """Keep ``BUSY_LOOPS`` loops busy, each competing for a core as much as this process does."""
    words = [sys.executable, "-S", "-c", "while True: pass"]
    loops = [subprocess.Popen(words, start_new_session=True) for _ in range(BUSY_LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def compare(what: str, run: Callable[[], ResultsByName]) -> int:
    """Run twice, in quiet and with busy loops; print times and differences, return their number."""
    quiet = _timed(f"{what}, quiet", run)
    with busy_loops():
        crowded = _timed(f"{what}, with {BUSY_LOOPS} busy loops", run)
    differ = sorted(
        name for name in quiet.keys() | crowded.keys() if quiet.get(name) != crowded.get(name)
    )
    for name in differ:
        print(f"  {name}: {quiet.get(name)} in quiet, then {crowded.get(name)}")
    print(f"{what}: {len(differ)} of {len(quiet)} differ", flush=True)
    return len(differ)


def _timed(what: str, run: Callable[[], ResultsByName]) -> ResultsByName:
    started, load = time.perf_counter(), os.getloadavg()[0]
    found = run()
    taken = time.perf_counter() - started
    print(f"{what}: {len(found)} results in {taken:.0f} s, load {load:.1f}", flush=True)
    return found


def run_tests(words: list[str]) -> ResultsByName:
    """Run pytest and return the outcome of each test."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        pytest = [sys.executable, "-m", "pytest", "-n", "2", "-q", f"--junit-xml={report}"]
        subprocess.run([*pytest, *words], stdout=subprocess.DEVNULL, check=False)
        return {
            f"{case.get('classname')}::{case.get('name')}": next(
                (kind for kind in OUTCOMES if case.find(kind) is not None), "passed"
            )
            for case in ElementTree.parse(report).iter("testcase")
        }


def run_batch(submissions: Path, results: Path) -> ResultsByName:
    """Grade a batch and return each candidate's score, the checks' verdicts, and the diagnosis."""
    words = command(submissions, results)
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    found: dict[str, object] = {}
    for line in (results / "results.jsonl").read_text(encoding="utf-8").splitlines():
        report = json.loads(line)
        checks = [(one["name"], one["verdict"], one["points"]) for one in report["checks"]]
        found[report["candidate"]] = (report["score"], checks, report["diagnosis"])
    return found


def tests(*words: str) -> int:
    """Compare two runs of pytest."""
    return compare("tests", lambda: run_tests(list(words)))


def batch(count: str = "200") -> int:
    """Compare two runs of a batch."""
    with handed(int(count)) as (submissions, results):
        folders = iter([results.with_name("quiet"), results.with_name("crowded")])
        return compare("batch", lambda: run_batch(submissions, next(folders)))


def main(what: str = "", *words: str) -> int:
    """Compare tests, batches or both; return 1 if anything differs, else 0."""
    chosen = {"tests": tests, "batch": batch}.get(what)
    differ = chosen(*words) if chosen else tests() + batch()
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
