"""`grade batch`: submissions a second, memory, and whether a killed batch gives the same results.

Usage: python benchmarks/batch.py rate [COUNT...]    figures at each count of submissions
       python benchmarks/batch.py plain [COUNT]      compare with a plain pytest per submission
       python benchmarks/batch.py kill [TIMES]       kill -9 at random moments, then continue
"""

from __future__ import annotations

import contextlib
import csv
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.kit import installed_kit
from tests.support.answers import of_kind
from tests.support.takehomes import write_record
from tests.support.wrong import wrong_versions

ROOT = Path(__file__).parent.parent
EXERCISE = "exercise3"
COMMAND = [sys.executable, "-c", "from grader.cli import main; main()", "batch"]
# Of a thousand submissions, how many are wrong, cannot be tried, raise, and hang; others are right.
WRONG, BROKEN, RAISING, HANGING = 300, 60, 60, 5
BROKEN_SOURCES = ("import os\nos._exit(3)\n", "import nowhere\n", "class SelfAttentionV3(:\n", "")


def sources() -> Iterator[str]:
    """Yield the sources of submissions of all kinds, endlessly and always in the same order."""
    dice = random.Random(1)
    exercise = installed_kit().find(EXERCISE)
    solution = exercise.solution.read_text(encoding="utf-8")
    rights = [solution, *(one.submission.source for one in of_kind(exercise, "right"))]
    wrongs = [wrong.submission().source for wrong in wrong_versions(exercise)]
    wrongs = [source for source in wrongs if "while True" not in source]
    raising = solution.replace("return ", 'raise ValueError("no")\n        return ', 1)
    hanging = solution.replace("return ", "while True:\n            pass\n        return ", 1)
    while True:
        thousand = [dice.choice(wrongs) for _ in range(WRONG)]
        thousand += [dice.choice(BROKEN_SOURCES) for _ in range(BROKEN)]
        thousand += [raising] * RAISING + [hanging] * HANGING
        thousand += [dice.choice(rights) for _ in range(1000 - len(thousand))]
        dice.shuffle(thousand)
        yield from thousand


def hand_in(folder: Path, count: int) -> None:
    """Write the files of `count` candidates into a folder."""
    for number, source in zip(range(count), sources(), strict=False):
        path = folder / f"candidate{number:06}" / f"{EXERCISE}.py"
        path.parent.mkdir(parents=True)
        path.write_text(source, encoding="utf-8")


@contextmanager
def handed(count: int) -> Iterator[tuple[Path, Path]]:
    """Make a temporary folder of `count` submissions; yield its path and a path for results."""
    with tempfile.TemporaryDirectory() as folder:
        submissions = Path(folder) / "submissions"
        hand_in(submissions, count)
        yield submissions, Path(folder) / "results"


def command(submissions: Path, results: Path) -> list[str]:
    """Return the command that grades a folder of submissions, with a fixed seed."""
    record = write_record(submissions.with_name("takehome.toml"), EXERCISE, seed=1)
    return [*COMMAND, str(submissions), "--takehome", str(record), "--out", str(results)]


class Memory:
    """The peak memory of a process and its descendants, in MiB; shared memory counts once."""

    def __init__(self, pid: int) -> None:
        self.most = 0.0
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> float:
        """Stop watching and return the peak."""
        self._done.set()
        self._thread.join()
        return self.most

    def _watch(self) -> None:
        while not self._done.wait(0.5):
            self.most = max(self.most, sum(map(_proportional, _below(self._pid))))


def _below(pid: int) -> list[int]:
    """Return the ids of a process and its descendants; orphaned ones are not found."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += parents.get(found[-1], [])
    return found


def _proportional(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def rate(*counts: str) -> None:
    """Print the rate and the memory of a batch at each count of submissions."""
    for count in map(int, counts or ("1000",)):
        with handed(count) as (submissions, results):
            started = time.perf_counter()
            with subprocess.Popen(
                command(submissions, results), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                memory = Memory(process.pid)
                process.wait()
            taken = time.perf_counter() - started
            size = sum(path.stat().st_size for path in results.iterdir()) / 2**20
            print(
                f"{count:6} submissions: {taken:7.1f} s, {count / taken:5.1f} a second, "
                f"{memory.stop():5.0f} MiB, results {size:6.1f} MiB",
                flush=True,
            )
    print("(to reach: 15 a second, 1,536 MiB)")


def plain(count: str = "10") -> None:
    """Print the rate of one plain pytest process per submission, then that of a batch of 500."""
    exercise = installed_kit().find(EXERCISE)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "in_process", "-W", "ignore"]
    pytest += ["-c", str(ROOT / "grader/suite/suite.ini"), str(exercise.suite)]
    with handed(int(count)) as (submissions, _):
        started = time.perf_counter()
        for path in sorted(submissions.glob("*/*.py")):
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(ROOT)]),
                "SUBMISSION": str(path),
            }
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    pytest, env=environment, capture_output=True, timeout=60, check=False
                )
        alone = int(count) / (time.perf_counter() - started)
    print(f"one plain pytest process a submission: {alone:.2f} a second")
    rate("500")


def kill(times: str = "50", count: str = "60") -> None:
    """Kill batches at random moments until each is done; compare them with an undisturbed one."""
    dice = random.Random(0)
    with handed(int(count)) as (submissions, results):
        subprocess.run(command(submissions, results), capture_output=True, check=True)
        wanted = _gradebook(results)
        kills = rounds = 0
        while kills < int(times):
            rounds += 1
            again = results.with_name(f"again{rounds}")
            while kills < int(times) and not (again / "gradebook.csv").exists():
                kills += _killed(command(submissions, again), dice.uniform(0.5, 9.0))
            subprocess.run(command(submissions, again), capture_output=True, check=True)
            assert _gradebook(again) == wanted, f"round {rounds} came to something else"
    print(f"{kills} kills in {rounds} × {count} submissions: each came to the same results")


def _killed(words: list[str], after: float) -> bool:
    """Start a batch and kill it after a time in seconds; return whether it was still at work."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    return False


def _gradebook(results: Path) -> list[list[str]]:
    with (results / "gradebook.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


if __name__ == "__main__":
    wanted = {"rate": rate, "plain": plain, "kill": kill}.get("".join(sys.argv[1:2]))
    if wanted is None:
        sys.exit(__doc__)
    wanted(*sys.argv[2:])
