"""Whether tests and a batch come to the same with four busy loops beside them as without.

The quiet run is as quiet as the machine is; what is compared are verdicts and points, no times.

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

LOOPS = 4
OUTCOMES = ("failure", "error", "skipped")
Found = Mapping[str, object]  # by the name of a test, or of a candidate


@contextmanager
def busy() -> Iterator[None]:
    """Meanwhile, so many loops want a core, each as much as a session of ours does."""
    words = [sys.executable, "-S", "-c", "while True: pass"]
    loops = [subprocess.Popen(words, start_new_session=True) for _ in range(LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def compare(what: str, run: Callable[[], Found]) -> int:
    """Run twice, and print how long each took and what differs; how much does."""
    quiet = _timed(f"{what}, quiet", run)
    with busy():
        crowded = _timed(f"{what}, with {LOOPS} busy loops", run)
    differ = sorted(
        name for name in quiet.keys() | crowded.keys() if quiet.get(name) != crowded.get(name)
    )
    for name in differ:
        print(f"  {name}: {quiet.get(name)} in quiet, then {crowded.get(name)}")
    print(f"{what}: {len(differ)} of {len(quiet)} differ", flush=True)
    return len(differ)


def _timed(what: str, run: Callable[[], Found]) -> Found:
    started, load = time.perf_counter(), os.getloadavg()[0]
    found = run()
    taken = time.perf_counter() - started
    print(f"{what}: {len(found)} results in {taken:.0f} s, load {load:.1f}", flush=True)
    return found


def run_tests(words: list[str]) -> Found:
    """The outcome of each test."""
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


def run_batch(submissions: Path, results: Path) -> Found:
    """The verdict of each check of each candidate."""
    words = command(submissions, results)
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    found: dict[str, object] = {}
    for line in (results / "results.jsonl").read_text(encoding="utf-8").splitlines():
        report = json.loads(line)
        checks = [(one["name"], one["verdict"], one["points"]) for one in report["checks"]]
        found[report["candidate"]] = (report["score"], checks, report["diagnosis"])
    return found


def tests(*words: str) -> int:
    """Compare runs of pytest."""
    return compare("tests", lambda: run_tests(list(words)))


def batch(count: str = "200") -> int:
    """Compare runs of a batch."""
    with handed(int(count)) as (submissions, results):
        folders = iter([results.with_name("quiet"), results.with_name("crowded")])
        return compare("batch", lambda: run_batch(submissions, next(folders)))


def main(what: str = "", *words: str) -> int:
    """Both, or one of them; 1 where anything differs."""
    chosen = {"tests": tests, "batch": batch}.get(what)
    differ = chosen(*words) if chosen else tests() + batch()
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
