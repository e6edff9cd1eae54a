"""Measure what confinement costs: starting a worker, a forward, submissions per second.

Usage: python benchmarks/sandbox.py [SUBMISSIONS]
"""

from __future__ import annotations

import functools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from grader.grading import Options, grade
from grader.kit import installed_kit
from grader.sandbox.clock import Clock
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.sandbox.workers import WorkerProcess
from grader.submission import Submission, read_submission
from grader.wire.levels import LEVELS
from grader.wire.messages import Ping, Request, Step

LAYER = Submission(Path("layer.py"), "from torch import nn\nclass Layer(nn.Linear):\n    pass\n")


def milliseconds(action: Callable[[], object], runs: int) -> float:
    """Return the median time of an action in milliseconds, without its first run."""
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:]) * 1000


def ready(sandbox: Sandbox) -> float:
    """Return the milliseconds from the request of a worker to its first answer."""

    def once() -> None:
        clock = Clock(10.0)
        worker = sandbox.worker()
        worker.send(Request([Step(Ping())]), clock)
        worker.receive(clock)
        workers.append(worker)

    workers: list[WorkerProcess] = []
    result = milliseconds(once, 15)
    for worker in workers:
        worker.kill()
    return result


def forward(sandbox: Sandbox) -> float:
    """Return the round-trip time of a forward of 16 KiB, in milliseconds."""
    session = Session(sandbox, LAYER, 10.0, 600.0)
    session.begin_check(1)
    batch = session.batch()
    module = batch.create("Layer", (64, 64))
    x = torch.randn(64, 64)

    def once() -> object:
        call = batch.call(module, [((x,), {})])
        batch.send()
        return call.result()

    result = milliseconds(once, 500)
    session.close()
    return result


def grading(sandbox: Sandbox) -> float:
    """Return the time of a whole grading of exercise3 in a warm sandbox, in milliseconds."""
    exercise = installed_kit().find("exercise3")
    submission = read_submission(exercise.solution)
    return milliseconds(lambda: grade(submission, exercise, Options(device="cpu"), sandbox), 9)


def batch(count: int) -> tuple[float, float]:
    """Return submissions per second on two cores: with two sessions, and with one pytest each."""
    exercise = installed_kit().find("exercise3")
    command = [sys.executable, __file__, "--session", str(count // 2)]
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: subprocess.run(command, check=True), range(2)))
    ours = count / (time.perf_counter() - started)

    folder = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": str(folder), "SUBMISSION": str(exercise.solution)}
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "in_process", "-W", "ignore", "-c"]
    plain += [str(folder.parent / "grader/suite/suite.ini"), str(exercise.suite)]
    few = max(count // 20, 4)
    started = time.perf_counter()
    run = functools.partial(subprocess.run, plain, env=environment, capture_output=True, check=True)
    with ThreadPoolExecutor(2) as pool:
        for waiting in [pool.submit(run) for _ in range(few)]:
            waiting.result()
    return ours, few / (time.perf_counter() - started)


def session(count: str) -> None:
    """Grade exercise3 `count` times at the strongest level: one half of a batch."""
    exercise = installed_kit().find("exercise3")
    submission = read_submission(exercise.solution)
    with Sandbox() as sandbox:
        for _ in range(int(count)):
            grade(submission, exercise, Options(device="cpu"), sandbox)


def main(count: str = "200") -> None:
    """Print every figure."""
    torch.set_num_threads(1)
    print("level      ready     forward   grading of exercise3")
    for level in LEVELS:
        with Sandbox(level) as sandbox:
            sandbox.worker().kill()
            figures = ready(sandbox), forward(sandbox), grading(sandbox)
        print("{:<9} {:5.1f} ms  {:5.2f} ms  {:6.1f} ms".format(level, *figures))
    ours, plain = batch(int(count))
    print(f"{ours:.1f} submissions a second over {count}, sessions on two cores")
    print(f"{plain:.2f} with one plain pytest process each: {ours / plain:.0f} times as many")


if __name__ == "__main__":
    session(sys.argv[2]) if sys.argv[1:2] == ["--session"] else main(*sys.argv[1:])
