"""Measure what a GPU costs a grading and whether its isolation holds, each figure with its target.

From a checkout and a folder of wheels, without any network:

    python -m venv .venv && .venv/bin/python -m pip install --no-index --find-links WHEELS -e .
    .venv/bin/python -m benchmarks.gpu

WHEELS is made before, where there is a network, with the same Python and for the same system:
`python -m pip download -d WHEELS . hatchling editables`.

It takes less than five minutes. Its exit code is 0 if every target is met, 1 if one is not, and 2
if there is no GPU. ``--device cpu`` does all of it on the CPU, which shows only that this file
works; ``--seconds N`` sets how long verdicts are compared.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.gpu_files import (
    HARMS,
    ROOT,
    differences,
    opened,
    seen_of_another,
    unexpected_verdicts,
)
from grader.diagnosis.edits import edited, read_edits
from grader.errors import GradeError
from grader.grading import Options, grade
from grader.hiring.process_pool import GradingPool
from grader.hiring.tasks import PoolSettings, Task
from grader.kit import Exercise, load_kit
from grader.records import Explain
from grader.sandbox.clock import Clock
from grader.sandbox.gpu import first_gpu
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from grader.wire.messages import Load, Ping, Request, Step

TIMED_RUNS = 5  # of which the median is printed
MAX_SLOWDOWN = 3.0  # of a warm grading on a GPU, compared with one on the CPU
PROCESSES, TASKS = 3, 12
MAX_TOTAL_S = 300  # for the whole benchmark
WARM_EXERCISES = ("exercise3", "decoder2")
KIT = load_kit(ROOT)
BASE_OPTIONS = Options(1, explain=Explain.NOTHING, timeout=30.0)


class Table:
    """A table of figures, printed row by row, which records whether all meet their targets."""

    def __init__(self) -> None:
        self.holds = True

    def row(self, what: str, came: object, asked: str = "", holds: bool = True) -> None:
        """Print one line: a figure, its target, and whether it meets the target."""
        self.holds &= holds
        verdict = ("as asked" if holds else "NOT AS ASKED") if asked else ""
        print(f"{what:<42} {came!s:<34} {asked:<28} {verdict}".rstrip(), flush=True)

    def trial(self, what: str, asked: str, attempt: Callable[[], list[str]]) -> None:
        """Print a line with what an attempt finds wrong, which should be nothing.

        An exception is printed as a finding, and the benchmark goes on.
        """
        try:
            wrong = attempt()
        except Exception as error:  # the other figures are still wanted
            wrong = [f"{type(error).__name__}: {error}"]
        self.row(what, "; ".join(wrong)[:500] or "nothing", asked, not wrong)


def seconds(action: Callable[[], object]) -> float:
    """Return the wall-clock time of an action, in seconds."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def machine(table: Table, device: str, sandbox: Sandbox) -> None:
    """Print the machine that is measured: versions, driver, GPU and isolation level."""
    table.row("Python, torch", f"{platform.python_version()}, {torch.__version__}")
    driver = Path("/proc/driver/nvidia/version")
    if driver.exists():
        table.row("driver", driver.read_text(encoding="utf-8").partition("\n")[0])
    if device == "cuda":
        found = torch.cuda.get_device_properties(0)
        table.row("GPU", f"{found.name}, {found.total_memory >> 20} MiB, CUDA {torch.version.cuda}")
        table.row("its device file", getattr(first_gpu(), "device", "") or "not told: all are open")
    table.row("isolation", sandbox.isolation, "full or landlock", sandbox.isolation != "process")
    for level, reason in sandbox.refused.items():
        table.row(f"`{level}` is refused", reason)


def first_touch(table: Table, device: str, on: dict[str, Sandbox]) -> None:
    """Print how long a fresh worker takes to answer, including its first use of the device."""

    def ready(name: str) -> None:
        worker, clock = on[name].worker(), Clock(60.0)
        load = Load("import torch\n", "mine.py", device=name)
        worker.send(Request([Step(load), Step(Ping())]), clock)
        worker.receive(clock)
        worker.kill()

    for name in dict.fromkeys(("cpu", device)):
        took = statistics.median(seconds(lambda name=name: ready(name)) for _ in range(3))
        table.row(f"a fresh worker on `{name}`", f"{took * 1000:.0f} ms")


def warm(table: Table, device: str, on: dict[str, Sandbox]) -> None:
    """Print the times of warm gradings, each with a worker already started."""
    for exercise in map(KIT.find, WARM_EXERCISES):
        took = {name: graded_warm(exercise, name, sandbox) for name, sandbox in on.items()}
        ratio = took[device] / took["cpu"]
        told = f"{took['cpu']:.2f} s on the CPU, {took[device]:.2f} s: {ratio:.2f} times"
        asked = f"at most {MAX_SLOWDOWN:g} times"
        table.row(f"warm grading of {exercise.name}", told, asked, ratio <= MAX_SLOWDOWN)


def graded_warm(exercise: Exercise, device: str, sandbox: Sandbox) -> float:
    """Return the median time of a grading after the first, in seconds."""
    file, options = read_submission(exercise.solution), replace(BASE_OPTIONS, device=device)
    times = []
    for _ in range(TIMED_RUNS + 1):
        sandbox.prepare()
        time.sleep(0.0 if device == "cpu" else 2.0)  # seconds that a learner takes to save again
        times.append(seconds(lambda: grade(file, exercise, options, sandbox)))
    return statistics.median(times[1:])


def batch(table: Table, device: str) -> None:
    """Print the rate of several processes that share the device, and whether all is solved."""
    exercise = KIT.find(WARM_EXERCISES[0])
    data = exercise.solution.read_bytes()
    tasks = [Task(str(n), exercise.name, n, "a.py", data, "") for n in range(TASKS)]
    settings = PoolSettings(str(ROOT), "auto", device, 30.0, 2048, 0)
    with GradingPool(settings, PROCESSES) as pool:
        solved: list[bool] = []

        def run() -> None:
            for _, outcome in pool.run(tasks):
                solved.append(outcome.report is not None and outcome.report.solved)

        took = seconds(run)
    told = f"{TASKS / took:.2f} submissions a second, {sum(solved)} solved"
    table.row(f"{PROCESSES} processes on one device", told, f"{TASKS} solved", sum(solved) == TASKS)


def files() -> Iterator[tuple[Exercise, Submission]]:
    """Yield every solution, then known mistakes of each exercise in turn."""
    yield from ((exercise, read_submission(exercise.solution)) for exercise in KIT.exercises)
    known = {exercise: read_edits(exercise.mistakes) for exercise in KIT.exercises}
    for place in range(max(map(len, known.values()))):
        for exercise, mistakes in known.items():
            source = read_submission(exercise.solution).source
            text = edited(source, mistakes[place : place + 1])
            if mistakes[place : place + 1] and text is not None:
                yield exercise, Submission(Path(f"{mistakes[place].name}.py"), text)


def verdicts(table: Table, device: str, on: dict[str, Sandbox], share: float) -> None:
    """Print checks whose verdict differs from the CPU's, in as many files as time allows."""
    changed: list[str] = []
    end, compared = time.monotonic() + share, 0
    for exercise, file in files():
        if time.monotonic() > end:
            break
        one = grade(file, exercise, replace(BASE_OPTIONS, device="cpu"), on["cpu"])
        other = grade(file, exercise, replace(BASE_OPTIONS, device=device), on[device])
        here = differences(one, other)
        changed += [f"{exercise.name}, {file.path.name}: {what}" for what in here]
        compared += 1
    told = f"{len(changed)} other verdicts in {compared} files"
    enough = compared >= len(KIT.exercises)
    asked = f"0 in {len(KIT.exercises)} or more"
    table.row("verdicts on the CPU and there", told, asked, not changed and enough)
    for one_change in changed:
        print(f"    {one_change}")


def leaked(device: str, sandbox: Sandbox) -> list[str]:
    """Return what workers find in their memory of earlier workers; empty if nothing."""
    counts = [seen_of_another(device, sandbox) for _ in range(TIMED_RUNS)]
    return [f"{count} numbers" for count in counts if count]


def main() -> int:
    """Print all figures, and return an exit code that says whether all meet their targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    if given.device == "cuda" and not (first_gpu() and torch.cuda.is_available()):
        print("there is no GPU that torch can use here; `--device cpu` tries this file without one")
        return 2
    table, began = Table(), time.monotonic()
    device = given.device
    with Sandbox() as cpu, Sandbox(on_gpu=device == "cuda") as there:
        on = {"cpu": cpu, device: there}
        try:
            machine(table, device, there)
        except GradeError as error:
            print(f"no worker can be had: {error}")
            return 1
        table.trial("reached beside its own GPU", "nothing", lambda: opened(device, there))
        for name in HARMS:
            what = f"lost with what {name}, beside its check"
            table.trial(what, "nothing", lambda name=name: unexpected_verdicts(name, device, there))
        table.trial("memory of another that is read", "nothing", lambda: leaked(device, there))
        for measure in (first_touch, warm):
            measure(table, device, on)
        verdicts(table, device, on, given.seconds)
    batch(table, device)
    took = time.monotonic() - began
    table.row("all of it", f"{took:.0f} s", f"less than {MAX_TOTAL_S} s", took < MAX_TOTAL_S)
    return 0 if table.holds else 1


if __name__ == "__main__":
    sys.exit(main())
